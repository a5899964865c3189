"""The knowledge state: beliefs about the skills of all players."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.belief import (
    BELIEFS,
    DEFAULT_BELIEF,
    MEASURES,
    MU,
    SIGMA,
    Belief,
    BeliefArrays,
    GameConstants,
    GamesPlayed,
    belief_named,
)
from matchenv.belief.belief import difference_variance
from matchenv.belief.full import star_of
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import (
    as_actions,
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_outcomes,
    as_positive_array,
    as_positive_number,
    refusal,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, performance_variance

# Tolerated inconsistency of deviations from float32 observations, relative to their sum.
ROUNDING = 1e-5


@dataclass(frozen=True)
class KnowledgeState:
    """Beliefs about M + 1 players; player 0 is the one being matched.

    The k^n of Ryzhov, Tariq, Powell (2011), section 2, for one state or a batch.

    Attributes:
        mu: means, shape (..., M + 1), float64, in skill points.
        sigma: standard deviations, of the same shape, > 0.
        difference_sigma: standard deviations of s_0 - s_1 to s_0 - s_M with the full belief,
            shape (..., M); shape (..., 0) with beliefs without covariances.
        belief: the name of the belief.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, unequal shapes, fewer than 2 players, an
            unknown belief or deviations that no covariance has.
    """

    mu: Floats
    sigma: Floats
    difference_sigma: Floats = field(default_factory=lambda: np.empty(0))
    belief: str = DEFAULT_BELIEF

    def __post_init__(self) -> None:
        mu = as_float_array("mu", self.mu)
        sigma = as_positive_array("sigma", self.sigma)
        if mu.shape != sigma.shape:
            raise ValueError(
                f"mu and sigma must have the same shape, got {mu.shape} and {sigma.shape}"
            )
        if mu.ndim == 0 or mu.shape[-1] < 2:
            raise ValueError(
                f"mu must have shape (..., M + 1) with at least one opponent, got shape {mu.shape}"
            )
        differences = as_float_array("difference_sigma", self.difference_sigma)
        columns = mu.shape[-1] - 1 if belief_named(self.belief).shows_differences else 0
        shape = (*mu.shape[:-1], columns)
        if differences.size == 0 and 0 in shape:
            differences = np.empty(shape)
        if differences.shape != shape:
            rule = f"difference_sigma must have shape {shape} with the {self.belief} belief"
            raise refusal(rule, differences.shape)
        if differences.size > 0:
            _check_differences(sigma, as_positive_array("difference_sigma", differences))
        self.__dict__.update(mu=mu, sigma=sigma, difference_sigma=differences)

    @classmethod
    def trusted(
        cls, mu: Floats, sigma: Floats, difference_sigma: Floats, belief: str = DEFAULT_BELIEF
    ) -> KnowledgeState:
        """Return a state without checks or copies, from valid float64 arrays."""
        state = object.__new__(cls)
        state.__dict__.update(mu=mu, sigma=sigma, difference_sigma=difference_sigma, belief=belief)
        return state

    def __len__(self) -> int:
        return len(self.mu)

    def __getitem__(self, index: Any) -> KnowledgeState:
        """Return the states at ``index`` of the batch."""
        return KnowledgeState.trusted(
            self.mu[index], self.sigma[index], self.difference_sigma[index], self.belief
        )

    def repeated(self, times: int) -> KnowledgeState:
        """Return each state of a batch ``times`` times in a row."""
        return self[np.repeat(np.arange(len(self)), times)]

    @property
    def kind(self) -> Belief:
        """The belief object."""
        return belief_named(self.belief)

    @property
    def num_opponents(self) -> int:
        """M, the number of opponents."""
        return int(self.mu.shape[-1]) - 1

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, () for one state."""
        return self.mu.shape[:-1]

    @property
    def difference_variance(self) -> Floats:
        """Var(s_0 - s_1) to Var(s_0 - s_M) under the belief, shape (..., M)."""
        return difference_variance(self.sigma, self.difference_sigma)

    def draw_density(self, beta: float) -> Floats:
        """Return q of a game with each opponent, shape (..., M), eq. (5) of the 2011 paper.

        Args:
            beta: standard deviation of one performance around skill, > 0.

        Raises:
            ValueError: for another beta.
        """
        gap = self.mu[..., :1] - self.mu[..., 1:]
        beta = as_positive_number("beta", beta)
        total = self.difference_variance + performance_variance(beta)
        return _densities(np.ravel(gap), np.ravel(total)).reshape(gap.shape)

    def outcome_probability(self, outcome: int, constants: GameConstants) -> Floats:
        """Return the probability of an outcome of a game with each opponent, shape (..., M).

        Args:
            outcome: +1 if player 0 wins, -1 if player 0 loses, 0 for a draw.
            constants: of the game.

        Raises:
            ValueError: for bad input.
        """
        self._check_constants(constants)
        as_integer("outcome", outcome, -1, 1)
        return self.kind.outcome_probability(
            self.mu, self.sigma, self.difference_variance, outcome, constants
        )

    def drawn_skills(self, normals: Floats, spread: float = 1.0) -> Floats:
        """Return skills drawn from the belief, shape (..., M + 1).

        Args:
            normals: standard normal, shape (..., M + 1).
            spread: factor of every deviation from the mean.
        """
        if self.difference_sigma.shape[-1] == 0:
            return self.mu + spread * self.sigma * normals
        slack, own_variance = star_of(self.sigma, self.difference_sigma)
        shift = spread * self.sigma[..., :1] * normals[..., :1]
        own_shift = spread * np.sqrt(own_variance) * normals[..., 1:]
        skill_0 = self.mu[..., :1] + shift
        others = self.mu[..., 1:] + (1.0 - slack) * shift + own_shift
        return np.concatenate((skill_0, others), axis=-1)

    def flattened(self) -> KnowledgeState:
        """Return copies of the states as one contiguous batch of shape (B,)."""
        count = math.prod(self.batch_shape)
        return KnowledgeState.trusted(
            np.array(self.mu, order="C").reshape(count, -1),
            np.array(self.sigma, order="C").reshape(count, -1),
            np.array(self.difference_sigma, order="C").reshape(
                count, self.difference_sigma.shape[-1]
            ),
            self.belief,
        )

    def among(self, rows: Integers, opponents: Integers) -> KnowledgeState:
        """Return some states of a batch of shape (B,), each with some of its opponents.

        Args:
            rows: indices of the states, shape (R,).
            opponents: shape (R, C), 0 to M - 1.
        """
        at = rows[:, np.newaxis]
        players = np.concatenate((np.zeros_like(at), opponents + 1), axis=1)
        differences = self.difference_sigma[rows]
        if differences.shape[1] > 0:
            differences = np.take_along_axis(differences, opponents, axis=1)
        return KnowledgeState.trusted(
            self.mu[at, players], self.sigma[at, players], differences, self.belief
        )

    def after_games(
        self, opponents: ArrayLike, outcomes: ArrayLike, constants: GameConstants
    ) -> KnowledgeState:
        """Return the states of a batch of shape (B,) after one game in each.

        Args:
            opponents: shape (B,), 0 to M - 1 like actions.
            outcomes: shape (B,) or a number, +1 if player 0 won, -1 if player 0 lost, 0 for a draw.
            constants: of the games.

        Raises:
            ValueError: for bad input, or constants that the belief has no update for.
        """
        if self.mu.ndim != 2:
            raise ValueError(f"states must have shape (B, M + 1), got {self.mu.shape}")
        self._check_constants(constants)
        count = len(self.mu)
        chosen = as_actions(opponents, count, self.num_opponents, "opponents")
        numbers = np.asarray(as_outcomes("outcomes", outcomes))
        if numbers.shape not in ((), (count,)):
            raise ValueError(f"outcomes must have shape () or ({count},), got {numbers.shape}")
        result = np.broadcast_to(numbers, count).astype(np.int8)
        if constants.draw_margin == 0.0 and np.count_nonzero(result) < count:
            raise ValueError("outcomes must be +1 or -1 with draw_margin=0, got 0")
        players = np.zeros((*self.mu.shape, 3))
        players[..., MU] = self.mu
        players[..., SIGMA] = self.sigma
        size = self.kind.observation_size(self.num_opponents)
        beliefs = BeliefArrays(
            players=players,
            memory=self.kind.memory_of(self.sigma, self.difference_sigma),
            observation=np.empty((count, size), dtype=np.float32),
        )
        games = GamesPlayed(
            opponents=chosen,
            running=np.ones(count, dtype=np.bool_),
            terminated=np.zeros(count, dtype=np.bool_),
            measures=np.empty((count, len(MEASURES)), order="F"),
            won=result > 0,
            outcomes=result,
        )
        self.kind.learn(beliefs, games, constants)
        return KnowledgeState.trusted(
            np.ascontiguousarray(players[..., MU]),
            np.ascontiguousarray(players[..., SIGMA]),
            self.kind.difference_sigma(players, beliefs.memory),
            self.belief,
        )

    def _check_constants(self, constants: GameConstants) -> None:
        as_positive_number("beta", constants.beta)
        as_non_negative_number("draw_margin", constants.draw_margin)
        as_non_negative_number("tau", constants.tau)
        self.kind.check_constants(constants)

    @classmethod
    def of_prior(cls, mu: Floats, sigma: Floats, belief: str = DEFAULT_BELIEF) -> KnowledgeState:
        """Return states of independent players before any game.

        Args:
            mu: shape (B, M + 1).
            sigma: shape (B, M + 1).
            belief: the name of the belief.
        """
        if belief_named(belief).shows_differences:
            differences = np.sqrt(difference_variance(sigma, np.empty(0)))
        else:
            differences = np.empty((len(mu), 0))
        return cls(mu, sigma, differences, belief)

    @classmethod
    def from_observation(
        cls, observation: ArrayLike, belief: str = DEFAULT_BELIEF
    ) -> KnowledgeState:
        """Return the knowledge state that an observation shows.

        Args:
            observation: shape (..., K): mu, sigma, ``difference_sigma``, games left / horizon.
            belief: the name of the environment's belief. The shape does not determine it: 9 numbers
                are 3 opponents with the factorised belief or 2 with the full belief.

        Raises:
            ValueError: for an impossible shape, NaN, infinity, a deviation <= 0 or an unknown
                belief.
        """
        kind = belief_named(belief)
        array = as_float_array("observation", observation)
        size = array.shape[-1] if array.ndim else 0
        opponents = kind.num_opponents_of(size)
        if opponents is None:
            multiple = 2 + kind.shows_differences
            raise ValueError(
                f"observation must have shape (..., {multiple} * num_opponents + 3) "
                f"with the {belief} belief, got shape {array.shape}{_remedy(size)}"
            )
        ends = [opponents + 1, 2 * opponents + 2, size - 1]
        mu, sigma, differences, _ = np.split(array, ends, axis=-1)
        try:
            return cls(mu, sigma, differences, belief)
        except ValueError as error:
            raise ValueError(f"{error}{_remedy(size, belief)}") from None

    def to_observation(self, share_of_games_left: ArrayLike) -> NDArray[np.float32]:
        """Return the observation, shape (..., 2 M + 3), or (..., 3 M + 3) with the full belief.

        Args:
            share_of_games_left: games left / horizon, in [0, 1], broadcast to the batch.

        Raises:
            ValueError: for a share outside [0, 1].
        """
        share = as_float_array("share_of_games_left", share_of_games_left)
        if ((share < 0.0) | (share > 1.0)).any():
            raise refusal("share_of_games_left must be in [0, 1]", share_of_games_left)
        last = np.broadcast_to(share, self.batch_shape)[..., np.newaxis]
        numbers = (self.mu, self.sigma, self.difference_sigma, last)
        return np.concatenate(numbers, axis=-1, dtype=np.float32, casting="same_kind")


