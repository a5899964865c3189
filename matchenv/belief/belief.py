"""Beliefs about skill: layout, start, update and what an observation shows; independent skills.

``belief="factorised"`` is every player's skill apart, as in TrueSkill.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv import trueskill
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
    outcome_probability_of,
    quality_per_density,
    update_games,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Outcomes = NDArray[np.int8]
Masks = NDArray[np.bool_]
Observations = NDArray[np.float32]

# The numbers of each player, side by side.
MU, SIGMA, TRUE_SKILL = range(3)

# Outcomes of a game for player 0; the last only with a draw margin.
OUTCOMES = (1, -1, 0)


class GameConstants(NamedTuple):
    """Constants of a game.

    Attributes:
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before each of the player's games, >= 0.
    """

    beta: float
    draw_margin: float = 0.0
    tau: float = 0.0

    @property
    def outcomes(self) -> tuple[int, ...]:
        """The possible outcomes of a game: no draw without a margin."""
        return OUTCOMES if self.draw_margin > 0.0 else OUTCOMES[:2]


# Measures of a game, the rows of ``GamesPlayed.measures``.
MEASURES = (
    "draw_density",
    "match_quality",
    "true_draw_density",
    "squared_error",
    "skill_difference",
)
DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY, SQUARED_ERROR, SKILL_DIFFERENCE = range(5)


class GamesPlayed(NamedTuple):
    """One game in each of B episodes; 0 where an episode does not run.

    Attributes:
        opponents: shape (B,), 0 to M - 1.
        running: shape (B,), episodes that play.
        terminated: shape (B,), the episode ended with this game.
        measures: shape (5, B), rows as ``MEASURES``.
        won: shape (B,), whether player 0 won.
        outcomes: shape (B,), +1 player 0 won, -1 lost, 0 a draw; int8.
    """

    opponents: Integers
    running: Masks
    terminated: Masks
    measures: Floats
    won: Masks
    outcomes: Outcomes

    @property
    def draw_density(self) -> Floats:
        """q under the belief before the game: eq. (5) of the 2011 paper."""
        return self.measures[DRAW_DENSITY]

    @property
    def match_quality(self) -> Floats:
        """q relative to an even game of known skills: eq. (6)."""
        return self.measures[MATCH_QUALITY]

    @property
    def true_draw_density(self) -> Floats:
        """q under the true skills: eq. (14)."""
        return self.measures[TRUE_DRAW_DENSITY]

    @property
    def squared_error(self) -> Floats:
        """(mu_0 - s_0)^2 before the game."""
        return self.measures[SQUARED_ERROR]

    @property
    def skill_difference(self) -> Floats:
        """s_0 minus the opponent's true skill."""
        return self.measures[SKILL_DIFFERENCE]


