"""KG's decision with few draw densities: bound every opponent, look closely at hardly any.

The rule of ``knowledge_gradient_rule`` looks at all opponents after every outcome of every game.
Here each outcome costs two bisections for an upper bound of the best density after it, and only
opponents whose bound reaches the best score so far are worked out, with the very kernels of the
reference. A bound only ever decides what is left out, so the choice is the reference's to the
bit, ties included.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from matchenv.baselines.knowledge_gradient_rule import expected_best
from matchenv.baselines.policy import Floats, Integers
from matchenv.baselines.skill_line import (
    SkillLine,
    build_envelope,
    new_skill_line,
    place_of,
    sort_opponents,
)
from matchenv.play import drifted
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    draw_probability_of,
    mean_shift,
    total_variance,
    update_two,
    variance_share,
    win_probability_of,
)
from matchenv.trueskill.normal import (
    INVERSE_SQRT_2PI,
    TAIL_START,
    mills_ratio,
    normal_density,
    win_moments_from,
)

# Bounds are widened by this share, far more than rounding can take from a density.
SLACK = 1e-9

# Rounding of a mean shifts a gap by a few parts in 2^52 of it; a density that is not 0
# changes by at most 39 times that over its deviation, as a share, and beta is less than that.
SLACK_PER_MEAN = 64.0 * 39.0 * 2.0**-52
LARGEST_SLACK = 1e-3

# So many opponents are taken in the order of their bounds, which finds a high score soon;
# then all that are left in any order, so that many equals cost no more than one pass.
BEST_FIRST = 8
DONE = -1.0

# Rows of what is foreseen, in the order in which the reference adds them up.
OUTCOMES = (1, -1, 0)

# Below this a density may have lost its relative precision; beyond this exponent it is 0.
SMALL_DENSITY = 1e-290
ZERO_EXPONENT = 760.0


@njit(cache=True, error_model="numpy")
def density_bound(
    nearest: float, least: float, rest: float, widest: float, gap: float, variance: float
) -> float:
    """An upper bound of the best draw density after an outcome.

    The opponents who have not moved are bounded by one that is as near as the nearest and
    has the variance that makes up ``least``: with d the distance to the nearest and
    A = rest + least, V exp(g^2 / V) >= (A - d^2) exp(d^2 / (A - d^2)) for all of them, from
    the tangent of the exponential at d^2 / (A - d^2), if that is at most 1.

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
        bound = max(bound, SMALL_DENSITY)
    return bound


@njit(cache=True, error_model="numpy")
def foresee_outcomes(
    line: SkillLine, mu_0: float, sigma_0: float, beta: float, draw_margin: float, tau: float
) -> None:
    """Write chances and moments of the outcomes against each opponent, and q_0j as ``bounds``.

    Between players who are not far apart one exponential serves for all of it.

    Args:
        line: sorted; ``chances``, ``shifts``, ``complements`` and ``bounds`` are written.
        mu_0: mean of the belief about player 0.
        sigma_0: its standard deviation.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
    """
    before = drifted(sigma_0, tau)
    shared = tau == 0.0 and draw_margin == 0.0
    win, loss, draw = line.chances[0], line.chances[1], line.chances[2]
    for place in range(line.mu.size):
        gap, sigma_j = mu_0 - line.mu[place], line.sigma[place]
        variance = total_variance(before, drifted(sigma_j, tau), beta)
        c = math.sqrt(variance)
        t = gap / c
        if shared and abs(t) < TAIL_START:
            density, ratio = normal_density(t), mills_ratio(abs(t))
            for outcome in range(2):
                x = t if outcome == 0 else -t
                v, _, complement = win_moments_from(x, density, ratio)
                line.shifts[outcome, place] = v if outcome == 0 else -v
                line.complements[outcome, place] = complement
            tail = density * ratio * (1.0 + SLACK)
            win[place] = tail if t < 0.0 else 1.0 - tail + 2.0 * SLACK * tail
            loss[place] = 1.0 - tail + 2.0 * SLACK * tail if t < 0.0 else tail
            line.bounds[place] = density / c * (1.0 + SLACK)
            continue
        win[place] = win_probability_of(gap, variance, draw_margin)
        loss[place] = win_probability_of(-gap, variance, draw_margin)
        draw[place] = draw_probability_of(gap, variance, draw_margin)
        for row, outcome in enumerate(OUTCOMES):
            if outcome != 0 or draw_margin > 0.0:
                line.shifts[row, place], line.complements[row, place] = difference_moments(
                    gap, variance, outcome, draw_margin
                )
        line.bounds[place] = density_at_zero(gap, total_variance(sigma_0, sigma_j, beta))


