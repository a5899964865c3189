"""Section of a judgement of a match log and its matcher."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from matchenv.benchmarks.judge.text import TITLES, conclusion, tables_of
from matchenv.benchmarks.report.charts import (
    GREY,
    LEVEL,
    REFERENCE,
    Curve,
    NamedValue,
    add_curve,
    new_figure,
    points,
)
from matchenv.benchmarks.report.page import Block, Section, table_of
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.runtime.files import number

GROUPS_NOTE = "Newcomers are in their first ten games; tenths are by skill, lowest first."


def judge_section(judgement: Record, name: str) -> Section:
    """Return the section of ``matchenv judge``.

    Args:
        judgement: the content of ``judge.json``.
        name: name of the folder.
    """
    blocks = [
        Block("Match quality by group of players", _chart_of_groups(judgement), GROUPS_NOTE),
        Block("Quality against waiting", _chart_of_matchers(judgement), _note_of_front(judgement)),
    ]
    for title, (columns, rows, note) in tables_of(judgement).items():
        blocks.append(Block(title, table_of(columns, rows), note))
    load = {name: value for name, value in judgement.load.items() if not isinstance(value, list)}
    return Section(
        title=f"judge: {name}",
        lead=_lead(judgement),
        settings={**judgement.parameters, "seed": judgement.seed, **load, **judgement.environment},
        blocks=blocks,
        versions=judgement.versions,
    )


def _chart_of_groups(judgement: Record) -> go.Figure:
    """Return the chart of match quality by group, with that of random pairs of sides."""
    groups = judgement.evenness.groups
    values = [NamedValue("believed", TITLES[row.group], row.believed) for row in groups]
    values += [NamedValue("in hindsight", TITLES[row.group], row.hindsight) for row in groups]
    at_random = number(judgement.evenness.strangers)
    return points("match quality", values, level=(at_random, "random pairs of sides"))


def _chart_of_matchers(judgement: Record) -> go.Figure:
    """Return the chart of the differences in quality and waiting, a point for each matcher.

    The present rule, or the matcher in its place, is the star at 0.
    """
    x = "difference in mean wait, in minutes"
    figure = new_figure(x, "difference in true match quality")
    for row in judgement.contests:
        curve = Curve(row.policy, [row.wait.mean], [row.quality.mean])
        add_curve(
            figure,
            curve,
            mode="markers",
            marker_size=9,
            error_x=_error_of(row.wait),
            error_y=_error_of(row.quality),
        )
    figure.add_vline(0.0, line=LEVEL["line"])
    figure.add_hline(0.0, line=LEVEL["line"])
    figure.add_scatter(
        x=[0.0],
        y=[0.0],
        name=_name_of_present(judgement),
        mode="markers",
        marker={"size": 18, "symbol": "star", "color": GREY},
        meta=REFERENCE,
        legendrank=1,
    )
    return figure


def _name_of_present(judgement: Record) -> str:
    """Return the name of the matcher that the others are compared with."""
    if judgement.has_rule:
        return f"present rule: {judgement.against}"
    return f"in place of the unknown rule: {judgement.against}"


def _note_of_front(judgement: Record) -> str:
    return (
        f"Both minus {judgement.against}, the star at 0, with "
        f"{100 * judgement.confidence:.0f} % intervals. Higher is more even, left is faster."
    )


def _error_of(difference: Estimate) -> dict[str, Any]:
    """Return Plotly's error bar of an estimate."""
    return {
        "symmetric": False,
        "array": [difference.high - difference.mean],
        "arrayminus": [difference.mean - difference.low],
    }


def _lead(judgement: Record) -> str:
    sentences = [
        conclusion(judgement).rstrip("."),
        f"{judgement.games:,} games of {judgement.players:,} players",
    ]
    for note in judgement.notes:
        sentences.append(f"Note: {note}")
    sentences.append(
        f"Intervals are {100 * judgement.confidence:.0f} %; ahead means better for the players"
    )
    return ". ".join(sentences) + "."
