"""What every choice of a focal player leaves to all who wait, at given prices. Compiled.

A pair is worth its match quality less the mean of both players' prices; who waits is worth
nothing. The margin of a candidate is the value of the best plan for all in which the focal player
plays that candidate, less the value of the best plan in which the focal player waits. So the choice
of the highest margin, to wait with margin 0 among them, is a maximum-weight matching's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import match_quality_of, total_variance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Signs = NDArray[np.float32]

# Others than the focal player are paired with each other at most so many places apart in the order
# of their means. The focal player may be paired with anybody.
WIDTH = 4


@compiled
def plan_margins(
    mu: Floats, sigma: Floats, count: Integers, price: Floats, beta: float
) -> tuple[Floats, Signs]:
    """Margins of all choices, and how they change with the prices.

    The margin is linear in the prices as long as the plans stay the same, so its derivative with
    respect to them is exact but where two plans are equally good.

    Args:
        mu: shape (B, C), means: the focal player, then the candidates.
        sigma: shape (B, C), standard deviations.
        count: shape (B,), players who are there, >= 1, the focal player counted.
        price: shape (B, C), in match quality.
        beta: standard deviation of one performance around skill.

    Returns:
        The margins, shape (B, C), 0 for waiting and where nobody is; and their derivatives,
        shape (B, C, C): of choice k with respect to the price of player i.

    Source: maximum-weight matching, Edmonds (1965); max-marginals by dynamic programming from
        both ends of the line, over the sets of the next ``WIDTH`` players who are taken.
    """
    places = mu.shape[1]
    margins = np.zeros(mu.shape)
    slopes = np.zeros((mu.shape[0], places, places), dtype=np.float32)
    sets = 1 << WIDTH
    before, after = np.empty((places, sets)), np.empty((places + 1, sets))
    # By which step the best was reached: the set before and the choice; the choice.
    came, step = np.empty((places, sets), np.int64), np.empty((places, sets), np.int64)
    pair, weights = np.empty((places, sets), np.int64), np.empty((places, WIDTH))
    with_none, with_k = np.zeros(places), np.zeros(places)
    for row in range(mu.shape[0]):
        others = count[row] - 1
        if others < 1:
            continue
        order = _in_line(mu[row], others)
        for a in range(others):
            for d in range(1, min(WIDTH, others - 1 - a) + 1):
                weights[a, d - 1] = _worth(
                    mu[row], sigma[row], price[row], order[a], order[a + d], beta
                )
        _from_behind(weights, others, after, pair)
        _from_the_front(weights, others, before, came, step)
        with_none[:others] = 0.0
        _taken_behind(0, 0, others, pair, with_none)
        for a in range(others):
            best, chosen = -np.inf, 0
            for taken in range(0, sets, 2):
                value = before[a, taken] + after[a + 1, taken >> 1]
                if value > best:
                    best, chosen = value, taken
            k = order[a]
            margins[row, k] = (
                _worth(mu[row], sigma[row], price[row], 0, k, beta) + best - after[0, 0]
            )
            with_k[:others] = 0.0
            _taken_in_front(a, chosen, came, step, with_k)
            _taken_behind(a + 1, chosen >> 1, others, pair, with_k)
            with_k[a] = 1.0
            slopes[row, k, 0] = -0.5
            for b in range(others):
                slopes[row, k, order[b]] = -0.5 * (with_k[b] - with_none[b])
    return margins, slopes


@compiled
def _worth(mu: Floats, sigma: Floats, price: Floats, i: int, j: int, beta: float) -> float:
    """What a pair is worth."""
    variance = total_variance(sigma[i], sigma[j], beta)
    return match_quality_of(mu[i] - mu[j], variance, beta) - 0.5 * (price[i] + price[j])


@compiled
def _in_line(mu: Floats, others: int) -> Integers:
    """Places of the candidates in the order of their means."""
    order = np.arange(1, others + 1)
    for a in range(1, others):
        place, b = order[a], a
        while b > 0 and mu[order[b - 1]] > mu[place]:
            order[b] = order[b - 1]
            b -= 1
        order[b] = place
    return order


@compiled
def _from_behind(weights: Floats, count: int, after: Floats, pair: Integers) -> None:
    """after[i, taken]: the best for the players from i on, some of whom are taken already.

    Bit d of a set says that player i + d is taken; ``pair`` is how far the partner of i is.
    """
    sets = after.shape[1]
    after[count] = 0.0
    for i in range(count - 1, -1, -1):
        reach = min(WIDTH, count - 1 - i)
        for taken in range(sets):
            rest = taken >> 1
            most, chosen = after[i + 1, rest], 0
            if taken & 1 == 0:
                for d in range(1, reach + 1):
                    if weights[i, d - 1] > 0.0 and (taken >> d) & 1 == 0:
                        value = weights[i, d - 1] + after[i + 1, rest | (1 << (d - 1))]
                        if value > most:
                            most, chosen = value, d
            after[i, taken], pair[i, taken] = most, chosen


@compiled
def _from_the_front(
    weights: Floats, count: int, before: Floats, came: Integers, step: Integers
) -> None:
    """before[i, taken]: the best for the players before i, who take some of those from i on.

    ``came`` is the set at player i - 1 that it was reached from, ``step`` how far the partner of
    that player is, 0 for none.
    """
    sets = before.shape[1]
    before[:count] = -np.inf
    before[0, 0] = 0.0
    for i in range(count - 1):
        reach = min(WIDTH, count - 1 - i)
        for taken in range(sets):
            value = before[i, taken]
            if value == -np.inf:
                continue
            rest = taken >> 1
            if value > before[i + 1, rest]:
                before[i + 1, rest], came[i + 1, rest], step[i + 1, rest] = value, taken, 0
            if taken & 1 == 0:
                for d in range(1, reach + 1):
                    if weights[i, d - 1] > 0.0 and (taken >> d) & 1 == 0:
                        found = rest | (1 << (d - 1))
                        more = value + weights[i, d - 1]
                        if more > before[i + 1, found]:
                            before[i + 1, found], came[i + 1, found] = more, taken
                            step[i + 1, found] = d


@compiled
def _taken_behind(first: int, taken: int, count: int, pair: Integers, found: Floats) -> None:
    """Mark the players from ``first`` on whom the best plan pairs with each other."""
    for i in range(first, count):
        d = pair[i, taken]
        if d > 0:
            found[i] = found[i + d] = 1.0
            taken |= 1 << d
        taken >>= 1


@compiled
def _taken_in_front(last: int, taken: int, came: Integers, step: Integers, found: Floats) -> None:
    """Mark the players before ``last`` who are paired, and their partners."""
    for i in range(last, 0, -1):
        d = step[i, taken]
        if d > 0:
            found[i - 1] = found[i - 1 + d] = 1.0
        taken = came[i, taken]
