"""The Gittins index with its parts weighed otherwise: what docs/gittins.md says of tuning it.

A class for ``--policy matchenv.benchmarks.varied_index:VariedGittins:shared=0.5`` in any command;
none of it is ahead of the index, so it is no policy of the catalogue.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines import Gittins
from matchenv.baselines.gittins.choice import all_indices
from matchenv.baselines.gittins.widened_belief import EVEN_SHARE
from matchenv.baselines.policy import Floats, Integers
from matchenv.belief import FullBelief
from matchenv.belief.full import SLACK, memory_of_deviations
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_number, as_positive_number
from matchenv.settings import PAPER_BETA


class VariedGittins(Gittins):
    """log q + bonus log(G / q) + what a game tells of player 0's own skill, weighed.

    G / q is what the index adds to the draw density for what a game teaches. It is read at another
    variance of s_0 - s_k and other games left.

    Args:
        shared: factor on the part of the variance that is player 0's and all opponents share, > 0.
        rest: factor on the part that is the opponent's alone, > 0.
        games: factor on the games left, > 0.
        bonus: factor on log(G / q).
        information: worth of the share of Var(s_0) that one even game removes; fades with the
            share of games left.
        beta: as ``Gittins``.
        horizon: as there.

    Raises:
        ValueError: for a bad number.
    """

    name: ClassVar[str] = "varied-gittins"

    def __init__(
        self,
        shared: float = 1.0,
        rest: float = 1.0,
        games: float = 1.0,
        bonus: float = 1.0,
        information: float = 0.0,
        *,
        beta: float = PAPER_BETA,
        horizon: int = 500,
    ) -> None:
        super().__init__(beta=beta, horizon=horizon, belief=FullBelief.name)
        self.shared = as_positive_number("shared", shared)
        self.rest = as_positive_number("rest", rest)
        self.games = as_positive_number("games", games)
        self.bonus = as_number("bonus", bonus)
        self.information = as_number("information", information)

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """Scores of shape (..., M); arguments as ``Gittins.scores``."""
        state, shape = knowledge_state.flattened(), knowledge_state.batch_shape
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape).ravel()
        slack = memory_of_deviations(state.sigma, state.extra)[:, SLACK]
        variance = state.extra**2
        own = (slack * state.sigma[:, :1]) ** 2
        rest = np.maximum(variance - own, 0.0)
        varied = np.zeros_like(state.sigma)
        varied[:, 1:] = np.sqrt(self.shared * own + self.rest * rest)
        table, planes = self._planes(np.clip(self.games * left, 1.0, None))
        indices = all_indices(table.grid, table.bonus, planes, state.mu, varied, self.beta)
        noise = 2.0 * self.beta * self.beta
        squared_gap = (state.mu[:, :1] - state.mu[:, 1:]) ** 2
        learned = np.log(indices) - _log_density(squared_gap, noise + varied[:, 1:] ** 2)
        found = _log_density(squared_gap, noise + variance) + self.bonus * learned
        precision = EVEN_SHARE / (noise + (1.0 - EVEN_SHARE) * variance)
        told = own * precision / (1.0 + rest * precision)
        found += self.information * (left / self.horizon)[:, None] * told / (1.0 + told)
        return found.reshape(*shape, knowledge_state.num_opponents)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        del rng
        chosen: Integers = self.scores(state, games_left).argmax(axis=-1)
        return chosen


def _log_density(squared_gap: Floats, variance: Floats) -> Floats:
    density: Floats = -0.5 * (squared_gap / variance + np.log(2.0 * math.pi * variance))
    return density
