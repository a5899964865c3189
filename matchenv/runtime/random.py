"""Counter-based random numbers: pure, compiled functions of a key, a stream and an index.

There is no state, so numbers do not depend on the order of calls or the number of threads. An
episode has one key, and each purpose a stream of its own.

Philox4x32-10 is by Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
2011), the normal transform by Box and Muller (1958).
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.arrays import Floats, Keys
from matchenv.runtime.compile import compiled

ROUNDS = 10
FACTOR_0, FACTOR_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW_WORD, WORD = np.uint64(0xFFFFFFFF), np.uint64(32)

# A uniform number has the 52 highest bits of two words, plus one half: never 0 or 1.
DROPPED_BITS, SPACING = np.uint64(12), 2.0**-52


@compiled(inline=True, refcounted=False)
def philox(
    counter: tuple[np.uint64, np.uint64, np.uint64, np.uint64], key: tuple[np.uint64, np.uint64]
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return Philox4x32-10 of a counter of four words and a key of two words of 32 bits."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        product_0, product_1 = FACTOR_0 * c0, FACTOR_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> WORD) ^ c1 ^ k0,
            product_1 & LOW_WORD,
            (product_0 >> WORD) ^ c3 ^ k1,
            product_0 & LOW_WORD,
        )
        k0, k1 = (k0 + WEYL_0) & LOW_WORD, (k1 + WEYL_1) & LOW_WORD
    return c0, c1, c2, c3


@compiled(inline=True, refcounted=False)
def two_uniforms(key: np.uint64, stream: int, index: int) -> tuple[float, float]:
    """Return two independent uniform numbers on (0, 1); arguments as for ``uniform``."""
    place = np.uint64(index)
    w0, w1, w2, w3 = philox(
        (place & LOW_WORD, place >> WORD, np.uint64(stream) & LOW_WORD, np.uint64(stream) >> WORD),
        (key & LOW_WORD, key >> WORD),
    )
    first = np.float64(((w0 << WORD) | w1) >> DROPPED_BITS)
    second = np.float64(((w2 << WORD) | w3) >> DROPPED_BITS)
    return (first + 0.5) * SPACING, (second + 0.5) * SPACING


@compiled(inline=True, refcounted=False)
def uniform(key: np.uint64, stream: int, index: int) -> float:
    """Return the uniform number on the open interval (0, 1) at an index.

    Args:
        key: key of the episode, 64 bits.
        stream: purpose of the number, >= 0.
        index: index in the stream, >= 0.
    """
    return two_uniforms(key, stream, index)[0]


@compiled
def normal(key: np.uint64, stream: int, index: int) -> float:
    """Return the standard normal number at an index; arguments as for ``uniform``."""
    u, v = two_uniforms(key, stream, index)
    return normal_from(u, v)


@compiled(inline=True, refcounted=False)
def normal_from(u: float, v: float) -> float:
    """Transform two uniform numbers into a standard normal one."""
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@compiled
def exponential(key: np.uint64, stream: int, index: int) -> float:
    """Return the exponential number of mean 1 at an index; arguments as for ``uniform``."""
    return -math.log(uniform(key, stream, index))


@compiled
def uniforms(keys: Keys, stream: int, first: int, count: int) -> Floats:
    """Return ``count`` uniform numbers from index ``first`` for K keys, shape (K, count)."""
    numbers = np.empty((keys.size, count))
    for k in range(keys.size):
        for i in range(count):
            numbers[k, i] = uniform(keys[k], stream, first + i)
    return numbers


@compiled
def normals(keys: Keys, stream: int, first: int, count: int) -> Floats:
    """Return ``count`` normal numbers from index ``first`` for K keys, shape (K, count)."""
    numbers, second = np.empty((keys.size, count)), np.empty(count)
    for k in range(keys.size):
        # Separate loops: the compiler vectorises the one without calls.
        for i in range(count):
            numbers[k, i], second[i] = two_uniforms(keys[k], stream, first + i)
        for i in range(count):
            numbers[k, i] = normal_from(numbers[k, i], second[i])
    return numbers


def drawn_key(generator: np.random.Generator) -> int:
    """Draw the key of an episode from a generator, such as an environment's ``np_random``."""
    bits = generator.bit_generator
    if isinstance(bits, np.random.MT19937):  # raw numbers of 32 bits
        return int(generator.integers(0, 2**64, dtype=np.uint64))
    return bits.random_raw()
