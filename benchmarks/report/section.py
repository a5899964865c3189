"""What a page shows of one folder of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.tables import Column


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Attributes:
        title: what stands above it.
        columns: its columns.
        rows: whatever the columns make cells of.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]


@dataclass(frozen=True)
class Chart:
    """A figure with a title.

    Attributes:
        title: what stands above it.
        figure: the figure.
        note: what a reader needs to know to read it.
    """

    title: str
    figure: go.Figure
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One folder of results.

    Attributes:
        kind: the command that made it.
        folder: its name.
        lead: what was done, in a sentence or two.
        settings: by name, seeds among them.
        versions: of the packages, by name.
        charts: figures.
        tables: tables.
        summary: the table that a page of an appendix has room for.
    """

    kind: str
    folder: str
    lead: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    summary: Table
    parts: Sequence[Section] = field(default=())

    @property
    def title(self) -> str:
        """The heading."""
        return f"{self.kind}: {self.folder}"


def pivot(title: str, corner: str, cells: Mapping[tuple[str, str], str]) -> Table:
    """A table of texts by row and column.

    Args:
        title: of the table.
        corner: the heading above the names of the rows.
        cells: by names of row and column; what is missing is left empty. Rows and columns stand
            in the order in which they come.
    """

    def column(name: str) -> Column:
        return Column(name, lambda row: cells.get((row, name), ""))

    rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    return Table(title, (Column(corner, str), *(column(name) for name in columns)), rows)


def short_text(estimate: Estimate, digits: int) -> str:
    """An estimate with half of its interval, where there is little room."""
    return f"{estimate.mean:+.{digits}f} ± {estimate.half_width:.{digits}f}"
