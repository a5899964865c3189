"""A joint normal belief about n skills, of which any two may play: all covariances are kept.

The belief is a mean (n,) and a covariance (n, n). A game of i and j informs about s_i - s_j: it
moves all skills along u = Cov(s, s_i - s_j), and takes a multiple of u u' off the covariance.
Where all games are those of one player, ``matchenv.belief.full`` keeps the same belief in O(n).

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import difference_moments, total_variance
from matchenv.trueskill.normal import normal_density, normal_probability

Floats = NDArray[np.float64]

# Relative to the skills' own variances, rounding hides smaller variances of a difference.
LEAST_SHARE = 1e-14


@compiled(inline=True, refcounted=False)
def difference_variance(covariance: Floats, i: int, j: int) -> float:
    """Return Var(s_i - s_j), positive for i != j."""
    total = covariance[i, i] + covariance[j, j]
    return max(total - 2.0 * covariance[i, j], LEAST_SHARE * total)


@compiled
def learn_joint(
    mu: Floats, covariance: Floats, pair: tuple[int, int], outcome: int, noise: tuple[float, float]
) -> None:
    """Update the belief after a game, in O(n^2).

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        pair: i and j.
        outcome: +1 if i won, -1 if j won, 0 for a draw.
        noise: beta, the standard deviation of one performance, and the draw margin.
    """
    i, j = pair
    beta, draw_margin = noise
    variance = total_variance(0.0, 0.0, beta) + difference_variance(covariance, i, j)
    v, complement = difference_moments(mu[i] - mu[j], variance, outcome, draw_margin)
    shift = v / math.sqrt(variance)
    mu += shift * (covariance[:, i] - covariance[:, j])
    narrow(covariance, pair, max(0.0, 1.0 - complement) / variance)


@compiled
def narrow(covariance: Floats, pair: tuple[int, int], weight: float) -> None:
    """Take ``weight`` u u' off the covariance, where u = Cov(s, s_i - s_j); kept symmetric."""
    i, j = pair
    moved = math.sqrt(weight) * (covariance[:, i] - covariance[:, j])
    for a in range(moved.size):
        for b in range(moved.size):
            covariance[a, b] -= moved[a] * moved[b]


@compiled
def game_precision(gap: float, spread: float, noise: tuple[float, float]) -> float:
    """Return the precision of a measurement of s_i - s_j that is worth as much as one game.

    That is: the measurement's expected posterior variance of the difference is the game's. In
    standard deviations of the performances' difference, a game is expected to take the share
    E[p'^2 / p^2] off its variance, where p' is the derivative of the outcome's probability p.

    Args:
        gap: mu_i - mu_j.
        spread: Var(s_i - s_j).
        noise: beta and the draw margin.
    """
    beta, draw_margin = noise
    variance = total_variance(0.0, 0.0, beta) + spread
    lead, margin = abs(gap) / math.sqrt(variance), draw_margin / math.sqrt(variance)
    win, loss = normal_probability(lead - margin), normal_probability(-lead - margin)
    draw = normal_probability(margin - lead) - loss
    more, less = normal_density(lead - margin), normal_density(lead + margin)
    expected = 0.0
    for derivative, probability in ((more, win), (less, loss), (more - less, draw)):
        if probability > 0.0:
            expected += derivative * (derivative / probability)
    return expected / (variance - min(expected, 1.0) * spread)
