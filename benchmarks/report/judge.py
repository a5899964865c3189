"""A judgement of a log and its matcher on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from matchenv.benchmarks.judge.text import (
    CONTESTS,
    GAINS,
    GAMES,
    PAYERS,
    TITLES,
    Row,
    conclusion,
    favourites_text,
    likeness_text,
    load_text,
    of,
    standing_columns,
)
from matchenv.benchmarks.report.comparisons import json_of
from matchenv.benchmarks.report.page import (
    Chart,
    Palette,
    Section,
    Table,
    add_level,
    new_figure,
    page_text,
    points,
)
from matchenv.runtime.files import number


def judge_page(found: Row) -> str:
    """Return the page of one judgement, given as its ``judge.json`` has it."""
    section = _section(found, found["name"])
    return page_text(
        [replace(section, parts=()), *section.parts], f"The matcher of {found['name']}"
    )


def judge_section(folder: Path, _: Palette) -> Section:
    """Return what ``matchenv judge`` found; its groups of players are no policies."""
    return _section(json_of(folder / "judge.json"), folder.name)


def _section(found: Row, name: str) -> Section:
    palette, evenness = Palette(()), found["evenness"]
    games = Table.of("How even were the games?", GAMES, evenness["groups"])
    said = [
        conclusion(found).rstrip("."),
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
    shown = {
        label: {TITLES[each["group"]]: of(each, key) for each in evenness["groups"]}
        for label, key in (("believed", "believed"), ("in hindsight", "hindsight"))
    }
    level = (number(evenness["strangers"]), "sides that meet at random")
    note = "Newcomers are in their first ten games; tenths are by skill, the weakest first."
    figure = points(palette, "match quality", shown, x="players", level=level)
    return Chart("Games by who played them", figure, note)


def _matchers(found: Row, name: str, palette: Palette) -> Section:
    load, against = found["load"], found["against"]
    figure = new_figure("difference in mean wait, in minutes", "difference in true match quality")
    for each in found["contests"]:
        quality, wait = of(each, "quality"), of(each, "wait")
        colour, symbol, _ = palette.of(each["policy"])
        figure.add_scatter(
            name=each["policy"], x=[wait.mean], y=[quality.mean], mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_x={"type": "data", "array": [wait.half_width]},
            error_y={"type": "data", "array": [quality.half_width]},
        )  # fmt: skip
    add_level(figure, 0.0, against)
    add_level(figure, 0.0, axis="x")
    contests = Table.of(f"Minus {against}", CONTESTS, found["contests"])
    tables = [
        Table.of("All matchers", standing_columns(load["tick_minutes"]), found["standings"]),
        contests,
        Table.of("How much would learning have gained?", GAINS, found["learning"]),
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
        charts=[Chart("Quality against waiting", figure, f"Both minus {against}.")],
        tables=[each for each in tables if len(each.cells)],
        summary=contests,
    )


def _payers(found: Row, name: str, palette: Palette) -> Section:
    rows = found["who_pays"]
    figure = points(
        palette, "difference in true match quality",
        {found["ours"]: {TITLES[each["group"]]: of(each, "quality") for each in rows}},
        x="players", level=(0.0, found["against"]),
    ) if rows else None  # fmt: skip
    table = Table.of(f"{found['ours']} minus {found['against']}", PAYERS, rows)
    return Section(
        kind="who pays",
        folder=name,
        lead=f"What {found['ours']} in place of {found['against']} would mean for whom.",
        settings={},
        versions={},
        charts=[Chart("Quality by group of players", figure)] if figure else [],
        tables=[table] if rows else [],
        summary=table,
    )
