"""The exponential function without calls and without branches (scalar, compiled).

A loop over a row of numbers that calls the C library takes one number at a time. What stands here
is additions, multiplications and selections, so that the compiler works on four or eight numbers
of a row at once: 1.5 ns a number, 5 ns with the C library (AVX2). One that waits for the one before
takes longer, 16 ns instead of 10. Nothing is reordered or contracted: every machine, and every
length of a row, gives the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.compile import compiled

# Below this the result is 0: less than half the smallest number.
UNDERFLOW = -746.0
# Below this a power of two of its own would be below the smallest normal number, and the result
# is scaled in two steps.
SMALL = -700.0
SMALL_SCALE = 2.0**-128
SMALL_SHIFT = 128 << 52

# Added and taken away again, it rounds to a whole number, which its last bits hold meanwhile.
ROUNDER = 1.5 * 2.0**52
EXPONENT_BITS = 52
BITS_OF_ONE = 1023 << 52

# log 2 as a sum, the first with zeros at its end: a whole number of them is exact.
LOG2_E = 1.0 / math.log(2.0)
LOG_2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")

# Of exp(r) = 1 + r + r^2 (c[2] + c[3] r + ...) for abs(r) <= log(2) / 2; what is left out is
# below 4e-18.
C = tuple(1.0 / math.factorial(n) for n in range(14))


@compiled(inline=True)
def exponential(x: float) -> float:
    """exp(x) for x <= 709, to 1 unit in the last place; 0 below -745.2.

    Args:
        x: at most 709; larger ones are not checked. NaN gives NaN.
    """
    x = UNDERFLOW if x < UNDERFLOW else x
    rounded = x * LOG2_E + ROUNDER
    whole = rounded - ROUNDER
    r = (x - whole * LOG_2_HIGH) - whole * LOG_2_LOW
    # Pairs of terms, then pairs of pairs: one after the other they would wait for each other.
    square = r * r
    fourth = square * square
    low = (C[2] + C[3] * r) + (C[4] + C[5] * r) * square
    middle = (C[6] + C[7] * r) + (C[8] + C[9] * r) * square
    high = (C[10] + C[11] * r) + (C[12] + C[13] * r) * square
    rest = low + middle * fourth + high * (fourth * fourth)
    small = x < SMALL
    power = (np.float64(rounded).view(np.int64) << EXPONENT_BITS) + BITS_OF_ONE
    power += SMALL_SHIFT if small else 0
    scaled = (1.0 + (r + square * rest)) * np.int64(power).view(np.float64)
    return scaled * (SMALL_SCALE if small else 1.0)
