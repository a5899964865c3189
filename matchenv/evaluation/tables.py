"""Tables for people: a list of columns, written as aligned text or as Markdown."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# Characters of a line of a table at most, where the terminal is not narrower.
WIDTH = 100


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


def text_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return a heading and a line for each row; the first column is aligned to the left.

    A table wider than ``WIDTH``, or than the terminal, continues below itself, with its first
    column again.
    """
    room = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    lines = table_cells(columns, rows)
    widths = [
        max(column.width, *(len(line[place]) for line in lines))
        for place, column in enumerate(columns)
    ]
    parts = [[0]]
    for place in range(1, len(columns)):
        if sum(widths[each] + 2 for each in (*parts[-1], place)) - 2 > room and parts[-1] != [0]:
            parts.append([0])
        parts[-1].append(place)
    found: list[str] = []
    for part in parts:
        found += [""] if found else []
        found += [
            "  ".join(
                line[place].rjust(widths[place]) if place else line[place].ljust(widths[place])
                for place in part
            )
            for line in lines
        ]
    return found


def markdown_table(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    """Return the same as Markdown."""
    heading, *lines = (f"| {' | '.join(line)} |" for line in table_cells(columns, rows))
    return [heading, f"|{'---|' * len(columns)}", *lines]


def table_cells(columns: Sequence[Column], rows: Sequence[Any]) -> list[list[str]]:
    """Return the headings, then the cells of each row."""
    headings = [column.heading for column in columns]
    return [headings, *([column.text(row) for column in columns] for row in rows)]
