"""Tables for people: a list of columns, written as aligned text or as Markdown."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# Characters of a line of a table at most: in files always, so that they have the same bytes
# everywhere, and on terminals that are not narrower.
WIDTH = 100
_room: ContextVar[int] = ContextVar("_room", default=WIDTH)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        heading: its first line.
        cell: the text of a row: a function, or for rows that are mappings a format, for example
            ``"{total.mean:.2f}"``.
        width: characters, at the least, so that tables below each other are aligned.
    """

    heading: str
    cell: Callable[[Any], str] | str
    width: int = 0

    def text(self, row: Any) -> str:
        """Return the text of a row."""
        return self.cell.format_map(row) if isinstance(self.cell, str) else self.cell(row)


TableWriter = Callable[[Sequence[Column], Sequence[Any]], list[str]]


@contextmanager
def as_wide_as_the_terminal() -> Iterator[None]:
    """Fold the tables that are written in a block to the terminal where it is narrow."""
    token = _room.set(min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))
    try:
        yield
    finally:
        _room.reset(token)


def text_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return a heading and a line for each row.

    A table wider than ``WIDTH`` continues below itself, with its leading columns again: the first,
    or the first two where only both tell the rows apart. They are aligned to the left.
    """
    lines = table_cells(columns, rows)
    firsts, pairs = ({tuple(line[:count]) for line in lines} for count in (1, 2))
    leading = 2 if len(firsts) < len(pairs) == len(lines) else 1
    padded: list[list[str]] = []
    for place, (column, cells) in enumerate(zip(columns, zip(*lines, strict=True), strict=True)):
        width = max(column.width, *map(len, cells))
        align = str.ljust if place < leading else str.rjust
        padded.append([align(cell, width) for cell in cells])
    parts = [padded[:leading]]
    for texts in padded[leading:]:
        wide = sum(len(each[0]) + 2 for each in (*parts[-1], texts)) - 2
        if wide > _room.get() and len(parts[-1]) > leading:
            parts.append(padded[:leading])
        parts[-1].append(texts)
    found = ["\n".join(map("  ".join, zip(*part, strict=True))) for part in parts]
    return "\n\n".join(found).split("\n")


def markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the same as Markdown."""
    heading, *lines = (f"| {' | '.join(line)} |" for line in table_cells(columns, rows))
    return [heading, f"|{'---|' * len(columns)}", *lines]


def table_cells(columns: Sequence[Column], rows: Sequence[Any]) -> list[list[str]]:
    """Return the headings, then the cells of each row."""
    headings = [column.heading for column in columns]
    return [headings, *([column.text(row) for column in columns] for row in rows)]
