"""The interface of beliefs about skill, and beliefs with independent skills, as in TrueSkill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv import trueskill
from matchenv.runtime.arrays import Floats, Integers, Masks
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
    OUTCOMES,
    PART,
    SIGMA_I,
    SIGMA_J,
    TABLE,
    outcome_probability_of,
    performance_variance,
    quality_per_density,
    update_games,
)

Outcomes = NDArray[np.int8]
Observations = NDArray[np.float32]

# Entries of the last axis of ``BeliefArrays.players``.
MU, SIGMA, TRUE_SKILL = range(3)


class GameConstants(NamedTuple):
    """Constants of a game.

    Attributes:
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances that differ by at most this are a draw, >= 0.
        tau: standard deviation of a skill's drift before each of the player's games, >= 0.
    """

    beta: float
    draw_margin: float = 0.0
    tau: float = 0.0

    @property
    def outcomes(self) -> tuple[int, ...]:
        """The possible outcomes of a game; a draw needs a margin."""
        if self.draw_margin > 0.0:
            return OUTCOMES
        return OUTCOMES[:2]


# Measures of a game: the columns of ``GamesPlayed.measures``.
MEASURES = (
    "draw_density",
    "match_quality",
    "true_draw_density",
    "squared_error",
    "skill_difference",
)
DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY, SQUARED_ERROR, SKILL_DIFFERENCE = range(5)


class GamesPlayed(NamedTuple):
    """One game in each of B episodes; 0 where an episode is not running.

    Attributes:
        opponents: shape (B,), 0 to M - 1.
        running: shape (B,), whether the episode is running.
        terminated: shape (B,), whether the episode ended with this game.
        measures: shape (B, 5), a column for each of ``MEASURES``.
        won: shape (B,), whether player 0 won.
        outcomes: shape (B,), +1 if player 0 won, -1 if player 0 lost, 0 for a draw; int8.
    """

    opponents: Integers
    running: Masks
    terminated: Masks
    measures: Floats
    won: Masks
    outcomes: Outcomes

    @property
    def draw_density(self) -> Floats:
        """q under the belief before the game, eq. (5) of the 2011 paper."""
        return self.measures[:, DRAW_DENSITY]

    @property
    def match_quality(self) -> Floats:
        """q relative to an even game of known skills, eq. (6)."""
        return self.measures[:, MATCH_QUALITY]

    @property
    def true_draw_density(self) -> Floats:
        """q under the true skills, eq. (14)."""
        return self.measures[:, TRUE_DRAW_DENSITY]

    @property
    def squared_error(self) -> Floats:
        """(mu_0 - s_0)^2 before the game."""
        return self.measures[:, SQUARED_ERROR]

    @property
    def skill_difference(self) -> Floats:
        """s_0 minus the opponent's true skill."""
        return self.measures[:, SKILL_DIFFERENCE]


class BeliefArrays(NamedTuple):
    """Beliefs about player 0 and M opponents in B episodes.

    Attributes:
        players: shape (B, M + 1, 3). The entries MU and SIGMA are the mean and standard deviation
            of each player's skill; beliefs never read TRUE_SKILL.
        memory: shape (B, R, M), the belief's own numbers.
        observation: float32, shape (B, (2 + E) M + 3) or longer: mu, sigma, the standard deviations
            of s_0 - s_k if the belief shows them, and the share of games left, which the simulator
            writes.
    """

    players: Floats
    memory: Floats
    observation: Observations


