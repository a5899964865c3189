"""One game of any number of sides of any size: compiled kernels.

``rate_sides`` is the one update behind ``rate`` and the replay of match logs. It sums the
performances of each side's players, lets ``factor_graph`` compare the sides, and hands what
was learnt about each side on to its players.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.factor_graph import (
    BETTER_PRECISION,
    BETTER_SHIFT,
    DRAWN,
    MARGIN,
    MEAN,
    VARIANCE,
    WORSE_PRECISION,
    WORSE_SHIFT,
    pass_messages,
)
from matchenv.trueskill.game import drifted, update_two
from matchenv.trueskill.limits import is_positive, is_skill

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Beyond these, a quotient is taken between logarithms.
SMALLEST_QUOTIENT = 1e-290
# As a ratio of variances: a side that is narrower than another by less keeps enough digits.
FAR_NARROWER = 1e-8
# Rounding that moves a belief by more than this share of its deviation is said.
ROUNDING_TO_TELL = 1e-6
# Relative error of a move: a few dozen roundings; members in another order showed up to 80 epsilon.
ERROR_OF_MOVE = 128.0 * float(np.finfo(np.float64).eps)
# Error of a gap between sides, as a share of the numbers that it is a difference of.
ERROR_OF_GAP = 8.0 * float(np.finfo(np.float64).eps)


@compiled
def margin_between(margin: float, grows: bool, players: int) -> float:
    """Draw margin between two sides.

    Args:
        margin: the margin itself, or that for one player if it grows.
        grows: whether it is proportional to the square root of the number of players.
        players: players in both sides together.
    """
    return margin * math.sqrt(players) if grows else margin


@compiled
def rate_pair(
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    outcome: int,
    beta: float,
    tau: float,
    draw_margin: float,
) -> tuple[float, float, float, float]:
    """Drift, then the closed-form update, for two players; arguments as ``update_two``."""
    return update_two(
        mu_i, drifted(sigma_i, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
    )


@compiled
def side_performance(
    mu: Floats,
    sigma: Floats,
    weight: Floats,
    beta: float,
    tau: float,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Mean and variance of the performance of the side with members first to last - 1.

    Args:
        mu: (players,) means of the beliefs.
        sigma: (players,) their standard deviations.
        weight: (players,) what each performance counts.
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before the game.
        first: first member.
        last: one after the last member.
    """
    mean, variance, noise = 0.0, 0.0, tau * tau + beta * beta
    for m in range(first, last):
        mean += weight[m] * mu[m]
        variance += weight[m] * weight[m] * (sigma[m] * sigma[m] + noise)
    return mean, variance


@compiled
def _rest_of_side(
    sigma: Floats,
    weight: Floats,
    beta: float,
    tau: float,
    first: int,
    last: int,
    member: int,
    side_variance: float,
) -> float:
    """Variance of a side's performance apart from one member's skill.

    To subtract a member who makes up most of the variance would leave only rounding, so then
    the others are summed. At most one member of a side is so uncertain.
    """
    share = weight[member] * weight[member]
    own = share * (sigma[member] * sigma[member] + tau * tau)
    if own <= 0.5 * side_variance:
        return side_variance - own
    rest = share * beta * beta
    for m in range(first, last):
        if m != member:
            noise = tau * tau + beta * beta
            rest += weight[m] * weight[m] * (sigma[m] * sigma[m] + noise)
    return rest


@compiled
def _update_side(
    mu: Floats,
    sigma: Floats,
    weight: Floats,
    beta: float,
    tau: float,
    first: int,
    last: int,
    side_variance: float,
    precision: float,
    shift: float,
    new_sigma: Floats,
) -> float:
    """What the comparisons said about a side's performance, handed on to its members.

    Returns:
        The square of the largest move of a mean, in standard deviations.
    """
    farthest = 0.0
    total = 1.0 + side_variance * precision
    for m in range(first, last):
        rest = _rest_of_side(sigma, weight, beta, tau, first, last, m, side_variance)
        variance = sigma[m] * sigma[m] + tau * tau
        # 1 - own p / (1 + D p) as a quotient of sums, so that nothing cancels.
        shrink = min(1.0, (1.0 + rest * precision) / total)
        move = weight[m] * variance * shift / total
        farthest = max(farthest, move * move / variance)
        mu[m] += move
        new_sigma[m] = math.sqrt(variance * shrink)
    sigma[first:last] = new_sigma[first:last]
    return farthest


@compiled
def _blur(table: Floats, i: int, sides: int) -> float:
    """The square of what one part in a side's mean or margins moves the side by, in deviations.

    A side whose performance hardly varies is told its place by gaps of far larger numbers; where
    what is told weighs little beside what was known, their rounding does not matter.
    """
    told = table[VARIANCE, i] * (table[BETTER_PRECISION, i] + table[WORSE_PRECISION, i])
    size = abs(table[MEAN, i])
    if i > 0:
        size = max(size, table[MARGIN, i - 1])
    if i < sides - 1:
        size = max(size, table[MARGIN, i])
    part = size * (1.0 - 1.0 / (1.0 + told))
    return part * part / table[VARIANCE, i]


@compiled
def order_by_rank(rank: Floats, order: Integers) -> None:
    """Write the sides' numbers in order of rank, equal ranks in order of appearance."""
    for side in range(rank.size):
        place = side
        while place > 0 and rank[order[place - 1]] > rank[side]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = side


