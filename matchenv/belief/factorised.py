"""``belief="factorised"``: every player's skill apart, as in TrueSkill."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from matchenv import trueskill
from matchenv.belief.belief import (
    DRAW_DENSITY,
    MATCH_QUALITY,
    MU,
    SIGMA,
    Belief,
    Floats,
    GameConstants,
    GamesPlayed,
    Integers,
    Observations,
    Outcomes,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    DENSITY,
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
    quality_per_density,
    update_games,
)


class IndependentBelief(Belief):
    """Independent normal skills; a game changes the two who play it.

    A subclass may override how the deviations change before a game (``widened``), what a game
    does to the two (``updated``), and how likely each outcome is (``outcome_probability``).
    """

    def widened(self, sigma: Floats, constants: GameConstants) -> Floats:
        """Return the deviations at the time of the next game: here, after the skills' drift.

        Args:
            sigma: after the last game, of any shape.
            constants: of the game.
        """
        if constants.tau == 0.0:
            return sigma
        widened: Floats = np.sqrt(sigma * sigma + constants.tau * constants.tau)
        return widened

    def updated(
        self,
        mu_0: Floats,
        sigma_0: Floats,
        mu_j: Floats,
        sigma_j: Floats,
        outcome: Outcomes,
        constants: GameConstants,
    ) -> tuple[Any, Any, Any, Any]:
        """Return means and deviations of player 0 and the opponent after a game.

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
        return trueskill.update(
            mu_0, sigma_0, mu_j, sigma_j, outcome, constants.beta, constants.draw_margin
        )

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return ``Belief.outcome_probability`` from the deviations of ``widened``."""
        sigma = self.widened(sigma, constants)
        variance = sigma[..., :1] ** 2 + sigma[..., 1:] ** 2
        return super().outcome_probability(mu, sigma, variance, outcome, constants)

    def begin(self, players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
        """Show every player's mean and deviation."""
        del memory
        show_players(players, shown, rows)

    def learn(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        games: GamesPlayed,
        constants: GameConstants,
    ) -> None:
        """Update the two players of each game by ``updated``."""
        del memory
        rows = np.flatnonzero(games.running)
        if rows.size == 0:
            return
        j = games.opponents[rows] + 1
        mu_0, sigma_0 = players[rows, 0, MU], players[rows, 0, SIGMA]
        mu_j, sigma_j = players[rows, j, MU], players[rows, j, SIGMA]
        density = trueskill.draw_density(mu_0, sigma_0, mu_j, sigma_j, constants.beta)
        games.draw_density[rows] = density
        games.match_quality[rows] = quality_per_density(constants.beta) * density
        after = self.updated(mu_0, sigma_0, mu_j, sigma_j, games.outcomes[rows], constants)
        count = players.shape[1]
        for player, entry, place, values in (
            (0, MU, 0, after[0]),
            (0, SIGMA, count, after[1]),
            (j, MU, j, after[2]),
            (j, SIGMA, count + j, after[3]),
        ):
            players[rows, player, entry] = values
            shown[rows, place] = values

    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Return nothing more, shape (B, 0)."""
        del memory
        return np.empty((players.shape[0], 0))

    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """Return no memory, shape (B, 0, M)."""
        del extra
        return self.new_memory(sigma.shape[0], sigma.shape[1] - 1)

    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """Return sums of two variances."""
        del extra
        return sigma[..., :1] ** 2 + sigma[..., 1:] ** 2

    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """Return the deviations themselves."""
        del extra
        return sigma

    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Draw every skill from its own normal."""
        del extra
        skills: Floats = mu + spread * sigma * normals
        return skills


class FactorisedBelief(IndependentBelief):
    """Independent normal skills with TrueSkill's update, compiled.

    With many games against few opponents it grows overconfident: it forgets that a game measures
    a difference.

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), corrected; Herbrich, Minka, Graepel
    (2006).
    """

    name: ClassVar[str] = "factorised"

    def learn(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        games: GamesPlayed,
        constants: GameConstants,
    ) -> None:
        """Update the two players of each game."""
        del memory
        learn_factorised(players, shown, tuple(games), tuple(constants), np.empty(TABLE))


@compiled
def show_players(players: Floats, shown: Observations, rows: Integers) -> None:
    """Write means and deviations of the given rows into their observations."""
    count = players.shape[1]
    for row in rows:
        for i in range(count):
            shown[row, i] = players[row, i, MU]
            shown[row, count + i] = players[row, i, SIGMA]


@compiled(refcounted=False)
def learn_factorised(
    players: Floats,
    shown: Observations,
    all_games: tuple[Any, ...],
    all_constants: tuple[float, float, float],
    table: Floats,
) -> None:
    """Update as ``Belief.learn`` does.

    Args:
        players: as there, and so is ``shown``.
        shown: changed.
        all_games: a ``GamesPlayed`` as a plain tuple, which Numba takes faster.
        all_constants: a ``GameConstants``, the same.
        table: shape (TABLE,), to work in; not made in here, so that no references are counted.
    """
    games, constants = GamesPlayed(*all_games), GameConstants(*all_constants)
    beta = constants.beta
    quality = quality_per_density(beta)
    count = players.shape[1]
    for first in range(0, games.running.size, PART):
        size = min(PART, games.running.size - first)
        # The numbers of a game lie far apart; a loop that only reads waits for all of them at once.
        for k in range(size):
            b = first + k
            j = games.opponents[b] + 1
            table[MU_I + k], table[SIGMA_I + k] = players[b, 0, MU], players[b, 0, SIGMA]
            table[MU_J + k], table[SIGMA_J + k] = players[b, j, MU], players[b, j, SIGMA]
            table[OUTCOME + k] = games.outcomes[b]
        update_games(table, size, beta, constants.draw_margin, constants.tau)
        for k in range(size):
            b = first + k
            if not games.running[b]:
                continue
            j = games.opponents[b] + 1
            games.measures[DRAW_DENSITY, b] = table[DENSITY + k]
            games.measures[MATCH_QUALITY, b] = quality * table[DENSITY + k]
            players[b, 0, MU], players[b, 0, SIGMA] = table[NEW_MU_I + k], table[NEW_SIGMA_I + k]
            players[b, j, MU], players[b, j, SIGMA] = table[NEW_MU_J + k], table[NEW_SIGMA_J + k]
            shown[b, 0], shown[b, count] = table[NEW_MU_I + k], table[NEW_SIGMA_I + k]
            shown[b, j], shown[b, count + j] = table[NEW_MU_J + k], table[NEW_SIGMA_J + k]
