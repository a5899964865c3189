"""Tables for people, as aligned text or as Markdown."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

# Maximum width of a table in characters. Files always have this width, so that their bytes do not
# depend on the terminal.
WIDTH = 100
_width: ContextVar[int] = ContextVar("_width", default=WIDTH)


@dataclass(frozen=True)
class Column:
    """Column of a table.

    Attributes:
        heading: its heading.
        cell: a function that returns the text of a row, or a format of rows that are mappings,
            for example ``"{total.mean:.2f}"``.
        width: minimum width, which aligns tables below each other.
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
    """Fit tables to the width of a narrow terminal within a block."""
    token = _width.set(min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))
    try:
        yield
    finally:
        _width.reset(token)


def text_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the lines of a table: a heading, and a line for each row.

    A table that is too wide continues below itself and repeats its leading columns, which are
    aligned to the left: the first, or the first two if only both identify the rows.
    """
    lines = table_cells(columns, rows)
    firsts, pairs = ({tuple(line[:count]) for line in lines} for count in (1, 2))
    leading = 2 if len(firsts) < len(pairs) == len(lines) else 1
    padded: list[list[str]] = []
    for place, (column, cells) in enumerate(zip(columns, zip(*lines, strict=True), strict=True)):
        width = max(column.width, *map(_places, cells))
        spaces = [" " * (width - _places(cell)) for cell in cells]
        order = (cells, spaces) if place < leading else (spaces, cells)
        padded.append(list(map("".join, zip(*order, strict=True))))
    parts = [padded[:leading]]
    for column_texts in padded[leading:]:
        wide = sum(len(each[0]) + 2 for each in (*parts[-1], column_texts)) - 2
        if wide > _width.get() and len(parts[-1]) > leading:
            parts.append(padded[:leading])
        parts[-1].append(column_texts)
    texts = ["\n".join(map("  ".join, zip(*part, strict=True))) for part in parts]
    return "\n\n".join(texts).split("\n")


def _places(text: str) -> int:
    """Return the width of a text on a terminal, where East Asian characters take two places."""
    return len(text) + sum(east_asian_width(char) in "WF" for char in text)


def or_dash(form: str, value: float) -> str:
    """Return a formatted number, or a dash for NaN."""
    return "–" if math.isnan(value) else form.format(value)


def shortened(name: str, length: int = 30) -> str:
    """Return a name without the middle if it is longer than an even length."""
    half = length // 2
    return name if len(name) <= length else f"{name[:half]}…{name[1 - half :]}"


def markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the lines of a Markdown table."""
    heading, *lines = (f"| {' | '.join(line)} |" for line in table_cells(columns, rows))
    return [heading, f"|{'---|' * len(columns)}", *lines]


def table_cells(columns: Sequence[Column], rows: Sequence[Any]) -> list[list[str]]:
    """Return the headings, followed by the cells of each row."""
    headings = [column.heading for column in columns]
    return [headings, *([column.text(row) for column in columns] for row in rows)]
