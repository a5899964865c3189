"""The distance of policies from the optimum: a table, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matchenv.atomic_files import write_bytes
from matchenv.benchmarks.compare.statistics import CONFIDENCE, Estimate, estimate, paired_difference
from matchenv.benchmarks.optimum.running import OPTIMUM, Findings
from matchenv.evaluation.result_files import csv_bytes, json_bytes


@dataclass(frozen=True)
class Standing:
    """One policy on one size of problem; estimates are over instances.

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


ESTIMATES = ("believed", "gap", "true_q", "true_difference")


def standings(findings: Findings) -> list[Standing]:
    """Where each policy stands, the optimum first."""
    best = findings.policies.index(OPTIMUM)
    return [
        Standing(
            policy=policy,
            believed=estimate(findings.believed[i]),
            gap=paired_difference(findings.believed[i], findings.believed[best]),
            true_q=estimate(findings.true_q[i]),
            true_difference=paired_difference(findings.true_q[i], findings.true_q[best]),
            first_is_best=float(findings.first_is_best[i].mean()),
        )
        for i, policy in enumerate(findings.policies)
    ]


def table_text(findings: Findings) -> str:
    """The table of one size of problem."""
    settings = findings.settings
    found = standings(findings)
    width = max(len(standing.policy) for standing in found)
    header = (
        f"{'policy':<{width}}  {'believed q':>10}  {'below the optimum':>27}  {'%':>6}  "
        f"{'first choice best':>17}  {'true q':>8}  {'true q - optimum':>27}"
    )
    lines = [
        f"opponents {settings.num_opponents}, games {settings.horizon}, {settings.belief} belief, "
        f"{findings.believed.shape[1]} instances, {findings.truths} truths each, "
        f"rank {findings.rank}, seed {findings.seed}",
        header,
    ]
    lines += [_line(standing, found[0].believed.mean, width) for standing in found]
    return "\n".join(lines)


def _line(standing: Standing, optimum: float, width: int) -> str:
    return (
        f"{standing.policy:<{width}}  {standing.believed.mean:10.4f}  {_interval(standing.gap):>27}"
        f"  {100.0 * standing.gap.mean / optimum:6.2f}  {100.0 * standing.first_is_best:15.1f} %  "
        f"{standing.true_q.mean:8.4f}  {_interval(standing.true_difference):>27}"
    )


def _interval(difference: Estimate) -> str:
    # Rounding leaves a -0.
    mean, low, high = (
        round(number, 4) + 0.0 for number in (difference.mean, difference.low, difference.high)
    )
    return f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"


def write_files(all_findings: Sequence[Findings], folder: Path) -> None:
    """Write ``optimum.json``, ``optimum.csv`` and ``optimum.txt``.

    Raises:
        OSError: if a file cannot be written.
    """
    tables = "\n\n".join(table_text(findings) for findings in all_findings)
    write_bytes(folder / "optimum.txt", f"{tables}\n".encode())
    write_bytes(folder / "optimum.json", json_bytes(as_json(all_findings)))
    parts = tuple(field.name for field in fields(Estimate))
    header = ["opponents", "games", "belief", "policy"]
    header += [f"{name}_{part}" for name in ESTIMATES for part in parts] + ["first_is_best"]
    rows = []
    for findings in all_findings:
        settings = findings.settings
        for standing in standings(findings):
            row: list[Any] = [settings.num_opponents, settings.horizon, settings.belief]
            row += [standing.policy]
            row += [getattr(getattr(standing, name), part) for name in ESTIMATES for part in parts]
            rows.append([*row, standing.first_is_best])
    write_bytes(folder / "optimum.csv", csv_bytes(header, rows))


def as_json(all_findings: Sequence[Findings]) -> dict[str, Any]:
    """Settings, versions and all standings as plain data."""
    return {
        "confidence": CONFIDENCE,
        "versions": {name: version(name) for name in ("matchenv", "numpy", "numba")},
        "problems": [
            {
                "opponents": findings.settings.num_opponents,
                "games": findings.settings.horizon,
                "belief": findings.settings.belief,
                "beta": findings.settings.beta,
                "draw_margin": findings.settings.draw_margin,
                "instances": findings.believed.shape[1],
                "truths": findings.truths,
                "rank": findings.rank,
                "seed": findings.seed,
                "standings": [asdict(standing) for standing in standings(findings)],
            }
            for findings in all_findings
        ],
    }
