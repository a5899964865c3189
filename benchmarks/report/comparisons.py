"""Comparisons, bounds and optima on the page, and what reads their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.benchmarks.compare.report import Standing
from matchenv.benchmarks.compare.report import columns as standing_columns
from matchenv.benchmarks.limits.optimum import OPTIMUM
from matchenv.benchmarks.report.page import (
    HIDDEN_AT_FIRST,
    Chart,
    Palette,
    Section,
    Table,
    add_line,
    new_figure,
    points,
    short_text,
)
from matchenv.envs import part_of
from matchenv.envs.one_player.priors import DEFAULT_PRIOR
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.cells import Cell, Variant, cells_of
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.protocols import HIGH_END, LOW_END, Protocol, Shown
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import read_json
from matchenv.runtime.object_spec import is_object_spec

Record = Mapping[str, Any]
AHEAD = "Above the dotted line a policy is ahead of {}. Names in grey are hidden."


def json_of(file: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        ValueError: for a damaged one; it says what to do.
    """
    try:
        return read_json(file)
    except ValueError as error:
        raise ValueError(f"{file} is damaged, run its command again: {error}") from None


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file as texts, by the names of its columns."""
    try:
        return pd.read_csv(file, dtype=str, keep_default_na=False).to_dict("records")
    except ValueError as error:
        raise ValueError(f"{file} is damaged, run its command again: {error}") from None


def cell_of(record: Record, num_opponents: int) -> Cell:
    """Return the cell of a record's rank and prior; imports nothing that it names."""
    prior = record["prior"]
    named = DEFAULT_PRIOR if is_object_spec(prior) else prior
    by = record.get("rank_by", Settings.rank_by)
    return replace(cells_of((record["rank"],), (named,), num_opponents, by)[0], prior=prior)


def estimate_of(record: Record, name: str) -> Estimate:
    """Return one estimate of a record."""
    return Estimate.from_plain(record[name])


def nested(rows: Iterable[tuple[str, str, Estimate]]) -> dict[str, dict[str, Estimate]]:
    """Return estimates by name and category."""
    found: dict[str, dict[str, Estimate]] = {}
    for name, category, value in rows:
        found.setdefault(name, {})[category] = value
    return found


def compare_section(folder: Path, palette: Palette, name: str | None = None) -> Section:
    """Return what ``matchenv compare`` found, under the folder's name or another one."""
    found, standings = read_standings(folder)
    against, environment = found["against"], found["environment"]
    kind: Protocol = part_of(found["env"], "protocol")
    known = kind.shown or [Shown(each, each.replace("_", " ")) for each in standings[0].measures]
    judged = {each.measure: each.heading for each in known}[kind.measure]
    rivals = [each for each in standings if each.policy != against]
    differences = points(
        palette, f"{judged} minus that of {against}",
        nested((each.policy, each.cell.title, each.difference) for each in rivals),
        level=(0.0, against), hidden=HIDDEN_AT_FIRST,
    )  # fmt: skip
    totals = points(
        palette, f"{judged} of an episode",
        nested((each.policy, each.cell.title, each.measures[kind.measure]) for each in standings),
    )  # fmt: skip
    charts = [
        Chart(f"Difference to {against}", differences, AHEAD.format(against)),
        Chart(judged.capitalize(), totals, "Intervals are unpaired here, and so much wider."),
    ]
    if {"wait", "true_match_quality"} <= standings[0].measures.keys():
        charts.append(_front(standings, palette))
    columns = (
        Column("cell", lambda s: s.cell.title),
        *standing_columns(against, kind, known, timing=False),
    )
    return Section(
        kind="compare",
        folder=name or folder.name,
        lead=(
            f"Every policy played the same {found['episodes']:,} episodes of {found['env']} in "
            f"each cell; differences to {against} are paired, their intervals of "
            f"{100 * found['confidence']:.0f} %."
        ),
        settings={"seed": found["seed"], "against": against, **environment},
        versions=found["versions"],
        charts=charts,
        tables=[Table.of("All measures", columns, standings)],
        summary=Table.pivot(
            f"{judged.capitalize()} minus that of {against}", "cell",
            {(s.cell.title, s.policy): short_text(s.difference, 1) for s in rivals},
        ),
    )  # fmt: skip


