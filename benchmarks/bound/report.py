"""The bound beside the oracle and the policies: a table, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bench.playing import TOLD
from matchenv.benchmarks.compare.report import Comparison
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    estimate,
    ratio_of_means,
    share_closed,
    without_luck,
)
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import json_bytes, npz_bytes, records_csv
from matchenv.runtime.provenance import versions

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
        luck: of each path, of mean 0, the same shape, as ``payments.payments_of``.
        paid: payments of each policy's own games, shape (cells, policies, episodes).
        depth: games with an opponent after which the skill counts as told.
    """

    comparison: Comparison
    values: Floats
    luck: Floats
    paid: Floats
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
        path, luck = bounds.values[i], bounds.luck[i]
        totals = {policy: comparison.values(TRUE_Q, i, policy) for policy in comparison.policies}
        paid = dict(zip(comparison.policies, bounds.paid[i], strict=True))
        oracle, low = totals[HIGH_END], totals[LOW_END]
        bound, halves = without_luck(path, luck), best_of_halves(totals)
        best, best_paid = played_by_halves(totals, halves), played_by_halves(paid, halves)
        policies = tuple(
            PolicyUnderBound(
                policy=policy,
                true_q=estimate(total),
                room=room_below(path, total, paid[policy]),
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
                saved=estimate(without_luck(oracle - path, luck)),
                room=room_below(path, best, best_paid),
                out_of_reach=ratio_of_means(
                    oracle - bound, oracle - without_luck(best, best_paid - best)
                ),
                policies=policies,
            )
        )
    return found


def room_below(path: Floats, total: Floats, paid: Floats) -> Estimate:
    """The bound less a policy's total.

    The payments of the policy's own games have its mean, and the same luck. So their difference is
    taken off, by least squares.

    Args:
        path: the bound of each path, shape (E,).
        total: true q of the policy, shape (E,).
        paid: payments of its games, shape (E,).
    """
    return estimate(without_luck(path - total, paid - total))


def best_of_halves(totals: Mapping[str, Floats]) -> tuple[str, str]:
    """The policies to be judged on the even instances and on the odd ones.

    Each is the best on the other half: on the same instances it would seem better than it is.

    Args:
        totals: true q of each policy on the same instances, shape (E,); who is told more than a
            policy may know is left out.
    """
    rivals = [policy for policy in totals if policy not in (HIGH_END, TOLD)]
    even, odd = (
        max(rivals, key=lambda policy: float(totals[policy][1 - half :: 2].mean()))
        for half in (0, 1)
    )
    return even, odd


def played_by_halves(values: Mapping[str, Floats], halves: tuple[str, str]) -> Floats:
    """One policy's values on the even instances, another's on the odd ones, shape (E,)."""
    even, odd = (values[policy] for policy in halves)
    joined = even.copy()
    joined[1::2] = odd[1::2]
    return joined


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
        **bounds.comparison.asked,
        "against": bounds.comparison.against,
        "confidence": CONFIDENCE,
        "depth": bounds.depth,
        "versions": versions("scipy"),
        "cells": [asdict(cell) for cell in found],
    }
    return {
        **bounds.comparison.rows.files(),
        "bound.npz": npz_bytes({"bound": bounds.values, "luck": bounds.luck, "paid": bounds.paid}),
        "bound.txt": f"{bounds.table()}\n".encode(),
        "bound.json": json_bytes(plain, checked=True),
        "bound.csv": records_csv(records),
    }
