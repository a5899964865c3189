"""Games whose order is known only in part: compiled kernels of expectation propagation.

Each side has an interval of places. A side is better than another if its last place is before the
other's first place. Two sides with the same single place drew. Nothing is known about any other
pair. The comparisons are the orders that do not follow from others, and draws of neighbours. For
a full order they are the comparisons of neighbours in ``sides``, and the beliefs are the same.

Each comparison sends a normal message to its two sides, as in ``sides``. Where comparisons form a
cycle, for example if each of two sides beat each of two others, messages can return to their
sender. Sides then count as independent given the other comparisons, which costs little beside
the replacement of truncated normals by normals (see docs/mathematics.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import margin_between
from matchenv.trueskill.game import log_outcome_probability_of
from matchenv.trueskill.sides import (
    Constants,
    Teams,
    comparison_message,
    side_performance,
    update_side,
)

# Rows of a message array: to the better and to the worse side of a comparison.
TO_BETTER, TO_WORSE = 0, 1


class Comparisons(NamedTuple):
    """The comparisons of one game and their messages.

    Attributes:
        sides: (2, comparisons) the better and the worse side; for a draw the earlier and the later.
        drawn: (comparisons,) 1 for a draw, 0 for a win of the better side.
        margin: (comparisons,) draw margin between the two sides.
        precision: (2, comparisons) precision of the messages to the better and the worse side.
        shift: (2, comparisons) precision times (mean of the message - prior mean of the side).
    """

    sides: Integers
    drawn: Floats
    margin: Floats
    precision: Floats
    shift: Floats


@compiled
def known_comparisons(first_place: Floats, last_place: Floats) -> tuple[Integers, Floats]:
    """Return the comparisons that imply all known orders and draws of a game.

    Sides that drew form a chain in their order in the game. The first of the chain is compared with
    better sides, and the last with worse sides, as in a full order.

    Args:
        first_place: (sides,) the best place that a side can have.
        last_place: (sides,) the worst place that it can have.

    Returns:
        ``(sides, drawn)``, see ``Comparisons``.
    """
    count = first_place.size
    # Without implied pairs, at most count^2 / 4 pairs have a better and a worse side.
    sides = np.empty((2, count * count // 4 + count), dtype=np.int64)
    drawn = np.zeros(sides.shape[1])
    comparisons = 0
    # The earlier and the later neighbour in a chain of draws; -1 for none.
    earlier = np.full(count, -1)
    later = np.full(count, -1)
    for side in range(count):
        for other in range(side):
            single = first_place[side] == last_place[side] and last_place[other] == last_place[side]
            if single and first_place[other] == last_place[other]:
                earlier[side] = other
        if earlier[side] >= 0:
            later[earlier[side]] = side
            sides[TO_BETTER, comparisons] = earlier[side]
            sides[TO_WORSE, comparisons] = side
            drawn[comparisons] = 1.0
            comparisons += 1
    for worse in np.argsort(first_place):
        if earlier[worse] >= 0:
            continue
        # Better sides whose last place is before this one are better by way of another side.
        latest_first_place = -math.inf
        for better in range(count):
            if last_place[better] < first_place[worse]:
                latest_first_place = max(latest_first_place, first_place[better])
        for better in range(count):
            is_neighbour = latest_first_place <= last_place[better] < first_place[worse]
            if is_neighbour and later[better] < 0:
                sides[TO_BETTER, comparisons] = better
                sides[TO_WORSE, comparisons] = worse
                comparisons += 1
    return sides[:, :comparisons].copy(), drawn[:comparisons].copy()


@compiled
def _messages_to(comparisons: Comparisons, side: int, left_out: int) -> tuple[float, float]:
    """Return the product of the messages to a side as (precision, shift).

    Args:
        comparisons: comparisons and messages.
        side: the receiver.
        left_out: the comparison whose message is left out; -1 for none.
    """
    precision = 0.0
    shift = 0.0
    for k in range(comparisons.drawn.size):
        if k == left_out:
            continue
        for end in (TO_BETTER, TO_WORSE):
            if comparisons.sides[end, k] == side:
                precision += comparisons.precision[end, k]
                shift += comparisons.shift[end, k]
    return precision, shift


@compiled
def _belief_without(
    comparisons: Comparisons, k: int, end: int, mean: Floats, variance: Floats
) -> tuple[float, float]:
    """Return mean and variance of a side's performance without the message of comparison k."""
    side = comparisons.sides[end, k]
    precision, shift = _messages_to(comparisons, side, k)
    reduced = variance[side] / (1.0 + variance[side] * precision)
    return mean[side] + reduced * shift, reduced


@compiled
def _store_message(
    comparisons: Comparisons, k: int, end: int, gap: float, noise: float, variance: float
) -> float:
    """Store a message; return the squared change of the receiver's belief.

    Args:
        comparisons: changed.
        k: the comparison.
        end: TO_BETTER or TO_WORSE.
        gap: mean of the message minus prior mean of the receiver.
        noise: variance of the message.
        variance: prior variance of the receiver's performance.
    """
    old_share = 1.0 + variance * comparisons.precision[end, k]
    old_move = comparisons.shift[end, k] / old_share
    precision = 1.0 / noise
    shift = precision * gap
    comparisons.precision[end, k] = precision
    comparisons.shift[end, k] = shift
    share = 1.0 + variance * precision
    move = math.sqrt(variance) * (shift / share - old_move)
    growth = old_share / share - 1.0
    return max(move * move, growth * growth)


