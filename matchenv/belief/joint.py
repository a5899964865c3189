"""A joint normal belief about n skills, any two of which can play, with all covariances.

The belief is a mean (n,) and a covariance (n, n). A game of i and j informs about s_i - s_j. It
shifts the mean along u = Cov(s, s_i - s_j) and subtracts a multiple of u u' from the covariance. If
one player plays in all games, ``matchenv.belief.full`` stores the same belief in O(n).

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.arrays import Floats
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import difference_moments, total_variance
from matchenv.trueskill.normal import normal_density, normal_probability

# Smallest variance of a difference that rounding leaves, relative to the skills' variances.
LEAST_SHARE = 1e-14


@compiled(inline=True, refcounted=False)
def difference_variance(covariance: Floats, i: int, j: int) -> float:
    """Return Var(s_i - s_j), positive for i != j."""
    both = covariance[i, i] + covariance[j, j]
    return max(both - 2.0 * covariance[i, j], LEAST_SHARE * both)


@compiled
def learn_joint(
    mu: Floats, covariance: Floats, game: tuple[int, int, int], noise: tuple[float, float]
) -> None:
    """Update the belief after a game, in O(n^2).

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        game: i, j, and +1 if i won, -1 if j won, 0 for a draw.
        noise: beta, the standard deviation of one performance, and the draw margin.
    """
    i, j, outcome = game
    beta, draw_margin = noise
    moved = covariance[i] - covariance[j]
    variance = total_variance(0.0, 0.0, beta) + difference_variance(covariance, i, j)
    v, complement = difference_moments(mu[i] - mu[j], variance, outcome, draw_margin)
    mu += v / math.sqrt(variance) * moved
    moved *= math.sqrt(max(0.0, 1.0 - complement) / variance)
    narrow(covariance, moved)


@compiled
def expect_joint(
    mu: Floats,
    covariance: Floats,
    pair: tuple[int, int],
    noise: tuple[float, float],
    share: float = 0.0,
    most: float = 1.0,
    luck: float = 0.0,
) -> float:
    """Update the belief by the expected effect of games of a pair, and return their number.

    The games count as a normal measurement of s_i - s_j. Its unknown result shifts the means along
    u by a normal number, whose variance the measurement subtracts from the covariance.

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        pair: i and j.
        noise: see ``learn_joint``.
        share: upper limit of the games' precision as a share of the precision of s_i - s_j; there
            is at least one game.
        most: maximum number of games.
        luck: the standardised shift; 0 leaves the means unchanged.
    """
    i, j = pair
    moved, spread = covariance[i] - covariance[j], difference_variance(covariance, i, j)
    worth = spread * game_precision(mu[i] - mu[j], spread, noise)
    games = np.floor(max(1.0, min(share / worth, most)))
    moved *= math.sqrt(games * worth / (1.0 + games * worth) / spread)
    mu += luck * moved
    narrow(covariance, moved)
    return games


@compiled
def narrow(covariance: Floats, moved: Floats) -> None:
    """Subtract moved moved' from the covariance row by row, which keeps it symmetric."""
    for a in range(len(covariance)):
        for b in range(len(covariance)):
            covariance[a, b] -= moved[a] * moved[b]


@compiled
def game_precision(gap: float, spread: float, noise: tuple[float, float]) -> float:
    """Return the precision of the measurement of s_i - s_j that is equivalent to one game.

    Both have the same expected posterior variance of the difference. In standard deviations of the
    performances' difference, a game is expected to reduce its variance by the share E[p'^2 / p^2],
    where p' is the derivative of the outcome's probability p.

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
