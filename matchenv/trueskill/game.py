"""One game of two players in TrueSkill: compiled scalar kernels.

The one place of each formula. Arguments are not checked here. Common ones:

    gap         mean of the difference of the two performances, seen from i
    variance    its variance, c^2 = sigma_i^2 + sigma_j^2 + 2 beta^2
    outcome     +1 if i won, -1 if i lost, 0 for a draw (draw_margin > 0 then)
    draw_margin performances closer than this are a draw
"""

from __future__ import annotations

import math

from matchenv.runtime.checks import LARGEST_SKILL
from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import (
    LOG_SQRT_2PI,
    draw_moments,
    draw_probability_at,
    log_draw_probability_at,
    log_normal_probability,
    normal_density,
    normal_probability,
    win_moments,
)

# Below this a density may have lost its relative precision.
SMALLEST_DENSITY = 1e-290


@compiled
def is_skill(value: float) -> bool:
    """Return whether a mean is finite and within limits; the limit of ``as_float_array``."""
    return abs(value) <= LARGEST_SKILL


@compiled
def is_positive(value: float) -> bool:
    """Return whether a standard deviation is allowed; the limits of ``as_positive_array``."""
    return 1.0 / LARGEST_SKILL <= value <= LARGEST_SKILL


@compiled(inline=True)
def drifted(sigma: float, tau: float) -> float:
    """Return the standard deviation of a belief after the skill has drifted by N(0, tau^2)."""
    if tau == 0.0:
        return sigma
    return math.sqrt(sigma * sigma + tau * tau)


@compiled(inline=True)
def total_variance(sigma_i: float, sigma_j: float, beta: float) -> float:
    """Return c^2, the variance of the difference of two performances."""
    return sigma_i * sigma_i + sigma_j * sigma_j + 2.0 * beta * beta


@compiled(inline=True)
def inverse_deviation(variance: float) -> float:
    """Return 1 / c; to multiply by it is five times as fast as to divide by c."""
    return 1.0 / math.sqrt(variance)


@compiled(inline=True)
def density_at_zero(gap: float, variance: float) -> float:
    """Return the density at 0 of N(gap, variance): eq. (5) and (14) of the 2011 paper."""
    inverse = inverse_deviation(variance)
    return inverse * normal_density(gap * inverse)


@compiled
def quality_per_density(beta: float) -> float:
    """Return the factor from eq. (5) to eq. (6): 1 / density of an even game of known skills."""
    return 2.0 * beta * math.sqrt(math.pi)


@compiled
def log_density_at_zero(gap: float, variance: float) -> float:
    """Return the logarithm of ``density_at_zero``."""
    return -LOG_SQRT_2PI - 0.5 * (math.log(variance) + gap * gap / variance)


@compiled
def draw_density_of(gap: float, variance: float) -> float:
    """Return ``density_at_zero`` to full relative precision, down to the smallest density."""
    density = density_at_zero(gap, variance)
    if density > SMALLEST_DENSITY:
        return density
    return math.exp(log_density_at_zero(gap, variance))


@compiled
def match_quality_of(gap: float, variance: float, beta: float) -> float:
    """Return eq. (6) of the 2011 paper to full precision, also where eq. (5) underflows."""
    density = density_at_zero(gap, variance)
    if density > SMALLEST_DENSITY:
        return density * quality_per_density(beta)
    return math.exp(log_density_at_zero(gap, variance) + math.log(quality_per_density(beta)))


@compiled
def win_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return P(N(gap, variance) > draw_margin): eq. (10) of the 2011 paper, corrected."""
    return normal_probability((gap - draw_margin) / math.sqrt(variance))


@compiled
def log_win_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return the logarithm of ``win_probability_of``."""
    return log_normal_probability((gap - draw_margin) / math.sqrt(variance))


@compiled
def draw_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return P(|N(gap, variance)| <= draw_margin); 0 without a margin."""
    if draw_margin == 0.0:
        return 0.0
    c = math.sqrt(variance)
    return draw_probability_at(gap / c, draw_margin / c)


@compiled
def outcome_probability_of(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Return the probability of an outcome."""
    if outcome == 0:
        return draw_probability_of(gap, variance, draw_margin)
    return win_probability_of(outcome * gap, variance, draw_margin)


