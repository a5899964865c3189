"""How soon the ratings of the top players settle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def games_to_settle(rating: NDArray[np.float64], start: float, closeness: float = 0.1) -> int:
    """Games until a rating has come close to its final level.

    The final level is the mean over the last quarter of the games (at least one).

    Args:
        rating: (games,), after each of the player's games; at least one.
        start: the rating before the first.
        closeness: the largest distance that counts as close, as a share of the way from
            the start to the final level.

    Returns:
        The number of the first game after which the rating is close.
    """
    last = max(1, len(rating) // 4)
    level = float(rating[-last:].mean())
    close = np.abs(rating - level) <= closeness * abs(level - start)
    # A rating may jump across its level and end without having been close to it.
    return int(np.argmax(close)) + 1 if close.any() else len(rating)