@njit(cache=True, error_model="numpy")
def bound_scores(
    line: SkillLine,
    size: int,
    mu_0: float,
    sigma_0: float,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> None:
    """Write upper bounds of q_0j + multiplier F_j to the line.

    Chances and densities are combined as the reference combines them, operation for
    operation, so that rounding keeps the order of bound and value.

    Args:
        line: sorted, with its envelope and the outcomes foreseen; ``bounds`` holds q_0j.
        size: entries of the envelope.
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
    for place in range(line.mu.size):
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
            near = place_of(line.mu, 0, line.mu.size, x)
            distance = line.mu[near] - x if near < line.mu.size else np.inf
            if near > 0:
                distance = min(distance, x - line.mu[near - 1])
            lowest = line.envelope[place_of(line.borders, 1, size, x) - 1]
            offset = x - line.mu[lowest]
            bound = density_bound(
                distance * distance,
                line.sigma[lowest] * line.sigma[lowest] + offset * offset,
                rest,
                line.widest[0],
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


@njit(cache=True, error_model="numpy")
def reach_of(best: float, least: float, widest: float) -> tuple[float, float]:
    """What an opponent needs to beat a density.

    Args:
        best: the density to beat.
        least: the smallest variance of a difference of performances.
        widest: the largest one.

    Returns:
        ``(weight, square)``: whoever has V exp(g^2 / V) >= weight, or g^2 >= square, does not.
    """
    if best == 0.0:
        return np.inf, np.inf
    ratio = INVERSE_SQRT_2PI / best
    weight = ratio * ratio * (1.0 + SLACK)
    # log V + g^2 / V is at least log(least) + g^2 / widest.
    exponent = 2.0 * math.log(ratio) - math.log(least)
    return weight, min(weight - least, widest * (exponent + SLACK * (1.0 + abs(exponent))))


@njit(cache=True, error_model="numpy")
def best_density_by_search(
    line: SkillLine,
    size: int,
    own: int,
    mu_0: float,
    sigma_0: float,
    own_density: float,
    beta: float,
) -> float:
    """The best draw density once a game has moved player 0 and one opponent.

    Args:
        line: sorted, with its envelope.
        size: entries of the envelope.
        own: place of the opponent who has played.
        mu_0: mean of the belief about player 0 after the game.
        sigma_0: its standard deviation after the game.
        own_density: the density against that opponent after the game.
        beta: standard deviation of one performance around skill.
    """
    rest = total_variance(sigma_0, 0.0, beta)
    least, widest = rest + line.narrowest[0], rest + line.widest[0]
    best = own_density
    lowest = line.envelope[place_of(line.borders, 1, size, mu_0) - 1]
    if lowest != own:
        variance = total_variance(sigma_0, line.sigma[lowest], beta)
        best = max(best, density_at_zero(mu_0 - line.mu[lowest], variance))
    weight, reach = reach_of(best, least, widest)
    start = place_of(line.mu, 0, line.mu.size, mu_0)
    for step in (1, -1):
        place = start if step > 0 else start - 1
        while 0 <= place < line.mu.size:
            gap = mu_0 - line.mu[place]
            square = gap * gap
            if square >= reach:
                break
            variance = total_variance(sigma_0, line.sigma[place], beta)
            if place != own and variance + square * (1.0 + 0.5 * square / variance) < weight:
                density = density_at_zero(gap, variance)
                if density > best:
                    best = density
                    weight, reach = reach_of(best, least, widest)
            place += step
    return best


@njit(cache=True, error_model="numpy")
def score_by_search(
    line: SkillLine,
    size: int,
    own: int,
    mu_0: float,
    sigma_0: float,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> float:
    """q_0j + multiplier F_j of the opponent at place ``own``, as the reference computes it."""
    mu_j, sigma_j = line.mu[own], line.sigma[own]
    gap = mu_0 - mu_j
    after_win, after_loss, after_draw = 0.0, 0.0, 0.0
    for outcome in (1, -1, 0):
        if outcome == 0 and draw_margin <= 0.0:
            continue
        new_mu_0, new_sigma_0, new_mu_j, new_sigma_j = update_two(
            mu_0, drifted(sigma_0, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
        )
        own_density = density_at_zero(
            new_mu_0 - new_mu_j, total_variance(new_sigma_0, new_sigma_j, beta)
        )
        best = best_density_by_search(line, size, own, new_mu_0, new_sigma_0, own_density, beta)
        if outcome == 1:
            after_win = best
        elif outcome == -1:
            after_loss = best
        else:
            after_draw = best
    variance = total_variance(drifted(sigma_0, tau), drifted(sigma_j, tau), beta)
    future = expected_best(gap, variance, draw_margin, after_win, after_loss, after_draw)
    density = density_at_zero(gap, total_variance(sigma_0, sigma_j, beta))
    return density + multiplier * future


@njit(cache=True, error_model="numpy")
def knowledge_gradient_opponent(
    mu: Floats,
    sigma: Floats,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
    line: SkillLine,
) -> int:
    """The action with the highest q_0j + multiplier F_j, the lowest of equals.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        multiplier: what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
        line: working arrays for M opponents, from ``new_skill_line``; what they hold does
            not change the result.
    """
    sort_opponents(line, mu, sigma)
    size = build_envelope(line)
    foresee_outcomes(line, mu[0], sigma[0], beta, draw_margin, tau)
    bound_scores(line, size, mu[0], sigma[0], multiplier, beta, draw_margin, tau)
    best, chosen = -np.inf, line.order.size
    for turn in range(BEST_FIRST + line.order.size):
        place = int(np.argmax(line.bounds)) if turn < BEST_FIRST else turn - BEST_FIRST
        bound = line.bounds[place]
        line.bounds[place] = DONE
        if bound < best or bound == DONE:
            if turn < BEST_FIRST:
                break
            continue
        # Whoever equals the one before in everything has the same score, and a higher index.
        if (
            place > 0
            and line.mu[place] == line.mu[place - 1]
            and line.sigma[place] == line.sigma[place - 1]
        ):
            continue
        score = score_by_search(
            line, size, place, mu[0], sigma[0], multiplier, beta, draw_margin, tau
        )
        action = line.order[place] - 1
        if score > best or (score == best and action < chosen):
            best, chosen = score, action
    # Where all scores are 0, some opponents were passed over for a bound of 0.
    return chosen if best > 0.0 else 0


@njit(cache=True, error_model="numpy")
def choose_by_search(
    mu: Floats,
    sigma: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
    tau: float,
    line: SkillLine,
) -> Integers:
    """``knowledge_gradient_opponent`` for every row, shapes (B, M + 1) and (B,) to (B,)."""
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        actions[b] = knowledge_gradient_opponent(
            mu[b], sigma[b], multipliers[b], beta, draw_margin, tau, line
        )
    return actions


def knowledge_gradient_opponents(
    mu: Floats,
    sigma: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
    tau: float,
) -> Integers:
    """Actions for a batch of beliefs; arguments as ``knowledge_gradient_scores``.

    Returns:
        Actions of shape (B,), those of the first highest scores.
    """
    line = new_skill_line(mu.shape[1] - 1)
    return choose_by_search(mu, sigma, multipliers, beta, draw_margin, tau, line)
