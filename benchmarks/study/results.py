"""Results of a study in each cell, from its episodes, and the tables of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.study.settings import MEASURES, StudySettings, windows_of
from matchenv.envs.core.simulator import SUM
from matchenv.envs.one_player.settings import place_of_rank
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import (
    Curve,
    Estimate,
    curve_of_sums,
    estimate_over_priors,
    nearer_by,
)
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column, TableWriter, markdown_table
from matchenv.runtime.files import csv_bytes

Floats = NDArray[np.float64]

DRAW = "true_draw_density"
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
        games = span.stop - span.start if OnePlayer.measures[measure] == SUM else 1
        return found / games

    def paired(self, ours: str, theirs: str, measure: str, window: str) -> Estimate:
        """Return the difference of two policies on the same episodes, ours minus theirs."""
        a, b = (self.values(policy, measure, window) for policy in (ours, theirs))
        return estimate_over_priors(a - b)

    def nearer(self, ours: str, theirs: str, measure: str, window: str, goal: float) -> Estimate:
        """Return how much nearer to a goal our mean is than theirs."""
        a, b = (self.values(policy, measure, window) for policy in (ours, theirs))
        return estimate_over_priors(nearer_by(a, b, goal))

    def curve(self, policy: str, measure: str) -> Curve:
        """Return a measure at each game."""
        place = (self.number, self.policies.index(policy))
        sums = self.rows.totals["curves"][place][:, MEASURES.index(measure)]
        return curve_of_sums(sums, self.rows.seeds.shape[1])


def results_of(rows: EpisodeTable, horizon: int, num_players: int) -> list[CellResult]:
    """Return one result for each cell."""
    return [CellResult(rows, number, horizon, num_players) for number in range(len(rows.cells))]


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
    found, priors = estimate_over_priors(mine), mine.mean(axis=1)
    spread = float(priors.std(ddof=1)) if priors.size > 1 else None
    return [found.mean, found.standard_error, found.low, found.high,
            float(priors.min()), float(priors.max()), spread]  # fmt: skip


def summary_text(
    settings: StudySettings, results: Sequence[CellResult], table: TableWriter = markdown_table
) -> str:
    """Return the true draw density of every policy in every cell, as Markdown or as a text table.

    Sums over games, with the difference to the first policy of the list.
    """
    first = results[0].policies[0]
    columns = [Column("cell", "{cell}"), Column("policy", "{policy}")]
    rows: list[dict[str, Any]] = [{"cell": result.cell.title, "policy": policy}
                                  for result in results for policy in result.policies]  # fmt: skip
    for window in (ALL, "first", "last"):
        span = windows_of(settings.horizon)[window]
        games = span.stop - span.start
        columns += [Column(window if window == ALL else f"{window} {games}", f"{{{window}}}"),
                    Column(f"minus {first}", f"{{{window}_more}}")]  # fmt: skip
        of_row = product(results, results[0].policies)
        for row, (result, policy) in zip(rows, of_row, strict=True):
            mean = games * float(result.values(policy, DRAW, window).mean())
            more = result.paired(policy, first, DRAW, window).times(games)
            row[window] = f"{mean:.3f}"
            row[f"{window}_more"] = (
                "" if policy == first else f"{more.mean:+.3f} +- {more.half_width:.3f}"
            )
    draws = settings.prior_draws
    lines = [
        "# True draw density, summed over games",
        "",
        f"{settings.episodes} episodes, {'1 prior' if draws == 1 else f'{draws} priors'}, "
        f"{settings.horizon} games, {settings.num_opponents} opponents, seed {settings.seed}, "
        f"{settings.belief} belief. Intervals are 95 %.",
        "",
        *table(columns, rows),
    ]
    return "\n".join(lines) + "\n"
