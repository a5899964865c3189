"""Comparisons, bounds and optima on the page, and the reading of their files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

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
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.protocols import HIGH_END, LOW_END, Protocol, Shown
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import read_json

DIFFERENCES = ("difference", "belief_difference")
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


def nested(rows: Iterable[tuple[str, str, Estimate]]) -> dict[str, dict[str, Estimate]]:
    """Return estimates by name and category."""
    found: dict[str, dict[str, Estimate]] = {}
    for name, category, value in rows:
        found.setdefault(name, {})[category] = value
    return found


def read_standings(folder: Path) -> tuple[dict[str, Any], list[Record]]:
    """Return the content of a comparison's file, and its standings, each with its cell's title."""
    found = json_of(folder / "comparison.json")
    titles = {tuple(each["labels"].items()): each["title"] for each in found["cells"].values()}
    return found, [
        Record.from_plain({**each, "title": titles[tuple(each["cell"].items())]})
        for each in found["standings"]
    ]


def compare_section(folder: Path, palette: Palette, name: str | None = None) -> Section:
    """Return the section of ``matchenv compare``, under the folder's name or another one."""
    found, standings = read_standings(folder)
    against, environment = found["against"], found["environment"]
    kind: Protocol = part_of(found["env"], "protocol")
    known = kind.shown or [
        Shown(name, name.replace("_", " ")) for name, value in standings[0].items()
        if isinstance(value, Estimate) and name not in DIFFERENCES
    ]  # fmt: skip
    judged = {each.measure: each.heading for each in known}[kind.measure]
    rivals = [each for each in standings if each.policy != against]
    differences = points(
        palette, f"{judged} minus that of {against}",
        nested((each.policy, each.title, each.difference) for each in rivals),
        level=(0.0, against), hidden=HIDDEN_AT_FIRST,
    )  # fmt: skip
    totals = points(
        palette, f"{judged} of an episode",
        nested((each.policy, each.title, each[kind.measure]) for each in standings),
    )  # fmt: skip
    charts = [
        Chart(f"Difference to {against}", differences, AHEAD.format(against)),
        Chart(judged.capitalize(), totals, "Intervals are unpaired here, and so much wider."),
    ]
    if {"wait", "true_match_quality"} <= standings[0].keys():
        front = new_figure("mean wait, in ticks", "true match quality")
        for policy in sorted({each.policy for each in standings}):
            mine = [each for each in standings if each.policy == policy]
            waits, qualities = (
                [each[name].mean for each in mine] for name in ("wait", "true_match_quality")
            )
            add_line(front, palette, policy, waits, qualities, mode="lines+markers")
        charts.append(Chart("Quality against waiting", front, "A policy's points are the loads."))
    columns = (Column("cell", "{title}"), *standing_columns(against, kind, known, timing=False))
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
            {(s.title, s.policy): short_text(s.difference, 1) for s in rivals},
        ),
    )  # fmt: skip


def bound_section(folder: Path, palette: Palette) -> Section:
    """Return the section of ``matchenv limits``."""
    found = json_of(folder / "bound.json")
    rows = [
        Record.from_plain({"cell": cell["title"], **policy, "bound": cell["bound"],
                           HIGH_END: cell["oracle"]})
        for cell in found["cells"]
        for policy in cell["policies"]
    ]  # fmt: skip
    totals = [
        (name or row.policy, row.cell, row[key])
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
        settings={**{name: found[name] for name in ("seed", "depth")}, **found["environment"]},
        versions=found["versions"],
        charts=[
            Chart("The bound above the policies",
                  points(palette, "true q of an episode", nested(totals)))
        ],
        tables=[Table.of_records("Room below the bound", rows, 2)],
        summary=Table.pivot(
            "The bound minus true q", "cell",
            {(row.cell, row.policy): short_text(row.room, 1) for row in rows},
        ),
    )  # fmt: skip


def optimum_section(folder: Path, palette: Palette) -> Section:
    """Return the section of ``matchenv limits optimum``."""
    found = json_of(folder / "optimum.json")
    first = found["problems"][0]
    sizes = {f"{each['num_opponents']} opponents, {each['horizon']} games": each
             for each in found["problems"]}  # fmt: skip
    losses = {size: [Record.from_plain(loss) for loss in each["losses"]]
              for size, each in sizes.items()}  # fmt: skip
    gaps = [(loss.policy, size, loss.gap) for size, each in losses.items() for loss in each
            if loss.policy != OPTIMUM]  # fmt: skip
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
        tables=[Table.of_records(f"{size}, {sizes[size]['belief']} belief", each, 4)
                for size, each in losses.items()],
        summary=Table.pivot(
            what.capitalize(), "size",
            {(size, name): short_text(gap, 4) for name, size, gap in gaps},
        ),
    )  # fmt: skip