class Belief(ABC):
    """Interface of a kind of belief about the skills of player 0 and M opponents.

    A belief object holds no data of any episode; see ``BeliefArrays``.
    The option ``belief`` accepts a new kind as ``module:Class:key=value``.

    Attributes:
        name: the value of the option ``belief``.
        memory_rows: R, numbers stored for each opponent besides mean and deviation.
        shows_differences: whether observations contain the standard deviations of s_0 - s_1 to
            s_0 - s_M. E is 1 if so, else 0.
    """

    name: ClassVar[str]
    memory_rows: ClassVar[int] = 0
    shows_differences: ClassVar[bool] = False

    def check_constants(self, constants: GameConstants) -> None:  # noqa: B027
        """Refuse games that this belief has no update for.

        Raises:
            ValueError: it names the constant, its value and the allowed values.
        """

    def observation_size(self, num_opponents: int) -> int:
        """Return the size of an observation of M opponents, (2 + E) M + 3."""
        return (2 + self.shows_differences) * num_opponents + 3

    def num_opponents_of(self, observation_size: int) -> int | None:
        """Return M for an observation of this size; None if no M fits."""
        count, remainder = divmod(observation_size - 3, 2 + self.shows_differences)
        if remainder != 0 or count < 1:
            return None
        return count

    def memory_of(self, sigma: Floats, difference_sigma: Floats | None = None) -> Floats:
        """Return the memory that deviations imply, shape (K, R, M); by default zeros.

        A belief with a memory must override this.

        Args:
            sigma: shape (K, M + 1).
            difference_sigma: standard deviations of s_0 - s_k, shape (K, E * M); None for
                independent skills.
        """
        return np.zeros((len(sigma), self.memory_rows, sigma.shape[1] - 1))

    def begin(self, beliefs: BeliefArrays, rows: Integers) -> None:
        """Start the episodes ``rows``, shape (K,), from the independent normals in ``players``."""
        beliefs.memory[rows] = self.memory_of(beliefs.players[rows, :, SIGMA])
        self._show(beliefs, rows)

    @abstractmethod
    def learn(self, beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants) -> None:
        """Update the beliefs and observations of running episodes after one game in each.

        Args:
            beliefs: changed, except for the share of games left.
            games: opponents and outcomes; this writes the draw density and match quality of the
                belief before the game.
            constants: of the games.
        """

    def replace(self, beliefs: BeliefArrays, rows: Integers, opponents: Integers) -> None:
        """Replace departed opponents by uncorrelated newcomers; other beliefs stay as they are.

        A belief whose memory of an opponent depends on others, on the place or on M must override
        this.

        Args:
            beliefs: ``players`` holds the prior of the newcomers; the rest is changed.
            rows: the episodes, shape (K,), ascending.
            opponents: 0 to M - 1, shape (K,).
        """
        sigma_0 = beliefs.players[rows, 0, SIGMA]
        sigma_k = beliefs.players[rows, opponents + 1, SIGMA]
        pairs = np.stack((sigma_0, sigma_k), axis=1)
        beliefs.memory[rows, :, opponents] = self.memory_of(pairs)[:, :, 0]
        self._show(beliefs, np.unique(rows))

    def _show(self, beliefs: BeliefArrays, rows: Integers) -> None:
        """Write observations, except for the share of games left."""
        players = beliefs.players[rows]
        differences = self.difference_sigma(players, beliefs.memory[rows])
        numbers = np.concatenate((players[..., MU], players[..., SIGMA], differences), axis=1)
        beliefs.observation[rows, : numbers.shape[1]] = numbers

    def difference_sigma(self, players: Floats, memory: Floats) -> Floats:
        """Return the standard deviations of s_0 - s_k, shape (B, E * M); by default none."""
        return np.empty((len(players), 0))

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return the probability of an outcome of a game with each opponent, shape (..., M).

        Args:
            mu: shape (..., M + 1).
            sigma: shape (..., M + 1).
            variance: Var(s_0 - s_k), shape (..., M).
            outcome: +1 if player 0 wins, -1 if player 0 loses, 0 for a draw.
            constants: of the game.
        """
        gap = mu[..., :1] - mu[..., 1:]
        total = variance + performance_variance(constants.beta)
        flat = outcome_probabilities(np.ravel(gap), np.ravel(total), outcome, constants.draw_margin)
        return flat.reshape(gap.shape)


def difference_variance(sigma: Any, difference_sigma: Any) -> Any:
    """Return Var(s_0 - s_k) of every opponent, shape (..., M), for NumPy arrays or torch tensors.

    Args:
        sigma: shape (..., M + 1).
        difference_sigma: standard deviations of s_0 - s_k, shape (..., E * M).
    """
    if difference_sigma.shape[-1] > 0:
        return difference_sigma**2
    return sigma[..., :1] ** 2 + sigma[..., 1:] ** 2


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
    """Independent normal skills; a game changes only the two who play it.

    Subclasses can override the deviations before a game (``widened``), the update (``updated``)
    and the outcome probabilities (``outcome_probability``).
    """

    def widened(self, sigma: Floats, constants: GameConstants) -> Floats:
        """Return the deviations before the next game; by default after the skills' drift.

        Args:
            sigma: after the last game, of any shape.
            constants: of the game.
        """
        if constants.tau == 0.0:
            return sigma
        return np.sqrt(sigma * sigma + constants.tau * constants.tau)

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
            mu_0: means of player 0 before the games, shape (K,).
            sigma_0: standard deviations of player 0.
            mu_j: means of the opponents.
            sigma_j: standard deviations of the opponents.
            outcome: +1 if player 0 won, -1 if player 0 lost, 0 for a draw.
            constants: of the games.

        Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), corrected, with the deviations of
        ``widened``.
        """
        return trueskill.update(
            mu_0,
            self.widened(sigma_0, constants),
            mu_j,
            self.widened(sigma_j, constants),
            outcome,
            constants.beta,
            constants.draw_margin,
        )

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return ``Belief.outcome_probability`` with the deviations of ``widened``."""
        sigma = self.widened(sigma, constants)
        variance = sigma[..., :1] ** 2 + sigma[..., 1:] ** 2
        return super().outcome_probability(mu, sigma, variance, outcome, constants)

    def learn(self, beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants) -> None:
        """Update the two players of each game by ``updated``."""
        rows = np.flatnonzero(games.running)
        if rows.size == 0:
            return
        players = beliefs.players
        opponents = games.opponents[rows] + 1
        mu_0 = players[rows, 0, MU]
        sigma_0 = players[rows, 0, SIGMA]
        mu_j = players[rows, opponents, MU]
        sigma_j = players[rows, opponents, SIGMA]
        density = trueskill.draw_density(mu_0, sigma_0, mu_j, sigma_j, constants.beta)
        games.draw_density[rows] = density
        games.match_quality[rows] = quality_per_density(constants.beta) * density
        updated = self.updated(mu_0, sigma_0, mu_j, sigma_j, games.outcomes[rows], constants)
        mu_0, sigma_0, mu_j, sigma_j = np.broadcast_arrays(*updated)
        is_finite = np.isfinite([mu_0, sigma_0, mu_j, sigma_j]).all()
        if not is_finite or np.min([sigma_0, sigma_j]) <= 0.0:
            raise ValueError(
                f"updated of belief {self.name!r} must return finite means and positive deviations"
            )
        count = players.shape[1]
        for player, mu, sigma in ((0, mu_0, sigma_0), (opponents, mu_j, sigma_j)):
            players[rows, player, MU] = mu
            players[rows, player, SIGMA] = sigma
            beliefs.observation[rows, player] = mu
            beliefs.observation[rows, count + player] = sigma


class FactorisedBelief(IndependentBelief):
    """Independent normal skills with TrueSkill's update, compiled.

    It grows overconfident with many games against few opponents, since it ignores that a game
    measures only a difference.

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), corrected; Herbrich, Minka, Graepel
    (2006).
    """

    name: ClassVar[str] = "factorised"

    def learn(self, beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants) -> None:
        """Update the two players of each game."""
        learn_factorised(beliefs, games, constants, np.empty(TABLE))


@compiled(refcounted=False)
def learn_factorised(
    beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants, table: Floats
) -> None:
    """Update beliefs like ``Belief.learn``; ``table``, shape (TABLE,), is a workspace."""
    players = beliefs.players
    observation = beliefs.observation
    beta = constants.beta
    quality = quality_per_density(beta)
    count = players.shape[1]
    for first in range(0, games.running.size, PART):
        size = min(PART, games.running.size - first)
        # A loop of loads only: their cache misses overlap.
        for k in range(size):
            b = first + k
            j = games.opponents[b] + 1
            table[MU_I + k] = players[b, 0, MU]
            table[SIGMA_I + k] = players[b, 0, SIGMA]
            table[MU_J + k] = players[b, j, MU]
            table[SIGMA_J + k] = players[b, j, SIGMA]
            table[OUTCOME + k] = games.outcomes[b]
        update_games(table, size, beta, constants.draw_margin, constants.tau)
        for k in range(size):
            b = first + k
            if not games.running[b]:
                continue
            j = games.opponents[b] + 1
            games.measures[b, DRAW_DENSITY] = table[DENSITY + k]
            games.measures[b, MATCH_QUALITY] = quality * table[DENSITY + k]
            players[b, 0, MU] = table[NEW_MU_I + k]
            players[b, 0, SIGMA] = table[NEW_SIGMA_I + k]
            players[b, j, MU] = table[NEW_MU_J + k]
            players[b, j, SIGMA] = table[NEW_SIGMA_J + k]
            observation[b, 0] = table[NEW_MU_I + k]
            observation[b, count] = table[NEW_SIGMA_I + k]
            observation[b, j] = table[NEW_MU_J + k]
            observation[b, count + j] = table[NEW_SIGMA_J + k]
