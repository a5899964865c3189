"""Sections of upper bounds and of exact optima."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from matchenv.benchmarks.limits.optimum import OPTIMUM
from matchenv.benchmarks.report.charts import NamedValue, points
from matchenv.benchmarks.report.page import Block, Section, formatted, pivot
from matchenv.evaluation.estimates import Record
from matchenv.evaluation.protocols import LOW_END


def bound_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv limits``."""
    rows = []
    for cell in result.cells:
        policies = cell.pop("policies")
        for policy in policies:
            rows.append(Record(cell, **policy))
    return Section(
        title=f"bound: {folder.name}",
        lead=(
            "An upper bound for all policies, and policies on the same instances. Room is the "
            f"bound minus a policy's true q; shares are of the distance from {LOW_END} to bound "
            "and oracle. The row told is the Gittins index, given player 0's skill."
        ),
        settings={
            "episodes": result.episodes,
            "seed": result.seed,
            "depth": result.depth,
            **result.environment,
        },
        blocks=_blocks(rows, "room"),
        versions=result.versions,
    )


def optimum_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv limits optimum``."""
    rows = []
    for problem in result.problems:
        title = f"{problem.num_opponents} opponents, {problem.horizon} games"
        for loss in problem.losses:
            if loss.policy != OPTIMUM:
                rows.append(Record(title=title, **loss))
    settings = dict(result.problems[0])
    del settings["losses"]
    return Section(
        title=f"optimum: {folder.name}",
        lead=(
            "The exact optimum under the belief, and the losses of policies. Gap is a policy's "
            "believed q minus the optimum's."
        ),
        settings=settings,
        blocks=_blocks(rows, "gap"),
        versions=result.versions,
    )


def _blocks(rows: Sequence[Record], measure: str) -> list[Block]:
    """Return chart and table of the estimates of a measure, and the table of all measures.

    Args:
        rows: each with ``title``, ``policy`` and estimates.
        measure: name of the estimate.
    """
    values = [NamedValue(row.policy, row.title, row[measure]) for row in rows]
    table = pd.DataFrame(rows).rename(columns={"saved": "oracle - bound"})
    return [
        Block(measure.capitalize(), points(f"{measure}, in q per episode", values)),
        pivot(measure.capitalize(), values, 3),
        Block("All measures", formatted(table, 3)),
    ]
