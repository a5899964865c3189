"""The knowledge state: what the game master believes about every player's skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.settings import BELIEFS, observation_size
from matchenv.validation import as_choice, as_float_array, as_positive_array

# Observations are float32: three deviations of one belief may disagree by this much of their sum.
ROUNDING = 1e-5


@dataclass(frozen=True)
class KnowledgeState:
    """Beliefs about M + 1 players; player 0 is the one being matched.

    The k^n of Ryzhov, Tariq, Powell (2011), section 2, for one state or a batch of them.

    Attributes:
        mu: means, shape (..., M + 1), float64, in skill points.
        sigma: standard deviations, the same shape, > 0.
        difference_sigma: with the full belief, standard deviations of s_0 - s_1 to s_0 - s_M,
            shape (..., M), > 0. Together with sigma they say all covariances, since the
            opponents are independent given s_0. None with the factorised belief.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, unequal shapes, fewer than 2 players or a
            deviation of s_0 - s_k that no covariance gives.
    """

    mu: NDArray[np.float64]
    sigma: NDArray[np.float64]
    difference_sigma: NDArray[np.float64] | None = None

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
        object.__setattr__(self, "mu", mu)
        object.__setattr__(self, "sigma", sigma)
        if self.difference_sigma is not None:
            checked = _checked_differences(self.difference_sigma, sigma)
            object.__setattr__(self, "difference_sigma", checked)

    def __getitem__(self, index: Any) -> KnowledgeState:
        """The state or states at ``index`` of the batch."""
        differences = self.difference_sigma
        return KnowledgeState(
            self.mu[index],
            self.sigma[index],
            None if differences is None else differences[index],
        )

    @property
    def belief(self) -> str:
        """``"factorised"`` or ``"full"``."""
        return "factorised" if self.difference_sigma is None else "full"

    def sides(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Deviations that make the two-player functions right for player 0 and each opponent.

        Only the sum of their squares counts there; with the full belief it is the variance of
        the difference, half of it on either side.

        Returns:
            Player 0's, shape (..., 1) or (..., M), and the opponents', shape (..., M).
        """
        if self.difference_sigma is None:
            return self.sigma[..., :1], self.sigma[..., 1:]
        half = self.difference_sigma / np.sqrt(2.0)
        return half, half

    @property
    def num_opponents(self) -> int:
        """M, the number of opponents."""
        return int(self.mu.shape[-1]) - 1

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, () for one state."""
        return self.mu.shape[:-1]

    @classmethod
    def from_observation(cls, observation: ArrayLike, belief: str = "factorised") -> KnowledgeState:
        """The knowledge state that an observation shows.

        Args:
            observation: shape (..., 2 (M + 1) + 1): mu, sigma, games left / horizon; with the
                full belief (..., 3 M + 3): mu, sigma, difference_sigma, games left / horizon.
            belief: ``"factorised"`` or ``"full"``, the belief of the environment; the shape
                alone does not say which, 9 numbers are 3 opponents or 2.

        Raises:
            ValueError: for a shape that no environment gives, NaN, infinity, a deviation <= 0
                or an unknown belief.
        """
        full = as_choice("belief", belief, BELIEFS) == "full"
        array = as_float_array("observation", observation)
        size = array.shape[-1] if array.ndim else 0
        opponents = (size - 3) // 3 if full else (size - 3) // 2
        if opponents < 1 or observation_size(opponents, belief) != size:
            allowed = "3 * num_opponents + 3" if full else "2 * (num_opponents + 1) + 1"
            raise ValueError(
                f"observation must have shape (..., {allowed}) with the {belief} belief, "
                f"got shape {array.shape}"
            )
        players = opponents + 1
        return cls(
            mu=array[..., :players],
            sigma=array[..., players : 2 * players],
            difference_sigma=array[..., 2 * players : -1] if full else None,
        )

    def to_observation(self, share_of_games_left: ArrayLike) -> NDArray[np.float32]:
        """The observation of this state.

        Args:
            share_of_games_left: games left / horizon, in [0, 1], broadcast to the batch.

        Returns:
            Shape (..., 2 (M + 1) + 1), or (..., 3 M + 3) with the full belief, float32.

        Raises:
            ValueError: for a share outside [0, 1].
        """
        share = as_float_array("share_of_games_left", share_of_games_left)
        if ((share < 0.0) | (share > 1.0)).any():
            raise ValueError(f"share_of_games_left must be in [0, 1], got {share_of_games_left!r}")
        players = self.mu.shape[-1]
        size = observation_size(self.num_opponents, self.belief)
        observation = np.empty((*self.batch_shape, size), dtype=np.float32)
        observation[..., :players] = self.mu
        observation[..., players : 2 * players] = self.sigma
        if self.difference_sigma is not None:
            observation[..., 2 * players : -1] = self.difference_sigma
        observation[..., -1] = share
        return observation


def share_of_games_left(observation: ArrayLike) -> NDArray[np.float64]:
    """Games left / horizon, the last number of each observation.

    Args:
        observation: of either belief.

    Returns:
        Shape (...), float64.
    """
    return np.asarray(observation, dtype=np.float64)[..., -1]


def _checked_differences(value: ArrayLike, sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    differences = as_positive_array("difference_sigma", value)
    shape = (*sigma.shape[:-1], sigma.shape[-1] - 1)
    if differences.shape != shape:
        raise ValueError(f"difference_sigma must have shape {shape}, got {differences.shape}")
    total = sigma[..., :1] + sigma[..., 1:]
    least = np.abs(sigma[..., :1] - sigma[..., 1:])
    slip = ROUNDING * total
    good = (differences >= least - slip) & (differences <= total + slip)
    if not good.all():
        index = tuple(int(k) for k in np.argwhere(~good)[0])
        raise ValueError(
            "difference_sigma must lie between |sigma_0 - sigma_k| and sigma_0 + sigma_k, "
            f"got {float(differences[index])!r} at index {index}"
        )
    return differences
