"""Opponents sorted by their means, and which of them gives the best draw density where.

For a player 0 at mean x whose other variances sum to B, the draw density against k is
C / sqrt(V exp(g^2 / V)) with g = x - mu_k and V = B + sigma_k^2. Since exp(y) >= 1 + y, the
opponent that matters most is, nearly, the one with the least sigma_k^2 + g^2. That is a
lower envelope of parabolas of one shape, whatever B is: it is built once for a decision,
and answers for every x by bisection. All functions are compiled; none allocates, but for
the first sorting of a large pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchenv.baselines.policy import Floats, Integers
from matchenv.runtime.compile import compiled

# Insertion sort may move this many entries for each opponent: enough to sort a small pool
# from nothing, and a large one in which a game has moved somebody.
MOVES_PER_OPPONENT = 16


class SkillLine(NamedTuple):
    """Working arrays of one decision, shape (M,) if not said; made once, used again and again.

    Attributes:
        order: opponents, 1 to M, by mean, then by deviation, then by index.
        mu: their means in that order.
        sigma: their standard deviations in that order.
        bounds: upper bounds of the opponents' scores in that order.
        chances: shape (3, M), upper bounds of the probability that player 0 wins, loses, draws.
        shifts: shape (3, M), v of those outcomes, in deviations of the difference.
        complements: shape (3, M), 1 - w of those outcomes.
        narrowest: shape (1,), the smallest sigma^2.
    """

    order: Integers
    mu: Floats
    sigma: Floats
    bounds: Floats
    chances: Floats
    shifts: Floats
    complements: Floats
    narrowest: Floats


def new_skill_line(num_opponents: int) -> SkillLine:
    """Working arrays for a pool of ``num_opponents``."""
    return SkillLine(
        order=np.arange(1, num_opponents + 1),
        mu=np.empty(num_opponents),
        sigma=np.empty(num_opponents),
        bounds=np.empty(num_opponents),
        chances=np.empty((3, num_opponents)),
        shifts=np.empty((3, num_opponents)),
        complements=np.empty((3, num_opponents)),
        narrowest=np.empty(1),
    )


@compiled
def sort_opponents(line: SkillLine, mu: Floats, sigma: Floats) -> None:
    """Bring order, means and deviations of the line up to date.

    Args:
        line: written; its old order is the start, so that little is to do after a game.
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
    """
    if not _sort_by_insertion(line.order, mu, sigma, MOVES_PER_OPPONENT * line.order.size):
        line.order[:] = np.argsort(mu[1:], kind="mergesort") + 1
        if not _sort_by_insertion(line.order, mu, sigma, line.order.size):
            # Many equal means.
            by_sigma = np.argsort(sigma[1:], kind="mergesort")
            by_both = np.argsort(mu[1:][by_sigma], kind="mergesort")
            line.order[:] = by_sigma[by_both] + 1
    least = np.inf
    for place in range(line.order.size):
        line.mu[place] = mu[line.order[place]]
        deviation = sigma[line.order[place]]
        line.sigma[place] = deviation
        least = min(least, deviation)
    line.narrowest[0] = least * least


@compiled
def _sort_by_insertion(order: Integers, mu: Floats, sigma: Floats, moves: int) -> bool:
    """Sort ``order``; False, with the rest unsorted, where that takes too many moves."""
    for place in range(1, order.size):
        k = order[place]
        mean = mu[k]
        hole = place
        while hole > 0:
            other = order[hole - 1]
            if mu[other] < mean or (mu[other] == mean and not _behind(sigma, other, k)):
                break
            order[hole] = other
            hole -= 1
        order[hole] = k
        moves -= place - hole
        if moves < 0:
            return False
    return True


@compiled
def _behind(sigma: Floats, other: int, k: int) -> bool:
    """Of two with equal means: whether ``other`` comes after ``k``."""
    return sigma[other] > sigma[k] or (sigma[other] == sigma[k] and other > k)


@compiled
def place_of(values: Floats, first: int, end: int, x: float) -> int:
    """The first place from ``first`` on whose value is not below ``x``, or ``end``.

    Bisection without a branch that a processor could guess wrongly: the steps depend on the
    number of values alone, so that searches for many x overlap.

    Args:
        values: ascending from ``first`` to before ``end``.
        first: start of the search.
        end: its end.
        x: what to find.
    """
    left = end - first
    while left > 0:
        half = (left + 1) >> 1
        first += half * (values[first + half - 1] < x)
        left -= half
    return first
