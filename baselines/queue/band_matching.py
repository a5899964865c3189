"""Maximum-weight matching of many players on a line: exact among pairs that stand near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.view import NOBODY
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def band_matching(weights: Floats) -> Integers:
    """Who plays whom, so that the weights of the pairs have the greatest sum.

    Only players at most W places apart may be paired. It goes along the line from behind and
    keeps, for each set of those ahead who are taken already, the best that can still be had:
    O(n W 2^W). Up to W + 1 players everybody can be paired with everybody.

    Args:
        weights: shape (n, W), W at least 1 and at most 15; ``weights[i, d - 1]`` of players i
            and i + d. Pairs of weight 0 or less are never made; entries beyond the last player
            are not read.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.

    Source: dynamic programming over subsets, as Held and Karp (1962), in a moving window.
    """
    count, width = weights.shape
    sets = 1 << width
    best, behind = np.zeros(sets), np.zeros(sets)
    # Bit d of a set: whether the player d places on is taken.
    choice = np.zeros((count, sets), dtype=np.uint8)
    for i in range(count - 1, -1, -1):
        reach = min(width, count - 1 - i)
        for taken in range(sets):
            rest = taken >> 1
            most, chosen = behind[rest], 0
            if taken & 1 == 0:
                for d in range(1, reach + 1):
                    if weights[i, d - 1] > 0.0 and (taken >> d) & 1 == 0:
                        value = weights[i, d - 1] + behind[rest | (1 << (d - 1))]
                        if value > most:
                            most, chosen = value, d
            best[taken], choice[i, taken] = most, chosen
        best, behind = behind, best
    partners = np.full(count, NOBODY, dtype=np.int64)
    taken = 0
    for i in range(count):
        d = choice[i, taken]
        if d > 0:
            partners[i], partners[i + d] = i + d, i
            taken |= 1 << d
        taken >>= 1
    return partners
