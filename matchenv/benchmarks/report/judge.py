"""Section of a judgement of a match log and its matcher."""

from __future__ import annotations

from matchenv.benchmarks.judge.text import TITLES, conclusion, tables_of
from matchenv.benchmarks.report.page import Block, Section, new_figure, points, table_of
from matchenv.evaluation.estimates import Record
from matchenv.runtime.files import number


def judge_section(found: Record, name: str) -> Section:
    """Return the section of ``matchenv judge``, given the content of ``judge.json``."""
    groups = [
        (label, TITLES[row.group], row[key])
        for label, key in (("believed", "believed"), ("in hindsight", "hindsight"))
        for row in found.evenness.groups
    ]
    strangers = (number(found.evenness.strangers), "random pairs of sides")
    matchers = [(row.policy, [row.wait.mean], [row.quality.mean]) for row in found.contests]
    front = new_figure(
        "difference in mean wait, in minutes", "difference in true match quality",
        [(found.against, [0.0], [0.0]), *matchers], "markers",
    )  # fmt: skip
    tables = [
        Block(title, table_of(columns, rows), note)
        for title, (columns, rows, note) in tables_of(found).items()
    ]
    lead = [
        conclusion(found).rstrip("."),
        f"{found.games:,} games of {found.players:,} players",
        *(f"Note: {note}" for note in found.notes),
        f"Intervals are {100 * found.confidence:.0f} %; ahead means better for the players",
    ]
    load = {name: value for name, value in found.load.items() if not isinstance(value, list)}
    return Section(
        title=f"judge: {name}",
        lead=". ".join(lead) + ".",
        settings={**found.parameters, "seed": found.seed, **load, **found.environment},
        blocks=[
            Block("Match quality by group of players",
                  points("match quality", groups, level=strangers),
                  "Newcomers are in their first ten games; tenths are by skill, lowest first."),
            Block("Quality against waiting", front, f"Both minus {found.against}."),
            *tables,
        ],
        versions=found.versions,
    )  # fmt: skip
