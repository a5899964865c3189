"""Build pages: figures by Plotly and tables by pandas, as one HTML file or as LaTeX."""

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
from plotly.colors import hex_to_rgb
from plotly.offline import get_plotlyjs

from matchenv.baselines import KnowledgeGradient, PointEstimate
from matchenv.evaluation.estimates import CONFIDENCE, Estimate
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.tables import Column, table_cells

# Okabe and Ito (2008) without black and yellow, which are hard to see on dark and on white pages.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
GREY = "#888888"
# Look of horizontal and vertical lines at one value.
LEVEL: dict[str, Any] = {"line": {"color": GREY, "width": 1, "dash": "dot"},
                         "annotation_position": "top right"}  # fmt: skip
# Heights in pixels: of a figure at least, of a point, and of axis and legend.
LEAST_HEIGHT, POINT, AROUND = 420, 16, 120
# Names with the same colour on every page.
KNOWN = (PointEstimate.name, LOW_END, KnowledgeGradient.name)
# Hidden until a click in the legend: they are so far away that they would flatten the figure.
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
        # At the start of a row LaTeX reads these as an argument of the preceding line break.
        "[": "{[}", "*": "{*}",
    }
)  # fmt: skip
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")  # a hyphen before a number, but not inside a name
LINE = 84  # characters that fit on a line of an article, with two per space between columns

Named = tuple[str, str, Any]  # a name, its category, and an estimate or a text
Line = Sequence[Any]  # name, x, y and optionally the lower and upper limits of a band, (n,) each


class Block(NamedTuple):
    """A figure or a table of texts, with a title and an explanatory note."""

    title: str
    content: go.Figure | pd.DataFrame
    note: str = ""


class Section(NamedTuple):
    """The section of one folder of results."""

    title: str  # command and name of the folder
    lead: str  # summary in one or two sentences
    settings: Mapping[str, Any]  # settings by name, including seeds
    blocks: Sequence[Block]  # figures and tables; the LaTeX summary has the first table
    versions: Mapping[str, str] | None = None  # versions of packages by name


def table_of(columns: Sequence[Column], rows: Sequence[Any]) -> pd.DataFrame:
    """Return the table of some columns for some rows."""
    headings, *cells = table_cells(columns, rows)
    return pd.DataFrame(cells, columns=headings)


