"""Expectation propagation on TrueSkill's factor graph: compiled kernels.

The graph (Herbrich, Minka, Graepel 2006, Figure 1) is a tree apart from its comparison
factors: skills and performances of a side's members add up to the side's performance, and
only neighbours in rank are compared. So each side enters the comparisons as one normal
(mean and variance of its performance), and what the comparisons say about a side is one
normal message back. A side has at most two neighbours, a better and a worse one.

A comparison says that the difference of two performances lies on a half line (a win) or in an
interval (a draw). Given that, the difference has variance c^2 (1 - w), where w is the paper's
multiplicative correction; so the message has variance c^2 (1 - w) / w and mean gap + c v / w.
Written with 1 - w, it needs no difference of two nearly equal precisions, as equation (6) of the
paper does. A comparison that says nothing (w = 0) is a message of infinite variance, which is
kept as precision 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import draw_moments, win_moments

Floats = NDArray[np.float64]

# Rows of the table that the messages live in; one column a side, in order of rank.
# "Better" messages come from the comparison with the next better side, "worse" ones from
# that with the next worse side. A shift is precision x (mean - prior mean).
MEAN, VARIANCE = 0, 1
BETTER_PRECISION, BETTER_SHIFT = 2, 3
WORSE_PRECISION, WORSE_SHIFT = 4, 5
BETTER_MEAN, BETTER_VARIANCE = 6, 7
WORSE_MEAN, WORSE_VARIANCE = 8, 9
MARGIN, DRAWN = 10, 11
TABLE_ROWS = 12


@compiled
def comparison_message(
    gap: float, variance: float, draw_margin: float, drawn: float
) -> tuple[float, float]:
    """Mean and variance of a comparison's message about the difference of two sides.

    Args:
        gap: mean of the difference, better less worse, without this comparison.
        variance: its variance c^2.
        draw_margin: performances closer than this are a draw.
        drawn: 1 where the two drew, 0 where the better one won.

    Returns:
        ``(mean, variance)`` of the message; the variance is infinite if it says nothing.
    """
    c = math.sqrt(variance)
    if drawn != 0.0:
        v, w, complement = draw_moments(gap / c, draw_margin / c)
    else:
        v, w, complement = win_moments((gap - draw_margin) / c)
    if w <= 0.0:
        return gap, math.inf
    return gap + c * v / w, variance * complement / w


@compiled
def _combine(mean: float, variance: float, target: float, noise: float) -> tuple[float, ...]:
    """A side's prior times one message N(target, noise), and the message as precision."""
    precision = 1.0 / noise
    gain = 1.0 / (1.0 + variance * precision)
    shift = precision * (target - mean)
    return mean + variance * gain * shift, variance * gain, precision, shift


@compiled
def _compare(table: Floats, i: int) -> tuple[float, float]:
    """The message of the comparison between sides i and i + 1, from their present beliefs."""
    return comparison_message(
        table[BETTER_MEAN, i] - table[WORSE_MEAN, i + 1],
        table[BETTER_VARIANCE, i] + table[WORSE_VARIANCE, i + 1],
        table[MARGIN, i],
        table[DRAWN, i],
    )


@compiled
def _tell_worse(table: Floats, i: int) -> float:
    """Pass comparison i's message on to side i + 1; returns the square of the change."""
    target, noise = _compare(table, i)
    j = i + 1
    mean, variance, precision, shift = _combine(
        table[MEAN, j],
        table[VARIANCE, j],
        table[BETTER_MEAN, i] - target,
        table[BETTER_VARIANCE, i] + noise,
    )
    step = mean - table[BETTER_MEAN, j]
    change = step * step / table[VARIANCE, j]
    step = variance / table[BETTER_VARIANCE, j] - 1.0
    table[BETTER_MEAN, j], table[BETTER_VARIANCE, j] = mean, variance
    table[BETTER_PRECISION, j], table[BETTER_SHIFT, j] = precision, shift
    return max(change, step * step)


@compiled
def _tell_better(table: Floats, i: int) -> float:
    """Pass comparison i's message on to side i; returns the square of the change."""
    target, noise = _compare(table, i)
    j = i + 1
    mean, variance, precision, shift = _combine(
        table[MEAN, i],
        table[VARIANCE, i],
        table[WORSE_MEAN, j] + target,
        table[WORSE_VARIANCE, j] + noise,
    )
    step = mean - table[WORSE_MEAN, i]
    change = step * step / table[VARIANCE, i]
    step = variance / table[WORSE_VARIANCE, i] - 1.0
    table[WORSE_MEAN, i], table[WORSE_VARIANCE, i] = mean, variance
    table[WORSE_PRECISION, i], table[WORSE_SHIFT, i] = precision, shift
    return max(change, step * step)


@compiled
def pass_messages(
    table: Floats, sides: int, tolerance: float, max_iterations: int
) -> tuple[int, float]:
    """Run the schedule of Figure 1 until no belief about a side moves any more.

    One iteration goes down the ranking and up again. Two sides need none: the only
    comparison is computed once and is exact.

    Args:
        table: (TABLE_ROWS, >= sides); rows MEAN, VARIANCE, MARGIN and DRAWN are read
            (comparison i, between sides i and i + 1, stands in column i), the rest is
            written.
        sides: number of sides, in order of rank.
        tolerance: stop when no message moved its side's mean by more than this share of
            the performance's standard deviation, nor its variance by more than this share.
        max_iterations: stop here at the latest.

    Returns:
        ``(iterations, change)``: the number done, and the largest move of the last one;
        converged if that is at most the tolerance.
    """
    for i in range(sides):
        table[BETTER_PRECISION, i] = table[BETTER_SHIFT, i] = 0.0
        table[WORSE_PRECISION, i] = table[WORSE_SHIFT, i] = 0.0
        table[BETTER_MEAN, i] = table[WORSE_MEAN, i] = table[MEAN, i]
        table[BETTER_VARIANCE, i] = table[WORSE_VARIANCE, i] = table[VARIANCE, i]
    change, iterations = 0.0, 0
    if sides > 2:
        bound = tolerance * tolerance
        change = math.inf
        while iterations < max_iterations and not change <= bound:
            change = 0.0
            for i in range(sides - 2):
                change = max(change, _tell_worse(table, i))
            for i in range(sides - 2, 0, -1):
                change = max(change, _tell_better(table, i))
            iterations += 1
    _tell_better(table, 0)
    _tell_worse(table, sides - 2)
    return iterations, math.sqrt(change)
