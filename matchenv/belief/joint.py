"""A joint normal belief about n skills, any two of which can play, with all covariances.

The belief is a mean (n,) and a covariance (n, n). A game of i and j informs about s_i - s_j. It
shifts the mean along u = Cov(s, s_i - s_j) and subtracts a multiple of u u' from the covariance. If
one player plays in all games, ``matchenv.belief.full`` stores the same belief in O(n).

The advantage h of the player who is named first, or plays at home, is one more coordinate: such a
game informs about s_i - s_j + h. The three differences are called contrasts below.

``learn_joint`` visits each game once. ``fit_joint`` visits games until nothing changes, so their
order does not matter, and returns the marginal likelihood.

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players; expectation propagation by Minka, "A family of algorithms for
approximate Bayesian inference" (2001), sections 3.2 and 3.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    difference_moments,
    log_outcome_probability_of,
    performance_variance,
)
from matchenv.trueskill.normal import normal_density, normal_probability

# Smallest variance of a difference that rounding leaves, relative to the skills' variances.
LEAST_SHARE = 1e-14

# Index of the advantage in a game in which nobody is first.
NOBODY = -1

# ``fit_joint`` ends when no site changes by more than this, in standard deviations, if not told
# otherwise, or after so many rounds.
FITTED, MOST_ROUNDS = 1e-7, 200


@compiled(inline=True, refcounted=False)
def difference_variance(covariance: Floats, i: int, j: int) -> float:
    """Return Var(s_i - s_j), positive for i != j."""
    both = covariance[i, i] + covariance[j, j]
    return max(both - 2.0 * covariance[i, j], LEAST_SHARE * both)


@compiled(inline=True, refcounted=False)
def contrast_variance(covariance: Floats, i: int, j: int, advantage: int) -> float:
    """Return Var(s_i - s_j), or Var(s_i - s_j + h); see ``learn_joint`` for ``advantage``."""
    variance = difference_variance(covariance, i, j)
    if advantage == NOBODY:
        return variance
    h = advantage
    shared = 2.0 * (covariance[i, h] - covariance[j, h])
    return max(variance + covariance[h, h] + shared, LEAST_SHARE * variance)


@compiled
def contrast_moments(
    mu: Floats, covariance: Floats, i: int, j: int, advantage: int
) -> tuple[float, Floats]:
    """Return the mean of a contrast, and the covariances with it; see ``learn_joint``."""
    moved = covariance[i] - covariance[j]
    gap = mu[i] - mu[j]
    if advantage != NOBODY:
        moved += covariance[advantage]
        gap += mu[advantage]
    return gap, moved


@compiled
def learn_joint(
    mu: Floats,
    covariance: Floats,
    game: tuple[int, int, int],
    noise: tuple[float, float],
    advantage: int = NOBODY,
) -> None:
    """Update the belief after a game, in O(n^2).

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        game: i, j, and +1 if i won, -1 if j won, 0 for a draw.
        noise: beta, the standard deviation of one performance, and the draw margin.
        advantage: coordinate of the advantage of i, who was first; ``NOBODY`` if nobody was.
    """
    i, j, outcome = game
    beta, draw_margin = noise
    gap, moved = contrast_moments(mu, covariance, i, j, advantage)
    spread = contrast_variance(covariance, i, j, advantage)
    variance = performance_variance(beta) + spread
    v, complement = difference_moments(gap, variance, outcome, draw_margin)
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
    advantage: int = NOBODY,
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
        advantage: see ``learn_joint``.
    """
    i, j = pair
    gap, moved = contrast_moments(mu, covariance, i, j, advantage)
    spread = contrast_variance(covariance, i, j, advantage)
    worth = spread * game_precision(gap, spread, noise)
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
    variance = performance_variance(beta) + spread
    lead, margin = abs(gap) / math.sqrt(variance), draw_margin / math.sqrt(variance)
    win, loss = normal_probability(lead - margin), normal_probability(-lead - margin)
    draw = normal_probability(margin - lead) - loss
    more, less = normal_density(lead - margin), normal_density(lead + margin)
    expected = 0.0
    for derivative, probability in ((more, win), (less, loss), (more - less, draw)):
        if probability > 0.0:
            expected += derivative * (derivative / probability)
    return expected / (variance - min(expected, 1.0) * spread)


