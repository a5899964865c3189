"""Random numbers that are a function of a key and a place. Compiled and pure.

A generator of this kind can be read anywhere and in any order. The key of an episode is made of
the numbers that its instance was drawn from, so that nothing more is taken from the episode's own
generator.

Source of the generator: Steele, Lea, Flood, "Fast splittable pseudorandom number generators"
(OOPSLA 2014), SplitMix64, read at any place. Normal numbers: Box, Muller (1958).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
LOW_BITS = np.uint64(12)


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """All bits of a number, each depending on all: the finaliser of SplitMix64."""
    value = (value ^ (value >> FIRST_SHIFT)) * FIRST_FACTOR
    value = (value ^ (value >> SECOND_SHIFT)) * SECOND_FACTOR
    return value ^ (value >> THIRD_SHIFT)


@compiled
def key_of(uniforms: Floats) -> np.uint64:
    """The key of an episode.

    Args:
        uniforms: uniform numbers that its instance was drawn from.
    """
    key = np.uint64(0)
    for i in range(uniforms.size):
        key = mixed((key + GOLDEN) ^ np.uint64(uniforms[i] * 2.0**53))
    return key


@compiled
def uniform_number(key: np.uint64, place: int) -> float:
    """The uniform number at a place, in the open interval (0, 1).

    Args:
        key: of the stream.
        place: from 0.
    """
    bits = mixed(key + GOLDEN * np.uint64(place + 1)) >> LOW_BITS
    return (np.float64(bits) + 0.5) * 2.0**-52


@compiled
def normal_number(key: np.uint64, place: int) -> float:
    """The standard normal number at a place, by the method of Box and Muller.

    Args:
        key: of the stream.
        place: from 0.
    """
    radius = math.sqrt(-2.0 * math.log(uniform_number(key, 2 * place)))
    return radius * math.cos(2.0 * math.pi * uniform_number(key, 2 * place + 1))