def _check_differences(sigma: Floats, difference_sigma: Floats) -> None:
    """Refuse deviations of s_0 - s_k that no covariance gives."""
    high = sigma[..., :1] + sigma[..., 1:]
    low = np.abs(sigma[..., :1] - sigma[..., 1:])
    tolerance = ROUNDING * high
    good = (difference_sigma >= low - tolerance) & (difference_sigma <= high + tolerance)
    if not good.all():
        index = tuple(np.argwhere(~good)[0].tolist())
        raise ValueError(
            "difference_sigma, the deviation of s_0 - s_k, must lie between |sigma_0 - sigma_k| "
            f"and sigma_0 + sigma_k, got {float(difference_sigma[index])!r} at index {index}"
        )


def split_mask(
    observation: ArrayLike, belief: str, num_opponents: int | None
) -> tuple[Floats, Masks | None]:
    """Split observations into the belief's numbers and the masks at the end.

    Args:
        observation: shape (..., K).
        belief: the name of the environment's belief.
        num_opponents: M; None if unknown. Some shapes then have two readings: 9 numbers are 3
            opponents without a mask, or 2 with one. The reading without a mask is taken.

    Returns:
        The belief's numbers, and the masks, shape (..., M), or None without masks.

    Raises:
        ValueError: for numbers that are not finite, masks that are not 0 or 1, or an unknown
            belief.
    """
    array = as_float_array("observation", observation)
    kind = belief_named(belief)
    size = array.shape[-1] if array.ndim else 0
    if num_opponents is None:
        if kind.num_opponents_of(size) is not None:
            return array, None
        num_opponents = (size - 3) // (3 + kind.shows_differences)
    if num_opponents < 1 or size != kind.observation_size(num_opponents) + num_opponents:
        return array, None
    masks = array[..., -num_opponents:]
    if not ((masks == 0.0) | (masks == 1.0)).all():
        rule = f"observation must end with a mask of {num_opponents} numbers that are 0 or 1"
        raise ValueError(f"{rule} with the {belief} belief, got shape {array.shape}{_remedy(size)}")
    return array[..., :-num_opponents], masks == 1.0


def share_of_games_left(observation: ArrayLike) -> Floats:
    """Return games left / horizon, the last number of an observation without a mask."""
    return np.asarray(observation, dtype=np.float64)[..., -1]


def _remedy(size: int, read_as: str = "") -> str:
    """Name the other beliefs that have observations of this size."""
    readings = []
    for name, kind in BELIEFS.items():
        count = kind.num_opponents_of(size)
        if name != read_as and count is not None:
            readings.append(f"{count} opponents with belief={name!r}")
    if not readings:
        return ""
    return f"; this is the shape of {' or '.join(readings)}"


@compiled
def _densities(gap: Floats, variance: Floats) -> Floats:
    values = np.empty(gap.size)
    for k in range(gap.size):
        values[k] = density_at_zero(gap[k], variance[k])
    return values