class Results(NamedTuple):
    """Games with equal players and equal outcomes, counted once; D rows."""

    i: Integers  # shape (D,)
    j: Integers  # shape (D,)
    outcome: Integers  # +1 if i won, -1 if j won, 0 for a draw, shape (D,)
    advantage: Integers  # see ``learn_joint``, shape (D,)
    number: Floats  # games, or a weight, >= 0, shape (D,)


class Sites(NamedTuple):
    """The factor exp(-precision x^2 / 2 + shift x) that stands for one game with contrast x."""

    precision: Floats  # shape (D,)
    shift: Floats  # shape (D,)


class JointFit(NamedTuple):
    """A belief after games; the common level of all skills is not part of it.

    Games leave the level of all skills as it was. In the covariance it has an arbitrary small
    variance in place of its own, so that differences keep their digits.
    """

    mu: Floats  # means with sum 0, then the advantage's, shape (n,) or (n + 1,)
    covariance: Floats  # shape (n, n) or (n + 1, n + 1)
    log_evidence: float  # approximate log marginal likelihood of the outcomes
    sigma_slope: float  # derivative of ``log_evidence`` by log(sigma)
    margin_slope: float  # derivative of ``log_evidence`` by the draw margin


def new_sites(count: int) -> Sites:
    """Return sites without information."""
    return Sites(np.zeros(count), np.zeros(count))


def fit_joint(
    results: Results,
    sites: Sites,
    num_items: int,
    noise: tuple[float, float],
    sigma: float,
    advantage_sigma: float = 0.0,
    tolerance: float = FITTED,
) -> JointFit:
    """Return the belief after games, in any order, by expectation propagation.

    All sites of a round use the same belief, in O(n^3 + D). Equal games have equal sites.

    Args:
        results: the games.
        sites: where to start; changed to the sites of the belief.
        num_items: n.
        noise: see ``learn_joint``.
        sigma: prior standard deviation of a skill.
        advantage_sigma: prior standard deviation of the advantage, coordinate n; 0 for none.
        tolerance: largest change of a site in the last round, in standard deviations.
    """
    size = num_items + (advantage_sigma > 0.0)
    precision = np.empty((size, size))
    information = np.empty(size)
    damping = 1.0
    last = math.inf
    for _ in range(MOST_ROUNDS):
        level = add_sites(
            results, sites, precision, information, (num_items, sigma, advantage_sigma)
        )
        covariance, log_determinant = inverse(precision)
        mu = covariance @ information
        means, spreads = contrasts(results, mu, covariance)
        change, log_scale, margin_slope = revise_sites(
            results, sites, means, spreads, noise, damping
        )
        if change <= tolerance:
            break
        if change > 0.9 * last:
            damping = max(0.25, 0.7 * damping)
        last = change
    # Evidence of the Gaussian part: both levels cancel.
    prior = -2.0 * (num_items - 1) * math.log(sigma)
    if advantage_sigma > 0.0:
        prior -= 2.0 * math.log(advantage_sigma)
    log_evidence = log_scale + 0.5 * (prior - log_determinant + math.log(level))
    log_evidence += 0.5 * float(mu @ information)
    block = covariance[:num_items, :num_items]
    squares = float(mu[:num_items] @ mu[:num_items] + np.trace(block) - block.mean() * num_items)
    sigma_slope = squares / sigma**2 - (num_items - 1)
    return JointFit(mu, covariance, log_evidence, sigma_slope, margin_slope)


def inverse(matrix: Floats) -> tuple[Floats, float]:
    """Return the inverse of a positive definite matrix, and the logarithm of its determinant."""
    factor, _ = dpotrf(matrix, lower=1)
    log_determinant = 2.0 * float(np.log(np.diagonal(factor)).sum())
    result, _ = dpotri(factor, lower=1)
    result = np.ascontiguousarray(result.T)
    mirror(result)
    return result, log_determinant


@compiled
def mirror(matrix: Floats) -> None:
    """Copy the upper triangle to the lower one."""
    for a in range(len(matrix)):
        for b in range(a):
            matrix[a, b] = matrix[b, a]


