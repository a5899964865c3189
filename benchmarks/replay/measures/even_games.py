"""The games that a system judges most even."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def most_even(quality: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """The given share of games with the highest quality.

    Args:
        quality: (games,), high for a game that a system judges even.
        share: of the games to take, in [0, 1]; the number is rounded up.

    Returns:
        (games,), True for the chosen ones. Among equals the earlier game is taken.
    """
    # Rounded first, so that 0.2 of 5 games is 1 game although 0.2 * 5 may exceed 1.
    count = math.ceil(round(share * len(quality), 9))
    chosen = np.zeros(len(quality), dtype=np.bool_)
    chosen[np.argsort(-quality, kind="stable")[:count]] = True
    return chosen
