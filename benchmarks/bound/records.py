"""What is known of opponents after every record of games with them.

A record is (n, w): n games, w of them won. Records of fewer than ``depth`` games stand in one row,
(0, 0), (1, 0), (1, 1), (2, 0) and so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.possible_skills import exponentials
from matchenv.benchmarks.bound.prices import part_above, prices_up_to_the_peak
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, total_variance, win_probability_of

Floats = NDArray[np.float64]


class Expectations(NamedTuple):
    """Of T opponents, after each of the S records of fewer than ``depth`` games.

    Attributes:
        chances: that player 0 wins the next game, shape (T, S).
        densities: expected draw density of the next game, shape (T, S).
        told: expected part of the draw density above each price after ``depth`` games, w of them
            won, in all games that remain, shape (T, depth + 1, prices).
    """

    chances: Floats
    densities: Floats
    told: Floats


@compiled
def first_record(games: int) -> int:
    """Place of the record of so many games, none of them won."""
    return games * (games + 1) // 2


@compiled
def games_at(gaps: Floats, beta: float) -> tuple[Floats, Floats, Floats]:
    """Chance that player 0 wins, that the opponent wins, and true draw density.

    Args:
        gaps: player 0's skill less the opponent's, shape (G,).
        beta: standard deviation of one performance around skill.

    Returns:
        All of shape (G,).
    """
    wins, losses, densities = np.empty(gaps.size), np.empty(gaps.size), np.empty(gaps.size)
    variance = total_variance(0.0, 0.0, beta)
    for g in range(gaps.size):
        wins[g] = win_probability_of(gaps[g], variance, 0.0)
        losses[g] = win_probability_of(-gaps[g], variance, 0.0)
        densities[g] = density_at_zero(gaps[g], variance)
    return wins, losses, densities


def expectations_after(
    gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int
) -> Expectations:
    """What is expected of opponents after every record.

    The probability of a record depends on the gap alone, so that all opponents together take one
    product of matrices for each number of games.

    Args:
        gaps: player 0's skill less an opponent's: an even grid, shape (G,).
        weights: probabilities of the gaps, for each opponent, shape (T, G).
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: games after which the skill is told, 1 to the horizon.
    """
    wins, losses, densities = games_at(gaps, beta)
    least = np.finfo(np.float64).tiny
    log_win, log_loss = np.log(np.maximum(wins, least)), np.log(np.maximum(losses, least))
    count = len(weights)
    mass = np.concatenate([weights, weights * wins, weights * densities]).T.copy()
    found = np.empty((2, count, first_record(depth)))
    for n in range(depth):
        sums = product_of(_likelihoods(n, log_win, log_loss), mass)
        whole, won, paid = np.split(sums, 3, axis=1)
        span = slice(first_record(n), first_record(n + 1))
        found[0, :, span], found[1, :, span] = (won / whole).T, (paid / whole).T
    prices = prices_up_to_the_peak(beta)
    told = np.zeros((count, depth + 1, prices.size))
    if depth < horizon:
        likelihoods = _likelihoods(depth, log_win, log_loss)
        above = np.stack([part_above(densities, price) for price in prices], axis=1)
        for t in range(count):
            posterior = likelihoods * weights[t]
            posterior /= posterior.sum(axis=1, keepdims=True)
            told[t] = (horizon - depth) * product_of(posterior, above)
    return Expectations(found[0], found[1], told)


@compiled
def product_of(left: Floats, right: Floats) -> Floats:
    """The product of two matrices, to the same digits however many threads numpy's has.

    Args:
        left: shape (K, G).
        right: shape (G, T).
    """
    found = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[0]):
        for g in range(left.shape[1]):
            factor = left[k, g]
            if factor != 0.0:
                for t in range(right.shape[1]):
                    found[k, t] += factor * right[g, t]
    return found


def _likelihoods(games: int, log_win: Floats, log_loss: Floats) -> Floats:
    """Likelihood of each gap after so many games, shape (games + 1, G), the largest of a row 1."""
    won = np.arange(games + 1.0)[:, None]
    logarithms = won * log_win + (games - won) * log_loss
    return exponentials(logarithms)
