"""The study as a function: what is missing is played, then everything is written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matchenv.benchmarks.study.claims import claims_on
from matchenv.benchmarks.study.results import CellResult, results_of
from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings
from matchenv.benchmarks.study.tables import (
    curve_files,
    paired_csv,
    summary_text,
    verdict_text,
    windows_csv,
)
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.result_files import json_bytes
from matchenv.evaluation.store import open_store
from matchenv.priors import PRIORS
from matchenv.workers import checked_workers


@dataclass(frozen=True)
class Study:
    """What a study found.

    Attributes:
        settings: of the study.
        rows: the episodes.
    """

    settings: StudySettings
    rows: EpisodeTable

    @property
    def results(self) -> list[CellResult]:
        """One result for each cell."""
        return results_of(self.rows, self.settings.game.horizon)

    def summary(self) -> str:
        """The true draw density of every policy in every cell, as Markdown."""
        return summary_text(self.settings, self.results)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names and bytes of all result files."""
        # Plotting is slow to load, and the workers need none of it.
        from matchenv.benchmarks.study.figures import pictures

        results = self.results
        yield from self.rows.files().items()
        yield from curve_files(results)
        yield "windows.csv", windows_csv(results)
        yield "paired.csv", paired_csv(results)
        yield "summary.md", self.summary().encode()
        yield "verdict.md", verdict_text(claims_on(results)).encode()
        yield "versions.json", json_bytes(versions())
        yield from pictures(results)


def run_study(
    policies: Sequence[Any] = PAPER_POLICIES,
    *,
    ranks: Sequence[str | int] | None = None,
    priors: Sequence[str] = PRIORS,
    episodes: int = 10_000,
    prior_draws: int = 1,
    num_opponents: int = 49,
    horizon: int = 500,
    seed: int = 0,
    belief: str = "factorised",
    equal_variance: str = "paper",
    workers: int | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Study:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    A study that was stopped goes on when it is called again with the same folder. With more
    than one worker the call must stand under ``if __name__ == "__main__":`` in a script.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
        ranks: places of player 0, as there, but for a random one; None for the paper's, at the
            same shares of any number of players. By prior mean with the informative prior, by
            true skill with the equal one.
        priors: ``"informative"``, ``"equal"``; each rank is played with each prior.
        episodes: sets of true skills for each draw of the prior, >= 2.
        prior_draws: draws of the prior, >= 1; the paper has one.
        num_opponents: M.
        horizon: games in an episode.
        seed: decides priors, skills, noise and random choices, >= 0.
        belief: what policies read unless their name says another; ``"printed"`` has the
            misprints of the paper's equations.
        equal_variance: of equal priors, as the environment's argument.
        workers: processes; None for one on each core. The results do not depend on it.
        out: folder for finished episodes and result files; None to write none.
        quiet: no progress bar.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            study, or with damaged files.
        OSError: if something cannot be written; finished blocks stay.
    """
    checked_workers(workers)
    settings = StudySettings.checked(
        policies,
        ranks=ranks,
        priors=priors,
        episodes=episodes,
        prior_draws=prior_draws,
        num_opponents=num_opponents,
        horizon=horizon,
        seed=seed,
        belief=belief,
        equal_variance=equal_variance,
    )
    folder = None if out is None else Path(out)
    with open_store(folder, {"command": "study", **settings.described()}) as store:
        rows = play(settings.plan(curves=True), store, workers=workers, quiet=quiet)
        study = Study(settings, rows)
        if store is not None:
            for name, content in study.files():
                store.write(name, content)
    return study


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    packages = ("matchenv", "numpy", "numba", "gymnasium", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
