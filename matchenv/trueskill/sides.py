"""Games of any number of sides of any size: compiled kernels of expectation propagation.

In the factor graph (Herbrich, Minka, Graepel 2006, Figure 1) the performances of a side's members
add up to the side's performance, and only neighbours in rank are compared. So each side enters the
comparisons as one normal. It receives one normal message from the comparison with its better
neighbour and one from the comparison with its worse neighbour.

A comparison truncates the difference of two performances to a half line (a win) or an interval (a
draw). The truncated difference has variance c^2 (1 - w), where w is the paper's multiplicative
correction. So the message has variance c^2 (1 - w) / w and mean gap + c v / w. Unlike equation (6)
of the paper, this form subtracts no nearly equal precisions. A comparison without information
(w = 0) is a message of infinite variance, stored as precision 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import margin_between
from matchenv.trueskill.game import (
    difference_moments,
    log_density_at_zero,
    log_outcome_probability_of,
    performance_variance,
    updated_belief,
)
from matchenv.trueskill.normal import (
    draw_moments,
    normal_density,
    normal_probability,
    win_moments,
)

# Rows of a game's table, which has a column for each side in order of rank. ORDER is the side's
# index in the input. Column i of MARGIN and DRAWN describes the comparison of sides i and i + 1.
ORDER, MEAN, VARIANCE, MARGIN, DRAWN = range(5)
# Blocks of rows for the messages from the comparisons with the better and the worse neighbour:
# precision, shift (precision x (mean - prior mean)), and the prior times this message.
FROM_BETTER, FROM_WORSE = 5, 9
PRECISION, SHIFT, BELIEF_MEAN, BELIEF_VARIANCE = range(4)
TABLE_ROWS = 13

# Large enough for seconds played; squares of weights times squares of skills stay inside float64.
LARGEST_WEIGHT = 1e9
# With smaller weights, rounding of the gaps between sides would affect the beliefs.
SMALLEST_WEIGHT = 1e-6

# If a side without one member has less than this share of its variance, that variance is summed
# directly: subtracting the member would leave rounding errors.
SMALLEST_REST = 0.125

# Convergence criterion and maximum number of iterations, see ``Constants``.
TOLERANCE = 1e-8
MAX_ITERATIONS = 100

# Performances beyond this many standard deviations have a probability below 1e-18.
FURTHEST = 9.0
# Nodes of each Gauss-Legendre panel, and the least width of a panel in standard deviations.
GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(12)
NARROWEST = 1e-12

# Lower bound that keeps noise positive for weights near 0.
LEAST_VARIANCE = 1e-300


class Teams(NamedTuple):
    """The players of one game, grouped by side.

    Attributes:
        mu: (players,) means of the beliefs.
        sigma: (players,) standard deviations of the beliefs.
        weight: (players,) factor of each performance, for example the share of the game played.
        side_start: (sides + 1,) index of each side's first player.
    """

    mu: Floats
    sigma: Floats
    weight: Floats
    side_start: Integers


class Constants(NamedTuple):
    """The constants of ``rate_sides``.

    Attributes:
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before the game.
        draw_margin: see ``margin_between``.
        margin_grows: see ``margin_between``.
        tolerance: see ``rate``.
        max_iterations: maximum number of iterations.
    """

    beta: float
    tau: float
    draw_margin: float
    margin_grows: bool
    tolerance: float
    max_iterations: int


@compiled
def side_performance(
    mu: Floats, sigma: Floats, weight: Floats, beta: float, tau: float, first: int, last: int
) -> tuple[float, float]:
    """Return mean and variance of the performance of members ``first`` to ``last - 1``."""
    mean = 0.0
    variance = 0.0
    noise = tau * tau + beta * beta
    for m in range(first, last):
        mean += weight[m] * mu[m]
        variance += weight[m] * weight[m] * (sigma[m] * sigma[m] + noise)
    return mean, variance


def performances(
    players: Floats, side_start: Integers, beta: float
) -> tuple[Floats, Floats, Floats]:
    """Return mean and variance of each side's performance, and the part of the variance from beta.

    All have shape (sides,).
    """
    mu, sigma, weight = players
    first = side_start[:-1]
    mean = np.add.reduceat(weight * mu, first)
    variance = np.add.reduceat((weight * sigma) ** 2, first)
    noise = np.maximum(np.add.reduceat((weight * beta) ** 2, first), LEAST_VARIANCE)
    return mean, variance + noise, noise


@compiled
def comparison_message(
    gap: float, variance: float, draw_margin: float, drawn: float
) -> tuple[float, float]:
    """Return mean and variance of a comparison's message about the difference of two sides.

    Args:
        gap: mean of the difference, better minus worse, without this comparison.
        variance: variance c^2 of the difference.
        draw_margin: performances that differ by at most this are a draw.
        drawn: 1 for a draw, 0 for a win of the better side.
    """
    c = math.sqrt(variance)
    if drawn != 0.0:
        v, w, complement, _ = draw_moments(gap / c, draw_margin / c)
    else:
        v, w, complement = win_moments((gap - draw_margin) / c)
    if w <= 0.0:
        return gap, math.inf
    return gap + c * v / w, variance * complement / w


@compiled
def _pass_message(table: Floats, i: int, block: int) -> float:
    """Pass the message of the comparison of sides i and i + 1 to one of the two.

    Args:
        table: see ``pass_messages``.
        i: index of the comparison.
        block: FROM_BETTER for the message to side i + 1, FROM_WORSE for the message to side i.

    Returns:
        The squared change of the receiver's belief.
    """
    better_mean = table[FROM_BETTER + BELIEF_MEAN, i]
    better_variance = table[FROM_BETTER + BELIEF_VARIANCE, i]
    worse_mean = table[FROM_WORSE + BELIEF_MEAN, i + 1]
    worse_variance = table[FROM_WORSE + BELIEF_VARIANCE, i + 1]
    target, noise = comparison_message(
        better_mean - worse_mean,
        better_variance + worse_variance,
        table[MARGIN, i],
        table[DRAWN, i],
    )
    if block == FROM_BETTER:
        side = i + 1
        message_mean = better_mean - target
        message_variance = better_variance + noise
    else:
        side = i
        message_mean = worse_mean + target
        message_variance = worse_variance + noise
    precision = 1.0 / message_variance
    shift = precision * (message_mean - table[MEAN, side])
    variance = table[VARIANCE, side] / (1.0 + table[VARIANCE, side] * precision)
    mean = table[MEAN, side] + variance * shift
    move = mean - table[block + BELIEF_MEAN, side]
    growth = variance / table[block + BELIEF_VARIANCE, side] - 1.0
    table[block + PRECISION, side] = precision
    table[block + SHIFT, side] = shift
    table[block + BELIEF_MEAN, side] = mean
    table[block + BELIEF_VARIANCE, side] = variance
    return max(move * move / table[VARIANCE, side], growth * growth)


@compiled
def pass_messages(table: Floats, sides: int, tolerance: float, max_iterations: int) -> float:
    """Run the schedule of Figure 1 until the beliefs about the sides converge.

    One iteration goes down the ranking and up again. Two sides need no iteration: their only
    comparison is exact.

    Args:
        table: (TABLE_ROWS, >= sides); rows MEAN, VARIANCE, MARGIN and DRAWN are read, the two
            blocks of messages are written.
        sides: number of sides, in order of rank.
        tolerance: see ``Constants``.
        max_iterations: see ``Constants``.

    Returns:
        The largest change in the last iteration, at most the tolerance after convergence.
    """
    for i in range(sides):
        for block in (FROM_BETTER, FROM_WORSE):
            table[block + PRECISION, i] = 0.0
            table[block + SHIFT, i] = 0.0
            table[block + BELIEF_MEAN, i] = table[MEAN, i]
            table[block + BELIEF_VARIANCE, i] = table[VARIANCE, i]
    change = 0.0
    if sides > 2:
        iterations = 0
        bound = tolerance * tolerance
        change = math.inf
        while iterations < max_iterations and not change <= bound:
            change = 0.0
            for i in range(sides - 2):
                change = max(change, _pass_message(table, i, FROM_BETTER))
            for i in range(sides - 2, 0, -1):
                change = max(change, _pass_message(table, i, FROM_WORSE))
            iterations += 1
    _pass_message(table, 0, FROM_WORSE)
    _pass_message(table, sides - 2, FROM_BETTER)
    return math.sqrt(change)


@compiled
def log_ranking_evidence(table: Floats, sides: int) -> float:
    """Return the log evidence of a game after ``pass_messages``; exact for two sides.

    Each comparison is replaced by its message, scaled to the comparison's probability. The rest is
    normal: down the ranking, a side's belief with the message from the better sides is compared
    with the next side's prior.

    Source: Minka (2001), A family of algorithms for approximate Bayesian inference, section 3.2.
    """
    total = 0.0
    for i in range(sides - 1):
        mean = table[FROM_BETTER + BELIEF_MEAN, i]
        deviation = table[FROM_BETTER + BELIEF_VARIANCE, i]
        gap = mean - table[FROM_WORSE + BELIEF_MEAN, i + 1]
        variance = deviation + table[FROM_WORSE + BELIEF_VARIANCE, i + 1]
        outcome = 1
        if table[DRAWN, i] != 0.0:
            outcome = 0
        margin = table[MARGIN, i]
        total += log_outcome_probability_of(gap, variance, outcome, margin)
        target, noise = comparison_message(gap, variance, margin, table[DRAWN, i])
        if sides > 2 and noise < math.inf:
            total -= log_density_at_zero(gap - target, variance + noise)
            gap = mean - table[MEAN, i + 1]
            variance = deviation + table[VARIANCE, i + 1]
            total += log_density_at_zero(gap - target, variance + noise)
    return total


@compiled
def update_side(
    teams: Teams, side: int, model: Constants, side_variance: float, precision: float, shift: float
) -> None:
    """Update the beliefs about a side's members in place.

    Args:
        teams: the players; mu and sigma are changed.
        side: index of the side.
        model: the constants.
        side_variance: variance of the side's performance before the game.
        precision: precision of the product of all messages to the side.
        shift: precision times (mean of that product - prior mean of the side).
    """
    mu, sigma, weight, start = teams
    first, last = start[side], start[side + 1]
    beta = model.beta
    tau = model.tau
    drift = tau * tau
    # At most one member of a side makes up nearly all of its variance.
    dominant = -1
    without_dominant = 0.0
    for m in range(first, last):
        own = weight[m] * weight[m] * (sigma[m] * sigma[m] + drift)
        if side_variance - own < SMALLEST_REST * side_variance:
            _, before = side_performance(mu, sigma, weight, beta, tau, first, m)
            _, after = side_performance(mu, sigma, weight, beta, tau, m + 1, last)
            dominant = m
            without_dominant = weight[m] * weight[m] * beta * beta + before + after
    for m in range(first, last):
        variance = sigma[m] * sigma[m] + drift
        own = weight[m] * weight[m] * variance
        # The variance of the side's performance without this member's skill.
        without_skill = side_variance - own
        if m == dominant:
            without_skill = without_dominant
        total = 1.0 + (own + without_skill) * precision
        # 1 - own p / (1 + side p) as a quotient of sums, so that nothing cancels.
        shrink = min(1.0, (1.0 + without_skill * precision) / total)
        mu[m] += weight[m] * variance * shift / total
        sigma[m] = math.sqrt(variance * shrink)


@compiled
def rate_sides(teams: Teams, rank: Floats, model: Constants, table: Floats) -> float:
    """Update the beliefs about all players of one game in place.

    Args:
        teams: the players; mu and sigma are changed.
        rank: (sides,) lower is better, equal is a draw, which requires a margin above 0.
        model: the constants.
        table: (TABLE_ROWS, >= sides) workspace; afterwards the input of ``log_ranking_evidence``.

    Returns:
        The largest change in the last iteration.
    """
    sides = rank.size
    start = teams.side_start
    for side in range(sides):  # a stable insertion sort by rank
        i = side
        while i > 0 and rank[int(table[ORDER, i - 1])] > rank[side]:
            table[ORDER, i] = table[ORDER, i - 1]
            i -= 1
        table[ORDER, i] = side
    for i in range(sides):
        side = int(table[ORDER, i])
        worse = int(table[ORDER, min(i + 1, sides - 1)])
        table[MEAN, i], table[VARIANCE, i] = side_performance(
            teams.mu, teams.sigma, teams.weight, model.beta, model.tau, start[side], start[side + 1]
        )
        players = start[side + 1] - start[side] + start[worse + 1] - start[worse]
        table[MARGIN, i] = margin_between(model.draw_margin, model.margin_grows, players)
        table[DRAWN, i] = 0.0
        if rank[side] == rank[worse]:
            table[DRAWN, i] = 1.0
    change = pass_messages(table, sides, model.tolerance, model.max_iterations)
    for i in range(sides):
        precision = table[FROM_BETTER + PRECISION, i] + table[FROM_WORSE + PRECISION, i]
        shift = table[FROM_BETTER + SHIFT, i] + table[FROM_WORSE + SHIFT, i]
        update_side(teams, int(table[ORDER, i]), model, table[VARIANCE, i], precision, shift)
    return change


@compiled(refcounted=False)
def update_two_sides(
    mu: Floats, sigma: Floats, side_size: int, outcome: int, beta: float, draw_margin: float
) -> None:
    """Update the beliefs about all players of two sides of equal size in place.

    It is ``rate_sides`` for this game, and ``update_two`` bit for bit for two players.

    Args:
        mu: means, the first side's members first, shape (2 side_size,).
        sigma: standard deviations of these beliefs, with any drift.
        side_size: number of members of a side.
        outcome: +1 if the first side won, -1 if it lost, 0 for a draw.
        beta: standard deviation of one performance.
        draw_margin: performances of the sides that differ by at most this are a draw.
    """
    side_beta = beta * math.sqrt(side_size)
    num_players = 2 * side_size
    gap = 0.0
    for m in range(side_size):
        gap += mu[m]
    for m in range(side_size, num_players):
        gap -= mu[m]
    variance_0 = _sum_of_squares(sigma, 0, side_size)
    variance_1 = _sum_of_squares(sigma, side_size, num_players)
    variance = variance_0 + variance_1 + performance_variance(side_beta)
    v, complement = difference_moments(gap, variance, outcome, draw_margin)
    for side in range(2):
        first = side * side_size
        last = first + side_size
        # Summed variance of all other players: opponents, and members before and after m.
        opponents_and_before = variance_1
        if side == 1:
            opponents_and_before = variance_0
            v = -v
        for m in range(first, last):
            own = sigma[m] * sigma[m]
            others = opponents_and_before + _sum_of_squares(sigma, m + 1, last)
            mu[m], sigma[m] = updated_belief(
                mu[m], sigma[m], math.sqrt(others), side_beta, variance, v, complement
            )
            opponents_and_before += own


@compiled(inline=True, refcounted=False)
def _sum_of_squares(values: Floats, first: int, last: int) -> float:
    """Return the sum of the squares of ``values[first:last]``."""
    total = 0.0
    for k in range(first, last):
        total += values[k] * values[k]
    return total


@compiled(refcounted=False)
def first_place_probability_of(side: int, mean: Floats, variance: Floats, margin: Floats) -> float:
    """Return the probability that a side beats every other side, accurate to 1e-9.

    It is the integral of the side's density times the other sides' distribution functions. A panel
    is at most as wide as the functions that vary within it.

    Args:
        side: index of the side.
        mean: means of the performances, shape (sides,).
        variance: variances of the performances, shape (sides,).
        margin: draw margins between the side and each other side, shape (sides,).
    """
    deviation = math.sqrt(variance[side])
    total = 0.0
    x = -FURTHEST
    while x < FURTHEST:
        width = min(1.0, FURTHEST - x)
        for other in range(mean.size):
            if other == side:
                continue
            # In standard deviations from the side's mean.
            level = (mean[other] + margin[other] - mean[side]) / deviation
            spread = math.sqrt(variance[other]) / deviation
            reach = FURTHEST * spread
            narrowest = max(spread, NARROWEST)
            while width > narrowest and level - reach - width < x < level + reach:
                width *= 0.5
        for node in range(GAUSS_NODES.size):
            z = x + 0.5 * width * (1.0 + GAUSS_NODES[node])
            value = normal_density(z)
            for other in range(mean.size):
                if other == side:
                    continue
                level = (mean[other] + margin[other] - mean[side]) / deviation
                spread = math.sqrt(variance[other]) / deviation
                value *= normal_probability((z - level) / spread)
            total += 0.5 * width * GAUSS_WEIGHTS[node] * value
        x += width
    return min(1.0, total)


@compiled(refcounted=False)
def log_quality_of_sides(mean: Floats, variance: Floats, noise: Floats) -> float:
    """Return the log match quality of sides with the given performances.

    The general form is sqrt(det(A' B A) / det(A' D A)) exp(-(A' m)' (A' D A)^-1 (A' m) / 2).
    A takes differences of neighbours, m holds the sides' means, D their variances and B the part of
    D that comes from beta. D and B are diagonal, so there are closed forms: a determinant is the
    product of the entries times the sum of their inverses. The quadratic form is the sum of squares
    about the mean, both weighted by 1 / D.

    Args:
        mean: (sides,) means of the performances.
        variance: (sides,) variances D of the performances.
        noise: (sides,) sums B of weight^2 beta^2.
    """
    log_ratio = 0.0
    inverse = 0.0
    inverse_noise = 0.0
    weighted = 0.0
    # Means relative to the narrowest side, whose gaps to others need the most digits.
    origin = mean[np.argmin(variance)]
    for i in range(mean.size):
        log_ratio += math.log(noise[i]) - math.log(variance[i])
        inverse += 1.0 / variance[i]
        inverse_noise += 1.0 / noise[i]
        weighted += (mean[i] - origin) / variance[i]
    centre = weighted / inverse
    square = 0.0
    for i in range(mean.size):
        gap = mean[i] - origin - centre
        square += gap * gap / variance[i]
    log_ratio += math.log(inverse_noise) - math.log(inverse)
    return 0.5 * (log_ratio - square)
