"""The distance of policies from the optimum: a table, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    estimate,
    paired_difference,
)
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.provenance import versions

Floats = NDArray[np.float64]

OPTIMUM = "optimum"


@dataclass(frozen=True)
class Loss:
    """What one policy loses on one size of problem; estimates are over instances.

    Attributes:
        policy: its label.
        believed: value under the belief model.
        gap: believed value less the optimum's, never above 0.
        true_q: expected sum of true q.
        true_difference: true q less that of the policy which is optimal for the belief model.
        first_is_best: share of the instances in which the first choice is an optimal one.
    """

    policy: str
    believed: Estimate
    gap: Estimate
    true_q: Estimate
    true_difference: Estimate
    first_is_best: float


@dataclass(frozen=True)
class Problem:
    """One size of problem, and who is to solve it.

    Attributes:
        settings: of the problem.
        cell: where player 0 stands.
        seed: of the instances.
        truths: sets of true skills for each instance.
        candidates: the policies beside the optimum.
    """

    settings: Settings
    cell: Cell
    seed: int
    truths: int
    candidates: tuple[Candidate, ...]

    @property
    def size(self) -> dict[str, Any]:
        """What tells this problem from the others of a run, as plain data."""
        names = ("num_opponents", "horizon", "belief")
        return {name: getattr(self.settings, name) for name in names}


@dataclass(frozen=True)
class Findings:
    """What one size of problem gave.

    Attributes:
        problem: the problem.
        believed: value under the belief model, the optimum's first, shape (P, E).
        true_q: expected sum of true q, mean over the truths, shape (P, E).
        first_is_best: whether the first choice is an optimal one, shape (P, E).
    """

    problem: Problem
    believed: Floats
    true_q: Floats
    first_is_best: NDArray[np.bool_]

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels, the optimum first; P of them."""
        return (OPTIMUM, *(candidate.label for candidate in self.problem.candidates))

    @property
    def losses(self) -> list[Loss]:
        """What each policy loses, the optimum first."""
        return [
            Loss(
                policy=policy,
                believed=estimate(self.believed[i]),
                gap=paired_difference(self.believed[i], self.believed[0]),
                true_q=estimate(self.true_q[i]),
                true_difference=paired_difference(self.true_q[i], self.true_q[0]),
                first_is_best=float(self.first_is_best[i].mean()),
            )
            for i, policy in enumerate(self.policies)
        ]

    def table(self) -> str:
        """The table of this size of problem."""
        problem, settings, losses = self.problem, self.problem.settings, self.losses
        head = (
            f"opponents {settings.num_opponents}, games {settings.horizon}, "
            f"{settings.belief} belief, {self.believed.shape[1]} instances, "
            f"{problem.truths} truths each, rank {problem.cell.rank_name}, seed {problem.seed}"
        )
        return "\n".join([head, *text_table(columns(losses), losses)])


def columns(losses: Sequence[Loss]) -> tuple[Column, ...]:
    """The columns of a table of what policies lose; the first loss is the optimum's own."""
    optimum = losses[0].believed.mean
    return (
        Column("policy", lambda loss: loss.policy),
        Column("believed q", lambda loss: f"{loss.believed.mean:.4f}"),
        Column("below the optimum", lambda loss: loss.gap.interval_text(4), 27),
        Column("%", lambda loss: f"{100.0 * loss.gap.mean / optimum:.2f}", 6),
        Column("first choice best", lambda loss: f"{100.0 * loss.first_is_best:.1f} %"),
        Column("true q", lambda loss: f"{loss.true_q.mean:.4f}", 8),
        Column("true q - optimum", lambda loss: loss.true_difference.interval_text(4), 27),
    )


def result_files(all_findings: Sequence[Findings]) -> dict[str, bytes]:
    """Content of the result files: the tables as text, CSV and JSON."""
    tables = "\n\n".join(findings.table() for findings in all_findings)
    records = [
        {**findings.problem.size, **columns_of(loss)}
        for findings in all_findings
        for loss in findings.losses
    ]
    problems = [
        {
            **findings.problem.size,
            "beta": findings.problem.settings.beta,
            "draw_margin": findings.problem.settings.draw_margin,
            "episodes": findings.believed.shape[1],
            "truths": findings.problem.truths,
            "rank": findings.problem.cell.rank_name,
            "seed": findings.problem.seed,
            "losses": [asdict(loss) for loss in findings.losses],
        }
        for findings in all_findings
    ]
    plain = {"confidence": CONFIDENCE, "versions": versions(), "problems": problems}
    return {
        "optimum.txt": f"{tables}\n".encode(),
        "optimum.json": json_bytes(plain, checked=True),
        "optimum.csv": records_csv(records),
    }
