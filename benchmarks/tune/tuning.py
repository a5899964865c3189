"""The multipliers against each other on the same paths, with seeds of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchenv.benchmarks.study.estimates import CellResult, Mean
from matchenv.benchmarks.study.progress import finish_blocks, gather
from matchenv.benchmarks.study.settings import TUNING, StudySettings
from matchenv.benchmarks.study.store import Store
from matchenv.evaluation.result_files import csv_bytes, json_bytes
from matchenv.validation import as_non_negative_number

MULTIPLIERS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0, 99.0, 200.0, 499.0)
FINITE_HORIZON = "kg:finite_horizon=true"
MEASURE, WINDOW = "true_draw_density", "all"


@dataclass(frozen=True)
class Tried:
    """A multiplier in one cell; totals of true draw density over all games.

    Attributes:
        policy: its label.
        total: its total.
        behind: the best policy's total less its own, on the same paths.
        best: whether it is the best.
    """

    policy: str
    total: Mean
    behind: Mean
    best: bool

    @property
    def as_good(self) -> bool:
        """Whether the best one's lead is within its 95 % interval."""
        return self.best or float(self.behind.low) <= 0.0


def tuning_settings(multipliers: Sequence[float] = MULTIPLIERS, **options: Any) -> StudySettings:
    """The study that tries the multipliers, and eq. (12) beside them.

    Its seeds are kept apart: no number for the seed makes it meet the instances of a report.

    Args:
        multipliers: at least one, >= 0, each once.
        options: as ``StudySettings.checked`` takes them.

    Raises:
        ValueError: for a bad multiplier or option.
    """
    values = [as_non_negative_number("multipliers", value) for value in multipliers]
    policies = [f"kg:multiplier={value:g}" for value in values]
    return StudySettings.checked(policies=[*policies, FINITE_HORIZON], stream=TUNING, **options)


def run_tuning(
    settings: StudySettings, folder: Path, *, workers: int | None = None, quiet: bool = False
) -> dict[str, list[Tried]]:
    """Try all, and write down what was tried.

    Args:
        settings: from ``tuning_settings``.
        folder: as ``matchenv.benchmarks.study.study.run_study`` takes it.
        workers: processes; None for one on each core.
        quiet: no progress bar.

    Returns:
        For each cell's name what was tried there.

    Raises:
        ValueError: for a folder with other settings.
        OSError: if something cannot be written.
    """
    store = Store(folder, settings)
    finish_blocks(store, settings, workers, quiet=quiet)
    tried = {
        result.cell.name: tried_in(result, settings.horizon) for result in gather(store, settings)
    }
    store.write("tuning.csv", tuning_csv(tried))
    store.write("best.json", json_bytes({cell: _best(rows).policy for cell, rows in tried.items()}))
    store.write("tuning.md", tuning_text(tried).encode())
    return tried


def tried_in(result: CellResult, games: int) -> list[Tried]:
    """What was tried in a cell, the order of the policies."""
    totals = {p: _times(games, result.window(p, MEASURE, WINDOW)) for p in result.policies}
    best = max(result.policies, key=lambda policy: float(totals[policy].mean))
    return [
        Tried(
            policy,
            total,
            _times(games, result.paired(best, policy, MEASURE, WINDOW))
            if policy != best
            else _times(0, total),
            policy == best,
        )
        for policy, total in totals.items()
    ]


def tuning_csv(tried: dict[str, list[Tried]]) -> bytes:
    """Every policy in every cell."""
    header = [
        "cell", "policy", "total", "standard error", "behind the best", "standard error of that",
        "best",
    ]  # fmt: skip
    rows = [
        [cell, row.policy, float(row.total.mean), float(row.total.standard_error),
         float(row.behind.mean), float(row.behind.standard_error), row.best]
        for cell, rows in tried.items() for row in rows
    ]  # fmt: skip
    return csv_bytes(header, rows)


def tuning_text(tried: dict[str, list[Tried]]) -> str:
    """For each cell the best, and those that it does not beat beyond chance, as Markdown."""
    policies = [row.policy for row in next(iter(tried.values()))]
    lines = [
        "True draw density over all games, behind the best of the cell (95 % half width).",
        "",
        f"| cell | {' | '.join(policy.partition('=')[2] for policy in policies)} |",
        f"|---|{'---|' * len(policies)}",
    ]
    lines[2] = lines[2].replace("| true |", "| games left |")
    for cell, rows in tried.items():
        cells = [
            f"**{float(row.total.mean):.2f}**"
            if row.best
            else f"-{float(row.behind.mean):.2f} ({float(row.behind.half_width):.2f})"
            for row in rows
        ]
        lines.append(f"| {cell} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _best(rows: list[Tried]) -> Tried:
    return next(row for row in rows if row.best)


def _times(factor: int, value: Mean) -> Mean:
    return Mean(factor * value.mean, factor * value.standard_error, factor * value.half_width)
