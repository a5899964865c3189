"""Upper bounds of KG's scores, for every opponent and every outcome.

Each outcome costs two bisections for an upper bound of the best density after it. A bound is
never below the score that the reference would find, rounding included.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.baselines.contenders import SLACK, Contenders
from matchenv.baselines.skill_line import SkillLine, place_of
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    SMALLEST_DENSITY,
    density_at_zero,
    difference_moments,
    draw_probability_of,
    drifted,
    inverse_deviation,
    mean_shift,
    standardised_lead,
    total_variance,
    variance_share,
    win_probability_of,
)
from matchenv.trueskill.normal import (
    INVERSE_SQRT_2PI,
    TAIL_START,
    near_mills_ratio,
    normal_density,
    win_moments_from,
)

# The bound of an opponent who need not be looked at any more.
DONE = -1.0

# Rounding of a mean shifts a gap by a few parts in 2^52 of it; a density that is not 0
# changes by at most 39 times that over its deviation, as a share, and beta is less than that.
SLACK_PER_MEAN = 64.0 * 39.0 * 2.0**-52
LARGEST_SLACK = 1e-3

# Rows of what is foreseen, in the order in which the reference adds them up.
OUTCOMES = (1, -1, 0)

# Beyond this exponent a density is 0.
ZERO_EXPONENT = 760.0


@compiled
def density_bound(
    nearest: float, least: float, rest: float, widest: float, gap: float, variance: float
) -> float:
    """An upper bound of the best draw density after an outcome.

    The opponents who have not moved are bounded by an imagined one that is as near as the
    nearest and whose variance and squared gap sum to ``least``. With d the distance to the
    nearest and A = rest + least, V exp(g^2 / V) >= (A - d^2) exp(d^2 / (A - d^2)) for all of
    them, by the tangent of the exponential at d^2 / (A - d^2), if that is at most 1.

    Args:
        nearest: d^2, least square of the gap between player 0 and an opponent.
        least: least sigma_k^2 + gap^2 of an opponent.
        rest: what is added to sigma_k^2 to make the variance of the difference.
        widest: the largest sigma_k^2.
        gap: between player 0 and the opponent who has just played.
        variance: the variance of that difference.
    """
    narrow = rest + least - nearest
    moved = gap * gap
    if nearest <= narrow:
        y = nearest / narrow
        weight = narrow * (1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y / 24.0))))
        return INVERSE_SQRT_2PI / math.sqrt(min(weight, variance + moved))
    widest += rest
    if nearest >= widest:
        # So far out, a wider belief is the better chance.
        exponent = 0.5 * nearest / widest
        bound = INVERSE_SQRT_2PI / math.sqrt(widest) * math.exp(-exponent)
    else:
        exponent = 0.5
        bound = INVERSE_SQRT_2PI / math.sqrt(math.e * nearest)
    bound = max(bound, density_at_zero(gap, variance))
    if min(exponent, 0.5 * moved / variance) < ZERO_EXPONENT:
        bound = max(bound, SMALLEST_DENSITY)
    return bound


@compiled
def foresee_outcomes(
    line: SkillLine,
    first: int,
    end: int,
    least: float,
    mu_0: float,
    sigma_0: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> None:
    """Write chances and moments of the outcomes against opponents, and q_0j as ``bounds``.

    Between players who are not far apart one exponential serves for all of it.

    Args:
        line: sorted; ``chances``, ``shifts``, ``complements`` and ``bounds`` are written.
        first: place of the first opponent.
        end: place after the last one.
        least: whoever has a lower bound is left out, and has ``DONE`` for a bound.
        mu_0: mean of the belief about player 0.
        sigma_0: its standard deviation.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
    """
    before = drifted(sigma_0, tau)
    shared = tau == 0.0 and draw_margin == 0.0
    for place in range(first, end):
        if line.bounds[place] < least:
            line.bounds[place] = DONE
            continue
        gap, sigma_j = mu_0 - line.mu[place], line.sigma[place]
        variance = total_variance(before, drifted(sigma_j, tau), beta)
        lead_0 = standardised_lead(gap, variance, 1, draw_margin)
        lead_j = standardised_lead(gap, variance, -1, draw_margin)
        near = max(abs(lead_0), abs(lead_j)) < TAIL_START
        density = 0.0
        if near:
            density, ratio = normal_density(lead_0), near_mills_ratio(abs(lead_0))
            foresee_win(line, 0, place, lead_0, density, ratio)
            other = density
            if draw_margin > 0.0:
                other, ratio = normal_density(lead_j), near_mills_ratio(abs(lead_j))
            foresee_win(line, 1, place, lead_j, other, ratio)
        else:
            for row in range(2):
                line.chances[row, place] = win_probability_of(
                    OUTCOMES[row] * gap, variance, draw_margin
                )
                line.shifts[row, place], line.complements[row, place] = difference_moments(
                    gap, variance, OUTCOMES[row], draw_margin
                )
        if draw_margin > 0.0:
            line.chances[2, place] = draw_probability_of(gap, variance, draw_margin)
            line.shifts[2, place], line.complements[2, place] = difference_moments(
                gap, variance, 0, draw_margin
            )
        if shared and near:
            line.bounds[place] = density * inverse_deviation(variance) * (1.0 + SLACK)
        else:
            line.bounds[place] = density_at_zero(gap, total_variance(sigma_0, sigma_j, beta))


@compiled
def foresee_win(
    line: SkillLine,
    row: int,
    place: int,
    lead: float,
    density: float,
    ratio: tuple[float, float],
) -> None:
    """Write chance and moments of a win, or of a loss, between players who are not far apart.

    Args:
        line: ``chances``, ``shifts`` and ``complements`` are written.
        row: 0 for a win of player 0, 1 for a loss.
        place: of the opponent.
        lead: of the side that wins, less the margin, in deviations of the difference.
        density: of a standard normal at ``lead``.
        ratio: ``near_mills_ratio`` of abs(lead).
    """
    v, _, complement = win_moments_from(lead, density, *ratio)
    line.shifts[row, place] = v if row == 0 else -v
    line.complements[row, place] = complement
    tail = density * (ratio[0] / ratio[1]) * (1.0 + SLACK)
    line.chances[row, place] = tail if lead < 0.0 else 1.0 - tail + 2.0 * SLACK * tail


@compiled
def bound_scores(
    line: SkillLine,
    contenders: Contenders,
    mu_0: float,
    sigma_0: float,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> None:
    """Write close upper bounds of q_0j + multiplier F_j to the line, but for who is ``DONE``.

    Chances and densities are combined as the reference combines them, operation for
    operation, so that rounding keeps the order of bound and value.

    Args:
        line: sorted, with the outcomes foreseen; ``bounds`` holds q_0j.
        contenders: with their envelope.
        mu_0: mean of the belief about player 0.
        sigma_0: its standard deviation.
        multiplier: what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
    """
    sigma_0 = drifted(sigma_0, tau)
    rows = 3 if draw_margin > 0.0 else 2
    slack_per_mean = SLACK_PER_MEAN / beta
    count, size = contenders.sizes[0], contenders.sizes[1]
    for place in range(line.mu.size):
        if line.bounds[place] == DONE:
            continue
        sigma_j = drifted(line.sigma[place], tau)
        variance = total_variance(sigma_0, sigma_j, beta)
        future = 0.0
        for row in range(rows):
            v, complement = line.shifts[row, place], line.complements[row, place]
            shift = mean_shift(sigma_0, variance, v)
            x = mu_0 + shift
            share_0 = variance_share(sigma_0, sigma_j, beta, variance, complement)
            share_j = variance_share(sigma_j, sigma_0, beta, variance, complement)
            rest = sigma_0 * sigma_0 * share_0 + 2.0 * beta * beta
            near = place_of(contenders.mu, 0, count, x)
            distance = contenders.mu[near] - x if near < count else np.inf
            if near > 0:
                distance = min(distance, x - contenders.mu[near - 1])
            lowest = contenders.envelope[place_of(contenders.borders, 1, size, x) - 1]
            offset = x - contenders.mu[lowest]
            bound = density_bound(
                distance * distance,
                contenders.sigma[lowest] * contenders.sigma[lowest] + offset * offset,
                rest,
                contenders.widest[0],
                mu_0 - line.mu[place] + shift + mean_shift(sigma_j, variance, v),
                rest + sigma_j * sigma_j * share_j,
            )
            slack = SLACK + slack_per_mean * (abs(mu_0) + abs(x))
            if slack < LARGEST_SLACK:
                bound *= 1.0 + slack
            else:
                # Means so large that gaps are lost in rounding: only the variance bounds.
                bound = INVERSE_SQRT_2PI / math.sqrt(rest) * (1.0 + SLACK)
            future += line.chances[row, place] * bound
        line.bounds[place] += multiplier * future
