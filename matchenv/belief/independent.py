"""Beliefs that keep every player apart: a mean and a deviation each, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Belief, Floats, GameConstants, Integers, densities
from matchenv.play import DRAW_DENSITY, MATCH_QUALITY, MU, SIGMA
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import quality_per_density
from matchenv.trueskill.game_loops import (
    MU_I,
    MU_J,
    NEW_MU_I,
    NEW_MU_J,
    NEW_SIGMA_I,
    NEW_SIGMA_J,
    OUTCOME,
    PART,
    SIGMA_I,
    SIGMA_J,
    TABLE,
    update_games,
)


class IndependentBelief(Belief):
    """Independent normal skills; a game changes the two who play it.

    A belief of this kind may say how the deviations change before a game (``widened``), what a
    game does to the two (``updated``), and how likely each outcome is (``outcome_probability``).
    """

    def widened(self, sigma: Floats, constants: GameConstants) -> Floats:
        """Deviations at the time of the next game: here, after the skills' drift.

        Args:
            sigma: after the last game, of any shape.
            constants: of the game.
        """
        if constants.tau == 0.0:
            return sigma
        drifted: Floats = np.sqrt(sigma * sigma + constants.tau * constants.tau)
        return drifted

    def updated(
        self,
        mu_0: Floats,
        sigma_0: Floats,
        mu_j: Floats,
        sigma_j: Floats,
        outcome: NDArray[np.int8],
        constants: GameConstants,
    ) -> tuple[Any, Any, Any, Any]:
        """Means and deviations of player 0 and the opponent after a game.

        Args:
            mu_0: means of player 0 before it, shape (K,), one for each game.
            sigma_0: standard deviations of player 0.
            mu_j: means of the opponents.
            sigma_j: standard deviations of the opponents.
            outcome: +1 player 0 won, -1 lost, 0 a draw.
            constants: of the games.

        Returns:
            ``(mu_0, sigma_0, mu_j, sigma_j)``, each of shape (K,).

        Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), corrected, on the deviations of
        ``widened``.
        """
        sigma_0, sigma_j = self.widened(sigma_0, constants), self.widened(sigma_j, constants)
        return update_pairs(
            mu_0, sigma_0, mu_j, sigma_j, outcome, constants.beta, constants.draw_margin
        )

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """As ``Belief.outcome_probability``, from the deviations of ``widened``."""
        sigma = self.widened(sigma, constants)
        variance = sigma[..., :1] ** 2 + sigma[..., 1:] ** 2
        return super().outcome_probability(mu, sigma, variance, outcome, constants)

    def begin(
        self,
        rows: Integers,
        players: Floats,
        memory: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """Show every player's mean and deviation."""
        del memory
        observe(rows, players, observation)

    def learn(
        self,
        players: Floats,
        memory: Floats,
        opponents: Integers,
        outcomes: NDArray[np.int8],
        waiting: NDArray[np.bool_],
        constants: GameConstants,
        report: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """As ``Belief.learn``, through ``updated``."""
        del memory
        report[DRAW_DENSITY] = 0.0
        report[MATCH_QUALITY] = 0.0
        rows = np.flatnonzero(~waiting)
        if rows.size == 0:
            return
        j = opponents[rows] + 1
        mu_0, sigma_0 = players[rows, 0, MU], players[rows, 0, SIGMA]
        mu_j, sigma_j = players[rows, j, MU], players[rows, j, SIGMA]
        variance = sigma_0**2 + sigma_j**2 + 2.0 * constants.beta * constants.beta
        density = densities(mu_0 - mu_j, variance)
        report[DRAW_DENSITY, rows] = density
        report[MATCH_QUALITY, rows] = quality_per_density(constants.beta) * density
        after = self.updated(mu_0, sigma_0, mu_j, sigma_j, outcomes[rows], constants)
        count = players.shape[1]
        for column, entry, place, values in (
            (0, MU, 0, after[0]),
            (0, SIGMA, count, after[1]),
            (j, MU, j, after[2]),
            (j, SIGMA, count + j, after[3]),
        ):
            players[rows, column, entry] = values
            observation[rows, place] = values

    def difference_variances(self, players: Floats, memory: Floats) -> Floats:
        """Sums of two variances."""
        return self.difference_variance(players[:, :, SIGMA], memory)

    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Nothing more is shown: shape (B, 0)."""
        del memory
        return np.empty((players.shape[0], 0))

    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """Nothing more is kept: shape (B, 0, M)."""
        del extra
        return self.new_memory(sigma.shape[0], sigma.shape[1] - 1)

    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """Sums of two variances."""
        del extra
        return sigma[..., :1] ** 2 + sigma[..., 1:] ** 2

    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """The deviations themselves."""
        del extra
        return sigma

    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Every skill from its own normal."""
        del extra
        skills: Floats = mu + spread * sigma * normals
        return skills


@compiled
def observe(rows: Integers, players: Floats, observation: NDArray[np.float32]) -> None:
    """Write means and deviations of the given rows into their observations."""
    count = players.shape[1]
    for row in rows:
        for i in range(count):
            observation[row, i] = players[row, i, MU]
            observation[row, count + i] = players[row, i, SIGMA]


@compiled(nogil=True)
def update_pairs(
    mu_0: Floats,
    sigma_0: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    outcome: NDArray[np.int8],
    beta: float,
    draw_margin: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """``update_games`` of K games, new arrays of shape (K,) each."""
    new = np.empty((4, mu_0.size))
    games = np.empty(TABLE)
    for first in range(0, mu_0.size, PART):
        count = min(PART, mu_0.size - first)
        for k in range(count):
            n = first + k
            games[MU_I + k], games[SIGMA_I + k] = mu_0[n], sigma_0[n]
            games[MU_J + k], games[SIGMA_J + k] = mu_j[n], sigma_j[n]
            games[OUTCOME + k] = outcome[n]
        update_games(games, count, beta, draw_margin)
        for k in range(count):
            n = first + k
            new[0, n], new[1, n] = games[NEW_MU_I + k], games[NEW_SIGMA_I + k]
            new[2, n], new[3, n] = games[NEW_MU_J + k], games[NEW_SIGMA_J + k]
    return new[0], new[1], new[2], new[3]
