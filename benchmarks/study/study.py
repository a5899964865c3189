"""The study as a function: what is missing is played, then everything is written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matchenv.benchmarks.study.claims import claims_on, verdict_text
from matchenv.benchmarks.study.results import CellResult, results_of, summary_text, tables_of
from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.tables import TableWriter, markdown_table
from matchenv.runtime.files import json_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions


@dataclass(frozen=True)
class Study:
    """Results of a study.

    Attributes:
        settings: of the study.
        rows: the episodes.
    """

    settings: StudySettings
    rows: EpisodeTable

    @property
    def results(self) -> list[CellResult]:
        """One result for each cell."""
        return results_of(self.rows, self.settings.horizon, self.settings.game.num_players)

    def summary(self, table: TableWriter = markdown_table) -> str:
        """Return the true draw density of every policy in every cell, as Markdown by default."""
        return summary_text(self.settings, self.results, table)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and bytes of all result files."""
        # Plotting is slow to load, and the workers need none of it.
        from matchenv.benchmarks.study.figures import pictures

        results = self.results
        yield from self.rows.files().items()
        yield from tables_of(results).items()
        yield "summary.md", self.summary().encode()
        claims = claims_on(results)
        yield "verdict.md", verdict_text(claims).encode()
        made_with = {"python": platform.python_version(), **versions("gymnasium", "scipy")}
        yield "verdict.json", json_bytes({"versions": made_with, "claims": claims}, checked=True)
        yield from pictures(results)


def run_study(
    policies: Sequence[Any] = PAPER_POLICIES, *, run: RunOptions | None = None, **options: Any
) -> Study:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
        run: folder, workers and what else does not change a number.
        options: the others of ``StudySettings``.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            study, or with damaged files.
        OSError: if something cannot be written; finished blocks stay.
    """
    run = run or RunOptions()
    settings = StudySettings(policies, **options)
    with run.store({"command": "study", **settings.described()}) as store:
        study = Study(settings, play(settings.plan(), store, run))
        run.finish(store, study, study.files())
    return study
