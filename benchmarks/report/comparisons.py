"""Comparisons, tunings, bounds and optima on the page, and the reading of result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.benchmarks.compare.comparison import columns as standing_columns
from matchenv.benchmarks.limits.optimum import OPTIMUM
from matchenv.benchmarks.report.page import (
    HIDDEN_AT_FIRST,
    Block,
    Section,
    add_line,
    new_figure,
    pivot,
    points,
    table_of,
    texts_of,
)
from matchenv.envs import part_of
from matchenv.evaluation.estimates import Estimate, Record, recorded
from matchenv.evaluation.protocols import HIGH_END, LOW_END, Protocol, Shown
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number, read_json

DIFFERENCES = ("difference", "belief_difference")
AHEAD = "Above the dotted line a policy is ahead of {}. Names in grey are hidden."


def json_of(file: Path) -> Any:
    """Return the content of a JSON file: mappings as records, with estimates among them.

    Raises:
        ValueError: for a damaged one; it says what to do.
    """
    try:
        return recorded(read_json(file))
    except ValueError as error:
        raise ValueError(f"{file} is damaged, run its command again: {error}") from None


def rows_of(file: Path) -> pd.DataFrame:
    """Return a CSV file as texts, where the four columns of an estimate are one.

    Raises:
        ValueError: for a damaged one; it says what to do.
    """
    try:
        found = pd.read_csv(file, dtype=str, keep_default_na=False)
        names = list(found)
        for place in (place for place, name in enumerate(names) if name.endswith("low")):
            four = names[place - 2 : place + 2]
            estimates = [Estimate(*map(number, row)) for row in found[four].to_numpy()]
            found = found.drop(columns=four).assign(**{four[0].removesuffix("_mean"): estimates})
        return found
    except ValueError as error:
        raise ValueError(f"{file} is damaged, run its command again: {error}") from None


def read_standings(folder: Path) -> tuple[Record, list[Record]]:
    """Return the content of a comparison's file, and its standings, each with its cell's title."""
    found = json_of(folder / "comparison.json")
    titles = {tuple(each.labels.items()): each.title for each in found["cells"].values()}
    return found, [Record(each, title=titles[tuple(each.cell.items())]) for each in found.standings]


def compare_section(folder: Path) -> Section:
    """Return the section of ``matchenv compare``."""
    found, standings = read_standings(folder)
    against = found.against
    kind: Protocol = part_of(found.env, "protocol")
    known = kind.shown or [
        Shown(name, name.replace("_", " ")) for name, value in standings[0].items()
        if isinstance(value, Estimate) and name not in DIFFERENCES
    ]  # fmt: skip
    judged = {each.measure: each.heading for each in known}[kind.measure]
    differences = [
        (each.policy, each.title, each.difference) for each in standings if each.policy != against
    ]
    less = points(f"{judged} minus that of {against}", differences, level=(0.0, against),
                  hidden=HIDDEN_AT_FIRST)  # fmt: skip
    totals = points(
        f"{judged} of an episode",
        [(each.policy, each.title, each[kind.measure]) for each in standings],
    )
    blocks = [
        Block(f"Difference to {against}", less, AHEAD.format(against)),
        Block(judged.capitalize(), totals, "Intervals are unpaired here, and so much wider."),
    ]
    if {"wait", "true_match_quality"} <= standings[0].keys():
        front = new_figure("mean wait, in ticks", "true match quality")
        for policy in sorted({each.policy for each in standings}):
            mine = [each for each in standings if each.policy == policy]
            waits = [each.wait.mean for each in mine]
            qualities = [each.true_match_quality.mean for each in mine]
            add_line(front, policy, waits, qualities, mode="lines+markers")
        blocks.append(Block("Quality against waiting", front, "A policy's points are the loads."))
    columns = (Column("cell", "{title}"), *standing_columns(against, kind, known, timing=False))
    blocks.append(Block("All measures", table_of(columns, standings)))
    return Section(
        title=f"compare: {folder.name}",
        lead=(
            f"Every policy played the same {found.episodes:,} episodes of {found.env} in "
            f"each cell; differences to {against} are paired, their intervals of "
            f"{100 * found.confidence:.0f} %."
        ),
        settings={"seed": found.seed, "against": against, **found.environment},
        versions=found.versions,
        blocks=blocks,
        summary=Block(
            f"{judged.capitalize()} minus that of {against}", pivot("cell", differences, 1)
        ),
    )


def tune_section(folder: Path) -> Section:
    """Return the section of ``matchenv tune``."""
    tried, best = rows_of(folder / "tuning.csv"), json_of(folder / "best.json")
    settings = json_of(folder / "settings.json")
    lead = [each.times(-1.0) for each in tried["behind"]]
    verdicts = [
        "best" if best == "True" else each.verdict
        for best, each in zip(tried.pop("best"), lead, strict=True)
    ]
    tried = tried.assign(verdict=verdicts).rename(columns={"total": settings.measure})
    # Names are those of the cells here, since there are many policies.
    figure = points(
        f"{settings.measure} of an episode, behind the best of the family",
        zip(tried["cell"], tried["policy"], lead, strict=True),
        level=(0.0, "the best"),
    )
    blocks = [
        Block("Behind the best of the family", figure),
        Block("All that was tried", texts_of(tried, 2)),
    ]
    if (folder / "front.csv").is_file():
        front = new_figure("mean wait, in ticks", "true match quality")
        table = pd.read_csv(folder / "front.csv")
        for (load, family), line in (
            table[table["best"]].sort_values("wait").groupby(["load", "family"], sort=False)
        ):
            name = f"{family}, {load}"
            add_line(front, name, line["wait"], line["quality"], mode="lines+markers")
        blocks.append(Block("Quality against waiting", front, "The best of each family and load."))
    chosen = [(family, cell, policy) for cell, found in best.items()
              for family, policy in found.items()]  # fmt: skip
    return Section(
        title=f"tune: {folder.name}",
        lead=(
            f"Options of policies on the same {settings.episodes:,} episodes of "
            f"{settings.env} in each cell, on seeds of their own."
        ),
        settings={"seed": settings.seed, **settings.environment},
        blocks=blocks,
        summary=Block("The best of each family", pivot("cell", chosen)),
    )


def bound_section(folder: Path) -> Section:
    """Return the section of ``matchenv limits``."""
    found = json_of(folder / "bound.json")
    rows = [
        Record({"cell": cell.title, **policy, "bound": cell.bound, HIGH_END: cell.oracle})
        for cell in found.cells
        for policy in cell.policies
    ]  # fmt: skip
    totals = [
        (name or row.policy, row.cell, row[key])
        for name, key in (("bound", "bound"), (HIGH_END, HIGH_END), ("", "true_q"))
        for row in rows
    ]
    room = [(row.policy, row.cell, row.room) for row in rows]
    return Section(
        title=f"bound: {folder.name}",
        lead=(
            f"What no policy can exceed, from {found.episodes:,} sample paths of each cell, "
            "beside policies on the same instances. Room is the bound minus the true q of a "
            f"policy; shares are of the distance from {LOW_END} to the bound and the oracle."
        ),
        settings={"seed": found.seed, "depth": found.depth, **found.environment},
        versions=found.versions,
        blocks=[
            Block("The bound above the policies", points("true q of an episode", totals)),
            Block("Room below the bound", texts_of(pd.DataFrame(rows), 2)),
        ],
        summary=Block("The bound minus true q", pivot("cell", room, 1)),
    )


def optimum_section(folder: Path) -> Section:
    """Return the section of ``matchenv limits optimum``."""
    found = json_of(folder / "optimum.json")
    first = found.problems[0]
    sizes = {f"{each.num_opponents} opponents, {each.horizon} games": each
             for each in found.problems}  # fmt: skip
    gaps = [(loss.policy, size, loss.gap) for size, each in sizes.items() for loss in each.losses
            if loss.policy != OPTIMUM]  # fmt: skip
    what = "believed q minus the optimum's"
    return Section(
        title=f"optimum: {folder.name}",
        lead=(
            f"The exact optimum under the belief, and what policies lose, on "
            f"{first.episodes:,} instances of each size."
        ),
        settings={name: first[name] for name in ("seed", "truths", "rank", "beta", "draw_margin")},
        versions=found.versions,
        blocks=[
            Block("Below the optimum", points(what, gaps)),
            *(Block(f"{size}, {each.belief} belief",
                    texts_of(pd.DataFrame(each.losses), 4))
              for size, each in sizes.items()),
        ],
        summary=Block(what.capitalize(), pivot("size", gaps, 4)),
    )  # fmt: skip
