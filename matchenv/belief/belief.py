"""What a belief is: its layout, its start, its update and what it shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.play import FEW, MU, REPORT_ROWS, SIGMA, drift_skills, play_few, play_games
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import outcome_probability_of
from matchenv.trueskill.game_loops import densities_at_zero

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A game has these outcomes for player 0; the last only with a draw margin.
OUTCOMES = (1, -1, 0)


class GameConstants(NamedTuple):
    """The constants of a game.

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
        """The outcomes that a game may have: no draw without a margin."""
        return OUTCOMES if self.draw_margin > 0.0 else OUTCOMES[:2]


class Belief(ABC):
    """A kind of belief about the skills of player 0 and M opponents.

    A belief object holds no numbers of any episode; it says how they are laid out, how they
    start, what a game changes, and what an observation shows. ``matchenv.belief.register``
    makes a new one known by its name.

    The numbers of B episodes are ``players``, shape (B, M + 1, 3), whose entries MU and SIGMA
    (``matchenv.play``) are the mean and standard deviation of every player's skill, and
    ``memory``, shape (B, R, M), which is the belief's own. An observation shows mu, sigma,
    ``extra`` (E * M numbers of the belief's choice, E rows of one for each opponent) and the
    share of games left, float32.

    Attributes:
        name: how users ask for it.
        memory_rows: R, numbers kept for each opponent beside mean and deviation.
        extra_rows: E, numbers shown for each opponent beside mean and deviation.
        extra_name: what messages call them.
    """

    name: ClassVar[str]
    memory_rows: ClassVar[int] = 0
    extra_rows: ClassVar[int] = 0
    extra_name: ClassVar[str] = "extra"

    def check_constants(  # noqa: B027
        self, constants: GameConstants
    ) -> None:
        """Refuse games whose update this belief does not have.

        Raises:
            ValueError: it names the constant, its value and what is allowed.
        """

    def observation_size(self, num_opponents: int) -> int:
        """Numbers in an observation of M opponents: (2 + E) M + 3."""
        return (2 + self.extra_rows) * num_opponents + 3

    def num_opponents_of(self, observation_size: int) -> int | None:
        """M of an observation of this size, None where no number of opponents gives it."""
        count, rest = divmod(observation_size - 3, 2 + self.extra_rows)
        return count if rest == 0 and count >= 1 else None

    def new_memory(self, count: int, num_opponents: int) -> Floats:
        """Memory of ``count`` episodes that have not begun."""
        return np.zeros((count, self.memory_rows, num_opponents))

    @abstractmethod
    def begin(
        self,
        rows: Integers,
        players: Floats,
        memory: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """Start episodes from the independent normals in ``players``.

        Args:
            rows: the episodes, shape (K,).
            players: as the class says.
            memory: as the class says; the rows are written.
            observation: shape (B, K), the rows are written, but for the share of games left.
        """

    def replace(
        self,
        rows: Integers,
        opponents: Integers,
        players: Floats,
        memory: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """Take strangers for opponents who have left: nothing ties them to anybody yet.

        What is believed of all others stays as it is. A stranger's memory is that of an opponent
        whom nobody has played, so a belief whose memory of one opponent depends on others must
        do this by itself.

        Args:
            rows: the episodes, shape (K,), ascending.
            opponents: 0 to M - 1, shape (K,).
            players: as the class says, with the strangers' prior in it.
            memory: changed for these opponents.
            observation: brought up to date, but for the share of games left.
        """
        count = players.shape[1]
        pairs = np.arange(rows.size)
        fresh = self.new_memory(rows.size, count - 1)
        scratch = np.empty((rows.size, self.observation_size(count - 1)), dtype=np.float32)
        self.begin(pairs, players[rows], fresh, scratch)
        memory[rows, :, opponents] = fresh[pairs, :, opponents]
        observation[rows, opponents + 1] = players[rows, opponents + 1, MU]
        observation[rows, count + opponents + 1] = players[rows, opponents + 1, SIGMA]
        if self.extra_rows > 0:
            changed = np.unique(rows)
            shown = self.extra(players[changed], memory[changed])
            observation[changed, 2 * count : 2 * count + shown.shape[1]] = shown

    def play(
        self,
        players: Floats,
        noise: Floats,
        games_played: Integers,
        memory: Floats,
        opponents: Integers,
        waiting: NDArray[np.bool_],
        horizon: int,
        constants: GameConstants,
        observation: NDArray[np.float32],
        terminated: NDArray[np.bool_],
        report: Floats,
        outcomes: NDArray[np.int8],
    ) -> None:
        """Play one game in each episode that does not wait, as it truly goes, and learn from it.

        Args:
            players: changed.
            noise: as ``matchenv.play.play_games``.
            games_played: as there, and so is ``horizon``.
            memory: changed.
            opponents: shape (B,), 0 to M - 1 as actions name them.
            waiting: shape (B,), episodes to leave alone.
            horizon: games in an episode.
            constants: of the games.
            observation: brought up to date.
            terminated: shape (B,), written.
            report: shape (5, B), written.
            outcomes: shape (B,), written.
        """
        if constants.tau > 0.0:
            drift_skills(players, noise, games_played, opponents, waiting, constants.tau)
        (play_few if waiting.size <= FEW else play_games)(
            players,
            noise,
            games_played,
            opponents,
            waiting,
            horizon,
            constants.beta,
            constants.draw_margin,
            observation,
            terminated,
            report,
            outcomes,
        )
        self.learn(players, memory, opponents, outcomes, waiting, constants, report, observation)

    @abstractmethod
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
        """Judge one game of each episode by the belief before it, then learn from it.

        Args:
            players: changed; true skills are not looked at.
            memory: changed.
            opponents: shape (B,), 0 to M - 1 as actions name them.
            outcomes: shape (B,), +1 player 0 won, -1 lost, 0 a draw.
            waiting: shape (B,), episodes that played no game.
            constants: of the games.
            report: shape (5, B); DRAW_DENSITY and MATCH_QUALITY are written, 0 where waiting.
            observation: brought up to date, but for the share of games left.
        """

    @abstractmethod
    def difference_variances(self, players: Floats, memory: Floats) -> Floats:
        """Var(s_0 - s_k) of every opponent, shape (B, M), from what is kept."""

    @abstractmethod
    def extra(self, players: Floats, memory: Floats) -> Floats:
        """What is shown beside mu and sigma, shape (B, E * M)."""

    @abstractmethod
    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """The memory that a knowledge state implies, shape (B, R, M)."""

    @abstractmethod
    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """Var(s_0 - s_k) of every opponent, shape (..., M), from what is shown.

        Args:
            sigma: shape (..., M + 1).
            extra: shape (..., E * M). Arrays of NumPy or of torch.
        """

    @abstractmethod
    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """Deviations, shape (..., M + 1): squares of the first and the k-th add up to
        Var(s_0 - s_k).

        For rules in which only the variance of a difference counts.
        """  # noqa: D205

    @abstractmethod
    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Skills of all players drawn from the belief, shape (B, M + 1).

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

    def draw_density(self, mu: Floats, variance: Floats, beta: float) -> Floats:
        """q of every opponent, shape (..., M): eq. (5) of the 2011 paper.

        Args:
            mu: shape (..., M + 1).
            variance: Var(s_0 - s_k), shape (..., M).
            beta: standard deviation of one performance around skill.
        """
        return densities(mu[..., :1] - mu[..., 1:], variance + 2.0 * beta * beta)

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Probability that the next game, with each opponent, ends so, shape (..., M).

        Args:
            mu: shape (..., M + 1).
            sigma: shape (..., M + 1).
            variance: Var(s_0 - s_k), shape (..., M).
            outcome: +1 player 0 wins, -1 loses, 0 a draw.
            constants: of the game.
        """
        del sigma
        variance = variance + 2.0 * constants.beta * constants.beta
        gap = mu[..., :1] - mu[..., 1:]
        return outcome_probabilities(gap, variance, outcome, constants.draw_margin)

    def after_games(
        self,
        mu: Floats,
        sigma: Floats,
        extra: Floats,
        opponents: Integers,
        outcomes: NDArray[np.int8],
        constants: GameConstants,
    ) -> tuple[Floats, Floats, Floats]:
        """The belief after one game of each state, by ``learn`` itself.

        Args:
            mu: shape (B, M + 1).
            sigma: shape (B, M + 1).
            extra: shape (B, E * M).
            opponents: shape (B,), 0 to M - 1.
            outcomes: shape (B,).
            constants: of the games.

        Returns:
            mu, sigma and extra, new arrays.
        """
        count = mu.shape[0]
        players = np.stack((mu, sigma, np.zeros_like(mu)), axis=-1)
        memory = self.memory_of(sigma, extra)
        observation = np.empty((count, self.observation_size(mu.shape[1] - 1)), dtype=np.float32)
        self.learn(
            players,
            memory,
            opponents,
            outcomes,
            np.zeros(count, dtype=np.bool_),
            constants,
            np.empty((len(REPORT_ROWS), count)),
            observation,
        )
        return (
            np.ascontiguousarray(players[..., MU]),
            np.ascontiguousarray(players[..., SIGMA]),
            self.extra(players, memory),
        )


def densities(gap: Floats, variance: Floats) -> Floats:
    """Density at 0 of N(gap, variance) for arrays of one shape."""
    return _densities(np.ravel(gap), np.ravel(variance)).reshape(np.shape(gap))


def outcome_probabilities(
    gap: Floats, variance: Floats, outcome: int, draw_margin: float
) -> Floats:
    """``outcome_probability_of`` for arrays of one shape."""
    flat = _outcome_probabilities(np.ravel(gap), np.ravel(variance), outcome, draw_margin)
    return flat.reshape(np.shape(gap))


@compiled(nogil=True)
def _densities(gap: Floats, variance: Floats) -> Floats:
    values = np.empty(gap.size)
    densities_at_zero(gap, variance, values)
    return values


@compiled
def _outcome_probabilities(
    gap: Floats, variance: Floats, outcome: int, draw_margin: float
) -> Floats:
    values = np.empty(gap.size)
    for k in range(gap.size):
        values[k] = outcome_probability_of(gap[k], variance[k], outcome, draw_margin)
    return values
