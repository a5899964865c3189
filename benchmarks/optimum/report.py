"""The distance of policies from the optimum: a table, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    estimate,
    paired_difference,
)
from matchenv.evaluation.result_files import json_bytes, records_csv
from matchenv.settings import Settings

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
class Findings:
    """What one size of problem gave.

    Attributes:
        settings: of the problem.
        rank: place of player 0, as a command line writes it.
        seed: of the instances.
        truths: sets of true skills for each instance.
        policies: labels, the optimum first; shape P.
        believed: value under the belief model, shape (P, E).
        true_q: expected sum of true q, mean over the truths, shape (P, E).
        first_is_best: whether the first choice is an optimal one, shape (P, E).
    """

    settings: Settings
    rank: str
    seed: int
    truths: int
    policies: tuple[str, ...]
    believed: Floats
    true_q: Floats
    first_is_best: NDArray[np.bool_]

    @property
    def losses(self) -> list[Loss]:
        """What each policy loses, the optimum first."""
        best = self.policies.index(OPTIMUM)
        return [
            Loss(
                policy=policy,
                believed=estimate(self.believed[i]),
                gap=paired_difference(self.believed[i], self.believed[best]),
                true_q=estimate(self.true_q[i]),
                true_difference=paired_difference(self.true_q[i], self.true_q[best]),
                first_is_best=float(self.first_is_best[i].mean()),
            )
            for i, policy in enumerate(self.policies)
        ]

    def table(self) -> str:
        """The table of this size of problem."""
        settings, found = self.settings, self.losses
        width = max(len(loss.policy) for loss in found)
        lines = [
            f"opponents {settings.num_opponents}, games {settings.horizon}, "
            f"{settings.belief} belief, {self.believed.shape[1]} instances, "
            f"{self.truths} truths each, rank {self.rank}, seed {self.seed}",
            f"{'policy':<{width}}  {'believed q':>10}  {'below the optimum':>27}  {'%':>6}  "
            f"{'first choice best':>17}  {'true q':>8}  {'true q - optimum':>27}",
        ]
        optimum = found[0].believed.mean
        lines += [
            f"{loss.policy:<{width}}  {loss.believed.mean:10.4f}  "
            f"{loss.gap.interval_text(4):>27}  {100.0 * loss.gap.mean / optimum:6.2f}  "
            f"{100.0 * loss.first_is_best:15.1f} %  {loss.true_q.mean:8.4f}  "
            f"{loss.true_difference.interval_text(4):>27}"
            for loss in found
        ]
        return "\n".join(lines)


def result_files(all_findings: Sequence[Findings]) -> dict[str, bytes]:
    """Content of the result files: the tables as text, CSV and JSON."""
    tables = "\n\n".join(findings.table() for findings in all_findings)
    records = [
        {
            "num_opponents": findings.settings.num_opponents,
            "horizon": findings.settings.horizon,
            "belief": findings.settings.belief,
            **columns_of(loss),
        }
        for findings in all_findings
        for loss in findings.losses
    ]
    return {
        "optimum.txt": f"{tables}\n".encode(),
        "optimum.json": json_bytes(as_json(all_findings)),
        "optimum.csv": records_csv(records),
    }


def as_json(all_findings: Sequence[Findings]) -> dict[str, Any]:
    """Settings, versions and all estimates as plain data."""
    return {
        "confidence": CONFIDENCE,
        "versions": {name: version(name) for name in ("matchenv", "numpy", "numba")},
        "problems": [
            {
                "num_opponents": findings.settings.num_opponents,
                "horizon": findings.settings.horizon,
                "belief": findings.settings.belief,
                "beta": findings.settings.beta,
                "draw_margin": findings.settings.draw_margin,
                "episodes": findings.believed.shape[1],
                "truths": findings.truths,
                "rank": findings.rank,
                "seed": findings.seed,
                "losses": [asdict(loss) for loss in findings.losses],
            }
            for findings in all_findings
        ],
    }
