"""The knowledge state: what the game master believes about every player's skill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.validation import as_float_array, as_positive_array


@dataclass(frozen=True)
class KnowledgeState:
    """Beliefs about M + 1 players; player 0 is the one being matched.

    The k^n of Ryzhov, Tariq, Powell (2011), section 2, for one state or a batch of them.

    Attributes:
        mu: means, shape (..., M + 1), float64, in skill points.
        sigma: standard deviations, the same shape, > 0.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, unequal shapes or fewer than 2 players.
    """

    mu: NDArray[np.float64]
    sigma: NDArray[np.float64]

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

    @property
    def num_opponents(self) -> int:
        """M, the number of opponents."""
        return int(self.mu.shape[-1]) - 1

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, () for one state."""
        return self.mu.shape[:-1]

    @classmethod
    def from_observation(cls, observation: ArrayLike) -> KnowledgeState:
        """The knowledge state that an observation shows.

        Args:
            observation: shape (..., 2 (M + 1) + 1): mu, sigma, games left / horizon.

        Raises:
            ValueError: for a shape that no environment gives, NaN, infinity or sigma <= 0.
        """
        array = as_float_array("observation", observation)
        size = array.shape[-1] if array.ndim else 0
        if size < 5 or size % 2 == 0:
            raise ValueError(
                "observation must have shape (..., 2 * (num_opponents + 1) + 1), "
                f"got shape {array.shape}"
            )
        players = size // 2
        return cls(mu=array[..., :players], sigma=array[..., players : 2 * players])

    def to_observation(self, share_of_games_left: ArrayLike) -> NDArray[np.float32]:
        """The observation of this state.

        Args:
            share_of_games_left: games left / horizon, in [0, 1], broadcast to the batch.

        Returns:
            Shape (..., 2 (M + 1) + 1), float32.

        Raises:
            ValueError: for a share outside [0, 1].
        """
        share = as_float_array("share_of_games_left", share_of_games_left)
        if ((share < 0.0) | (share > 1.0)).any():
            raise ValueError(f"share_of_games_left must be in [0, 1], got {share_of_games_left!r}")
        players = self.mu.shape[-1]
        observation = np.empty((*self.batch_shape, 2 * players + 1), dtype=np.float32)
        observation[..., :players] = self.mu
        observation[..., players : 2 * players] = self.sigma
        observation[..., -1] = share
        return observation


def share_of_games_left(observation: ArrayLike) -> NDArray[np.float64]:
    """Games left / horizon, the last number of each observation.

    Args:
        observation: shape (..., 2 (M + 1) + 1).

    Returns:
        Shape (...), float64.
    """
    return np.asarray(observation, dtype=np.float64)[..., -1]