def texts_of(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Format a table of texts, numbers and estimates as texts, estimates with ``digits``."""

    def text(value: Any) -> str:
        if isinstance(value, Estimate):
            return f"{value:+.{digits}f}"
        if isinstance(value, float):
            return "-" if math.isnan(value) else f"{value:.4g}"
        return str(value)

    return table.map(text).rename(columns=lambda name: name.replace("_", " "))


def pivot(title: str, cells: Iterable[Named], digits: int = 0) -> Block:
    """Return a table with a column per name and a row per cell, in order of appearance.

    Estimates are shown with ``digits`` decimal places.
    """
    rows: dict[str, dict[str, str]] = {}
    note = ""
    for name, category, value in cells:
        if isinstance(value, Estimate):
            value = f"{value.mean:+.{digits}f} ± {value.half_width:.{digits}f}"
            note = f"± is half of a {100.0 * CONFIDENCE:.0f} % interval."
        rows.setdefault(category, {"cell": category})[name] = value
    return Block(title, pd.DataFrame(list(rows.values())).fillna(""), note)


def new_figure(
    x: str, y: str, lines: Iterable[Line] = (), mode: str = "lines", **layout: Any
) -> go.Figure:
    """Return a figure of lines with axis titles; ``page_text`` sets the colours."""
    axis = {"automargin": True, "zeroline": False}
    figure = go.Figure().update_layout(
        template="none",
        xaxis={"title": {"text": escape(x, quote=False)}, **axis},
        yaxis={"title": {"text": escape(y, quote=False)}, **axis},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0.0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        showlegend=True,  # by default Plotly hides the legend of a single curve
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
        **layout,
    )
    for line in lines:
        add_line(figure, *line, mode=mode)
    return figure


def points(
    x: str, estimates: Iterable[Named], *, level: tuple[float, str] | None = None
) -> go.Figure:
    """Return a figure of estimates with their intervals, one below the other in each category.

    ``x`` is the title of the axis; ``level`` is value and name of a vertical line.
    """
    found: dict[str, dict[str, Estimate]] = {}
    for name, category, estimate in estimates:
        # Plotly reads names as HTML: it would hide a player called "<unknown>".
        place = escape(category, quote=False).replace(", ", ",<br>")
        found.setdefault(name, {})[place] = estimate
    height = AROUND + POINT * sum(map(len, found.values()))
    figure = new_figure(x, "", scattermode="group", scattergap=0.4).update_yaxes(
        autorange="reversed"
    )
    figure.layout.height = height if height > LEAST_HEIGHT else None
    for name, row in found.items():
        mean, low, high = np.array([(each.mean, each.low, each.high) for each in row.values()]).T
        figure.add_scatter(
            name=escape(name, quote=False), x=mean, y=list(row), mode="markers", orientation="h",
            marker={"size": 9}, customdata=np.column_stack((low, high)),
            error_x={"symmetric": False, "array": high - mean, "arrayminus": mean - low},
            hovertemplate="%{y}<br>%{x:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
            visible="legendonly" if name in HIDDEN_AT_FIRST else True,
        )  # fmt: skip
    if level is not None:
        figure.add_vline(level[0], annotation_text=escape(level[1], quote=False), **LEVEL)
    return figure


def add_line(
    figure: go.Figure, name: str, /, x: ArrayLike, y: ArrayLike, *band: ArrayLike, **trace: Any
) -> None:
    """Add a curve, optionally with a band that the legend hides together with it.

    ``x``, ``y`` and the lower and upper limits in ``band`` have shape (n,); ``trace`` holds
    attributes of the trace, for example ``mode``.
    """
    along = np.asarray(x, dtype=float)
    if band:
        low, high = band
        figure.add_scatter(
            x=np.concatenate((along, along[::-1])), y=np.concatenate((high, np.flip(low))),
            fill="toself", line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False,
            legendgroup=name, visible=trace.get("visible", True),
        )  # fmt: skip
    plain = {"name": escape(name, quote=False), "mode": "lines", "line_width": 2,
             "hovertemplate": "%{y:.4f}"}  # fmt: skip
    if along.size == 1:
        trace["mode"] = "markers"  # a line would be invisible
    figure.add_scatter(x=along, y=np.asarray(y, dtype=float), legendgroup=name, **plain | trace)


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """Return the page as HTML; equal sections give equal text."""
    folder = files("matchenv.benchmarks.report")
    style, script = ((folder / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    _paint(block.content for section in sections for block in section.blocks)
    links = "".join(
        f'<li><a href="#s{i}">{escape(section.title)}</a></li>'
        for i, section in enumerate(sections)
    )
    # By default pandas truncates long texts.
    with pd.option_context("display.max_colwidth", None):
        body = "\n".join(_section(section, f"s{i}") for i, section in enumerate(sections))
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
    """Give each name the same colour and symbol in all figures of a page."""
    numbers = {name: number for number, name in enumerate(KNOWN)}
    figures = (content for content in contents if isinstance(content, go.Figure))
    for trace in (trace for figure in figures for trace in figure.data):
        if trace.type == "heatmap":  # has a scale of colours
            continue
        number = numbers.setdefault(trace.legendgroup or trace.name, len(numbers))
        colour, symbol = COLOURS[number % len(COLOURS)], SYMBOLS[number % len(SYMBOLS)]
        dash = trace.line.dash or DASHES[number % len(DASHES)]
        trace.update(line={"color": colour, "dash": dash}, marker={"color": colour})
        if "markers" in trace.mode:
            trace.marker.symbol = symbol
        if trace.fill:
            trace.fillcolor = f"rgba{(*hex_to_rgb(colour), 0.18)}"


def _section(section: Section, name: str) -> str:
    html = f'<section id="{name}"><h2>{escape(section.title)}</h2>\n<p>{escape(section.lead)}</p>'
    for i, (title, content, note) in enumerate(section.blocks):
        heading = f"<h3>{escape(title)}</h3>"
        heading += f'<p class="note">{escape(note)}</p>' if note else ""
        if isinstance(content, pd.DataFrame):
            table = content.to_html(index=False, border=0)
            html += f'\n{heading}<div class="scroll">{table}</div>'
        else:
            chart = content.to_html(
                full_html=False, include_plotlyjs=False, div_id=f"{name}c{i}", config=CONFIG,
                default_height=LEAST_HEIGHT,
            )  # fmt: skip
            html += f"\n<figure>{heading}{chart}</figure>"
    for summary, values in (("Settings", section.settings), ("Versions", section.versions)):
        if values:
            rows = pd.DataFrame([(str(key), str(value)) for key, value in values.items()])
            table = rows.to_html(index=False, header=False, border=0)
            html += f"\n<details><summary>{summary}</summary>{table}</details>"
    return f"{html}\n</section>"


def latex_summary(sections: Sequence[Section]) -> str:
    r"""Return LaTeX for ``\input`` in a paper's appendix: the first table of each section."""
    lines = [
        r"% Written by matchenv report --latex. It needs \usepackage{booktabs}.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
    ]
    for section in sections:
        lines.append(rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}")
        about = {**section.settings, **(section.versions or {})}
        lines.append(escaped(", ".join(f"{name} {value}" for name, value in about.items())))
        label = re.sub(r"[^\w-]+", "-", section.title)
        tables = (block for block in section.blocks if isinstance(block.content, pd.DataFrame))
        lines.append(latex_table(next(tables), label))
    return "\n".join([*lines, "}"]) + "\n"


def latex_table(block: Block, label: str = "results") -> str:
    """Return a table in LaTeX with booktabs, captioned with title and note, labelled ``tab:LABEL``.

    Columns that do not fit on the page follow below, with the first column repeated.
    """
    cells = block.content
    assert isinstance(cells, pd.DataFrame)
    # Duplicate headings are passed as an argument, which pandas reads as format strings.
    headings = [re.sub("[{}]", r"\g<0>\g<0>", escaped(str(name))) for name in cells]
    texts = cells.set_axis(range(len(headings)), axis=1).map(escaped)
    widths = [2 + max([len(str(name)), *map(len, column)]) for name, column in cells.items()]
    groups: list[list[int]] = [[0]]
    for column, width in enumerate(widths[1:], 1):
        if len(groups[-1]) > 1 and sum(widths[k] for k in groups[-1]) + width > LINE:
            groups.append([0])
        groups[-1].append(column)
    tables = [
        texts[group].to_latex(
            index=False, escape=False, header=[headings[k] for k in group],
            column_format=f"@{{}}l{'r' * (len(group) - 1)}@{{}}",
        )
        for group in groups
    ]  # fmt: skip
    text = ". ".join(filter(None, (block.title, block.note)))
    caption = rf"\caption{{{escaped(text)}}}\label{{tab:{label}}}"
    return (f"\\begin{{table}}[htbp]\\centering\\footnotesize\n{caption}\n"
            + "\\\\[4pt]\n".join(tables) + r"\end{table}")  # fmt: skip


def escaped(text: str) -> str:
    """Escape a text for LaTeX."""
    return MINUS.sub("$-$", text.translate(SPECIAL))
