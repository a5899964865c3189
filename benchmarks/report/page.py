"""The page: one file that holds everything it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from matchenv.benchmarks.report.section import Chart, Section, Table
from matchenv.evaluation.tables import table_cells

# What a cell with a number in it begins with.
NUMBER = re.compile(r"[-+±]?\d|-$|nan|\*\*\d")
CONFIG = {"responsive": True, "displayModeBar": False}
# Longer texts of a cell go over several lines.
LONG = 60


def page_text(sections: Sequence[Section], title: str = "Results of matchenv") -> str:
    """The whole page as HTML: the same sections give the same text.

    Args:
        sections: what it shows, in their order.
        title: its heading.
    """
    style, script = (_file(f"page.{kind}") for kind in ("css", "js"))
    links = "".join(
        f'<li><a href="#s{place}">{escape(each.title)}</a></li>'
        for place, each in enumerate(sections)
    )
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
    yield f'<section id="{name}">'
    yield f"<h{level}>{escape(section.title)}</h{level}>"
    yield f"<p>{escape(section.lead)}</p>"
    for place, chart in enumerate(section.charts):
        yield from _chart(chart, f"{name}c{place}")
    for table in section.tables:
        yield from _table(table)
    for summary, values in (("Settings", section.settings), ("Versions", section.versions)):
        if values:
            rows = "".join(
                f"<tr><th scope=row>{escape(str(key))}</th><td>{escape(str(value))}</td></tr>"
                for key, value in values.items()
            )
            yield f"<details><summary>{summary}</summary><table>{rows}</table></details>"
    for place, part in enumerate(section.parts):
        yield f"<details><summary>{escape(part.title)}</summary>"
        yield from _section(part, f"{name}p{place}", 3)
        yield "</details>"
    yield "</section>"


def _chart(chart: Chart, name: str) -> Iterator[str]:
    yield f"<figure><h3>{escape(chart.title)}</h3>"
    if chart.note:
        yield f'<p class="note">{escape(chart.note)}</p>'
    drawn: str = chart.figure.to_html(
        full_html=False, include_plotlyjs=False, div_id=name, config=CONFIG
    )
    yield f'<div class="chart">{drawn}</div></figure>'


def _table(table: Table) -> Iterator[str]:
    headings, *rows = table_cells(table.columns, table.rows)
    numbers = [
        bool(rows) and all(not row[place] or NUMBER.match(row[place]) for row in rows)
        for place in range(len(headings))
    ]
    kinds = [' class="number"' if number else "" for number in numbers]
    yield f'<h3>{escape(table.title)}</h3><div class="scroll"><table><thead><tr>'
    for kind, heading in zip(kinds, headings, strict=True):
        yield f'<th scope="col"{kind}><button type="button">{escape(heading)}</button></th>'
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(map(_cell, kinds, row)) + "</tr>"
    yield "</tbody></table></div>"


def _cell(kind: str, text: str) -> str:
    # The style sheet colours verdicts by their names.
    word = "long" if len(text) > LONG else text if text.isalpha() and text.islower() else ""
    classes = kind or (f' class="{word}"' if word else "")
    return f"<td{classes}>{escape(text)}</td>"


def _file(name: str) -> Any:
    return (files("matchenv.benchmarks.report") / name).read_text(encoding="utf-8")
