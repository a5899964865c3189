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
    room = _room.get()
    lines = table_cells(columns, rows)
    widths = [
        max(column.width, *(len(line[place]) for line in lines))
        for place, column in enumerate(columns)
    ]
    firsts, pairs = ({tuple(line[:count]) for line in lines} for count in (1, 2))
    leading = [0, 1] if len(firsts) < len(pairs) == len(lines) else [0]
    parts = [[*leading]]
    for place in range(len(leading), len(columns)):
        wide = sum(widths[each] + 2 for each in (*parts[-1], place)) - 2
        if wide > room and parts[-1] != leading:
            parts.append([*leading])
        parts[-1].append(place)
    found: list[str] = []
    for part in parts:
        found += [""] if found else []
        for line in lines:
            cells = [
                line[place].ljust(widths[place]) if place in leading
                else line[place].rjust(widths[place])
                for place in part
            ]  # fmt: skip
            found.append("  ".join(cells))
    return found


def markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the same as Markdown."""
    heading, *lines = (f"| {' | '.join(line)} |" for line in table_cells(columns, rows))
    return [heading, f"|{'---|' * len(columns)}", *lines]


def table_cells(columns: Sequence[Column], rows: Sequence[Any]) -> list[list[str]]:
    """Return the headings, then the cells of each row."""
    headings = [column.heading for column in columns]
    return [headings, *([column.text(row) for column in columns] for row in rows)]
