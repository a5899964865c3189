"""Results of the study, its tables and its files."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import permutations, product
from operator import itemgetter
from typing import Any

from matchenv.benchmarks.study.claims import claims_on, verdict_text
from matchenv.benchmarks.study.settings import (
    DRAW,
    MEASURES,
    PAPER_POLICIES,
    StudySettings,
    windows_of,
)
from matchenv.envs.core.simulator import SUM
from matchenv.envs.one_player.settings import Settings, place_of_rank
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.episode_table import Cell, EpisodeTable, play
from matchenv.evaluation.estimates import (
    Estimate,
    Record,
    curve_of_sums,
    estimate_over_priors,
    nearer_by,
)
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column, TableWriter, markdown_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, counted
from matchenv.runtime.files import csv_bytes, json_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions


@dataclass(frozen=True)
class CellResult:
    """Results in one cell."""

    settings: StudySettings
    rows: EpisodeTable  # episodes of the study
    number: int  # index of the cell

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.rows.cells[self.number]

    @property
    def where(self) -> tuple[str, int]:
        """Prior, and place of player 0 from 0 for the best."""
        place = place_of_rank(self.cell.options["rank"], self.settings.num_opponents)
        return self.cell.labels["prior"], place

    @property
    def units(self) -> int:
        """Number of independent values: draws of the prior, or episodes of a single draw."""
        draws, episodes = self.rows.seeds.shape
        return episodes if draws == 1 else draws

    def values(self, policy: str, measure: str, window: str) -> Floats:
        """Return the mean of a measure over the games of a window, shape (draws, episodes)."""
        values = self.rows.values(measure, self.number, policy, window)
        span = windows_of(self.settings.horizon)[window]
        return values / (span.stop - span.start if OnePlayer.aggregations[measure] == SUM else 1)

    def paired(
        self, ours: str, theirs: str, measure: str, window: str, goal: float | None = None
    ) -> Estimate:
        """Return the paired difference of two policies, ours minus theirs.

        With a goal, return by how much our mean is nearer to it.
        """
        a, b = (self.values(policy, measure, window) for policy in (ours, theirs))
        return estimate_over_priors(a - b if goal is None else nearer_by(a, b, goal))

    def curve(self, policy: str, measure: str) -> Record:
        """Return a measure at each game, see ``curve_of_sums``."""
        sums = self.rows.totals["curves"][self.number, self.rows.policies.index(policy)]
        return curve_of_sums(sums[:, MEASURES.index(measure)], self.rows.seeds.shape[1])


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
        (first, *others), spans = self.rows.policies, windows_of(self.settings.horizon)
        games = {name: spans[name].stop - spans[name].start for name in (ALL, "first", "last")}
        headings = ["cell", "policy"]
        for window, count in games.items():
            headings += [window if window == ALL else f"{window} {count}", f"minus {first}"]
        rows = []
        for result, policy in product(self.results, self.rows.policies):
            row = [result.cell.title, policy]
            for window, count in games.items():
                row.append(f"{count * float(result.values(policy, DRAW, window).mean()):.3f}")
                less = result.paired(policy, first, DRAW, window).times(count)
                text = f"{less.mean:+.3f} ± {less.half_width:.3f}"
                row.append("" if policy == first else text)
            rows.append(row)
        columns = [Column(heading, itemgetter(k)) for k, heading in enumerate(headings)
                   if others or not heading.startswith("minus")]  # fmt: skip
        lines = [
            "# True draw density, summed over games",
            "",
            f"{self.heading}{' ±: half of an interval.' if others else ''}",
            "",
            *table(columns, rows),
        ]
        return "\n".join(lines) + "\n"

    def tables(self) -> dict[str, bytes]:
        """Return the CSV files by name.

        ``curves/CELL.csv`` has the measures at each game, ``windows.csv`` their means over windows
        of games, ``paired.csv`` the differences of every ordered pair of policies.
        """
        files, policies = {}, self.rows.policies
        for result in self.results:
            columns: dict[str, Floats] = {}
            for policy, measure in product(policies, MEASURES):
                curve = result.curve(policy, measure)
                columns[f"{policy} {measure} mean"] = curve.mean
                columns[f"{policy} {measure} standard error"] = curve.standard_error
            rows = zip(range(self.settings.horizon), *columns.values(), strict=True)
            files[f"curves/{result.cell.name}.csv"] = csv_bytes(["game", *columns], rows)
        windows = list(product(MEASURES, windows_of(self.settings.horizon)))
        numbers = ("standard error", "low", "high")
        files["windows.csv"] = csv_bytes(["cell", "policy", "measure", "games", "mean", *numbers], [
            [result.cell.name, policy, *where,
             *vars(estimate_over_priors(result.values(policy, *where))).values()]
            for result, policy, where in product(self.results, policies, windows)
        ])  # fmt: skip
        header = ["cell", "policy", "other", "measure", "games", "difference", *numbers]
        files["paired.csv"] = csv_bytes(header, [
            [result.cell.name, *pair, *where, *vars(result.paired(*pair, *where)).values()]
            for result, pair, where in product(self.results, permutations(policies, 2), windows)
        ])  # fmt: skip
        return files

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
        as_choice("options", name, [each.name for each in fields(StudySettings)[1:]])
    settings = StudySettings(policies, **options)
    with run.store({"command": "study", **settings.described()}) as store:
        study = Study(settings, play(settings.plan(), store))
        store.finish(study, study.files())
    return study
