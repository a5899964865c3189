"""The random numbers of episodes, each from a generator of its own, drawn in one compiled loop.

They are the numbers that NumPy's ``standard_normal`` and ``random`` give, to the last bit, and the
generators are left in the same states: what differs is that no episode waits for Python.

Source: the ziggurat of Marsaglia and Tsang (2000) with 256 layers, as NumPy lays it out; bits come
from the functions that every bit generator of NumPy names in its capsule
(``numpy/random/bitgen.h``).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numba.np.random import _constants as ziggurat
from numpy.typing import NDArray

from matchenv.instructions import load, real_from, word_from
from matchenv.runtime.compile import COMPILES, compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Generators = Sequence[np.random.Generator]

# What a layer of the ziggurat accepts at once, its width, and the density at its edge.
ACCEPTED, WIDTH, DENSITY = ziggurat.ki_double, ziggurat.wi_double, ziggurat.fi_double
# Where the tail begins.
EDGE, INVERSE_EDGE = ziggurat.ziggurat_nor_r, ziggurat.ziggurat_nor_inv_r

# In ``bitgen_t``: the state, then functions of it, of which these give a word and a real number.
NEXT_WORD, NEXT_REAL = 8, 24

# Compared with NumPy before anything is drawn here; some of these lie in the tails.
COMPARED = 20_000


@compiled(inline=True)
def standard_normal(state: int, next_word: int, next_real: int) -> float:
    """One standard normal number, as NumPy draws it.

    Args:
        state: address of a bit generator's state.
        next_word: address of the function that gives 64 bits.
        next_real: address of the function that gives a uniform number.
    """
    while True:
        bits = word_from(next_word, state)
        layer = np.int64(bits & np.uint64(0xFF))
        size = np.int64((bits >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF))
        x = size * WIDTH[layer]
        if (bits >> np.uint64(8)) & np.uint64(1):
            x = -x
        if size < np.int64(ACCEPTED[layer]):
            return x
        if layer == 0:
            while True:
                beyond = -INVERSE_EDGE * math.log1p(-real_from(next_real, state))
                y = -math.log1p(-real_from(next_real, state))
                if y + y > beyond * beyond:
                    return -(EDGE + beyond) if (size >> 8) & 1 else EDGE + beyond
        between = (DENSITY[layer - 1] - DENSITY[layer]) * real_from(next_real, state)
        if between + DENSITY[layer] < math.exp(-0.5 * x * x):
            return x


@compiled(nogil=True)
def draw_beginning(
    addresses: Integers, normals: Floats, uniforms: Floats, episodes: Integers, noise: Floats
) -> None:
    """What new episodes draw first.

    Args:
        addresses: of their generators' ``bitgen_t``, shape (K,).
        normals: standard normal numbers of their instances, shape (K, N), written.
        uniforms: uniform numbers on [0, 1), shape (K, U), written after them.
        episodes: which of B episodes they are, shape (K,).
        noise: as ``draw_noise``, written last.
    """
    for k in range(addresses.size):
        state = load(addresses[k])
        next_word, next_real = load(addresses[k] + NEXT_WORD), load(addresses[k] + NEXT_REAL)
        for n in range(normals.shape[1]):
            normals[k, n] = standard_normal(state, next_word, next_real)
        for n in range(uniforms.shape[1]):
            uniforms[k, n] = real_from(next_real, state)
        for n in range(noise.shape[1]):
            noise[episodes[k], n] = standard_normal(state, next_word, next_real)


@compiled(nogil=True)
def draw_noise(addresses: Integers, episodes: Integers, noise: Floats) -> None:
    """Standard normal noise of games to come.

    Args:
        addresses: as ``draw_beginning``, and so are ``episodes``.
        episodes: as there.
        noise: shape (B, N), written at the episodes.
    """
    for k in range(addresses.size):
        state = load(addresses[k])
        next_word, next_real = load(addresses[k] + NEXT_WORD), load(addresses[k] + NEXT_REAL)
        for n in range(noise.shape[1]):
            noise[episodes[k], n] = standard_normal(state, next_word, next_real)


def _capsule_reader() -> Any:
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return read


_address_in = _capsule_reader()


class EpisodeNumbers:
    """Draws the numbers of B episodes, in compiled code where that gives NumPy's.

    That is where the generators are NumPy's own with PCG64, as seeds make them. Nobody else may
    draw from one of them meanwhile: NumPy's locks are not held.

    Args:
        count: B.
    """

    def __init__(self, count: int) -> None:
        self._known: list[np.random.Generator | None] = [None] * count
        self._addresses: Integers = np.zeros(count, dtype=np.int64)

    def __reduce__(self) -> tuple[type[EpisodeNumbers], tuple[int]]:
        """The generators of a copy have other addresses."""
        return type(self), (len(self._known),)

    def begin(
        self,
        generators: Generators,
        episodes: Integers,
        normals: Floats,
        uniforms: Floats,
        noise: Floats,
    ) -> None:
        """Draw what new episodes draw first.

        Args:
            generators: B of them.
            episodes: shape (K,).
            normals: as ``draw_beginning``, and so are the others.
            uniforms: as there.
            noise: as there.
        """
        addresses = self._found(generators, episodes)
        if addresses is not None:
            draw_beginning(addresses, normals, uniforms, episodes, noise)
            return
        for k, episode in enumerate(episodes.tolist()):
            generators[episode].standard_normal(out=normals[k])
            generators[episode].random(out=uniforms[k])
            generators[episode].standard_normal(out=noise[episode])

    def go_on(self, generators: Generators, episodes: Integers, noise: Floats) -> None:
        """Draw the next noise; arguments as ``begin``."""
        addresses = self._found(generators, episodes)
        if addresses is not None:
            draw_noise(addresses, episodes, noise)
            return
        for episode in episodes.tolist():
            generators[episode].standard_normal(out=noise[episode])

    def _found(self, generators: Generators, episodes: Integers) -> Integers | None:
        """Addresses of the ``bitgen_t`` of some generators; None where NumPy is to draw."""
        if not _draws_as_numpy():
            return None
        known, addresses = self._known, self._addresses
        for episode in episodes.tolist():
            generator = generators[episode]
            if known[episode] is not generator:
                bits = generator.bit_generator
                if type(generator) is not np.random.Generator or type(bits) is not np.random.PCG64:
                    return None
                addresses[episode] = _address_in(bits.capsule, b"BitGenerator")
                known[episode] = generator
        return addresses[episodes]


@cache
def _draws_as_numpy() -> bool:
    """Whether the numbers and the states after them are NumPy's, which may change them one day."""
    if not COMPILES:
        return False
    ours, theirs = np.random.Generator(np.random.PCG64(0)), np.random.Generator(np.random.PCG64(0))
    found = [np.empty((1, COMPARED)) for _ in range(3)]
    address = np.array([_address_in(ours.bit_generator.capsule, b"BitGenerator")], dtype=np.int64)
    draw_beginning(address, found[0], found[1], np.zeros(1, dtype=np.int64), found[2])
    drawn = [theirs.standard_normal(COMPARED), theirs.random(COMPARED)]
    drawn.append(theirs.standard_normal(COMPARED))
    same_numbers = all(np.array_equal(a[0], b) for a, b in zip(found, drawn, strict=True))
    return same_numbers and bool(ours.bit_generator.state == theirs.bit_generator.state)
