"""The page builder: figures by Plotly, tables by pandas, as one HTML file or as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
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


# A name, its category, and an estimate or a text.
Named = tuple[str, str, Any]
# A curve's name, x and y of shape (n,), and the lower and upper ends of its band, if it has one.
Line = Sequence[Any]


class Block(NamedTuple):
    """A figure, or a table of texts, with its title and a note how to read it."""

    title: str
    content: go.Figure | pd.DataFrame
    note: str = ""


class Section(NamedTuple):
    """One folder of results."""

    title: str  # the command that made it, and its name
    lead: str  # what was done, in a sentence or two
    settings: Mapping[str, Any]  # by name, seeds among them
    blocks: Sequence[Block]  # figures and tables, in order; LaTeX has the first table
    versions: Mapping[str, str] | None = None  # of the packages, by name


def table_of(columns: Sequence[Column], rows: Sequence[Any]) -> pd.DataFrame:
    """Return the table that columns make of rows."""
    headings, *cells = table_cells(columns, rows)
    return pd.DataFrame(cells, columns=headings)


def texts_of(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Return a table of texts, numbers and estimates as texts, the estimates with ``digits``."""

    def text(value: Any) -> str:
        if isinstance(value, Estimate):
            return f"{value:+.{digits}f}"
        if isinstance(value, float):
            return "-" if math.isnan(value) else f"{value:.4g}"
        return str(value)

    return table.map(text).rename(columns=lambda name: name.replace("_", " "))


def pivot(title: str, corner: str, cells: Iterable[Named], digits: int = 0) -> Block:
    """Return the table with a column for each name and a row for each place, in their order.

    Args:
        title: of the table.
        corner: above the places.
        cells: texts, or estimates, of which half of the interval is shown.
        digits: of the estimates.
    """
    rows: dict[str, dict[str, str]] = {}
    for name, place, value in cells:
        if isinstance(value, Estimate):
            value = f"{value.mean:+.{digits}f} ± {value.half_width:.{digits}f}"
        rows.setdefault(place, {corner: place})[name] = value
    return Block(title, pd.DataFrame(list(rows.values())).fillna(""))


def new_figure(
    x: str, y: str, lines: Iterable[Line] = (), mode: str = "lines", **layout: Any
) -> go.Figure:
    """Return a figure of lines with titles of its axes; the page gives it its colours."""
    axis = {"automargin": True, "zeroline": False}
    figure = go.Figure().update_layout(
        template="none",
        xaxis={"title": {"text": x}, **axis},
        yaxis={"title": {"text": y}, **axis},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0.0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
        **layout,
    )
    for line in lines:
        add_line(figure, *line, mode=mode)
    return figure


def points(
    y: str,
    estimates: Iterable[Named],
    *,
    x: str = "",
    level: tuple[float, str] | None = None,
) -> go.Figure:
    """Return points with their intervals, side by side in each category.

    Of ``HIDDEN_AT_FIRST`` only the legend is shown.

    Args:
        y: title of the axis.
        estimates: the points.
        x: title of the categories.
        level: a line across, and its name.
    """
    figure = new_figure(x, y, scattermode="group", scattergap=0.4)
    found: dict[str, dict[str, Estimate]] = {}
    for name, place, each in estimates:
        found.setdefault(name, {})[place.replace(", ", ",<br>")] = each
    for name, places in found.items():
        several = places.values()
        figure.add_scatter(
            name=name, x=list(places), y=[each.mean for each in several], mode="markers",
            marker={"size": 9}, customdata=[(each.low, each.high) for each in several],
            error_y={"symmetric": False, "array": [each.high - each.mean for each in several],
                     "arrayminus": [each.mean - each.low for each in several]},
            hovertemplate="%{x}<br>%{y:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
            visible="legendonly" if name in HIDDEN_AT_FIRST else True,
        )  # fmt: skip
    if level is not None:
        add_level(figure, *level)
    return figure


def add_line(
    figure: go.Figure,
    name: str,
    /,
    x: ArrayLike,
    y: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    **trace: Any,
) -> None:
    """Draw a curve through x and y, shape (n,) each.

    The legend hides its band, of lower and upper ends, with the curve. ``trace`` overrides
    Plotly's, for example ``mode``.
    """
    along = np.asarray(x, dtype=float)
    if low is not None and high is not None:
        figure.add_scatter(
            x=np.concatenate((along, along[::-1])), y=np.concatenate((high, np.flip(low))),
            fill="toself", line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False,
            legendgroup=name, visible=trace.get("visible", True),
        )  # fmt: skip
    plain = {"name": name, "mode": "lines", "line_width": 2, "hovertemplate": "%{y:.4f}"}
    figure.add_scatter(x=along, y=np.asarray(y, dtype=float), legendgroup=name, **plain | trace)


