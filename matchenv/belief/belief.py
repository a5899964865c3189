"""A belief about skill: its layout, its start, its update and what an observation shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import outcome_probability_of

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
    (E numbers for each opponent) and last the share of games left, which belongs to the
    simulator. ``matchenv.belief.register`` makes a new kind known by its name.

    Attributes:
        name: how users ask for it.
        memory_rows: R, numbers kept for each opponent besides mean and deviation.
        extra_rows: E, numbers shown for each opponent besides mean and deviation.
        extra_name: their name in messages.
    """

    name: ClassVar[str]
    memory_rows: ClassVar[int] = 0
    extra_rows: ClassVar[int] = 0
    extra_name: ClassVar[str] = "extra"

    def check_constants(  # noqa: B027
        self, constants: GameConstants
    ) -> None:
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

    def new_memory(self, count: int, num_opponents: int) -> Floats:
        """Return the memory of ``count`` episodes that have not begun."""
        return np.zeros((count, self.memory_rows, num_opponents))

    @abstractmethod
    def begin(self, players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
        """Start episodes from the independent normals in ``players``.

        Args:
            players: as the class says.
            memory: written at the rows.
            shown: written at the rows, but for the share of games left.
            rows: the episodes, shape (K,).
        """

    @abstractmethod
    def learn(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        games: GamesPlayed,
        constants: GameConstants,
    ) -> None:
        """Update the belief after one game of each running episode.

        Args:
            players: changed.
            memory: changed.
            shown: brought up to date, but for the share of games left.
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
            memory: changed for these opponents.
            shown: brought up to date, but for the share of games left.
            rows: the episodes, shape (K,), ascending.
            opponents: 0 to M - 1, shape (K,).
        """
        count = players.shape[1]
        pairs = np.arange(rows.size)
        fresh = self.new_memory(rows.size, count - 1)
        scratch = np.empty((rows.size, shown.shape[1]), dtype=np.float32)
        self.begin(players[rows], fresh, scratch, pairs)
        memory[rows, :, opponents] = fresh[pairs, :, opponents]
        shown[rows, opponents + 1] = players[rows, opponents + 1, MU]
        shown[rows, count + opponents + 1] = players[rows, opponents + 1, SIGMA]
        if self.extra_rows > 0:
            changed = np.unique(rows)
            extra = self.extra(players[changed], memory[changed])
            shown[changed, 2 * count : 2 * count + extra.shape[1]] = extra

    @abstractmethod
    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Return the numbers shown besides mu and sigma, shape (B, E * M)."""

    @abstractmethod
    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """Return the memory that a knowledge state implies, shape (B, R, M)."""

    @abstractmethod
    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """Return Var(s_0 - s_k) of every opponent, shape (..., M).

        Args:
            sigma: shape (..., M + 1).
            extra: shape (..., E * M). Arrays of NumPy or of torch.
        """

    @abstractmethod
    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """Return deviations, shape (..., M + 1), for rules that read variances of differences.

        The squares of the first and the k-th add up to Var(s_0 - s_k).
        """

    @abstractmethod
    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Draw the skills of all players from the belief, shape (B, M + 1).

        Args:
            mu: shape (B, M + 1).
            sigma: shape (B, M + 1).
            extra: shape (B, E * M).
            normals: standard normal, shape (B, M + 1).
            spread: factor on every deviation from the mean.
        """

    def check_extra(  # noqa: B027
        self, sigma: Floats, extra: Floats
    ) -> None:
        """Refuse numbers that this belief cannot show; ``extra`` is finite, of its right shape.

        Raises:
            ValueError: it names the number and what is allowed.
        """

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
        flat = _outcome_probabilities(
            np.ravel(gap), np.ravel(total), outcome, constants.draw_margin
        )
        return flat.reshape(gap.shape)


@compiled
def _outcome_probabilities(
    gap: Floats, variance: Floats, outcome: int, draw_margin: float
) -> Floats:
    values = np.empty(gap.size)
    for k in range(gap.size):
        values[k] = outcome_probability_of(gap[k], variance[k], outcome, draw_margin)
    return values
