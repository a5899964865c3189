"""``matchenv study``: the simulation study of the 2011 paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings
from matchenv.commands.options import (
    Kept,
    Parallel,
    Policies,
    Seeded,
)


@dataclass(frozen=True, kw_only=True)
class StudyCells(Kept, Parallel, Seeded):
    """Where the study plays, and how much.

    Attributes:
        cell: which cells, such as informative_top (default: all).
        episodes: sets of true skills with each draw of the prior.
        prior_draws: draws of the prior; the paper has one.
        num_opponents: opponents to choose from.
        horizon: games in an episode.
        equal_variance: of equal priors, the paper's, or grown by that of the hidden means.
    """

    cell: tuple[str, ...] | None = None
    episodes: int = 10_000
    prior_draws: int = 1
    num_opponents: int = 49
    horizon: int = 500
    equal_variance: Literal["paper", "matching"] = "paper"


@dataclass(frozen=True, kw_only=True)
class Study(StudyCells, Policies):
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Stopped at any moment, the same command goes on with it. See docs/study.md.

    Example:
        matchenv study --out runs/study --episodes 200 --workers 2

    Attributes:
        equations: printed: with the paper's misprints.
    """

    policy: tuple[str, ...] = PAPER_POLICIES
    equations: Literal["correct", "printed"] = "correct"

    @property
    def extras(self) -> tuple[str, ...]:
        """It draws figures."""
        return ("benchmarks",)

    def run(self) -> None:
        """Play what is missing and print the summary."""
        from matchenv.benchmarks.study.study import run_study
        from matchenv.benchmarks.study.tables import summary_text

        settings = StudySettings.checked(
            policies=self.policies,
            paths=self.episodes,
            horizon=self.horizon,
            opponents=self.num_opponents,
            priors=self.prior_draws,
            seed=self.seed,
            equations=self.equations,
            equal_variance=self.equal_variance,
            cells=self.cell,
        )
        results = run_study(settings, self.out, workers=self.workers, quiet=self.quiet)
        if not self.quiet:
            print(summary_text(settings, results), end="")
            print(f"\nFigures, tables and the verdict on the paper's claims: {self.out}")
