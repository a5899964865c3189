"""How soon the ratings of the top players settle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def games_to_settle(rating: NDArray[np.float64], start: float, closeness: float = 0.1) -> int:
    """Games until a rating has come most of the way from its start to its final level.

    The final level is the mean over the last quarter of the games (at least one).

    Args:
        rating: (games,), after each of the player's games; at least one.
        start: the rating before the first.
        closeness: the share of the way that may be left.

    Returns:
        The number of the first game after which no more than that share is left.
    """
    last = max(1, len(rating) // 4)
    level = float(rating[-last:].mean())
    left = (level - rating) * np.sign(level - start)
    return int(np.argmax(left <= closeness * abs(level - start))) + 1
