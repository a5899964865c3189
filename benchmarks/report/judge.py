"""A judgement of a log and its matcher on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from matchenv.benchmarks.judge.columns import (
    CONTESTS,
    GAINS,
    GAMES,
    PAYERS,
    TITLES,
    Row,
    of,
    standing_columns,
)
from matchenv.benchmarks.judge.text import favourites_text, likeness_text, load_text
from matchenv.benchmarks.report.charts import (
    Palette,
    add_level,
    add_points,
    new_figure,
    spread_points,
)
from matchenv.benchmarks.report.page import page_text
from matchenv.benchmarks.report.reading import json_of
from matchenv.benchmarks.report.section import Chart, Section, Table
from matchenv.runtime.files import number

FILE = "judge.json"


def judge_page(content: bytes) -> str:
    """The page of one judgement.

    Args:
        content: of its ``judge.json``.
    """
    found = json.loads(content)
    section = _section(found, found["name"])
    return page_text(
        [replace(section, parts=()), *section.parts], f"The matcher of {found['name']}"
    )


def judge_section(folder: Path, _: Palette) -> Section:
    """What ``matchenv judge`` found; its groups of players are no policies."""
    return _section(json_of(folder / FILE), folder.name)


def _section(found: Row, name: str) -> Section:
    palette, evenness = Palette(()), found["evenness"]
    games = Table("How even were the games?", GAMES, evenness["groups"])
    said = [
        f"{found['games']:,} games of {found['players']:,} players. Match quality is 1 between "
        "equal known skills; it is what was believed before each game, and what all games say in "
        "hindsight",
        favourites_text(evenness["favourites"]),
        *found["notes"],
    ]
    return Section(
        kind="judge",
        folder=name,
        lead=". ".join(said) + ".",
        settings={**found["parameters"], "seed": found["seed"]},
        versions=found["versions"],
        charts=[_evenness(evenness, palette)],
        tables=[games],
        summary=games,
        parts=[_matchers(found, name, palette), _payers(found, name, palette)],
    )


def _evenness(evenness: Row, palette: Palette) -> Chart:
    figure = new_figure("players", "match quality")
    groups = evenness["groups"]
    for label, key in (("believed", "believed"), ("in hindsight", "hindsight")):
        add_points(figure, palette, label, [TITLES[each["group"]] for each in groups],
                   [of(each, key) for each in groups])  # fmt: skip
    spread_points(figure)
    add_level(figure, number(evenness["strangers"]), "sides that meet at random")
    note = "Newcomers are in their first ten games; tenths are by skill, the weakest first."
    return Chart("Games by who played them", figure, note)


def _matchers(found: Row, name: str, palette: Palette) -> Section:
    load, against = found["load"], found["against"]
    figure = new_figure("difference in mean wait, in minutes", "difference in true match quality")
    for each in found["contests"]:
        quality, wait = of(each, "quality"), of(each, "wait")
        policy = each["policy"]
        figure.add_scatter(
            name=policy, x=[wait.mean], y=[quality.mean], mode="markers",
            marker={"color": palette.colour(policy), "symbol": palette.symbol(policy), "size": 9},
            error_x={"type": "data", "array": [wait.half_width]},
            error_y={"type": "data", "array": [quality.half_width]},
        )  # fmt: skip
    add_level(figure, 0.0, against)
    add_level(figure, 0.0, axis="x")
    contests = Table(f"Less {against}", CONTESTS, found["contests"])
    tables = [
        Table("All matchers", standing_columns(load["tick_minutes"]), found["standings"]),
        contests,
        Table("How much would learning have gained?", GAINS, found["learning"]),
    ]
    known = "the present one" if found["has_rule"] else "since no rule was given"
    return Section(
        kind="matchers",
        folder=name,
        lead=(
            f"The log's players in a queue. {load_text(load)}. {found['runs']:,} runs of each "
            f"matcher on the same arrivals and noise, against {against}, {known}. Intervals are "
            f"of {100 * found['confidence']:.0f} %; ahead is good for the players. "
            f"{likeness_text(found).capitalize()}."
        ),
        settings={**load, **found["environment"]},
        versions={},
        charts=[Chart("Quality against waiting", figure, f"Both less {against}.")],
        tables=[each for each in tables if each.rows],
        summary=contests,
    )


def _payers(found: Row, name: str, palette: Palette) -> Section:
    figure = new_figure("players", "difference in true match quality")
    rows = found["who_pays"]
    add_points(figure, palette, found["ours"], [TITLES[each["group"]] for each in rows],
               [of(each, "quality") for each in rows])  # fmt: skip
    add_level(figure, 0.0, found["against"])
    table = Table(f"{found['ours']} less {found['against']}", PAYERS, rows)
    return Section(
        kind="who pays",
        folder=name,
        lead=f"What {found['ours']} in place of {found['against']} would mean for whom.",
        settings={},
        versions={},
        charts=[Chart("Quality by group of players", figure)] if rows else [],
        tables=[table] if rows else [],
        summary=table,
    )