@compiled
def _compare(comparisons: Comparisons, k: int, mean: Floats, variance: Floats) -> float:
    """Send the messages of one comparison; return the largest squared change of a belief."""
    better = comparisons.sides[TO_BETTER, k]
    worse = comparisons.sides[TO_WORSE, k]
    better_mean, better_variance = _belief_without(comparisons, k, TO_BETTER, mean, variance)
    worse_mean, worse_variance = _belief_without(comparisons, k, TO_WORSE, mean, variance)
    target, noise = comparison_message(
        better_mean - worse_mean,
        better_variance + worse_variance,
        comparisons.margin[k],
        comparisons.drawn[k],
    )
    gap_better = worse_mean + target - mean[better]
    gap_worse = better_mean - target - mean[worse]
    change = _store_message(
        comparisons, k, TO_BETTER, gap_better, worse_variance + noise, variance[better]
    )
    return max(
        change,
        _store_message(
            comparisons, k, TO_WORSE, gap_worse, better_variance + noise, variance[worse]
        ),
    )


@compiled
def _log_evidence(comparisons: Comparisons, mean: Floats, variance: Floats) -> float:
    """Return the log evidence of a game after convergence; exact for a single comparison.

    It is the sum of the log probabilities of the comparisons, each under the beliefs without its
    own messages, corrected by the normalising constants of the products of each side's messages.

    Source: Minka (2001), A family of algorithms for approximate Bayesian inference, section 3.2;
    on a graph of comparisons it is Bethe's approximation.
    """
    total = 0.0
    degree = np.zeros(mean.size)
    for k in range(comparisons.drawn.size):
        better_mean, better_variance = _belief_without(comparisons, k, TO_BETTER, mean, variance)
        worse_mean, worse_variance = _belief_without(comparisons, k, TO_WORSE, mean, variance)
        outcome = 1
        if comparisons.drawn[k] != 0.0:
            outcome = 0
        total += log_outcome_probability_of(
            better_mean - worse_mean,
            better_variance + worse_variance,
            outcome,
            comparisons.margin[k],
        )
        for end in (TO_BETTER, TO_WORSE):
            side = comparisons.sides[end, k]
            degree[side] += 1.0
            precision, shift = _messages_to(comparisons, side, k)
            total += _log_normaliser(precision, shift, variance[side])
    for side in range(mean.size):
        precision, shift = _messages_to(comparisons, side, -1)
        total += (1.0 - degree[side]) * _log_normaliser(precision, shift, variance[side])
    return total


@compiled
def _log_normaliser(precision: float, shift: float, variance: float) -> float:
    """Return the log integral of N(0, variance) times exp(shift x - precision x^2 / 2)."""
    share = 1.0 + variance * precision
    return 0.5 * (shift * shift * variance / share - math.log1p(variance * precision))


@compiled
def rate_partial_order(
    teams: Teams, first_place: Floats, last_place: Floats, model: Constants
) -> tuple[float, float]:
    """Update the beliefs about all players of one game in place.

    Args:
        teams: the players; mu and sigma are changed.
        first_place: (sides,) the best place that a side can have; lower is better.
        last_place: (sides,) the worst place that it can have. Two sides with the same single place
            drew, which requires a margin above 0.
        model: the constants.

    Returns:
        ``(change, log_evidence)``: the largest change in the last iteration, see ``rate_sides``,
        and the log probability of what is known about the order, before the game.
    """
    start = teams.side_start
    count = first_place.size
    mean = np.empty(count)
    variance = np.empty(count)
    for side in range(count):
        mean[side], variance[side] = side_performance(
            teams.mu, teams.sigma, teams.weight, model.beta, model.tau, start[side], start[side + 1]
        )
    sides, drawn = known_comparisons(first_place, last_place)
    margin = np.empty(drawn.size)
    for k in range(drawn.size):
        better, worse = sides[:, k]
        players = start[better + 1] - start[better] + start[worse + 1] - start[worse]
        margin[k] = margin_between(model.draw_margin, model.margin_grows, players)
    comparisons = Comparisons(
        sides, drawn, margin, np.zeros((2, drawn.size)), np.zeros((2, drawn.size))
    )
    change = math.inf
    iterations = 0
    while iterations < model.max_iterations and not change <= model.tolerance * model.tolerance:
        change = 0.0
        for k in range(drawn.size):
            change = max(change, _compare(comparisons, k, mean, variance))
        for k in range(drawn.size - 2, 0, -1):
            change = max(change, _compare(comparisons, k, mean, variance))
        iterations += 1
    for side in range(count):
        precision, shift = _messages_to(comparisons, side, -1)
        update_side(teams, side, model, variance[side], precision, shift)
    return math.sqrt(change), _log_evidence(comparisons, mean, variance)
