"""KG's multipliers against each other on the same episodes, with seeds of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matchenv.benchmarks.study.results import CellResult, results_of
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.evaluation.episode_table import ALL, EpisodeTable, play
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.result_files import csv_bytes, json_bytes
from matchenv.evaluation.seeds import TUNING
from matchenv.evaluation.store import open_store
from matchenv.priors import PRIORS
from matchenv.validation import as_non_negative_number
from matchenv.workers import checked_workers

MULTIPLIERS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0, 99.0, 200.0, 499.0)
FINITE_HORIZON = "kg:finite_horizon=true"
MEASURE = "true_draw_density"


@dataclass(frozen=True)
class Tried:
    """A multiplier in one cell; totals of true draw density over all games.

    Attributes:
        policy: its label.
        total: its total.
        behind: the best policy's total less its own, on the same episodes.
        best: whether it is the best.
    """

    policy: str
    total: Estimate
    behind: Estimate
    best: bool

    @property
    def as_good(self) -> bool:
        """Whether the best one's lead is within its 95 % interval."""
        return self.best or self.behind.low <= 0.0


@dataclass(frozen=True)
class Tuning:
    """What was tried.

    Attributes:
        rows: the episodes.
        tried: by name of the cell, in the order of the policies.
    """

    rows: EpisodeTable
    tried: dict[str, list[Tried]]

    def files(self) -> dict[str, bytes]:
        """Content of the result files."""
        best = {cell: _best(rows).policy for cell, rows in self.tried.items()}
        return {
            **self.rows.files(),
            "tuning.csv": tuning_csv(self.tried),
            "best.json": json_bytes(best),
            "tuning.md": tuning_text(self.tried).encode(),
        }


def run_tuning(
    multipliers: Sequence[float] = MULTIPLIERS,
    *,
    ranks: Sequence[str | int] | None = None,
    priors: Sequence[str] = PRIORS,
    episodes: int = 200,
    prior_draws: int = 10,
    num_opponents: int = 49,
    horizon: int = 500,
    seed: int = 0,
    equal_variance: str = "paper",
    workers: int | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Tuning:
    """Try multipliers of KG, and eq. (12) beside them, in the cells of the study.

    No number for the seed makes the tuning meet an instance of a study.

    Args:
        multipliers: at least one, >= 0, each once.
        ranks: as ``matchenv.benchmarks.study.run_study``, and so are all others.
        priors: as there.
        episodes: as there.
        prior_draws: as there.
        num_opponents: as there.
        horizon: as there.
        seed: as there.
        equal_variance: as there.
        workers: as there.
        out: as there.
        quiet: as there.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            tuning, or with damaged files.
        OSError: if something cannot be written; finished blocks stay.
    """
    checked_workers(workers)
    values = [as_non_negative_number("multipliers", value) for value in multipliers]
    settings = StudySettings.checked(
        [*(f"kg:multiplier={value:g}" for value in values), FINITE_HORIZON],
        ranks=ranks,
        priors=priors,
        episodes=episodes,
        prior_draws=prior_draws,
        num_opponents=num_opponents,
        horizon=horizon,
        seed=seed,
        equal_variance=equal_variance,
        purpose=TUNING,
    )
    folder = None if out is None else Path(out)
    with open_store(folder, {"command": "tune", **settings.described()}) as store:
        rows = play(settings.plan(curves=False), store, workers=workers, quiet=quiet)
        results = results_of(rows, settings.game.horizon)
        tuning = Tuning(rows, {result.cell.name: tried_in(result) for result in results})
        if store is not None:
            for name, content in tuning.files().items():
                store.write(name, content)
    return tuning


def tried_in(result: CellResult) -> list[Tried]:
    """What was tried in a cell, in the order of the policies."""
    games = float(result.horizon)
    totals = {p: result.window(p, MEASURE, ALL).times(games) for p in result.policies}
    best = max(totals, key=lambda policy: totals[policy].mean)
    return [
        Tried(policy, total, result.paired(best, policy, MEASURE, ALL).times(games), policy == best)
        for policy, total in totals.items()
    ]


def tuning_csv(tried: dict[str, list[Tried]]) -> bytes:
    """Every policy in every cell."""
    header = [
        "cell", "policy", "total", "standard error", "behind the best", "standard error of that",
        "best",
    ]  # fmt: skip
    rows = [
        [cell, row.policy, row.total.mean, row.total.standard_error,
         row.behind.mean, row.behind.standard_error, row.best]
        for cell, rows in tried.items() for row in rows
    ]  # fmt: skip
    return csv_bytes(header, rows)


def tuning_text(tried: dict[str, list[Tried]]) -> str:
    """For each cell the best, and how far the others are behind it, as Markdown."""
    policies = [row.policy for row in next(iter(tried.values()))]
    names = [
        "games left" if policy == FINITE_HORIZON else policy.partition("=")[2]
        for policy in policies
    ]
    lines = [
        "True draw density over all games, behind the best of the cell (95 % half width).",
        "",
        f"| cell | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for cell, rows in tried.items():
        cells = [
            f"**{row.total.mean:.2f}**"
            if row.best
            else f"-{row.behind.mean:.2f} ({row.behind.half_width:.2f})"
            for row in rows
        ]
        lines.append(f"| {cell} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _best(rows: list[Tried]) -> Tried:
    return next(row for row in rows if row.best)
