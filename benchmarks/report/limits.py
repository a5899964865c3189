"""The bound and the exact optimum on the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matchenv.benchmarks.bound.report import COLUMNS, CellBound, PolicyUnderBound
from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.benchmarks.optimum.report import OPTIMUM, Loss, columns
from matchenv.benchmarks.report.charts import (
    Palette,
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

BOUND, OPTIMA = "bound.json", "optimum.json"


def bound_section(folder: Path, palette: Palette) -> Section:
    """What ``matchenv bound`` found."""
    found = json_of(folder / BOUND)
    environment = found["environment"]
    cells = {
        cell_of(each, environment["num_opponents"]).title: _cell_bound(each)
        for each in found["cells"]
    }
    rows = [(title, cell, policy) for title, cell in cells.items() for policy in cell.policies]
    totals = {
        "bound": {title: cell.bound for title, cell in cells.items()},
        HIGH_END: {title: cell.oracle for title, cell in cells.items()},
    }
    for title, _, policy in rows:
        totals.setdefault(policy.policy, {})[title] = policy.true_q
    table = (
        Column("cell", lambda row: row[0]),
        *(Column(each.heading, _of_policy(each)) for each in COLUMNS),
        Column("bound", lambda row: f"{row[1].bound.mean:.2f}"),
        Column(HIGH_END, lambda row: f"{row[1].oracle.mean:.2f}"),
    )
    room = {(title, policy.policy): short_text(policy.room, 1) for title, _, policy in rows}
    return Section(
        kind="bound",
        folder=folder.name,
        lead=(
            f"What no policy can exceed, from {found['episodes']:,} sample paths of each cell, "
            f"beside policies on the same instances; shares are of the distance from {LOW_END}."
        ),
        settings={**{name: found[name] for name in ("seed", "depth")}, **environment},
        versions=found["versions"],
        charts=[_chart("The bound above the policies", "true q of an episode", totals, palette)],
        tables=[Table("Room below the bound", table, rows)],
        summary=pivot("The bound less true q", "cell", room),
    )


def optimum_section(folder: Path, palette: Palette) -> Section:
    """What ``matchenv optimum`` found."""
    found = json_of(folder / OPTIMA)
    tables = []
    gaps: dict[str, dict[str, Estimate]] = {}
    for problem in found["problems"]:
        size = f"{problem['num_opponents']} opponents, {problem['horizon']} games"
        losses = [_loss(each) for each in problem["losses"]]
        title = f"{size}, {problem['belief']} belief"
        tables.append(Table(title, columns(losses), losses))
        for loss in losses:
            if loss.policy != OPTIMUM:
                gaps.setdefault(loss.policy, {})[size] = loss.gap
    first = found["problems"][0]
    short = {(size, p): short_text(e, 4) for p, every in gaps.items() for size, e in every.items()}
    return Section(
        kind="optimum",
        folder=folder.name,
        lead=(
            f"The exact optimum under the belief, and what policies lose, on "
            f"{first['episodes']:,} instances of each size."
        ),
        settings={name: first[name] for name in ("seed", "truths", "rank", "beta", "draw_margin")},
        versions=found["versions"],
        charts=[_chart("Below the optimum", "believed q less the optimum's", gaps, palette)],
        tables=tables,
        summary=pivot("Believed q less the optimum's", "size", short),
    )


def _chart(
    title: str, y: str, estimates: Mapping[str, Mapping[str, Estimate]], palette: Palette
) -> Chart:
    """Points of each policy in each place."""
    figure = new_figure("", y)
    for name, places in estimates.items():
        add_points(figure, palette, name, [*map(axis_text, places)], [*places.values()])
    spread_points(figure)
    return Chart(title, figure)


def _of_policy(column: Column) -> Any:
    return lambda row: column.cell(row[2])


def _cell_bound(record: Mapping[str, Any]) -> CellBound:
    def policy(each: Mapping[str, Any]) -> PolicyUnderBound:
        return PolicyUnderBound(
            each["policy"],
            Estimate.from_plain(each["true_q"]),
            Estimate.from_plain(each["room"]),
            number(each["share"]),
            number(each["share_of_oracle"]),
        )

    estimates = {
        name: Estimate.from_plain(record[name])
        for name in ("oracle", "bound", "saved", "room", "out_of_reach")
    }
    policies = tuple(policy(each) for each in record["policies"])
    return CellBound(record["rank"], record["prior"], policies=policies, **estimates)


def _loss(record: Mapping[str, Any]) -> Loss:
    estimates = {
        name: Estimate.from_plain(record[name])
        for name in ("believed", "gap", "true_q", "true_difference")
    }
    first = number(record["first_is_best"])
    return Loss(policy=record["policy"], first_is_best=first, **estimates)
