"""Tables for people, as aligned text or as Markdown."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

from matchenv.evaluation.estimates import Estimate

# Maximum width of a table in characters. Files always have this width, so that their bytes do not
# depend on the terminal.
WIDTH = 100

# Between two columns of an aligned table.
GAP = "  "

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
        if isinstance(self.cell, str):
            return self.cell.format_map(row)
        return self.cell(row)


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
    cells = table_cells(columns, rows)
    leading = _leading_columns(cells)
    padded: list[list[str]] = []
    for index, column in enumerate(columns):
        texts = [row[index] for row in cells]
        padded.append(_padded(texts, column.width, left=index < leading))
    # Columns are dealt out to tables, each as wide as allowed.
    tables = [padded[:leading]]
    for column_texts in padded[leading:]:
        width = len(column_texts[0])
        for texts in tables[-1]:
            width += len(texts[0]) + len(GAP)
        if width > _width.get() and len(tables[-1]) > leading:
            tables.append(padded[:leading])
        tables[-1].append(column_texts)
    lines: list[str] = []
    for table in tables:
        if lines:
            lines.append("")
        lines += [GAP.join(row) for row in zip(*table, strict=True)]
    return lines


def wrapped(text: str) -> list[str]:
    """Return the lines of a text that is as wide as tables at most; an empty one is a line."""
    return textwrap.wrap(text, _width.get()) or [""]


def _leading_columns(cells: list[list[str]]) -> int:
    """Return 2 if the first two columns identify the rows and the first alone does not, else 1."""
    firsts = {row[0] for row in cells}
    pairs = {tuple(row[:2]) for row in cells}
    return 2 if len(firsts) < len(pairs) == len(cells) else 1


def _padded(texts: Sequence[str], least: int, *, left: bool) -> list[str]:
    """Return the cells of a column with spaces to equal width, at least ``least``."""
    widths = [_terminal_width(text) for text in texts]
    width = max(least, *widths)
    padded = []
    for text, own_width in zip(texts, widths, strict=True):
        spaces = " " * (width - own_width)
        padded.append(text + spaces if left else spaces + text)
    return padded


def _terminal_width(text: str) -> int:
    """Return the width of a text on a terminal, where East Asian characters are twice as wide."""
    return len(text) + sum(east_asian_width(char) in "WF" for char in text)


def or_dash(template: str, value: float) -> str:
    """Return a formatted number, or a dash for NaN."""
    if math.isnan(value):
        return "–"
    return template.format(value)


def share_text(share: Estimate) -> str:
    """Return a share with its interval, in percent; a dash if unknown or below -100 %."""
    if not share.known or share.mean <= -1.0:
        return "–"
    percent = share.times(100.0)
    return f"{percent.mean:z.0f} % [{percent.low:z.0f}, {percent.high:z.0f}]"


def shortened(name: str, length: int = 30) -> str:
    """Return a name without the middle if it is longer than an even length."""
    if len(name) <= length:
        return name
    half = length // 2
    return f"{name[:half]}…{name[1 - half :]}"


def markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the lines of a Markdown table."""
    heading, *lines = [f"| {' | '.join(row)} |" for row in table_cells(columns, rows)]
    return [heading, f"|{'---|' * len(columns)}", *lines]


def table_cells(columns: Sequence[Column], rows: Sequence[Any]) -> list[list[str]]:
    """Return the headings, followed by the cells of each row."""
    cells = [[column.heading for column in columns]]
    for row in rows:
        cells.append([column.text(row) for column in columns])
    return cells
