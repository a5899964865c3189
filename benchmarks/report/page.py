"""The page builder: figures by Plotly, tables by pandas, as one HTML file or as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.colors import hex_to_rgb, qualitative
from plotly.offline import get_plotlyjs

from matchenv.baselines import KnowledgeGradient, PointEstimate
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.tables import Column, table_cells

# Colours that can be told apart on white and on black.
COLOURS: Sequence[str] = qualitative.D3
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
DASHES = ("solid", "dash", "dot", "dashdot")
GREY = "#888888"
# These have the same colour on every page.
KNOWN = (PointEstimate.name, LOW_END, KnowledgeGradient.name, "bound", "random", HIGH_END)
# So far from the others that they would flatten the figure; a click in the legend shows them.
HIDDEN_AT_FIRST = ("random", HIGH_END)

CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
}

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$",
        **{letter: "\\" + letter for letter in "{}$&#%_"},
        # At the beginning of a row LaTeX takes these for an argument of the end of the line before.
        "[": "{[}", "*": "{*}",
    }
)  # fmt: skip
# A minus sign is wider than a hyphen, and stands before a number and not inside a name.
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
# Characters of a line that fit the page of an article, with two for each space between columns.
LINE = 84


class Chart(NamedTuple):
    """A figure with a title.

    Attributes:
        title: heading.
        figure: the figure.
        note: how to read it.
    """

    title: str
    figure: go.Figure
    note: str = ""


class Table(NamedTuple):
    """A table with a title.

    Attributes:
        title: heading.
        cells: texts.
    """

    title: str
    cells: pd.DataFrame

    @classmethod
    def of(cls, title: str, columns: Sequence[Column], rows: Sequence[Any]) -> Table:
        """Return the table that columns make of rows."""
        headings, *cells = table_cells(columns, rows)
        return cls(title, pd.DataFrame(cells, columns=headings))

    @classmethod
    def of_records(cls, title: str, records: Sequence[Mapping[str, Any]], digits: int) -> Table:
        """Return the table of plain records, with a column for each of their keys.

        Args:
            title: heading.
            records: of texts, numbers and estimates, with the same keys.
            digits: of estimates.
        """

        def text(value: Any) -> str:
            if isinstance(value, Estimate):
                return value.interval_text(digits)
            if isinstance(value, float):
                return "-" if math.isnan(value) else f"{value:.4g}"
            return str(value)

        cells = [{key.replace("_", " "): text(value) for key, value in each.items()}
                 for each in records]  # fmt: skip
        return cls(title, pd.DataFrame(cells))

    @classmethod
    def pivot(cls, title: str, corner: str, cells: Mapping[tuple[str, str], str]) -> Table:
        """Return a table of texts by row and column, in the order in which they come.

        Args:
            title: heading.
            corner: heading of the names of the rows.
            cells: by names of row and column; what is missing is left empty.
        """
        spread = pd.Series(cells, dtype=object).unstack(fill_value="", sort=False)
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
        return cls(title, spread.loc[rows, columns].rename_axis(corner).reset_index())


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
        summary: the table for LaTeX.
        parts: sections within this one.
    """

    kind: str
    folder: str
    lead: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    summary: Table
    parts: Sequence[Section] = ()

    @property
    def title(self) -> str:
        """Return the heading."""
        return f"{self.kind}: {self.folder}"


def short_text(estimate: Estimate, digits: int) -> str:
    """Return an estimate with half of its interval, where there is little room."""
    return f"{estimate.mean:+.{digits}f} ± {estimate.half_width:.{digits}f}"


