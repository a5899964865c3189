"""The opponent whose number is nearest to player 0's (compiled)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]


@compiled
def nearest_opponent(values: Floats) -> int:
    """Action whose opponent has the value closest to ``values[0]``, the lowest of equals.

    Args:
        values: shape (M + 1,), player 0 first.
    """
    best = 0
    least = abs(values[0] - values[1])
    for k in range(2, values.size):
        distance = abs(values[0] - values[k])
        if distance < least:
            best, least = k - 1, distance
    return best


@compiled
def nearest_opponents(values: Floats) -> NDArray[np.int64]:
    """``nearest_opponent`` for every row, shape (B, M + 1) to (B,)."""
    actions = np.empty(values.shape[0], dtype=np.int64)
    for b in range(values.shape[0]):
        actions[b] = nearest_opponent(values[b])
    return actions