@compiled
def log_draw_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return the logarithm of ``draw_probability_of``; minus infinity without a margin."""
    if draw_margin == 0.0:
        return -math.inf
    c = math.sqrt(variance)
    return log_draw_probability_at(gap / c, draw_margin / c)


@compiled
def log_outcome_probability_of(
    gap: float, variance: float, outcome: int, draw_margin: float
) -> float:
    """Return the logarithm of ``outcome_probability_of``."""
    if outcome == 0:
        return log_draw_probability_of(gap, variance, draw_margin)
    return log_win_probability_of(outcome * gap, variance, draw_margin)


@compiled(inline=True)
def standardised_lead(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Return the winner's lead minus the margin, in standard deviations; outcome +1 or -1."""
    return (outcome * gap - draw_margin) * inverse_deviation(variance)


@compiled
def difference_moments(
    gap: float, variance: float, outcome: int, draw_margin: float
) -> tuple[float, float]:
    """Return the moments of the standardised difference of performances, given the outcome.

    Returns:
        ``(v, 1 - w)``: (difference - gap) / c has mean v, signed as seen from i, and variance
        1 - w.
    """
    if outcome == 0:
        c = math.sqrt(variance)
        v, _, complement = draw_moments(gap / c, draw_margin / c)
        return v, complement
    v, _, complement = win_moments(standardised_lead(gap, variance, outcome, draw_margin))
    return outcome * v, complement


@compiled(inline=True)
def mean_shift(sigma: float, variance: float, v: float) -> float:
    """Return the change of a mean by a game: eq. (1) of the 2011 paper, corrected."""
    return sigma * (sigma * inverse_deviation(variance)) * v


@compiled(inline=True)
def variance_share(
    sigma: float, sigma_other: float, beta: float, variance: float, complement: float
) -> float:
    """Return the factor of sigma^2 after a game: eq. (2) of the 2011 paper, corrected.

    1 - w sigma^2 / c^2 is written as a sum of two positive terms, so that nothing cancels
    when the player's own uncertainty makes up all of c^2. Arguments as ``updated_belief``.
    """
    inverse = inverse_deviation(variance)
    own, other, noise = sigma * inverse, sigma_other * inverse, beta * inverse
    rest = other * other + 2.0 * (noise * noise)
    return min(1.0, rest + own * own * complement)


@compiled(inline=True)
def updated_belief(
    mu: float,
    sigma: float,
    sigma_other: float,
    beta: float,
    variance: float,
    v: float,
    complement: float,
) -> tuple[float, float]:
    """Return one player's belief after a game, from the moments of the difference.

    Args:
        mu: mean of the player's belief.
        sigma: its standard deviation.
        sigma_other: the opponent's.
        beta: standard deviation of one performance.
        variance: c^2.
        v: mean of the standardised difference, seen from this player.
        complement: 1 - w.

    Returns:
        ``(mu, sigma)`` after the game; eq. (1) and (2) of the 2011 paper, corrected.
    """
    share = variance_share(sigma, sigma_other, beta, variance, complement)
    return mu + mean_shift(sigma, variance, v), sigma * math.sqrt(share)


@compiled
def update_two(
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    outcome: int,
    beta: float,
    draw_margin: float,
) -> tuple[float, float, float, float]:
    """Return both beliefs after a game of i and j; arguments as ``two_player.update``."""
    variance = total_variance(sigma_i, sigma_j, beta)
    v, complement = difference_moments(mu_i - mu_j, variance, outcome, draw_margin)
    new_mu_i, new_sigma_i = updated_belief(mu_i, sigma_i, sigma_j, beta, variance, v, complement)
    new_mu_j, new_sigma_j = updated_belief(mu_j, sigma_j, sigma_i, beta, variance, -v, complement)
    return new_mu_i, new_sigma_i, new_mu_j, new_sigma_j