class Belief(ABC):
    """A kind of belief about the skills of player 0 and M opponents.

    A belief object holds no numbers of any episode. The numbers of B episodes are ``players``,
    shape (B, M + 1, 3), whose entries MU and SIGMA are the mean and standard deviation of every
    player's skill (beliefs never read TRUE_SKILL), and ``memory``, shape (B, R, M), the belief's
    own. ``shown``, float32, shape (B, (2 + E) M + 3), is the observation: mu, sigma, ``extra``
    and last the share of games left, which belongs to the simulator. A belief with covariances
    shows the standard deviations of s_0 - s_1 to s_0 - s_M as ``extra``.
    ``matchenv.belief.register`` makes a new kind known by its name.

    Attributes:
        name: how users ask for it.
        memory_rows: R, numbers kept for each opponent besides mean and deviation.
        extra_rows: E, 1 where deviations of differences are shown, else 0.
    """

    name: ClassVar[str]
    memory_rows: ClassVar[int] = 0
    extra_rows: ClassVar[int] = 0

    def check_constants(self, constants: GameConstants) -> None:  # noqa: B027
        """Refuse games that this belief has no update for.

        Raises:
            ValueError: it names the constant, its value and what is allowed.
        """

    def observation_size(self, num_opponents: int) -> int:
        """Return the size of an observation of M opponents: (2 + E) M + 3."""
        return (2 + self.extra_rows) * num_opponents + 3

    def num_opponents_of(self, observation_size: int) -> int | None:
        """Return M of an observation of this size, None where no M gives it."""
        count, rest = divmod(observation_size - 3, 2 + self.extra_rows)
        return count if rest == 0 and count >= 1 else None

    def memory_of(self, sigma: Floats, extra: Floats | None = None) -> Floats:
        """Return the memory that deviations imply, shape (K, R, M): here, zeros.

        A belief with a memory must override this.

        Args:
            sigma: shape (K, M + 1).
            extra: shape (K, E * M); None for players who are independent of each other.
        """
        del extra
        return np.zeros((len(sigma), self.memory_rows, sigma.shape[1] - 1))

    def begin(self, players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
        """Start some episodes, shape (K,), from the independent normals in ``players``."""
        memory[rows] = self.memory_of(players[rows, :, SIGMA])
        self._show(players, memory, shown, rows)

    @abstractmethod
    def learn(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        games: GamesPlayed,
        constants: GameConstants,
    ) -> None:
        """Update all three after one game of each running episode, but for the share of games left.

        Args:
            players: changed.
            memory: changed.
            shown: changed.
            games: the opponents and outcomes; the draw density and the match quality of the
                belief before the game are written.
            constants: of the games.
        """

    def replace(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        rows: Integers,
        opponents: Integers,
    ) -> None:
        """Replace departed opponents by uncorrelated newcomers.

        The belief about all others stays as it is. A belief whose memory of one opponent depends
        on others must override this.

        Args:
            players: with the prior of the newcomers in it.
            memory: changed.
            shown: changed.
            rows: the episodes, shape (K,), ascending.
            opponents: 0 to M - 1, shape (K,).
        """
        fresh = self.memory_of(players[rows, :, SIGMA])
        memory[rows, :, opponents] = fresh[np.arange(rows.size), :, opponents]
        self._show(players, memory, shown, np.unique(rows))

    def _show(self, players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
        """Write some observations anew, but for the share of games left."""
        parts = players[rows, :, MU], players[rows, :, SIGMA]
        written = np.concatenate((*parts, self.extra(players[rows], memory[rows])), axis=1)
        shown[rows, : written.shape[1]] = written

    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Return the deviations of s_0 - s_k that are shown, shape (B, E * M): here, none."""
        del memory
        return np.empty((len(players), 0))

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return the probability of an outcome of the next game with each opponent, (..., M).

        Args:
            mu: shape (..., M + 1).
            sigma: shape (..., M + 1).
            variance: Var(s_0 - s_k), shape (..., M).
            outcome: +1 player 0 wins, -1 loses, 0 a draw.
            constants: of the game.
        """
        del sigma
        gap = mu[..., :1] - mu[..., 1:]
        total = variance + 2.0 * constants.beta * constants.beta
        flat = outcome_probabilities(np.ravel(gap), np.ravel(total), outcome, constants.draw_margin)
        return flat.reshape(gap.shape)


def difference_variance(sigma: Any, extra: Any) -> Any:
    """Return Var(s_0 - s_k) of every opponent, shape (..., M).

    Args:
        sigma: shape (..., M + 1); an array of NumPy or of torch, and so is the next.
        extra: shape (..., E * M).
    """
    return extra**2 if extra.shape[-1] else sigma[..., :1] ** 2 + sigma[..., 1:] ** 2


@compiled
def outcome_probabilities(
    gap: Floats, variance: Floats, outcome: int, draw_margin: float
) -> Floats:
    """Return the probability of an outcome of each game, shape (K,)."""
    values = np.empty(gap.size)
    for k in range(gap.size):
        values[k] = outcome_probability_of(gap[k], variance[k], outcome, draw_margin)
    return values


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
        """Return ``(mu_0, sigma_0, mu_j, sigma_j)`` after K games, each of shape (K,).

        Args:
            mu_0: means of player 0 before them, shape (K,).
            sigma_0: standard deviations of player 0.
            mu_j: means of the opponents.
            sigma_j: standard deviations of the opponents.
            outcome: +1 player 0 won, -1 lost, 0 a draw.
            constants: of the games.

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
        for player, mu, sigma in ((0, *after[:2]), (j, *after[2:])):
            players[rows, player, MU], players[rows, player, SIGMA] = mu, sigma
            shown[rows, player], shown[rows, count + player] = mu, sigma


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
        learn_factorised(players, shown, games, constants, np.empty(TABLE))


@compiled(refcounted=False)
def learn_factorised(
    players: Floats,
    shown: Observations,
    games: GamesPlayed,
    constants: GameConstants,
    table: Floats,
) -> None:
    """Update as ``Belief.learn`` does; ``table``, shape (TABLE,), is to work in."""
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
