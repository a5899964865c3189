"""One game of two players in TrueSkill: compiled scalar kernels, which do not check arguments.

gap         mean of the difference of the two performances, as seen by i
variance    its variance, c^2 = sigma_i^2 + sigma_j^2 + 2 beta^2
outcome     +1 if i won, -1 if i lost, 0 for a draw (requires draw_margin > 0)
draw_margin performances that differ by at most this are a draw
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import LARGEST_SKILL
from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import (
    LOG_SQRT_2PI,
    TAIL_START,
    draw_moments,
    log_normal_probability,
    near_mills_ratio,
    normal_density,
    normal_probability,
    win_moments,
    win_moments_from,
)

# Outcomes of a game: player i wins, loses, draws. Without a draw margin only the first two occur.
OUTCOMES = (1, -1, 0)

# Densities below this can lose relative precision.
SMALLEST_DENSITY = 1e-290


@compiled
def is_skill(value: float) -> bool:
    """Return whether a mean is within the limits of ``as_float_array``; False for NaN."""
    return abs(value) <= LARGEST_SKILL


@compiled
def is_positive(value: float) -> bool:
    """Return whether a standard deviation is within the limits of ``as_positive_array``."""
    return 1.0 / LARGEST_SKILL <= value <= LARGEST_SKILL


@compiled(inline=True)
def drifted(sigma: float, tau: float) -> float:
    """Return the standard deviation of a belief after the skill has drifted by N(0, tau^2)."""
    if tau == 0.0:
        return sigma
    return math.sqrt(sigma * sigma + tau * tau)


@compiled(inline=True)
def performance_variance(beta: float) -> float:
    """Return the variance of the difference of two performances around known skills."""
    return 2.0 * beta * beta


@compiled(inline=True)
def total_variance(sigma_i: float, sigma_j: float, beta: float) -> float:
    """Return c^2, the variance of the difference of two performances."""
    return sigma_i * sigma_i + sigma_j * sigma_j + performance_variance(beta)


@compiled(inline=True)
def density_at_zero(gap: float, variance: float) -> float:
    """Return the density at 0 of N(gap, variance): eq. (5) and (14) of the 2011 paper."""
    inverse = 1.0 / math.sqrt(variance)  # one division, then multiplications
    return inverse * normal_density(gap * inverse)


@compiled
def quality_per_density(beta: float) -> float:
    """Return the ratio of eq. (6) to eq. (5): 1 / density of an even game of known skills."""
    return 2.0 * beta * math.sqrt(math.pi)


@compiled
def log_density_at_zero(gap: float, variance: float) -> float:
    """Return the logarithm of ``density_at_zero``."""
    return -LOG_SQRT_2PI - 0.5 * (math.log(variance) + gap * gap / variance)


@compiled
def draw_density_of(gap: float, variance: float) -> float:
    """Return ``density_at_zero`` to full relative precision, however small."""
    density = density_at_zero(gap, variance)
    if density > SMALLEST_DENSITY:
        return density
    return math.exp(log_density_at_zero(gap, variance))


@compiled
def match_quality_of(gap: float, variance: float, beta: float) -> float:
    """Return eq. (6) of the 2011 paper to full precision, even where eq. (5) underflows."""
    density = density_at_zero(gap, variance)
    if density > SMALLEST_DENSITY:
        return min(1.0, density * quality_per_density(beta))
    return math.exp(log_density_at_zero(gap, variance) + math.log(quality_per_density(beta)))


@compiled
def win_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return P(N(gap, variance) > draw_margin): eq. (10) of the 2011 paper, corrected."""
    return normal_probability((gap - draw_margin) / math.sqrt(variance))


@compiled
def draw_probability_of(gap: float, variance: float, draw_margin: float) -> float:
    """Return P(|N(gap, variance)| <= draw_margin); 0 without a margin."""
    return math.exp(log_outcome_probability_of(gap, variance, 0, draw_margin))


