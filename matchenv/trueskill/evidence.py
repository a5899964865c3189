"""The probability of a ranking as expectation propagation has it: a compiled kernel."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.factor_graph import (
    BETTER_MEAN,
    BETTER_VARIANCE,
    DRAWN,
    MARGIN,
    MEAN,
    VARIANCE,
    WORSE_MEAN,
    WORSE_VARIANCE,
    comparison_message,
)
from matchenv.trueskill.game import log_density_at_zero, log_outcome_probability_of

Floats = NDArray[np.float64]


@compiled
def log_ranking_evidence(table: Floats, sides: int) -> float:
    """Logarithm of a game's evidence, after ``pass_messages``; exact for two sides.

    Each comparison is replaced by its message, scaled so that it keeps the comparison's
    probability. What is left is normal: going down the ranking, a side's belief with the
    message from the better ones meets the next side's prior.

    Args:
        table: as ``pass_messages`` left it.
        sides: number of sides, in order of rank.

    Source: Minka (2001), A family of algorithms for approximate Bayesian inference, section 3.2.
    """
    total = 0.0
    for i in range(sides - 1):
        gap = table[BETTER_MEAN, i] - table[WORSE_MEAN, i + 1]
        variance = table[BETTER_VARIANCE, i] + table[WORSE_VARIANCE, i + 1]
        outcome = 0 if table[DRAWN, i] != 0.0 else 1
        margin = table[MARGIN, i]
        total += log_outcome_probability_of(gap, variance, outcome, margin)
        target, noise = comparison_message(gap, variance, margin, table[DRAWN, i])
        if sides > 2 and noise < math.inf:
            total -= log_density_at_zero(gap - target, variance + noise)
            gap = table[BETTER_MEAN, i] - table[MEAN, i + 1]
            variance = table[BETTER_VARIANCE, i] + table[VARIANCE, i + 1]
            total += log_density_at_zero(gap - target, variance + noise)
    return total