def _front(standings: Iterable[Standing], palette: Palette) -> Chart:
    """Return the chart of waits and qualities in the queue."""
    front = new_figure("mean wait, in ticks", "true match quality")
    for policy in sorted({each.policy for each in standings}):
        waits, qualities = (
            [each.measures[name].mean for each in standings if each.policy == policy]
            for name in ("wait", "true_match_quality")
        )
        add_line(front, palette, policy, waits, qualities, mode="lines+markers")
    return Chart("Quality against waiting", front, "A policy's points are the loads.")


def read_standings(folder: Path) -> tuple[dict[str, Any], list[Standing]]:
    """Return the content of a comparison's file, and its standings."""
    found = json_of(folder / "comparison.json")
    cells = {tuple(each["labels"].items()): Variant(name, each["title"], each["labels"])
             for name, each in found["cells"].items()}  # fmt: skip
    return found, [Standing.from_plain(each, cells[tuple(each["cell"].items())])
                   for each in found["standings"]]  # fmt: skip


def bound_section(folder: Path, palette: Palette) -> Section:
    """Return what ``matchenv limits`` found."""
    found = json_of(folder / "bound.json")
    environment = found["environment"]
    rows = [
        {"cell": cell_of(cell, environment["num_opponents"]).title, **policy,
         "bound": cell["bound"], HIGH_END: cell["oracle"]}
        for cell in found["cells"]
        for policy in cell["policies"]
    ]  # fmt: skip
    totals = [
        (name or row["policy"], row["cell"], estimate_of(row, key))
        for name, key in (("bound", "bound"), (HIGH_END, HIGH_END), ("", "true_q"))
        for row in rows
    ]
    return Section(
        kind="bound",
        folder=folder.name,
        lead=(
            f"What no policy can exceed, from {found['episodes']:,} sample paths of each cell, "
            "beside policies on the same instances. Room is the bound minus the true q of a "
            f"policy; shares are of the distance from {LOW_END} to the bound and the oracle."
        ),
        settings={**{name: found[name] for name in ("seed", "depth")}, **environment},
        versions=found["versions"],
        charts=[
            Chart("The bound above the policies",
                  points(palette, "true q of an episode", nested(totals)))
        ],
        tables=[Table.of_records("Room below the bound", rows, 2)],
        summary=Table.pivot(
            "The bound minus true q", "cell",
            {(row["cell"], row["policy"]): short_text(estimate_of(row, "room"), 1) for row in rows},
        ),
    )  # fmt: skip


def optimum_section(folder: Path, palette: Palette) -> Section:
    """Return what ``matchenv limits optimum`` found."""
    found = json_of(folder / "optimum.json")
    problems, first = found["problems"], found["problems"][0]
    sizes = [f"{each['num_opponents']} opponents, {each['horizon']} games" for each in problems]
    gaps = [
        (loss["policy"], size, estimate_of(loss, "gap"))
        for size, problem in zip(sizes, problems, strict=True)
        for loss in problem["losses"]
        if loss["policy"] != OPTIMUM
    ]
    what = "believed q minus the optimum's"
    return Section(
        kind="optimum",
        folder=folder.name,
        lead=(
            f"The exact optimum under the belief, and what policies lose, on "
            f"{first['episodes']:,} instances of each size."
        ),
        settings={name: first[name] for name in ("seed", "truths", "rank", "beta", "draw_margin")},
        versions=found["versions"],
        charts=[Chart("Below the optimum", points(palette, what, nested(gaps)))],
        tables=[
            Table.of_records(f"{size}, {problem['belief']} belief", problem["losses"], 4)
            for size, problem in zip(sizes, problems, strict=True)
        ],
        summary=Table.pivot(
            what.capitalize(),
            "size",
            {(size, name): short_text(gap, 4) for name, size, gap in gaps},
        ),
    )
