"""The page builder: figures by Plotly, tables by pandas, as one HTML file or as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


# A name, its category, and an estimate or a text.
Named = tuple[str, str, Any]


class Block(NamedTuple):
    """A figure, or a table of texts, with its title and a note how to read it."""

    title: str
    content: go.Figure | pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One folder of results."""

    title: str  # the command that made it, and its name
    lead: str  # what was done, in a sentence or two
    settings: Mapping[str, Any]  # by name, seeds among them
    blocks: Sequence[Block]  # figures and tables, in order
    summary: Block | None = None  # the table for LaTeX; None for the last block
    versions: Mapping[str, str] | None = None  # of the packages, by name


def table_of(columns: Sequence[Column], rows: Sequence[Any]) -> pd.DataFrame:
    """Return the table that columns make of rows."""
    headings, *cells = table_cells(columns, rows)
    return pd.DataFrame(cells, columns=headings)


def texts_of(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Return a table of texts, numbers and estimates as texts, the estimates with ``digits``."""

    def text(value: Any) -> str:
        if isinstance(value, Estimate):
            return value.interval_text(digits)
        if isinstance(value, float):
            return "-" if math.isnan(value) else f"{value:.4g}"
        return str(value)

    return table.map(text).rename(columns=lambda name: name.replace("_", " "))


def pivot(corner: str, cells: Iterable[Named], digits: int = 0) -> pd.DataFrame:
    """Return the table with a column for each name and a row for each place, in their order.

    Args:
        corner: above the places.
        cells: texts, or estimates, of which half of the interval is shown.
        digits: of the estimates.
    """
    texts = {
        (place, name): f"{value.mean:+.{digits}f} ± {value.half_width:.{digits}f}"
        if isinstance(value, Estimate) else value
        for name, place, value in cells
    }  # fmt: skip
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*texts, strict=True))
    spread = pd.Series(texts, dtype=object).unstack(fill_value="", sort=False)
    return spread.loc[rows, columns].rename_axis(corner).reset_index()


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
    y: str,
    estimates: Iterable[Named],
    *,
    x: str = "",
    level: tuple[float, str] | None = None,
    hidden: Sequence[str] = (),
) -> go.Figure:
    """Return points with their intervals, side by side in each category.

    Args:
        y: title of the axis.
        estimates: the points.
        x: title of the categories.
        level: a line across, and its name.
        hidden: names that only the legend shows at first.
    """
    figure = new_figure(x, y, scattermode="group", scattergap=0.4)
    rows = [(name, place.replace(", ", ",<br>"), found.mean, found.low, found.high)
            for name, place, found in estimates]  # fmt: skip
    columns = pd.DataFrame(rows, columns=["name", "place", "mean", "low", "high"])
    for name, found in columns.drop_duplicates().groupby("name", sort=False):
        figure.add_scatter(
            name=name, x=found["place"], y=found["mean"], mode="markers", marker={"size": 9},
            customdata=found[["low", "high"]].to_numpy().tolist(),
            error_y={"symmetric": False, "array": found["high"] - found["mean"],
                     "arrayminus": found["mean"] - found["low"]},
            hovertemplate="%{x}<br>%{y:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
            visible="legendonly" if name in hidden else True,
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
    band: tuple[ArrayLike, ArrayLike] | None = None,
    **trace: Any,
) -> None:
    """Draw a curve through x and y, shape (n,) each.

    The legend hides its band, of lower and upper ends, with the curve. ``trace`` overrides
    Plotly's, for example ``mode``.
    """
    along = np.asarray(x, dtype=float)
    if band is not None:
        low, high = (np.asarray(each, dtype=float) for each in band)
        figure.add_scatter(
            x=np.concatenate((along, along[::-1])), y=np.concatenate((high, low[::-1])),
            fill="toself", line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False,
            legendgroup=name, visible=trace.get("visible", True),
        )  # fmt: skip
    plain = {"name": name, "mode": "lines", "line_width": 2, "hovertemplate": "%{y:.4f}"}
    figure.add_scatter(x=along, y=np.asarray(y, dtype=float), legendgroup=name, **plain | trace)


def add_level(
    figure: go.Figure, value: float, label: str = "", axis: str = "y", side: str = "right"
) -> None:
    """Draw a line across the figure, with its name at one end."""
    draw = figure.add_hline if axis == "y" else figure.add_vline
    draw(value, line={"color": GREY, "width": 1, "dash": "dot"}, annotation_text=label,
         annotation_position=f"top {side}")  # fmt: skip


def _painted(figure: go.Figure, places: dict[str, int]) -> go.Figure:
    """Give each name a colour, a symbol and a dash, the same in all figures of a page."""
    for trace in figure.data:
        name = trace.legendgroup or trace.name
        place = places.setdefault(name, len(places))
        colour, symbol = COLOURS[place % len(COLOURS)], SYMBOLS[place % len(SYMBOLS)]
        # Dashes change where colours begin again.
        dash = trace.line.dash or DASHES[place // len(COLOURS) % len(DASHES)]
        trace.update(line={"color": colour, "dash": dash}, marker={"color": colour})
        if trace.mode == "markers":
            trace.marker.symbol = symbol
        if trace.fill:
            trace.fillcolor = f"rgba{(*hex_to_rgb(colour), 0.18)}"
    return figure


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """Return the whole page as HTML: the same sections give the same text."""
    folder = files("matchenv.benchmarks.report")
    style, script = ((folder / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    links = "".join(
        f'<li><a href="#s{place}">{escape(each.title)}</a></li>'
        for place, each in enumerate(sections)
    )
    places = {name: place for place, name in enumerate(KNOWN)}
    # Else pandas cuts long texts.
    with pd.option_context("display.max_colwidth", None):
        body = "\n".join(
            line
            for place, each in enumerate(sections)
            for line in _section(each, f"s{place}", places)
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


def _section(section: Section, name: str, places: dict[str, int]) -> Iterator[str]:
    yield f'<section id="{name}"><h2>{escape(section.title)}</h2>'
    yield f"<p>{escape(section.lead)}</p>"
    for place, (title, content, note) in enumerate(section.blocks):
        heading = f"<h3>{escape(title)}</h3>"
        heading += f'<p class="note">{escape(note)}</p>' if note else ""
        if isinstance(content, pd.DataFrame):
            table = content.to_html(index=False, border=0)
            yield f'{heading}<div class="scroll">{table}</div>'
        else:
            chart = _painted(content, places).to_html(
                full_html=False, include_plotlyjs=False, div_id=f"{name}c{place}", config=CONFIG
            )
            yield f'<figure>{heading}<div class="chart">{chart}</div></figure>'
    for summary, values in (("Settings", section.settings), ("Versions", section.versions)):
        if values:
            rows = pd.DataFrame([(str(key), str(value)) for key, value in values.items()])
            yield f"<details><summary>{summary}</summary>"
            yield f"{rows.to_html(index=False, header=False, border=0)}</details>"
    yield "</section>"


def latex_summary(sections: Sequence[Section]) -> str:
    r"""Return a text for ``\input`` in a paper's appendix."""
    lines = [
        r"% Written by matchenv report --latex. It needs \usepackage{booktabs}.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
    ]
    for section in sections:
        lines.append(rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}")
        seeds = {name: each for name, each in section.settings.items() if name.startswith("seed")}
        about = {**seeds, **(section.versions or {})}
        if about:
            listed = ", ".join(f"{name} {value}" for name, value in about.items())
            lines.append(escaped(f"({listed}.)"))
        label = re.sub(r"[^\w-]+", "-", section.title)
        lines.append(latex_table(section.summary or section.blocks[-1], label))
    return "\n".join([*lines, "}"]) + "\n"


def latex_table(block: Block, label: str = "results") -> str:
    """Return a table with its title as caption and ``tab:LABEL``, as LaTeX with booktabs.

    Columns for which a page is too narrow follow below, beside the first column again.
    """
    cells = block.content
    assert isinstance(cells, pd.DataFrame)
    headings = [escaped(str(each)) for each in cells]
    # Headings may occur twice, which pandas does not write.
    texts = cells.set_axis(range(len(headings)), axis=1).map(escaped)
    widths = [2 + max([len(str(name)), *map(len, column)]) for name, column in cells.items()]
    groups: list[list[int]] = [[0]]
    for place, width in enumerate(widths[1:], 1):
        if len(groups[-1]) > 1 and sum(widths[each] for each in groups[-1]) + width > LINE:
            groups.append([0])
        groups[-1].append(place)
    parts = [
        texts[group].to_latex(
            index=False, escape=False, header=[headings[each] for each in group],
            column_format=f"@{{}}l{'r' * (len(group) - 1)}@{{}}",
        )
        for group in groups
    ]  # fmt: skip
    lines = [
        r"\begin{table}[htbp]\centering\footnotesize",
        rf"\caption{{{escaped(block.title)}}}\label{{tab:{label}}}",
        "\\\\[4pt]\n".join(parts) + r"\end{table}",
    ]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text as LaTeX writes it."""
    return MINUS.sub("$-$", text.translate(SPECIAL))
