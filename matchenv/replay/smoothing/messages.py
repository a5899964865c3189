"""Messages about one skill, as normals in natural parameters (scalar, compiled).

A message exp(shift x - precision x^2 / 2) about a skill x is kept as its precision and its
shift = precision x mean. Two messages multiply by adding both; one that says nothing is (0, 0).
"""

from __future__ import annotations

import math

from matchenv.runtime.compile import compiled


@compiled
def widened(precision: float, shift: float, variance: float) -> tuple[float, float]:
    """The message after the skill has drifted by N(0, variance), forwards or backwards in time.

    Args:
        precision: of the message, >= 0.
        shift: precision x mean.
        variance: of the drift, >= 0.
    """
    share = 1.0 / (1.0 + precision * variance)
    return precision * share, shift * share


@compiled
def log_overlap(
    precision: float, shift: float, other_precision: float, other_shift: float
) -> float:
    """Logarithm of the integral of a normal density times an unscaled message.

    Args:
        precision: of the density, > 0.
        shift: precision x mean of the density.
        other_precision: of the message exp(shift x - precision x^2 / 2), >= 0.
        other_shift: its shift.
    """
    # Completed squares, written so that a weak message leaves no difference of large numbers.
    both = precision + other_precision
    mean = shift / precision
    square = other_shift * (other_shift + 2.0 * shift) - other_precision * shift * mean
    return 0.5 * (square / both - math.log1p(other_precision / precision))
