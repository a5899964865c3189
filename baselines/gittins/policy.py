"""The Gittins index as a policy."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.gittins.choice import all_indices, highest_indices
from matchenv.baselines.gittins.table import IndexTable, index_table, rounded_horizon
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.belief import FullBelief, GameConstants, belief_named
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_non_negative_number, as_positive_number, as_probability
from matchenv.settings import PAPER_BETA, Settings


class Gittins(Policy):
    """Choose the opponent with the highest Gittins index for the games left.

    The index of an opponent is the price for a game at which it is worth as much to play this
    opponent on, for as long as it pays, as to leave for good. It needs no tuning and no training.
    It would be the best choice if the opponents were independent, for an infinite discounted
    horizon; here all share player 0's skill, so it is a heuristic.

    The table of indices is computed at the first decision, in seconds, and kept in the user's
    cache folder (``MATCHENV_CACHE``).

    Args:
        discount: for an infinite horizon with this discount, in (0, 1); None for the games that
            are left, undiscounted.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        horizon: as ``Policy``.
        belief: as ``Policy``; the full one by default, which knows the variance of s_0 - s_k.

    Raises:
        ValueError: for a bad number or an unknown belief.

    Source: Gittins (1979); Whittle (1980); Lattimore (2016) for finite horizons.
    """

    name: ClassVar[str] = "gittins"

    def __init__(
        self,
        discount: float | None = None,
        *,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        horizon: int = 500,
        belief: str = FullBelief.name,
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        self.discount = None if discount is None else as_probability("discount", discount)
        if self.discount == 0.0:
            raise ValueError("discount must be in (0, 1), got 0.0; DrawChance looks at one game")
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)
        self.tau = as_non_negative_number("tau", tau)
        belief_named(self.belief).check_constants(
            GameConstants(self.beta, self.draw_margin, self.tau)
        )

    @classmethod
    def preferred_belief(cls, settings: Settings) -> str:
        """The full one, which knows the variances of differences; it knows no drift."""
        return settings.belief if settings.tau > 0.0 else FullBelief.name

    def table(self, games: int = 1) -> IndexTable:
        """The table that decisions with up to ``games`` games left are read from."""
        unit = 1.0 / (math.sqrt(2.0) * self.beta)
        margin, tau = self.draw_margin * unit, self.tau * unit
        if self.discount is not None:
            return index_table(None, margin, tau, self.discount)
        return index_table(rounded_horizon(max(games, self.horizon)), margin, tau)

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """The index of each opponent.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
            games_left: games left, the one to be chosen among them, broadcast to the batch.

        Returns:
            Indices, draw densities in 1 / skill points, of shape (..., M).
        """
        shape = knowledge_state.batch_shape
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape).ravel()
        flat = knowledge_state.flattened()
        table, planes = self._planes(left)
        found = all_indices(table.grid, table.bonus, planes, flat.mu, flat.paired_sigma, self.beta)
        return found.reshape(*shape, knowledge_state.num_opponents)

    def _planes(self, games_left: Floats) -> tuple[IndexTable, Integers]:
        """The table, and which part of it each row reads; with no game left, that of one."""
        if self.discount is not None:
            return self.table(), np.zeros(games_left.size, dtype=np.int64)
        table = self.table(int(np.ceil(games_left.max(initial=1.0))))
        return table, np.maximum(np.rint(games_left).astype(np.int64) - 1, 0)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        table, planes = self._planes(games_left)
        return highest_indices(
            table.grid, table.bonus, table.bounds, planes, state.mu, state.paired_sigma, self.beta
        )
