"""A judgement of a log and its matcher on the page."""

from __future__ import annotations

from pathlib import Path

from matchenv.benchmarks.judge.text import TITLES, conclusion, tables_of
from matchenv.benchmarks.report.comparisons import json_of
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    new_figure,
    page_text,
    points,
    table_of,
)
from matchenv.evaluation.estimates import Record
from matchenv.runtime.files import number


def judge_page(found: Record) -> str:
    """Return the page of one judgement."""
    return page_text([_section(found, found.name)], f"The matcher of {found.name}")


def judge_section(folder: Path) -> Section:
    """Return the section of ``matchenv judge``."""
    return _section(json_of(folder / "judge.json"), folder.name)


def _section(found: Record, name: str) -> Section:
    evenness, against, ours = found.evenness, found.against, found.ours
    groups = [
        (label, TITLES[each.group], each[key])
        for label, key in (("believed", "believed"), ("in hindsight", "hindsight"))
        for each in evenness.groups
    ]
    strangers = (number(evenness.strangers), "sides that meet at random")
    front = new_figure(
        "difference in mean wait, in minutes", "difference in true match quality",
        [(against, [0.0], [0.0]),
         *((each.policy, [each.wait.mean], [each.quality.mean]) for each in found.contests)],
        "markers",
    )  # fmt: skip
    payers = points(
        "difference in true match quality",
        [(ours, TITLES[each.group], each.quality) for each in found.who_pays],
        x="players",
        level=(0.0, against),
    )
    figures = (
        Block("Games by who played them", points("match quality", groups, x="players",
                                                 level=strangers),
              "Newcomers are in their first ten games; tenths are by skill, the weakest first."),
        Block("Quality against waiting", front, f"Both minus {against}."),
        Block("Quality by group of players", payers, f"{ours} minus {against}."),
    )  # fmt: skip
    tables = [
        Block(title, table_of(columns, rows), note)
        for title, (columns, rows, note) in tables_of(found).items()
    ]
    said = [
        conclusion(found).rstrip("."),
        f"{found.games:,} games of {found.players:,} players",
        *(f"Note: {note}" for note in found.notes),
        f"Intervals are of {100 * found.confidence:.0f} %; ahead is good for the players",
    ]
    return Section(
        title=f"judge: {name}",
        lead=". ".join(said) + ".",
        settings={**found.parameters, "seed": found.seed, **found.load, **found.environment},
        blocks=[*(each for each in figures if each.content.data), *tables],
        versions=found.versions,
    )