@compiled
def set_comparisons(
    side_start: Integers,
    rank: Floats,
    draw_margin: float,
    margin_grows: bool,
    order: Integers,
    table: Floats,
) -> bool:
    """Order the sides and write the table's rows MARGIN and DRAWN.

    Returns:
        Whether some draw has no margin, so that the ranking has probability 0.
    """
    order_by_rank(rank, order)
    impossible = False
    for i in range(rank.size - 1):
        a, b = order[i], order[i + 1]
        players = side_start[a + 1] - side_start[a] + side_start[b + 1] - side_start[b]
        table[MARGIN, i] = margin_between(draw_margin, margin_grows, players)
        table[DRAWN, i] = 1.0 if rank[a] == rank[b] else 0.0
        if table[DRAWN, i] == 1.0 and table[MARGIN, i] <= 0.0:
            impossible = True
    return impossible


@compiled
def rate_sides(
    mu: Floats,
    sigma: Floats,
    weight: Floats,
    side_start: Integers,
    rank: Floats,
    beta: float,
    tau: float,
    draw_margin: float,
    margin_grows: bool,
    tolerance: float,
    max_iterations: int,
    order: Integers,
    new_sigma: Floats,
    table: Floats,
) -> tuple[float, bool]:
    """Update the beliefs about all players of one game, in place.

    Args:
        mu: (players,) means, read and written.
        sigma: (players,) standard deviations, read and written.
        weight: (players,) what each performance counts.
        side_start: (sides + 1,) where each side's players begin.
        rank: (sides,) lower is better, equal is a draw.
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before the game.
        draw_margin: see ``margin_between``.
        margin_grows: see ``margin_between``.
        tolerance: see ``pass_messages``.
        max_iterations: see ``pass_messages``.
        order: (>= sides,) scratch.
        new_sigma: (>= players,) scratch.
        table: (TABLE_ROWS, >= sides) scratch.

    Returns:
        ``(change, impossible)``: the largest move of the last iteration (or, if that is
        larger and worth telling, what rounding moves the result by), and whether some draw
        has no margin (nothing is changed then).
    """
    sides = rank.size
    if set_comparisons(side_start, rank, draw_margin, margin_grows, order, table):
        return 0.0, True
    for i in range(sides):
        side = order[i]
        table[MEAN, i], table[VARIANCE, i] = side_performance(
            mu, sigma, weight, beta, tau, side_start[side], side_start[side + 1]
        )
    _, change = pass_messages(table, sides, tolerance, max_iterations)
    farthest, blur = 0.0, 0.0
    for i in range(sides):
        side = order[i]
        blur = max(blur, _blur(table, i, sides))
        square = _update_side(
            mu,
            sigma,
            weight,
            beta,
            tau,
            side_start[side],
            side_start[side + 1],
            table[VARIANCE, i],
            table[BETTER_PRECISION, i] + table[WORSE_PRECISION, i],
            table[BETTER_SHIFT, i] + table[WORSE_SHIFT, i],
            new_sigma,
        )
        farthest = max(farthest, square)
    rounding = max(ERROR_OF_MOVE * math.sqrt(farthest), ERROR_OF_GAP * math.sqrt(blur))
    if rounding > ROUNDING_TO_TELL:
        change = max(change, rounding)
    return change, False


@compiled
def all_beliefs(mu: Floats, sigma: Floats) -> bool:
    """Whether every mean is finite and every standard deviation positive and finite."""
    good = True
    for m in range(mu.size):
        good &= is_skill(mu[m]) and is_positive(sigma[m])
    return good


@compiled
def _log_quotient(a: float, b: float) -> float:
    """log(a / b) for positive numbers whose quotient float64 may not hold."""
    quotient = a / b
    if SMALLEST_QUOTIENT < quotient < 1.0 / SMALLEST_QUOTIENT:
        return math.log(quotient)
    return math.log(a) - math.log(b)


@compiled
def _narrow_side(variance: Floats) -> int:
    """The first side, unless another one's performance varies far less."""
    side = 0
    for i in range(1, variance.size):
        if variance[i] < FAR_NARROWER * variance[side]:
            side = i
    return side


@compiled
def quality_of_sides(mean: Floats, variance: Floats, noise: Floats) -> float:
    """Match quality from the sides' performances.

    The general form is sqrt(det(A' B A) / det(A' D A)) exp(-(A' m)' (A' D A)^-1 (A' m) / 2).
    A takes differences of neighbours, m holds the sides' means, D their variances, and B the
    part of D that is the performances' own noise. D and B are diagonal, so there are closed
    forms, whatever the order of the sides: a determinant is the product of the entries times
    the sum of their inverses, and the quadratic form is the sum of squares about the mean,
    both weighted with 1 / D.

    Args:
        mean: (sides,) means of the performances.
        variance: (sides,) their variances, D.
        noise: (sides,) the sums of weight^2 beta^2, B.
    """
    log_ratio, inverse, inverse_noise, weighted = 0.0, 0.0, 0.0, 0.0
    # Means are measured from a narrow side: beside a wide one, its gaps would lose their digits.
    origin = mean[_narrow_side(variance)]
    for i in range(mean.size):
        log_ratio += _log_quotient(noise[i], variance[i])
        inverse += 1.0 / variance[i]
        inverse_noise += 1.0 / noise[i]
        weighted += (mean[i] - origin) / variance[i]
    centre = weighted / inverse
    square = 0.0
    for i in range(mean.size):
        gap = mean[i] - origin - centre
        square += gap * gap / variance[i]
    return math.exp(0.5 * (log_ratio + _log_quotient(inverse_noise, inverse) - square))
