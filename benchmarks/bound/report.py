"""The bound beside the oracle and the policies: a table, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.array_files import npz_bytes
from matchenv.benchmarks.bench.playing import TOLD
from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.benchmarks.compare.report import Comparison, head
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    estimate,
    ratio_of_means,
    share_closed,
    without_luck,
)
from matchenv.evaluation.result_files import json_bytes, records_csv, versions
from matchenv.evaluation.tables import Column, text_table

Floats = NDArray[np.float64]

TRUE_Q = "true_draw_density"

# The relaxation knows wins and losses, fixed skills, and places by prior mean.
ENVIRONMENT_OPTIONS = ("num_opponents", "horizon", "beta")


@dataclass(frozen=True)
class Bounds:
    """The bound's sample paths and the policies' episodes on the same instances.

    Attributes:
        comparison: the policies' episodes; DrawChance, the oracle and the told index among them.
        values: the bound of each path, shape (cells, episodes).
        control: luck of each path, of mean 0, as ``charges.bound_of_path``, the same shape.
        depth: as ``charges.fair_charges``.
    """

    comparison: Comparison
    values: Floats
    control: Floats
    depth: int

    def table(self) -> str:
        """A block of lines for each cell."""
        comparison, settings = self.comparison, self.comparison.settings
        lines = [
            f"{comparison.episodes} episodes of {settings.horizon} games against one of "
            f"{settings.num_opponents}, seed {comparison.seed}; depth {self.depth}",
            f"sums of true q; +-: standard error; [..]: {100.0 * CONFIDENCE:.0f} % interval of "
            f"the paired difference; shares of the distance from {LOW_END}; {TOLD}: the index, "
            "told player 0's skill; the best policy is chosen and judged on different instances",
        ]
        for cell, found in zip(comparison.cells, cell_bounds(self), strict=True):
            lines += [
                "",
                f"{cell.title}: oracle {found.oracle.mean:.2f}, bound {found.bound.mean:.2f} "
                f"+- {found.bound.standard_error:.2f}, oracle - bound "
                f"{found.saved.interval_text(2)}, bound - best policy "
                f"{found.room.interval_text(2)}; of the distance from the best policy to the "
                f"oracle, {found.out_of_reach.times(100.0).interval_text(0)} % is out of reach",
                *text_table(COLUMNS, found.policies),
            ]
        return "\n".join(lines)


@dataclass(frozen=True)
class PolicyUnderBound:
    """One policy under the bound, in one cell; estimates are over episodes.

    Attributes:
        policy: its label.
        true_q: its total of true q.
        room: the bound less that, on the same instances.
        share: of the distance from DrawChance to the bound.
        share_of_oracle: of the distance from DrawChance to the oracle.
    """

    policy: str
    true_q: Estimate
    room: Estimate
    share: float
    share_of_oracle: float


@dataclass(frozen=True)
class CellBound:
    """The bound in one cell.

    Attributes:
        rank: place of player 0.
        prior: informative or equal.
        oracle: total of true q of the policy that knows all skills.
        bound: the bound.
        saved: the oracle less the bound, on the same instances.
        room: the bound less the best policy, which is chosen on other instances.
        out_of_reach: the oracle less the bound as a share of the oracle less that policy.
        policies: the others, and the told index.
    """

    rank: str
    prior: str
    oracle: Estimate
    bound: Estimate
    saved: Estimate
    room: Estimate
    out_of_reach: Estimate
    policies: tuple[PolicyUnderBound, ...]


def cell_bounds(bounds: Bounds) -> list[CellBound]:
    """The bound and the policies, cell by cell."""
    comparison = bounds.comparison
    found = []
    for i, cell in enumerate(comparison.cells):
        path, control = bounds.values[i], bounds.control[i]
        totals = {policy: comparison.values(TRUE_Q, i, policy) for policy in comparison.policies}
        oracle, low = totals[HIGH_END], totals[LOW_END]
        bound, best = without_luck(path, control), best_of_others(totals)
        policies = tuple(
            PolicyUnderBound(
                policy=policy,
                true_q=estimate(total),
                room=estimate(without_luck(path - total, control)),
                share=share_closed(total, low, bound),
                share_of_oracle=share_closed(total, low, oracle),
            )
            for policy, total in totals.items()
            if policy != HIGH_END
        )
        found.append(
            CellBound(
                rank=cell.rank_name,
                prior=cell.prior,
                oracle=estimate(oracle),
                bound=estimate(bound),
                saved=estimate(without_luck(oracle - path, control)),
                room=estimate(without_luck(path - best, control)),
                out_of_reach=ratio_of_means(oracle - bound, oracle - best),
                policies=policies,
            )
        )
    return found


def best_of_others(totals: Mapping[str, Floats]) -> Floats:
    """True q of the best policy, shape (E,).

    The best policy is found on one half of the instances and judged on the other, and the reverse:
    on the same instances it would seem better than it is.

    Args:
        totals: true q of each policy on the same instances, shape (E,); who is told more than a
            policy may know is left out.
    """
    rivals = [total for policy, total in totals.items() if policy not in (HIGH_END, TOLD)]
    best = np.empty(rivals[0].shape)
    for half in (0, 1):
        best[half::2] = max(rivals, key=lambda total: total[1 - half :: 2].mean())[half::2]
    return best


COLUMNS = (
    Column("policy", lambda found: found.policy),
    Column("true q", lambda found: f"{found.true_q.mean:.2f}", 8),
    Column("bound - true q", lambda found: found.room.interval_text(2), 22),
    Column("to the bound", lambda found: f"{100.0 * found.share:.1f} %"),
    Column("to the oracle", lambda found: f"{100.0 * found.share_of_oracle:.1f} %"),
)


def result_files(bounds: Bounds) -> dict[str, bytes]:
    """Content of the result files: the bound as text, CSV and JSON, and the episodes."""
    found = cell_bounds(bounds)
    records = [
        # Who it is comes first, then the cell's numbers and its own.
        {**dict.fromkeys(("rank", "prior", "policy")), **columns_of(cell), **columns_of(policy)}
        for cell in found
        for policy in cell.policies
    ]
    plain = {
        **head(bounds.comparison),
        "depth": bounds.depth,
        "versions": versions("scipy"),
        "cells": [asdict(cell) for cell in found],
    }
    return {
        **bounds.comparison.rows.files(),
        "bound.npz": npz_bytes({"bound": bounds.values, "control": bounds.control}),
        "bound.txt": f"{bounds.table()}\n".encode(),
        "bound.json": json_bytes(plain),
        "bound.csv": records_csv(records),
    }
