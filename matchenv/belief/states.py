"""A batch of states of the belief model: what a belief keeps, whatever kind it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import MEASURES, MU, SIGMA, Belief, GameConstants, GamesPlayed, belief_named
from matchenv.belief.knowledge import KnowledgeState

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class States:
    """B states of the belief model.

    Attributes:
        belief: the kind of belief.
        players: shape (B, M + 1, 3), as ``matchenv.belief.Belief`` says; no true skills.
        memory: shape (B, R, M).
    """

    belief: Belief
    players: Floats
    memory: Floats

    @classmethod
    def of_prior(cls, mu: Floats, sigma: Floats, belief: str) -> States:
        """Independent players, both of shape (B, M + 1), under the named belief."""
        kind = belief_named(belief)
        players = np.stack((mu, sigma, np.zeros_like(mu)), axis=-1)
        memory = kind.new_memory(len(mu), mu.shape[1] - 1)
        kind.begin(players, memory, _observations(kind, players), np.arange(len(mu)))
        return cls(kind, players, memory)

    def __len__(self) -> int:
        return len(self.players)

    def __getitem__(self, rows: slice) -> States:
        return States(self.belief, self.players[rows], self.memory[rows])

    def repeated(self, times: int) -> States:
        """Each state repeated ``times`` times in a row."""
        return States(
            self.belief,
            np.repeat(self.players, times, axis=0),
            np.repeat(self.memory, times, axis=0),
        )

    def draw_density(self, beta: float) -> Floats:
        """q of a game with each opponent, shape (B, M)."""
        return self.belief.draw_density(self.players[:, :, MU], self._variances(), beta)

    def outcome_probability(self, outcome: int, constants: GameConstants) -> Floats:
        """Probability that a game with each opponent ends so, shape (B, M)."""
        mu, sigma = self.players[:, :, MU], self.players[:, :, SIGMA]
        return self.belief.outcome_probability(mu, sigma, self._variances(), outcome, constants)

    def after_games(
        self, opponents: Integers, outcomes: Integers | int, constants: GameConstants
    ) -> States:
        """The states after a game each, new arrays; both arguments of shape (B,)."""
        after = States(self.belief, self.players.copy(), self.memory.copy())
        count = len(self)
        played = np.ones(count, dtype=np.bool_)
        result = np.full(count, outcomes, dtype=np.int8)
        measures = np.empty((len(MEASURES), count))
        games = GamesPlayed(opponents, played, ~played, measures, result > 0, result)
        shown = _observations(self.belief, self.players)
        self.belief.learn(after.players, after.memory, shown, games, constants)
        return after

    def knowledge_state(self) -> KnowledgeState:
        """The states as policies see them."""
        return KnowledgeState(
            self.players[:, :, MU],
            self.players[:, :, SIGMA],
            self.belief.extra(self.players, self.memory),
            self.belief.name,
        )

    def _variances(self) -> Floats:
        extra = self.belief.extra(self.players, self.memory)
        return self.belief.difference_variance(self.players[:, :, SIGMA], extra)


def _observations(belief: Belief, players: Floats) -> NDArray[np.float32]:
    size = belief.observation_size(players.shape[1] - 1)
    return np.empty((len(players), size), dtype=np.float32)