def add_level(figure: go.Figure, value: float, label: str) -> None:
    """Draw a line across the figure, with its name at its end."""
    figure.add_hline(value, line={"color": GREY, "width": 1, "dash": "dot"}, annotation_text=label,
                     annotation_position="top right")  # fmt: skip


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """Return the whole page as HTML: the same sections give the same text."""
    folder = files("matchenv.benchmarks.report")
    style, script = ((folder / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    _paint(each.content for section in sections for each in section.blocks)
    links = "".join(
        f'<li><a href="#s{place}">{escape(each.title)}</a></li>'
        for place, each in enumerate(sections)
    )
    # Else pandas cuts long texts.
    with pd.option_context("display.max_colwidth", None):
        body = "\n".join(_section(each, f"s{place}") for place, each in enumerate(sections))
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


def _paint(contents: Iterable[Any]) -> None:
    """Give each name a colour and a symbol, the same in all figures of a page."""
    places = {name: place for place, name in enumerate(KNOWN)}
    for trace in (trace for each in contents if isinstance(each, go.Figure) for trace in each.data):
        place = places.setdefault(trace.legendgroup or trace.name, len(places))
        colour, symbol = COLOURS[place % len(COLOURS)], SYMBOLS[place % len(SYMBOLS)]
        trace.update(line={"color": colour}, marker={"color": colour})
        if "markers" in trace.mode:
            trace.marker.symbol = symbol
        if trace.fill:
            trace.fillcolor = f"rgba{(*hex_to_rgb(colour), 0.18)}"


def _section(section: Section, name: str) -> str:
    found = f'<section id="{name}"><h2>{escape(section.title)}</h2>\n<p>{escape(section.lead)}</p>'
    for place, (title, content, note) in enumerate(section.blocks):
        heading = f"<h3>{escape(title)}</h3>"
        heading += f'<p class="note">{escape(note)}</p>' if note else ""
        if isinstance(content, pd.DataFrame):
            table = content.to_html(index=False, border=0)
            found += f'\n{heading}<div class="scroll">{table}</div>'
        else:
            chart = content.to_html(
                full_html=False, include_plotlyjs=False, div_id=f"{name}c{place}", config=CONFIG
            )
            found += f'\n<figure>{heading}<div class="chart">{chart}</div></figure>'
    for summary, values in (("Settings", section.settings), ("Versions", section.versions)):
        if values:
            rows = pd.DataFrame([(str(key), str(value)) for key, value in values.items()])
            table = rows.to_html(index=False, header=False, border=0)
            found += f"\n<details><summary>{summary}</summary>{table}</details>"
    return f"{found}\n</section>"


def latex_summary(sections: Sequence[Section]) -> str:
    r"""Return a text for ``\input`` in a paper's appendix: the first table of each section."""
    lines = [
        r"% Written by matchenv report --latex. It needs \usepackage{booktabs}.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
    ]
    for section in sections:
        lines.append(rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}")
        seeds = {name: each for name, each in section.settings.items() if name.startswith("seed")}
        about = {**seeds, **(section.versions or {})}
        lines.append(escaped(", ".join(f"{name} {value}" for name, value in about.items())))
        label = re.sub(r"[^\w-]+", "-", section.title)
        tables = (each for each in section.blocks if isinstance(each.content, pd.DataFrame))
        lines.append(latex_table(next(tables), label))
    return "\n".join([*lines, "}"]) + "\n"


def latex_table(block: Block, label: str = "results") -> str:
    """Return a table with its title as caption and ``tab:LABEL``, as LaTeX with booktabs.

    Columns for which a page is too narrow follow below, beside the first column again.
    """
    cells = block.content
    assert isinstance(cells, pd.DataFrame)
    # Headings may occur twice, which pandas does not write; those given to it are formats.
    headings = [re.sub("[{}]", r"\g<0>\g<0>", escaped(str(each))) for each in cells]
    texts = cells.set_axis(range(len(headings)), axis=1).map(escaped)
    widths = [2 + max([len(str(name)), *map(len, column)]) for name, column in cells.items()]
    groups: list[list[int]] = [[0]]
    for place, width in enumerate(widths[1:], 1):
        if len(groups[-1]) > 1 and sum(widths[each] for each in groups[-1]) + width > LINE:
            groups.append([0])
        groups[-1].append(place)
    tables = [
        texts[group].to_latex(
            index=False, escape=False, header=[headings[each] for each in group],
            column_format=f"@{{}}l{'r' * (len(group) - 1)}@{{}}",
        )
        for group in groups
    ]  # fmt: skip
    caption = rf"\caption{{{escaped(block.title)}}}\label{{tab:{label}}}"
    return (f"\\begin{{table}}[htbp]\\centering\\footnotesize\n{caption}\n"
            + "\\\\[4pt]\n".join(tables) + r"\end{table}")  # fmt: skip


def escaped(text: str) -> str:
    """Return a text as LaTeX writes it."""
    return MINUS.sub("$-$", text.translate(SPECIAL))
