"""The study as a function: what is missing is played, then everything is written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from matchenv.benchmarks.study.claims import claims_on
from matchenv.benchmarks.study.results import CellResult, results_of
from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudyOptions, StudySettings
from matchenv.benchmarks.study.tables import (
    curve_files,
    paired_csv,
    summary_text,
    verdict_text,
    windows_csv,
)
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.runtime.files import json_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions


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
        claims = claims_on(results)
        yield "verdict.md", verdict_text(claims).encode()
        yield "verdict.json", json_bytes([asdict(claim) for claim in claims])
        made_with = {"python": platform.python_version(), **versions("gymnasium", "scipy")}
        yield "versions.json", json_bytes(made_with)
        yield from pictures(results)


def run_study(
    policies: Sequence[Any] = PAPER_POLICIES,
    *,
    run: RunOptions | None = None,
    **options: Unpack[StudyOptions],
) -> Study:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
        run: folder, workers and what else does not change a number.
        options: ``StudyOptions``.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            study, or with damaged files.
        OSError: if something cannot be written; finished blocks stay.
    """
    run = run or RunOptions()
    settings = StudySettings.checked(policies, **options)
    with run.store({"command": "study", **settings.described()}) as store:
        study = Study(settings, play(settings.plan(), store, run))
        run.finish(store, study, study.files())
    return study
