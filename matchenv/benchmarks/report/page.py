"""Pages of sections with figures and tables, as one HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from matchenv.benchmarks.report.charts import LEAST_HEIGHT, NamedValue, paint
from matchenv.benchmarks.report.explorer import Explorer
from matchenv.evaluation.estimates import CONFIDENCE, Estimate
from matchenv.evaluation.tables import Column, table_cells

CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
}


class Block(NamedTuple):
    """A figure, a table of texts or an episode, with a title and an explanatory note."""

    title: str
    content: go.Figure | pd.DataFrame | Explorer
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


def formatted(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Format a table of texts, numbers and estimates as texts, estimates with ``digits``."""

    def cell_text(value: Any) -> str:
        if isinstance(value, Estimate):
            return f"{value:+.{digits}f}"
        if not isinstance(value, float):
            return str(value)
        if math.isnan(value):
            return "-"
        return f"{value:.4g}"

    return table.map(cell_text).rename(columns=lambda name: name.replace("_", " "))


def pivot(title: str, values: Iterable[NamedValue], digits: int = 0) -> Block:
    """Return a table with a column per name and a row per category, in order of appearance.

    Estimates are formatted with ``digits`` decimal places.
    """
    rows: dict[str, dict[str, str]] = {}
    note = ""
    for name, category, value in values:
        row = rows.setdefault(category, {"cell": category})
        if isinstance(value, Estimate):
            row[name] = f"{value.mean:+.{digits}f} ± {value.half_width:.{digits}f}"
            note = f"± is half of a {100.0 * CONFIDENCE:.0f} % interval."
        else:
            row[name] = value
    return Block(title, pd.DataFrame(list(rows.values())).fillna(""), note)


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """Return the page as HTML; equal sections give equal text."""
    folder = files("matchenv.benchmarks.report")
    style = (folder / "page.css").read_text("utf-8")
    script = (folder / "page.js").read_text("utf-8")
    explorer_script = (folder / "explorer.js").read_text("utf-8")
    paint(
        block.content
        for section in sections
        for block in section.blocks
        if isinstance(block.content, go.Figure)
    )
    links = []
    bodies = []
    # By default pandas truncates long texts.
    with pd.option_context("display.max_colwidth", None):
        for number, section in enumerate(sections):
            links.append(f'<li><a href="#s{number}">{escape(section.title)}</a></li>')
            bodies.append(_section_html(section, f"s{number}"))
    body = "\n".join(bodies)
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
<nav><ul>{"".join(links)}</ul></nav>
{body}
<script>
{script}{explorer_script}</script>
</body>
</html>
"""


def _section_html(section: Section, identifier: str) -> str:
    lines = [
        f'<section id="{identifier}"><h2>{escape(section.title)}</h2>',
        f"<p>{escape(section.lead)}</p>",
    ]
    for number, block in enumerate(section.blocks):
        lines.append(_block_html(block, f"{identifier}c{number}"))
    if section.settings:
        lines.append(_details_html("Settings", section.settings))
    if section.versions:
        lines.append(_details_html("Versions", section.versions))
    lines.append("</section>")
    return "\n".join(lines)


def _block_html(block: Block, identifier: str) -> str:
    heading = f"<h3>{escape(block.title)}</h3>"
    if block.note:
        heading += f'<p class="note">{escape(block.note)}</p>'
    if isinstance(block.content, pd.DataFrame):
        table = block.content.to_html(index=False, border=0)
        return f'{heading}<div class="scroll">{table}</div>'
    if isinstance(block.content, Explorer):
        return heading + _explorer_html(block.content)
    chart = block.content.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=identifier,
        config=CONFIG,
        default_height=LEAST_HEIGHT,
    )
    label = escape(f"{block.title}: {block.content.layout.yaxis.title.text or 'policies'} against ")
    label += escape(str(block.content.layout.xaxis.title.text))
    return f'<figure role="group" aria-label="{label}">{heading}{chart}</figure>'


LEGEND = {
    "player": "player 0",
    "opponent": "chosen opponents, the last one filled",
    "others": "all others, together",
    "truth": "even game",
    "uneven": "uneven game",
}


def _explorer_html(explorer: Explorer) -> str:
    """Return the frame of an episode, which ``explorer.js`` fills."""
    entries = []
    for colour, name in LEGEND.items():
        entries.append(f'<li><i style="background:var(--{colour})"></i>{name}</li>')
    # A script ends at the first "</".
    content = json.dumps(explorer.content, separators=(",", ":")).replace("</", "<\\/")
    return f"""<div class="explorer">
<div class="controls"><button type="button">Play</button>
<input type="range" min="0" value="0" aria-label="game"><output></output></div>
<ul class="legend">{"".join(entries)}</ul>
<div class="panels"></div>
<script type="application/json">{content}</script>
</div>"""


def _details_html(summary: str, values: Mapping[str, Any]) -> str:
    rows = pd.DataFrame([(str(name), str(value)) for name, value in values.items()])
    table = rows.to_html(index=False, header=False, border=0)
    return f"<details><summary>{summary}</summary>{table}</details>"