@compiled
def outcome_probability_of(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Return the probability of an outcome."""
    if outcome == 0:
        return draw_probability_of(gap, variance, draw_margin)
    return win_probability_of(outcome * gap, variance, draw_margin)


@compiled(inline=True)
def drawn_outcome(u: float, win: float, gap: float, variance: float, draw_margin: float) -> int:
    """Return the outcome of a game, as seen by i, from a uniform random number.

    Args:
        u: uniform on [0, 1): below ``win`` i wins, below win + draw it is a draw.
        win: ``win_probability_of(gap, variance, draw_margin)``, which callers with many games
            compute in blocks.
        gap: mean of the difference of the two performances; for known skills their difference.
        variance: its variance; for known skills ``performance_variance(beta)``.
        draw_margin: performances that differ by at most this are a draw.

    Returns:
        +1, 0 or -1.
    """
    if u < win:
        return 1
    if draw_margin > 0.0 and u < win + draw_probability_of(gap, variance, draw_margin):
        return 0
    return -1


@compiled
def log_outcome_probability_of(
    gap: float, variance: float, outcome: int, draw_margin: float
) -> float:
    """Return the log probability of an outcome; minus infinity for a draw without a margin."""
    c = math.sqrt(variance)
    if outcome != 0:
        return log_normal_probability((outcome * gap - draw_margin) / c)
    if draw_margin == 0.0:
        return -math.inf
    _, _, _, log_probability = draw_moments(gap / c, draw_margin / c)
    return log_probability


@compiled(inline=True)
def standardised_lead(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Return the winner's lead minus the margin, in standard deviations; outcome is +1 or -1."""
    return (outcome * gap - draw_margin) * (1.0 / math.sqrt(variance))


@compiled
def difference_moments(
    gap: float, variance: float, outcome: int, draw_margin: float
) -> tuple[float, float]:
    """Return the moments of the standardised difference of performances, given the outcome.

    Returns:
        ``(v, 1 - w)``: (difference - gap) / c has mean v and variance 1 - w, as seen by i.
    """
    if outcome == 0:
        c = math.sqrt(variance)
        v, _, complement, _ = draw_moments(gap / c, draw_margin / c)
        return v, complement
    v, _, complement = win_moments(standardised_lead(gap, variance, outcome, draw_margin))
    return outcome * v, complement


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
    """Return one player's ``(mu, sigma)`` after a game, from the moments of the difference.

    Eq. (1) and (2) of the 2011 paper, corrected.

    Args:
        mu: mean of the player's belief.
        sigma: standard deviation of the player's belief.
        sigma_other: standard deviation of the belief about the opponent.
        beta: standard deviation of one performance.
        variance: c^2.
        v: mean of the standardised difference, as seen by this player.
        complement: 1 - w.
    """
    inverse = 1.0 / math.sqrt(variance)
    own = sigma * inverse
    other = sigma_other * inverse
    noise = beta * inverse
    # 1 - w own^2 as a sum of positive terms: nothing cancels where own^2 is close to 1.
    share = other * other + 2.0 * (noise * noise) + own * own * complement
    return mu + sigma * own * v, sigma * math.sqrt(min(1.0, share))


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
    """Return both beliefs after a game of i and j; same arguments as ``two_player.update``."""
    variance = total_variance(sigma_i, sigma_j, beta)
    v, complement = difference_moments(mu_i - mu_j, variance, outcome, draw_margin)
    new_mu_i, new_sigma_i = updated_belief(mu_i, sigma_i, sigma_j, beta, variance, v, complement)
    new_mu_j, new_sigma_j = updated_belief(mu_j, sigma_j, sigma_i, beta, variance, -v, complement)
    return new_mu_i, new_sigma_i, new_mu_j, new_sigma_j


# Batched games. The compiler vectorises a loop of sums, products, roots and selections over array
# sections at constant offsets. Results equal those of the scalar functions bit for bit.

# Games are processed in blocks of this size, which stay in the first-level cache.
PART = 64

# Offsets of the sections of a block in an array of TABLE numbers: the beliefs before a game, the
# outcome (+1 i won, -1 j won, 0 a draw), the draw density and the beliefs after the game. With one
# array and constant offsets the compiler knows that sections do not overlap.
MU_I = 0 * PART
SIGMA_I = 1 * PART
MU_J = 2 * PART
SIGMA_J = 3 * PART
OUTCOME = 4 * PART
DENSITY = 5 * PART
NEW_MU_I = 6 * PART
NEW_SIGMA_I = 7 * PART
NEW_MU_J = 8 * PART
NEW_SIGMA_J = 9 * PART
TABLE = 10 * PART

# The largest lead that ``near_mills_ratio`` supports.
LARGEST_LEAD = np.nextafter(TAIL_START, 0.0)


@compiled(nogil=True, refcounted=False)
def update_games(games: Floats, count: int, beta: float, draw_margin: float, tau: float) -> None:
    """Write the draw density before each game, and the beliefs after drift and game.

    Args:
        games: sections of a block as above, shape (TABLE,).
        count: games in the block, at most PART.
        beta: standard deviation of one performance around skill.
        draw_margin: performances that differ by at most this are a draw.
        tau: standard deviation of a skill's drift before the game.
    """
    others = 0
    for k in range(min(count, PART)):  # min() tells the compiler that sections do not overlap
        mu_i = games[MU_I + k]
        mu_j = games[MU_J + k]
        outcome = games[OUTCOME + k]
        variance = total_variance(games[SIGMA_I + k], games[SIGMA_J + k], beta)
        games[DENSITY + k] = density_at_zero(mu_i - mu_j, variance)
        sigma_i = drifted(games[SIGMA_I + k], tau)
        sigma_j = drifted(games[SIGMA_J + k], tau)
        variance = total_variance(sigma_i, sigma_j, beta)
        lead = standardised_lead(mu_i - mu_j, variance, outcome, draw_margin)
        others += (abs(lead) >= TAIL_START) | (outcome == 0.0)
        ratio = near_mills_ratio(min(abs(lead), LARGEST_LEAD))
        mean, _, complement = win_moments_from(lead, normal_density(lead), *ratio)
        v = outcome * mean
        games[NEW_MU_I + k], games[NEW_SIGMA_I + k] = updated_belief(
            mu_i, sigma_i, sigma_j, beta, variance, v, complement
        )
        games[NEW_MU_J + k], games[NEW_SIGMA_J + k] = updated_belief(
            mu_j, sigma_j, sigma_i, beta, variance, -v, complement
        )
    if others == 0:
        return
    # Draws, and games of players far apart, use the scalar functions.
    for k in range(count):
        sigma_i = drifted(games[SIGMA_I + k], tau)
        sigma_j = drifted(games[SIGMA_J + k], tau)
        result = np.int64(games[OUTCOME + k])  # other callers' type, so no second compilation
        gap = games[MU_I + k] - games[MU_J + k]
        variance = total_variance(sigma_i, sigma_j, beta)
        lead = standardised_lead(gap, variance, result, draw_margin)
        if abs(lead) >= TAIL_START or result == 0:
            (
                games[NEW_MU_I + k],
                games[NEW_SIGMA_I + k],
                games[NEW_MU_J + k],
                games[NEW_SIGMA_J + k],
            ) = update_two(
                games[MU_I + k], sigma_i, games[MU_J + k], sigma_j, result, beta, draw_margin
            )
