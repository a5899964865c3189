"""Random numbers of a run, each a function of the run's key and of what it is for.

Nothing is drawn in turn, so no number depends on what was chosen before: two policies meet the same
players at the same times, and the n-th game of a run has the same noise whoever plays it. And
nothing is kept, so a run of any length needs no memory for them.

The function is Philox4x64-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
2, 3" (SC 2011), the same as ``numpy.random.Philox``.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.compilation import compiled

# What a number is for: when the next player logs on and of which kind, the player's skill, how long
# a visit to the queue may last and whether its player comes back from the game, a game's noise.
LOG_ON, SKILL, VISIT, GAME = range(4)

ROUNDS = 10
MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
WEYL_1 = np.uint64(0xBB67AE8584CAA73B)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
UNUSED_BITS = np.uint64(11)
UNIT = 2.0**-53

Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@compiled
def _high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a product of 128."""
    a_low, a_high = a & LOW, a >> HALF
    b_low, b_high = b & LOW, b >> HALF
    across, other = a_low * b_high, a_high * b_low
    middle = ((a_low * b_low) >> HALF) + (across & LOW) + (other & LOW)
    return a_high * b_high + (across >> HALF) + (other >> HALF) + (middle >> HALF)


@compiled
def philox(key_0: np.uint64, key_1: np.uint64, index: int, part: int, purpose: int) -> Words:
    """Four random words of 64 bits.

    Args:
        key_0: of the run.
        key_1: of the run.
        index: number of the player or of the game, >= 0.
        part: which of several blocks for the same index, >= 0.
        purpose: what the numbers are for.
    """
    word_0, word_1 = np.uint64(index), np.uint64(part)
    word_2, word_3 = np.uint64(purpose), np.uint64(0)
    for _ in range(ROUNDS):
        high_0, low_0 = _high_word(MULTIPLIER_0, word_0), MULTIPLIER_0 * word_0
        high_1, low_1 = _high_word(MULTIPLIER_1, word_2), MULTIPLIER_1 * word_2
        word_0, word_1, word_2, word_3 = (
            high_1 ^ word_1 ^ key_0,
            low_1,
            high_0 ^ word_3 ^ key_1,
            low_0,
        )
        key_0 += WEYL_0
        key_1 += WEYL_1
    return word_0, word_1, word_2, word_3


@compiled
def uniform(word: np.uint64) -> float:
    """A number in (0, 1] from a random word: never 0, whose logarithm is none."""
    return (np.float64(word >> UNUSED_BITS) + 0.5) * UNIT


@compiled
def uniforms(
    key_0: np.uint64, key_1: np.uint64, index: int, part: int, purpose: int
) -> tuple[float, float, float, float]:
    """Four independent uniforms on (0, 1]; arguments as ``philox``."""
    a, b, c, d = philox(key_0, key_1, index, part, purpose)
    return uniform(a), uniform(b), uniform(c), uniform(d)


@compiled
def normals(
    key_0: np.uint64, key_1: np.uint64, index: int, part: int, purpose: int
) -> tuple[float, float]:
    """Two independent standard normals, by Box and Muller; arguments as ``philox``."""
    a, b, _, _ = uniforms(key_0, key_1, index, part, purpose)
    radius, angle = math.sqrt(-2.0 * math.log(a)), 2.0 * math.pi * b
    return radius * math.cos(angle), radius * math.sin(angle)


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
