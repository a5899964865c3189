"""Random numbers of a run, each a function of the run's key and of what it is for.

Nothing is drawn in turn, so no number depends on what was chosen before: two policies meet the same
players at the same times, and the n-th game of a run has the same noise whoever plays it. And
nothing is kept, so a run of any length needs no memory for them. ``matchenv.counter_numbers`` has
the generator.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.counter_numbers import GOLDEN, mixed
from matchenv.runtime.compile import compiled

# What a stream is for: when the next player logs on and of which kind, the player's skill, how long
# a visit to the queue may last and whether its player comes back from the game, a game's noise.
LOG_ON, SKILL, VISIT, GAME = range(4)
PURPOSES = 4

# The numbers of a log-on and of a visit, by their places in its stream.
TIME, KIND, WHICH = range(3)
PATIENCE, STAYS = range(2)


@compiled(refcounted=False)
def stream(key: np.uint64, index: int, part: int, purpose: int) -> np.uint64:
    """The key of a few random numbers.

    Args:
        key: of the run.
        index: number of the player or of the game, >= 0.
        part: which of several for the same index, such as a player's visits, >= 0.
        purpose: what the numbers are for.
    """
    of_index = mixed(key + GOLDEN * np.uint64(index))
    return mixed(of_index + GOLDEN * np.uint64(PURPOSES * part + purpose + 1))


@compiled
def exponential(u: float) -> float:
    """A waiting time of mean 1 from a uniform."""
    return -math.log(u)


@compiled
def geometric(u: float, mean: float) -> float:
    """A whole number from 1 on with a geometric distribution of this mean, >= 1, or infinity."""
    if mean == math.inf:
        return math.inf
    if mean == 1.0:
        return 1.0
    return max(1.0, math.ceil(math.log(u) / math.log1p(-1.0 / mean)))
