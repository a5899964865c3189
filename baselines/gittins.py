"""The Gittins index, which is optimal for independent arms."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.gittins_table import (
    Grid,
    IndexTable,
    index_table,
    place_of,
    read,
    rounded_horizon,
)
from matchenv.baselines.policy import ScoringPolicy
from matchenv.belief import FullBelief, GameConstants, belief_named
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_non_negative_number, as_positive_number
from matchenv.runtime.compile import compiled


@compiled
def log_indices(
    grid: Grid,
    bonus: NDArray[np.float32],
    planes: Integers,
    mu: Floats,
    variances: Floats,
    beta: float,
    drift: float,
) -> Floats:
    """Return log G + log(2 pi) / 2 of every opponent, shape (B, M), in units of sqrt(2) beta.

    ``planes``, shape (B,), is games left minus 1. ``mu``, shape (B, M + 1), has player 0 first, and
    ``variances``, shape (B, M), are those of s_0 - s_k, to which each game adds ``drift``. For
    ``bonus`` see ``IndexTable``.
    """
    logs = np.empty((mu.shape[0], mu.shape[1] - 1))
    unit = 0.5 / (beta * beta)
    smallest = math.exp(grid.lowest)
    for b in range(mu.shape[0]):
        table = bonus[planes[b]]
        for k in range(1, mu.shape[1]):
            gap = mu[b, 0] - mu[b, k]
            variance = variances[b, k - 1] * unit
            square = gap * gap * unit / (variance + 1.0)
            place = place_of(grid, math.sqrt(square), max(variance, smallest))
            more = max(0.0, read(table, place))
            if variance < smallest:
                # The bonus vanishes with the variance that a game can remove.
                more *= (variance + drift * unit) / (smallest + drift * unit)
            logs[b, k - 1] = more - 0.5 * (square + math.log(1.0 + variance))
    return logs


class Gittins(ScoringPolicy):
    """Choose the opponent with the highest Gittins index for the games left.

    The index of an opponent is the price per game at which optimal stopping gains nothing from
    playing this opponent. It needs no tuning and no training. It is optimal for independent arms
    and an infinite discounted horizon. Here all opponents share player 0's skill, so it is a
    heuristic.

    The first decision computes the table of indices, which takes seconds, and stores it in the
    user's cache folder (``MATCHENV_CACHE``).

    Args:
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        horizon: see ``Policy``.
        belief: see ``Policy``; the default is the full one, which tracks the variance of s_0 - s_k.

    Raises:
        ValueError: for a value out of range, an unknown belief or a horizon above 131,072 games.

    Source: Gittins (1979); Whittle (1980); Lattimore (2016) for finite horizons.
    """

    name: ClassVar[str] = "gittins"

    def __init__(
        self,
        *,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        horizon: int = 500,
        belief: str = FullBelief.name,
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        rounded_horizon(self.horizon)
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)
        self.tau = as_non_negative_number("tau", tau)
        belief_named(self.belief).check_constants(
            GameConstants(self.beta, self.draw_margin, self.tau)
        )

    @classmethod
    def preferred_belief(cls, settings: Settings) -> str:
        """Return the full belief, or the environment's for games with drift."""
        return settings.belief if settings.tau > 0.0 else FullBelief.name

    def table(self, games: int = 1) -> IndexTable:
        """Return the table for decisions with up to ``games`` games left."""
        unit = 1.0 / (math.sqrt(2.0) * self.beta)
        horizon = rounded_horizon(max(games, self.horizon))
        return index_table(horizon, self.draw_margin * unit, self.tau * unit)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        density = 1.0 / (2.0 * self.beta * math.sqrt(math.pi))
        return density * np.exp(self._preferences(state, games_left))

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        table = self.table(int(np.ceil(games_left.max(initial=1.0))))
        # With no game left, use the indices of one game.
        planes = np.maximum(np.rint(games_left).astype(np.int64) - 1, 0)
        variance = state.difference_variance
        drift = 2.0 * self.tau**2
        return np.asarray(
            log_indices(table.grid, table.bonus, planes, state.mu, variance, self.beta, drift)
        )


class ToldIndex(Gittins):
    """The Gittins index for a known skill of player 0.

    It is a reference for benchmarks, not a fair policy. Given that skill the opponents are
    independent, so it shows the cost of not knowing it. ``knows_skill_0`` makes
    ``matchenv.evaluation.rollout`` start the belief about player 0 at the true skill.
    """

    name: ClassVar[str] = "told"
    needs_truth: ClassVar[bool] = True
    knows_skill_0: ClassVar[bool] = True
