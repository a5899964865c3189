"""Section of a judgement of a match log and its matcher."""

from __future__ import annotations

import plotly.graph_objects as go

from matchenv.benchmarks.judge.text import TITLES, conclusion, tables_of
from matchenv.benchmarks.report.charts import Curve, NamedValue, new_figure, points
from matchenv.benchmarks.report.page import Block, Section, table_of
from matchenv.evaluation.estimates import Record
from matchenv.runtime.files import number

GROUPS_NOTE = "Newcomers are in their first ten games; tenths are by skill, lowest first."


def judge_section(judgement: Record, name: str) -> Section:
    """Return the section of ``matchenv judge``.

    Args:
        judgement: the content of ``judge.json``.
        name: name of the folder.
    """
    against = judgement.against
    blocks = [
        Block("Match quality by group of players", _chart_of_groups(judgement), GROUPS_NOTE),
        Block("Quality against waiting", _chart_of_matchers(judgement), f"Both minus {against}."),
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
    """Return the chart of the differences in quality and waiting, a point for each matcher."""
    matchers = [Curve(judgement.against, [0.0], [0.0])]
    for row in judgement.contests:
        matchers.append(Curve(row.policy, [row.wait.mean], [row.quality.mean]))
    x = "difference in mean wait, in minutes"
    return new_figure(x, "difference in true match quality", matchers, "markers")


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
