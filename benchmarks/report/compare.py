"""A comparison on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from matchenv.benchmarks.compare.report import Standing, columns
from matchenv.benchmarks.report.charts import (
    HIDDEN_AT_FIRST,
    Palette,
    add_level,
    add_points,
    axis_text,
    new_figure,
    spread_points,
)
from matchenv.benchmarks.report.reading import cell_of, json_of
from matchenv.benchmarks.report.section import Chart, Section, Table, pivot, short_text
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number

FILE = "comparison.json"


def compare_section(folder: Path, palette: Palette, name: str | None = None) -> Section:
    """What ``matchenv compare`` found; the folder's name is its heading, or another one."""
    found, standings = read_standings(folder)
    against, environment = found["against"], found["environment"]
    by_policy: dict[str, list[Standing]] = {}
    for each in standings:
        by_policy.setdefault(each.policy, []).append(each)
    lead = (
        f"Every policy played the same {found['episodes']:,} episodes of "
        f"{environment['horizon']:,} games in each cell. q is the draw density, summed over an "
        f"episode; differences to {against} are paired, their intervals of "
        f"{100 * found['confidence']:.0f} %."
    )
    table = (
        Column("cell", lambda s: s.cell.title),
        *columns(against, timing=False),
    )
    differences = {
        (each.cell.title, each.policy): short_text(each.difference, 1)
        for each in standings
        if each.policy != against
    }
    return Section(
        kind="compare",
        folder=name or folder.name,
        lead=lead,
        settings={"seed": found["seed"], "against": against, **environment},
        versions=found["versions"],
        charts=[_chart(by_policy, against, palette), _totals(by_policy, palette)],
        tables=[Table("All measures", table, standings)],
        summary=pivot(f"True q less that of {against}", "cell", differences),
    )


def read_standings(folder: Path) -> tuple[dict[str, Any], list[Standing]]:
    """The content of a comparison's file, and its standings."""
    found = json_of(folder / FILE)
    opponents = found["environment"]["num_opponents"]
    return found, [_standing(each, opponents) for each in found["standings"]]


def _standing(record: Mapping[str, Any], num_opponents: int) -> Standing:
    values: dict[str, Any] = {
        each.name: Estimate.from_plain(record[each.name])
        if isinstance(record.get(each.name), dict)
        else number(record.get(each.name))
        for each in fields(Standing)
        if each.name not in ("cell", "policy", "verdict")
    }
    cell = cell_of(record["cell"], num_opponents)
    return Standing(
        cell=cell, policy=record["policy"], verdict=str(record.get("verdict", "")), **values
    )


def _chart(by_policy: Mapping[str, list[Standing]], against: str, palette: Palette) -> Chart:
    figure = new_figure("", f"true q less that of {against}")
    for policy, rows in by_policy.items():
        if policy != against:
            add_points(
                figure, palette, policy, [axis_text(each.cell.title) for each in rows],
                [each.difference for each in rows], hidden=policy in HIDDEN_AT_FIRST,
            )  # fmt: skip
    spread_points(figure)
    add_level(figure, 0.0, against)
    note = f"Above the dotted line a policy is ahead of {against}. Names in grey are hidden."
    return Chart(f"Difference to {against}", figure, note)


def _totals(by_policy: Mapping[str, list[Standing]], palette: Palette) -> Chart:
    figure = new_figure("", "true q of an episode")
    for policy, rows in by_policy.items():
        add_points(
            figure, palette, policy, [axis_text(each.cell.title) for each in rows],
            [each.true_draw_density for each in rows],
        )  # fmt: skip
    spread_points(figure)
    return Chart("True q", figure, "Intervals are unpaired here, and so much wider.")
