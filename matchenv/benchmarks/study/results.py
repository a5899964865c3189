"""Results of the study, its tables and its files."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import permutations, product
from operator import methodcaller
from typing import Any, NamedTuple

from matchenv.benchmarks.study.cells import CellResult
from matchenv.benchmarks.study.claims import claims_on, verdict_text
from matchenv.benchmarks.study.settings import (
    DRAW,
    MEASURES,
    PAPER_POLICIES,
    StudySettings,
    windows_of,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.estimates import (
    estimate_over_priors,
)
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column, TableWriter, markdown_table
from matchenv.runtime.checks import as_choice, counted
from matchenv.runtime.files import csv_bytes, json_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions


class Row(NamedTuple):
    """A row of the summary."""

    result: CellResult
    policy: str

    def total(self, window: str) -> str:
        """Return the mean true draw density, summed over the games of a window."""
        density = float(self.result.values(self.policy, DRAW, window).mean())
        return f"{self.result.games_in(window) * density:.3f}"

    def difference(self, window: str, rival: str) -> str:
        """Return the paired difference of the totals to a rival; "" for the rival itself."""
        if self.policy == rival:
            return ""
        density = self.result.paired(self.policy, rival, DRAW, window)
        total = density.times(self.result.games_in(window))
        return f"{total.mean:+.3f} ± {total.half_width:.3f}"


@dataclass(frozen=True)
class Study:
    """Results of a study.

    Attributes:
        settings: its settings.
        rows: its episodes.
    """

    settings: StudySettings
    rows: EpisodeTable

    @property
    def results(self) -> list[CellResult]:
        """The results in each cell."""
        return [CellResult(self.settings, self.rows, cell) for cell in range(len(self.rows.cells))]

    @property
    def heading(self) -> str:
        """A line on the settings; the titles of the cells say what ranks are by."""
        asked = self.settings
        return (
            f"{counted(asked.episodes, 'episode')}, {counted(asked.prior_draws, 'prior')}, "
            f"{counted(asked.horizon, 'game')}, {counted(asked.num_opponents, 'opponent')}, "
            f"seed {asked.seed}, "
            f"{asked.belief} belief"
            f"{Settings.changed_text({'equal_variance': asked.equal_variance})}. "
            "Intervals are 95 %."
        )

    def summary(self, table: TableWriter = markdown_table) -> str:
        """Return a table of the true draw density, summed over games, written by ``table``.

        It has the paired differences to the first policy.
        """
        rows = []
        for result in self.results:
            for policy in self.rows.policies:
                rows.append(Row(result, policy))
        heading = self.heading
        if len(self.rows.policies) > 1:
            heading += " ±: half of an interval."
        lines = [
            "# True draw density, summed over games",
            "",
            heading,
            "",
            *table(self._columns(), rows),
        ]
        return "\n".join(lines) + "\n"

    def _columns(self) -> list[Column]:
        """Return the columns of the summary; with one policy none of differences."""
        first, *others = self.rows.policies
        columns = [
            Column("cell", lambda row: row.result.cell.title),
            Column("policy", lambda row: row.policy),
        ]
        for window in (ALL, "first", "last"):
            heading = window
            if window != ALL:
                heading = f"{window} {self.results[0].games_in(window)}"
            columns.append(Column(heading, methodcaller("total", window)))
            if others:
                difference = methodcaller("difference", window, first)
                columns.append(Column(f"minus {first}", difference))
        return columns

    def tables(self) -> dict[str, bytes]:
        """Return the CSV files by name.

        ``curves/CELL.csv`` has the measures at each game, ``windows.csv`` their means over windows
        of games, ``paired.csv`` the differences of every ordered pair of policies, and
        ``leads.csv`` the running totals of the true draw density minus that of the first policy.
        """
        files = {}
        for result in self.results:
            files[f"curves/{result.cell.name}.csv"] = self._curves_csv(result)
        files["windows.csv"] = self._windows_csv()
        files["paired.csv"] = self._paired_csv()
        files["leads.csv"] = self._leads_csv()
        return files

    def _leads_csv(self) -> bytes:
        header = ["cell", "policy", "other", "game", "lead", "standard error", "low", "high"]
        rows = []
        first, *others = self.rows.policies
        for result in self.results:
            for policy in others:
                lead = result.lead(policy, first)
                low = lead.mean - lead.half_width
                high = lead.mean + lead.half_width
                columns = (lead.mean, lead.standard_error, low, high)
                for game, numbers in enumerate(zip(*columns, strict=True)):
                    rows.append([result.cell.name, policy, first, game, *numbers])
        return csv_bytes(header, rows)

    def _curves_csv(self, result: CellResult) -> bytes:
        columns: dict[str, Iterable[Any]] = {"game": range(self.settings.horizon)}
        for policy, measure in product(self.rows.policies, MEASURES):
            curve = result.curve(policy, measure)
            columns[f"{policy} {measure} mean"] = curve.mean
            columns[f"{policy} {measure} standard error"] = curve.standard_error
        return csv_bytes(list(columns), zip(*columns.values(), strict=True))

    def _windows_csv(self) -> bytes:
        header = ["cell", "policy", "measure", "games", "mean", "standard error", "low", "high"]
        rows = []
        windows = windows_of(self.settings.horizon)
        for result in self.results:
            for policy, measure, window in product(self.rows.policies, MEASURES, windows):
                mean = estimate_over_priors(result.values(policy, measure, window))
                rows.append([result.cell.name, policy, measure, window, *astuple(mean)])
        return csv_bytes(header, rows)

    def _paired_csv(self) -> bytes:
        header = ["cell", "policy", "other", "measure", "games"]
        header += ["difference", "standard error", "low", "high"]
        rows = []
        pairs = list(permutations(self.rows.policies, 2))
        windows = windows_of(self.settings.horizon)
        for result in self.results:
            for (policy, other), measure, window in product(pairs, MEASURES, windows):
                difference = result.paired(policy, other, measure, window)
                row = [result.cell.name, policy, other, measure, window, *astuple(difference)]
                rows.append(row)
        return csv_bytes(header, rows)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each result file."""
        # Slow to import, and not needed by workers.
        from matchenv.benchmarks.study.figures import pictures

        claims = claims_on(self.results)
        made_with = {"python": platform.python_version(), **versions("gymnasium", "scipy")}
        yield from self.rows.files().items()
        yield from self.tables().items()
        yield "summary.md", self.summary().encode()
        yield "verdict.md", verdict_text(claims, self.heading).encode()
        yield "verdict.json", json_bytes({"versions": made_with, "claims": claims}, checked=True)
        yield from pictures(self.results)


def run_study(
    policies: Sequence[Any] = PAPER_POLICIES, *, run: RunOptions | None = None, **options: Any
) -> Study:
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Args:
        policies: see ``matchenv.benchmarks.compare.run_comparison``.
        run: folder, workers, and other options that change no result.
        options: other fields of ``StudySettings``.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            study or with damaged files.
        OSError: if the folder cannot be written; finished blocks stay.
    """
    run = run or RunOptions()
    for name in options:
        as_choice("options", name, [field.name for field in fields(StudySettings)[1:]])
    settings = StudySettings(policies, **options)
    with run.store({"command": "study", **settings.described()}) as store:
        study = Study(settings, play(settings.plan(), store))
        store.finish(study, study.files())
    return study
