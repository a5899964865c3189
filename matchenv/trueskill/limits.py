"""The limits of ``matchenv.runtime.checks`` for single numbers, in Python and compiled.

The checks there are for arrays of any kind, and take most of a call with a few plain floats. Such
a call looks at the same limits in the compiled function that does the work. Where that finds a bad
number it gives NaN, and its caller goes the long way, which says what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchenv.runtime.checks import LARGEST_SKILL
from matchenv.runtime.compile import compiled

PLAIN = frozenset((float, np.float64))


def are_plain(*values: Any) -> bool:
    """Whether all are floats, Python's or NumPy's float64; no arrays, integers or others."""
    return PLAIN.issuperset(map(type, values))


# Comparisons are False for NaN.


@compiled
def is_skill(value: float) -> bool:
    """Whether it is finite and no larger than is allowed, as ``as_float_array`` asks."""
    return abs(value) <= LARGEST_SKILL


@compiled
def is_positive(value: float) -> bool:
    """Whether it may be a standard deviation, as ``as_positive_array`` asks."""
    return 1.0 / LARGEST_SKILL <= value <= LARGEST_SKILL


@compiled
def is_non_negative(value: float) -> bool:
    """Whether it may be a draw margin, as ``as_non_negative_array`` asks."""
    return 0.0 <= value <= LARGEST_SKILL
