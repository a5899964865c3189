"""The study: what is missing is played, then results of each cell and all tables are written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.study.claims import claims_on, verdict_text
from matchenv.benchmarks.study.settings import (
    DRAW,
    MEASURES,
    PAPER_POLICIES,
    StudySettings,
    windows_of,
)
from matchenv.envs.core.simulator import SUM
from matchenv.envs.one_player.settings import place_of_rank
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.episode_table import Cell, EpisodeTable, play
from matchenv.evaluation.estimates import (
    Curve,
    Estimate,
    curve_of_sums,
    estimate_over_priors,
    nearer_by,
)
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column, TableWriter, markdown_table
from matchenv.runtime.files import csv_bytes, json_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.provenance import versions

Floats = NDArray[np.float64]

NUMBERS = ("standard error", "low", "high", "least of a prior", "greatest of a prior",
           "deviation over priors")  # fmt: skip


@dataclass(frozen=True)
class CellResult:
    """Results in one cell; measures are means over the games of a window.

    Attributes:
        rows: the episodes of the study.
        number: of the cell among its cells.
        horizon: games in an episode.
        num_players: M + 1.
    """

    rows: EpisodeTable
    number: int
    horizon: int
    num_players: int

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.rows.cells[self.number]

    @property
    def where(self) -> tuple[str, int]:
        """Prior, and number of players before player 0."""
        place = place_of_rank(self.cell.options["rank"], self.num_players - 1)
        return self.cell.labels["prior"], place

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return self.rows.policies

    @property
    def units(self) -> int:
        """Number of values behind errors: draws of the prior, or episodes of a single draw."""
        draws, episodes = self.rows.seeds.shape
        return episodes if draws == 1 else draws

    def values(self, policy: str, measure: str, window: str) -> Floats:
        """Return the mean of a measure over a window in every episode, shape (draws, episodes)."""
        found = self.rows.values(measure, self.number, policy, window)
        span = windows_of(self.horizon)[window]
        return found / (span.stop - span.start if OnePlayer.measures[measure] == SUM else 1)

    def paired(
        self, ours: str, theirs: str, measure: str, window: str, goal: float | None = None
    ) -> Estimate:
        """Return the difference of two policies on the same episodes, ours minus theirs.

        With a goal, how much nearer to it our mean is than theirs.
        """
        a, b = (self.values(policy, measure, window) for policy in (ours, theirs))
        return estimate_over_priors(a - b if goal is None else nearer_by(a, b, goal))

    def curve(self, policy: str, measure: str) -> Curve:
        """Return a measure at each game."""
        place = (self.number, self.policies.index(policy))
        sums = self.rows.totals["curves"][place][:, MEASURES.index(measure)]
        return curve_of_sums(sums, self.rows.seeds.shape[1])


def results_of(rows: EpisodeTable, horizon: int, num_players: int) -> list[CellResult]:
    """Return one result for each cell."""
    return [CellResult(rows, number, horizon, num_players) for number in range(len(rows.cells))]


# A cell and a policy in it.
Row = tuple[CellResult, str]


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
        claims = claims_on(results)
        made_with = {"python": platform.python_version(), **versions("gymnasium", "scipy")}
        yield from self.rows.files().items()
        yield from tables_of(results).items()
        yield "summary.md", self.summary().encode()
        yield "verdict.md", verdict_text(claims).encode()
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
        study = Study(settings, play(settings.plan(), store))
        store.finish(study, study.files())
    return study


def tables_of(results: Sequence[CellResult]) -> dict[str, bytes]:
    """Return the CSV files of a study by name: the curves of each cell, and windows of games.

    ``windows.csv`` has the means of every policy, ``paired.csv`` the differences between any two on
    the same episodes, each pair both ways round.
    """
    files = {}
    for result in results:
        columns: dict[str, Floats] = {}
        for policy, measure in product(result.policies, MEASURES):
            curve = result.curve(policy, measure)
            columns[f"{policy} {measure} mean"] = curve.mean
            columns[f"{policy} {measure} standard error"] = curve.standard_error
        rows = zip(range(result.horizon), *columns.values(), strict=True)
        files[f"curves/{result.cell.name}.csv"] = csv_bytes(["game", *columns], rows)
    for name, labels, value in (
        ("windows.csv", ["policy"], "mean"), ("paired.csv", ["policy", "other"], "difference"),
    ):  # fmt: skip
        header = ["cell", *labels, "measure", "games", value, *NUMBERS]
        files[name] = csv_bytes(header, [
            [result.cell.name, *policies, *where,
             *_numbers([result.values(policy, *where) for policy in policies])]
            for result in results
            for policies in permutations(result.policies, len(labels))
            for where in product(MEASURES, windows_of(result.horizon))
        ])  # fmt: skip
    return files


def _numbers(values: Sequence[Floats]) -> list[float | None]:
    """Return the mean of values of shape (draws, episodes), less others, and ``NUMBERS``."""
    mine = values[0] if len(values) == 1 else values[0] - values[1]
    priors = mine.mean(axis=1)
    spread = float(priors.std(ddof=1)) if priors.size > 1 else None
    found = vars(estimate_over_priors(mine)).values()
    return [*found, float(priors.min()), float(priors.max()), spread]


def summary_text(
    settings: StudySettings, results: Sequence[CellResult], table: TableWriter = markdown_table
) -> str:
    """Return the true draw density of every policy in every cell, as Markdown or as a text table.

    Sums over games, with the difference to the first policy of the list.
    """
    first, draws = results[0].policies[0], settings.prior_draws
    columns = [
        Column("cell", lambda row: row[0].cell.title),
        Column("policy", lambda row: row[1]),
    ]
    for window in (ALL, "first", "last"):
        span = windows_of(settings.horizon)[window]
        games = span.stop - span.start

        def total(row: Row, window: str = window, games: int = games) -> str:
            return f"{games * float(row[0].values(row[1], DRAW, window).mean()):.3f}"

        def more(row: Row, window: str = window, games: int = games) -> str:
            found = row[0].paired(row[1], first, DRAW, window).times(games)
            return "" if row[1] == first else f"{found.mean:+.3f} +- {found.half_width:.3f}"

        heading = window if window == ALL else f"{window} {games}"
        columns += [Column(heading, total), Column(f"minus {first}", more)]
    lines = [
        "# True draw density, summed over games",
        "",
        f"{settings.episodes} episodes, {'1 prior' if draws == 1 else f'{draws} priors'}, "
        f"{settings.horizon} games, {settings.num_opponents} opponents, seed {settings.seed}, "
        f"{settings.belief} belief. Intervals are 95 %.",
        "",
        *table(columns, list(product(results, results[0].policies))),
    ]
    return "\n".join(lines) + "\n"
