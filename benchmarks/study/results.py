"""Results of a study in each cell, from its episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.study.settings import MEASURES, windows_of
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

Floats = NDArray[np.float64]


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

    def window(self, policy: str, measure: str, window: str) -> Estimate:
        """Return the mean of a measure over a window of games."""
        return estimate_over_priors(self.values(policy, measure, window))

    def differences(self, ours: str, theirs: str, measure: str, window: str) -> Floats:
        """Return ours minus theirs on the same episodes, shape (draws, episodes)."""
        return self.values(ours, measure, window) - self.values(theirs, measure, window)

    def paired(self, ours: str, theirs: str, measure: str, window: str) -> Estimate:
        """Return the difference of two policies on the same episodes, ours minus theirs."""
        return estimate_over_priors(self.differences(ours, theirs, measure, window))

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