@compiled
def add_sites(
    results: Results,
    sites: Sites,
    precision: Floats,
    information: Floats,
    prior: tuple[int, float, float],
) -> float:
    """Write the belief's precision and precision times mean, and return the level's precision.

    Args:
        results: the games.
        sites: their sites.
        precision: shape (m, m); written.
        information: shape (m,); written.
        prior: number of items, and prior deviations of a skill and of the advantage.
    """
    items, sigma, advantage_sigma = prior
    precision[:] = 0.0
    information[:] = 0.0
    for g in range(results.i.size):
        i, j, h = results.i[g], results.j[g], results.advantage[g]
        weight = results.number[g] * sites.precision[g]
        shift = results.number[g] * sites.shift[g]
        precision[i, i] += weight
        precision[j, j] += weight
        precision[i, j] -= weight
        precision[j, i] -= weight
        information[i] += shift
        information[j] -= shift
        if h != NOBODY:
            precision[i, h] += weight
            precision[h, i] += weight
            precision[j, h] -= weight
            precision[h, j] -= weight
            precision[h, h] += weight
            information[h] += shift
    total = 0.0
    for a in range(items):
        precision[a, a] += 1.0 / (sigma * sigma)
        total += precision[a, a]
    # As precise as an item on average: the level's own precision can be too small beside others.
    extra = total / (items * items)
    precision[:items, :items] += extra
    if advantage_sigma > 0.0:
        precision[items, items] += 1.0 / (advantage_sigma * advantage_sigma)
    return 1.0 / (sigma * sigma) + extra * items


@compiled
def contrasts(results: Results, mu: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of the contrast of each row, shape (D,)."""
    means = np.empty(results.i.size)
    spreads = np.empty(results.i.size)
    for g in range(results.i.size):
        i, j, h = results.i[g], results.j[g], results.advantage[g]
        means[g] = mu[i] - mu[j]
        if h != NOBODY:
            means[g] += mu[h]
        spreads[g] = contrast_variance(covariance, i, j, h)
    return means, spreads


@compiled
def revise_sites(
    results: Results,
    sites: Sites,
    means: Floats,
    spreads: Floats,
    noise: tuple[float, float],
    damping: float,
) -> tuple[float, float, float]:
    """Replace each site by the one that its cavity implies.

    The cavity is the belief without one game, or without all games of a row whose weight is below
    1.

    Args:
        results: the games.
        sites: their sites; changed.
        means: mean of each row's contrast, shape (D,).
        spreads: variance of each row's contrast, shape (D,).
        noise: see ``learn_joint``.
        damping: share of the change that is made.

    Returns:
        The largest change in standard deviations, the logarithm of the product of the sites'
        factors before the change, and the derivative of the log evidence by the draw margin.
    """
    beta, draw_margin = noise
    change, log_scale, margin_slope = 0.0, 0.0, 0.0
    for g in range(results.i.size):
        count = results.number[g]
        if count == 0.0:
            continue
        outcome, mean, spread = results.outcome[g], means[g], spreads[g]
        share = min(1.0, count)
        old_precision, old_shift = sites.precision[g], sites.shift[g]
        cavity_precision = 1.0 / spread - share * old_precision
        cavity = 1.0 / max(cavity_precision, LEAST_SHARE / spread)
        cavity_mean = cavity * (mean / spread - share * old_shift)
        variance = performance_variance(beta) + cavity
        v, complement = difference_moments(cavity_mean, variance, outcome, draw_margin)
        reduction = max(0.0, 1.0 - complement)
        precision = reduction / (variance - reduction * cavity)
        shift = cavity_mean * precision + v / math.sqrt(variance) * (1.0 + cavity * precision)
        log_z = log_outcome_probability_of(cavity_mean, variance, outcome, draw_margin)
        together = cavity_mean / cavity + old_shift
        log_scale += count * (
            log_z
            + 0.5 * math.log1p(old_precision * cavity)
            + 0.5 * cavity_mean * cavity_mean / cavity
            - 0.5 * together * together * cavity / (1.0 + old_precision * cavity)
        )
        margin_slope += count * margin_derivative(cavity_mean, variance, outcome, draw_margin)
        deviation = math.sqrt(spread)
        change = max(change, abs(precision - old_precision) * spread)
        change = max(change, abs(shift - old_shift) * deviation)
        sites.precision[g] += damping * (precision - old_precision)
        sites.shift[g] += damping * (shift - old_shift)
    return change, log_scale, margin_slope


@compiled
def margin_derivative(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Return the derivative of an outcome's log probability by the draw margin."""
    c = math.sqrt(variance)
    log_probability = log_outcome_probability_of(gap, variance, outcome, draw_margin)
    if outcome == 0:
        density = normal_density((draw_margin - gap) / c) + normal_density((draw_margin + gap) / c)
    else:
        density = -normal_density((outcome * gap - draw_margin) / c)
    return density / c * math.exp(-max(log_probability, -600.0))
