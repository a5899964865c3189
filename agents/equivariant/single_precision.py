"""exp, log and erf in either precision, for loops that do several numbers at a time.

In float64 they are the usual ones. In float32 they are polynomials and quotients of polynomials,
without calls and branches, fitted so that the largest error is as small as it can be; the errors
that are stated here are measured by ``tests/agents/equivariant/test_single_precision.py``. Who uses
them adds the errors up (``matchenv.agents.equivariant.screening``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32
from numba.extending import overload

from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import exponential

# Half the distance from 1 to the next number.
ROUNDING = 2.0**-24
# Largest errors: of exp relative to it, of log beside its own rounding, of erf as it is.
EXP_ERROR, LOG_ERROR, ERF_ERROR = 4e-7, 3e-7, 5e-6

# What is outside gives exp of the end.
LEAST_EXPONENT, LARGEST_EXPONENT = np.float32(-87.0), np.float32(88.0)
# Added and taken away again, it rounds to a whole number, which its last bits hold meanwhile.
ROUNDER = np.float32(1.5 * 2.0**23)
EXPONENT_BITS = np.int32(23)
# Bits of sqrt(1/2): numbers are taken apart into a power of 2 and what lies from there to sqrt(2).
ROOT_BITS = np.float32(math.sqrt(0.5)).view(np.int32)
LOG2_E, LOG_2 = np.float32(1.0 / math.log(2.0)), np.float32(math.log(2.0))
# log 2 as a sum, the first with zeros at its end: a whole number of them is exact.
LOG_2_HIGH = np.float32(0.693359375)
LOG_2_LOW = np.float32(math.log(2.0) - 0.693359375)

# exp(r), abs(r) <= log(2) / 2.
E = tuple(
    np.float32(c)
    for c in (1.00000007, 0.99999969, 0.4999889, 0.16667578, 0.04191588, 0.00829758)
)  # fmt: skip
# (log(1 + x) - x + x^2 / 2) / x^3, from sqrt(1/2) to sqrt(2).
L = tuple(
    np.float32(c)
    for c in (0.33334734, -0.24980331, 0.19908381, -0.17169387, 0.16159731, -0.10238995)
)
# erf(x) / x as a quotient of polynomials in x^2, up to x = ERF_END, where little is missing to 1.
ERF_END = np.float32(3.4)
P = tuple(np.float32(c) for c in (1.1283697, 0.15616502, 0.04286575, 0.00072853565))
Q = tuple(np.float32(c) for c in (1.0, 0.47169581, 0.09521342, 0.0091277143))
ONE, HALF = np.float32(1.0), np.float32(0.5)


def by_precision(single: Any, double: Any) -> Any:
    """One function for compiled code that takes numbers of either precision.

    Args:
        single: compiled, what it is where the first argument is a float32.
        double: compiled, what it is elsewhere.
    """

    def chosen(*numbers: Any) -> Any:
        return (single if isinstance(numbers[0], np.float32) else double)(*numbers)

    def by_type(*types: Any) -> Any:
        function = single if types[0] == float32 else double

        def call(*types: Any) -> Any:
            return function(*types)

        return call

    overload(chosen, jit_options={"forceinline": True})(by_type)
    return chosen


@compiled(inline=True, fma=True)
def _exp_single(x: Any) -> Any:
    x = min(max(x, LEAST_EXPONENT), LARGEST_EXPONENT)
    rounded = x * LOG2_E + ROUNDER
    whole = rounded - ROUNDER
    r = (x - whole * LOG_2_HIGH) - whole * LOG_2_LOW
    square = r * r
    value = (E[0] + E[1] * r) + square * ((E[2] + E[3] * r) + square * (E[4] + E[5] * r))
    power = np.int32(np.float32(rounded).view(np.int32) << EXPONENT_BITS)
    return np.int32(np.float32(value).view(np.int32) + power).view(np.float32)


@compiled(inline=True, fma=True)
def _log_single(x: Any, above: Any) -> Any:
    bits = np.float32(x).view(np.int32)
    power = np.int32(np.int32(bits - ROOT_BITS) >> EXPONENT_BITS)
    rest = np.int32(bits - np.int32(power << EXPONENT_BITS)).view(np.float32)
    r = above if power == 0 else rest - ONE
    square = r * r
    series = (L[0] + L[1] * r) + square * ((L[2] + L[3] * r) + square * (L[4] + L[5] * r))
    return (r - HALF * square + square * r * series) + np.float32(power) * LOG_2


@compiled(inline=True, fma=True)
def _erf_single(x: Any) -> Any:
    x = min(max(x, -ERF_END), ERF_END)
    square = x * x
    above = x * (P[0] + square * (P[1] + square * (P[2] + square * P[3])))
    return above, Q[0] + square * (Q[1] + square * (Q[2] + square * Q[3]))


@compiled(inline=True)
def _log_double(x: Any, above: Any) -> Any:
    return math.log(x)


@compiled(inline=True)
def _erf_double(x: Any) -> Any:
    return math.erf(x), 1.0


# exp(x), x at most 88; in float32 never below exp(-87), in float64 0 below -745.
exp_of = by_precision(_exp_single, exponential)
# log(x) of a normal number x > 0; the second argument is x - 1, which may be known more exactly.
log_of = by_precision(_log_single, _log_double)
# erf(x) as a numerator and a denominator from 1 to 34, so that several share a division.
erf_of = by_precision(_erf_single, _erf_double)
