"""The spaces of observations and actions."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


def shows_mask(box: spaces.Box, num_opponents: int) -> bool:
    """Whether observations of this box end with the mask of a pool that changes.

    Args:
        box: from ``observation_space``.
        num_opponents: M.
    """
    return bool((box.high[-1 - num_opponents :] == 1.0).all())


class Choosable(Protocol):
    """What knows which actions are allowed now, in each of B environments."""

    @property
    def online(self) -> NDArray[np.bool_]:
        """Shape (B, n): True for those who can be chosen."""


class OnlineOpponents(spaces.Discrete):
    """One action for each opponent; without a mask, samples are of those who are online now.

    Args:
        pool: of one environment.
    """

    def __init__(self, pool: Choosable) -> None:
        super().__init__(pool.online.shape[1])
        self._pool = pool

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """As Gymnasium's, but for the mask that is taken where nothing is given."""
        if mask is None and probability is None:
            mask = self._pool.online[0].view(np.int8)
        # Gymnasium before 1.2 knows masks only.
        others = {} if probability is None else {"probability": probability}
        return super().sample(mask, **others)


class OnlineOpponentsOfAll(spaces.MultiDiscrete):
    """One action for each opponent of each environment, as ``OnlineOpponents``.

    Args:
        pool: of the environments.
    """

    def __init__(self, pool: Choosable) -> None:
        count, opponents = pool.online.shape
        super().__init__(np.full(count, opponents, dtype=np.int64))
        self._pool = pool

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """As Gymnasium's, but for the mask that is taken where nothing is given."""
        if mask is None and probability is None:
            mask = tuple(self._pool.online.view(np.int8))
        # Gymnasium before 1.2 knows masks only.
        others = {} if probability is None else {"probability": probability}
        return super().sample(mask, **others)
