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
Integers = NDArray[np.int64]

# Games that are learnt together, so that what they need stays in the fast memory.
BLOCK = 32

# Relative to the skills' own variances, rounding hides smaller variances of a difference.
LEAST_SHARE = 1e-14


@compiled(inline=True, refcounted=False)
def difference_variance(covariance: Floats, i: int, j: int) -> float:
    """Return Var(s_i - s_j), positive for i != j."""
    return variance_from(covariance[i, i], covariance[j, j], covariance[i, j])


@compiled(inline=True)
def variance_from(own: float, other: float, shared: float) -> float:
    """Return the variance of a difference from two variances and the covariance."""
    return max(own + other - 2.0 * shared, LEAST_SHARE * (own + other))


@compiled
def learn_joint(
    mu: Floats, covariance: Floats, games: Integers, noise: tuple[float, float]
) -> None:
    """Update the belief after games, one after another, in O(n^2) each.

    The covariance is read and written once for all of them, which is what takes the time in a large
    one; so pass at most ``BLOCK`` games. The numbers are those of one game at a time, bit for bit.

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        games: shape (G, 3): i, j, and +1 if i won, -1 if j won, 0 for a draw.
        noise: beta, the standard deviation of one performance, and the draw margin.
    """
    beta, draw_margin = noise
    moved = np.empty((len(games), mu.size))
    for game in range(len(games)):
        i, j, outcome = games[game]
        moved[game], spread = moved_by(covariance, moved[:game], (i, j))
        variance = total_variance(0.0, 0.0, beta) + spread
        v, complement = difference_moments(mu[i] - mu[j], variance, outcome, draw_margin)
        mu += v / math.sqrt(variance) * moved[game]
        moved[game] *= math.sqrt(max(0.0, 1.0 - complement) / variance)
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
    """Update the belief as games of a pair are expected to, and return how many.

    They count as a normal measurement of s_i - s_j. Before it is made, it moves the means along u
    by a normal number whose variance is what it takes off the covariance.

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        pair: i and j.
        noise: as ``learn_joint``.
        share: the games are worth at most this share of the precision of s_i - s_j, but for one.
        most: games at most.
        luck: the normal number in its own deviations; 0 leaves the means.
    """
    i, j = pair
    moved = np.empty((1, mu.size))
    moved[0], spread = moved_by(covariance, moved[:0], pair)
    worth = spread * game_precision(mu[i] - mu[j], spread, noise)
    games = np.floor(max(1.0, min(share / worth, most)))
    moved *= math.sqrt(games * worth / (1.0 + games * worth) / spread)
    mu += luck * moved[0]
    narrow(covariance, moved)
    return games


@compiled
def moved_by(covariance: Floats, moved: Floats, pair: tuple[int, int]) -> tuple[Floats, float]:
    """Return u = Cov(s, s_i - s_j) and Var(s_i - s_j) once moved' moved is off the covariance."""
    i, j = pair
    row_i, row_j = covariance[i].copy(), covariance[j].copy()
    for earlier in moved:
        row_i -= earlier[i] * earlier
        row_j -= earlier[j] * earlier
    return row_i - row_j, variance_from(row_i[i], row_j[j], row_i[j])


@compiled
def narrow(covariance: Floats, moved: Floats) -> None:
    """Take moved' moved off the covariance, the rows of ``moved`` in turn; kept symmetric."""
    for a in range(len(covariance)):
        for game in range(len(moved)):
            weight = moved[game, a]
            for b in range(len(covariance)):
                covariance[a, b] -= weight * moved[game, b]


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