class Palette:
    """A colour, a symbol and a kind of line for each name, the same in all figures of a page.

    Args:
        names: those that come first.
    """

    def __init__(self, names: Sequence[str] = KNOWN) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def of(self, name: str) -> tuple[str, str, str]:
        """Return colour, symbol and dash of a name; dashes change where colours begin again."""
        place = self._places.setdefault(name, len(self._places))
        dash = DASHES[place // len(COLOURS) % len(DASHES)]
        return COLOURS[place % len(COLOURS)], SYMBOLS[place % len(SYMBOLS)], dash


def new_figure(x: str, y: str, **layout: Any) -> go.Figure:
    """Return an empty figure with titles of its axes; the page gives it its colours."""
    axis = {"automargin": True, "zeroline": False}
    return go.Figure().update_layout(
        template="none",
        xaxis={"title": {"text": x}, **axis},
        yaxis={"title": {"text": y}, **axis},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0.0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
        **layout,
    )


def points(
    palette: Palette,
    y: str,
    estimates: Mapping[str, Mapping[str, Estimate]],
    *,
    x: str = "",
    level: tuple[float, str] | None = None,
    hidden: Sequence[str] = (),
) -> go.Figure:
    """Return points with their intervals, side by side in each category.

    Args:
        palette: colours of the names.
        y: title of the axis.
        estimates: by name and category.
        x: title of the categories.
        level: a line across, and its name.
        hidden: names that only the legend shows at first.
    """
    figure = new_figure(x, y, scattermode="group", scattergap=0.4)
    for name, places in estimates.items():
        found = pd.DataFrame([(e.mean, e.low, e.high) for e in places.values()])
        mean, low, high = (found[column].to_numpy() for column in found)
        colour, symbol, _ = palette.of(name)
        figure.add_scatter(
            name=name, x=[place.replace(", ", ",<br>") for place in places], y=mean, mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            customdata=found[[1, 2]].to_numpy().tolist(),
            error_y={"symmetric": False, "array": high - mean, "arrayminus": mean - low},
            hovertemplate="%{x}<br>%{y:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
            visible="legendonly" if name in hidden else True,
        )  # fmt: skip
    if level is not None:
        add_level(figure, *level)
    return figure


def add_line(
    figure: go.Figure,
    palette: Palette,
    name: str,
    x: ArrayLike,
    y: ArrayLike,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    **trace: Any,
) -> None:
    """Draw a curve, with a band around it that the legend hides with the curve.

    Args:
        figure: where to draw.
        palette: colours of the names.
        name: of the curve.
        x: shape (n,).
        y: shape (n,).
        band: lower and upper ends, each of shape (n,).
        trace: overrides of Plotly's trace, for example ``mode``.
    """
    (colour, _, dash), along = palette.of(name), np.asarray(x, dtype=float)
    if band is not None:
        low, high = (np.asarray(each, dtype=float) for each in band)
        figure.add_scatter(
            x=np.concatenate((along, along[::-1])), y=np.concatenate((high, low[::-1])),
            fill="toself", fillcolor=f"rgba{(*hex_to_rgb(colour), 0.18)}", line={"width": 0},
            mode="lines", hoverinfo="skip", showlegend=False, legendgroup=name,
            visible=trace.get("visible", True),
        )  # fmt: skip
    plain = {"name": name, "mode": "lines", "line": {"color": colour, "dash": dash, "width": 2}}
    figure.add_scatter(x=along, y=np.asarray(y, dtype=float), legendgroup=name,
                       hovertemplate="%{y:.4f}", **(plain | trace))  # fmt: skip


def add_level(
    figure: go.Figure, value: float, label: str = "", axis: str = "y", side: str = "right"
) -> None:
    """Draw a line across the figure, with its name at one end."""
    draw = figure.add_hline if axis == "y" else figure.add_vline
    draw(value, line={"color": GREY, "width": 1, "dash": "dot"}, annotation_text=label,
         annotation_position=f"top {side}")  # fmt: skip


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """Return the whole page as HTML: the same sections give the same text.

    Args:
        sections: contents, in order.
        title: heading.
    """
    folder = files("matchenv.benchmarks.report")
    style, script = ((folder / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    links = "".join(
        f'<li><a href="#s{place}">{escape(each.title)}</a></li>'
        for place, each in enumerate(sections)
    )
    # Else pandas cuts long texts.
    with pd.option_context("display.max_colwidth", None):
        body = "\n".join(
            line for place, each in enumerate(sections) for line in _section(each, f"s{place}", 2)
        )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
<script>{get_plotlyjs()}</script>
</head>
<body>
<h1>{escape(title)}</h1>
<nav><ul>{links}</ul></nav>
{body}
<script>
{script}</script>
</body>
</html>
"""


def _section(section: Section, name: str, level: int) -> Iterator[str]:
    yield f'<section id="{name}"><h{level}>{escape(section.title)}</h{level}>'
    yield f"<p>{escape(section.lead)}</p>"
    for place, (title, figure, note) in enumerate(section.charts):
        yield f'<figure><h3>{escape(title)}</h3><p class="note">{escape(note)}</p>'
        yield '<div class="chart">'
        yield figure.to_html(
            full_html=False, include_plotlyjs=False, div_id=f"{name}c{place}", config=CONFIG
        )
        yield "</div></figure>"
    for table in section.tables:
        yield f'<h3>{escape(table.title)}</h3><div class="scroll">'
        yield table.cells.to_html(index=False, border=0)
        yield "</div>"
    for summary, values in (("Settings", section.settings), ("Versions", section.versions)):
        if values:
            rows = pd.DataFrame([(str(key), str(value)) for key, value in values.items()])
            yield f"<details><summary>{summary}</summary>"
            yield f"{rows.to_html(index=False, header=False, border=0)}</details>"
    for place, part in enumerate(section.parts):
        yield f"<details><summary>{escape(part.title)}</summary>"
        yield from _section(part, f"{name}p{place}", 3)
        yield "</details>"
    yield "</section>"


def latex_summary(sections: Sequence[Section]) -> str:
    r"""Return a text for ``\input`` in a paper's appendix.

    Args:
        sections: contents, in order.
    """
    lines = [
        r"% Written by matchenv report --latex. It needs \usepackage{booktabs}.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
    ]
    for section in sections:
        lines.append(rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}")
        seeds = {name: each for name, each in section.settings.items() if name.startswith("seed")}
        about = [f"{name} {value}" for name, value in {**seeds, **section.versions}.items()]
        if about:
            lines.append(escaped(f"({', '.join(about)}.)"))
        label = f"{section.kind}-{section.folder}"
        lines.append(latex_table(section.summary, re.sub(r"[^\w-]+", "-", label)))
    return "\n".join([*lines, "}"]) + "\n"


def latex_table(table: Table, label: str = "results") -> str:
    """Return a table with its title as caption, as LaTeX with booktabs.

    Columns for which a page is too narrow follow below, beside the first column again.

    Args:
        table: the texts.
        label: what follows ``tab:``.
    """
    texts = table.cells.set_axis(range(table.cells.shape[1]), axis=1).map(escaped)
    headings = [escaped(str(each)) for each in table.cells]
    widths = [2 + max([len(str(heading)), *map(len, table.cells.iloc[:, place])])
              for place, heading in enumerate(table.cells)]  # fmt: skip
    blocks: list[list[int]] = [[0]]
    for place, width in enumerate(widths[1:], 1):
        if len(blocks[-1]) > 1 and sum(widths[each] for each in blocks[-1]) + width > LINE:
            blocks.append([0])
        blocks[-1].append(place)
    parts = [
        texts[block].to_latex(
            index=False, escape=False, header=[headings[each] for each in block],
            column_format=f"@{{}}l{'r' * (len(block) - 1)}@{{}}",
        )
        for block in blocks
    ]  # fmt: skip
    lines = [
        r"\begin{table}[htbp]\centering\footnotesize",
        rf"\caption{{{escaped(table.title)}}}\label{{tab:{label}}}",
        "\\\\[4pt]\n".join(parts) + r"\end{table}",
    ]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text as LaTeX writes it."""
    return MINUS.sub("$-$", text.translate(SPECIAL))
