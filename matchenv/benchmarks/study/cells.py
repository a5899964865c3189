"""Results of a study in one cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matchenv.benchmarks.study.settings import (
    DRAW,
    MEASURES,
    StudySettings,
    windows_of,
)
from matchenv.envs.core.simulator import SUM
from matchenv.envs.one_player.settings import place_of_rank
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.episode_table import Cell, EpisodeTable
from matchenv.evaluation.estimates import (
    Estimate,
    Record,
    curve_of_sums,
    equality_p_value,
    errors_within_priors,
    estimate_over_priors,
    independent_values,
    mean_of_blocks,
    nearer_by,
)
from matchenv.runtime.arrays import Floats


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
        if OnePlayer.aggregations[measure] == SUM:
            return values / self.games_in(window)
        return values

    def games_in(self, window: str) -> int:
        """Return the number of games in a window."""
        games = windows_of(self.settings.horizon)[window]
        return games.stop - games.start

    def paired(
        self, ours: str, theirs: str, measure: str, window: str, goal: float | None = None
    ) -> Estimate:
        """Return the paired difference of two policies, ours minus theirs.

        With a goal, return by how much our mean is nearer to it.
        """
        our_values = self.values(ours, measure, window)
        their_values = self.values(theirs, measure, window)
        if goal is None:
            return estimate_over_priors(our_values - their_values)
        return estimate_over_priors(nearer_by(our_values, their_values, goal))

    def equality(self, ours: str, theirs: str, measure: str, window: str) -> float:
        """Return the p-value of the claim that two policies are equal within the margin.

        See ``equality_p_value``.
        """
        our_values = independent_values(self.values(ours, measure, window))
        their_values = independent_values(self.values(theirs, measure, window))
        return equality_p_value(our_values, their_values)

    def lead(self, policy: str, other: str) -> Record:
        """Return the running total of the true draw density minus that of another policy.

        It is paired: errors are over draws of the prior, or with a single one over blocks of
        episodes.
        """
        draw = MEASURES.index(DRAW)
        sums = []
        for name in (policy, other):
            of_policy = self.rows.block_totals["curves"][
                self.number, self.rows.policies.index(name)
            ]
            sums.append(of_policy[:, :, draw, :, 0])
        lead = np.cumsum(sums[0] - sums[1], axis=-1)  # shape (draws, blocks, games)
        draws, episodes = self.rows.seeds.shape
        if draws == 1:
            return mean_of_blocks(lead[0], self.rows.block_sizes)
        return mean_of_blocks(lead.sum(axis=1), np.full(draws, episodes))

    def curve(self, policy: str, measure: str) -> Record:
        """Return a measure at each game, see ``curve_of_sums``."""
        return curve_of_sums(self._sums(policy, measure), self.rows.seeds.shape[1])

    def errors(self, policy: str, measure: str) -> Floats:
        """Return standard errors at each game, for each prior; see ``errors_within_priors``."""
        return errors_within_priors(self._sums(policy, measure), self.rows.seeds.shape[1])

    def _sums(self, policy: str, measure: str) -> Floats:
        """Return sums of a measure over the episodes, shape (draws, N, 2)."""
        curves = self.rows.totals["curves"][self.number, self.rows.policies.index(policy)]
        return np.asarray(curves[:, MEASURES.index(measure)])
