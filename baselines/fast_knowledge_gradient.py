"""KG's decision with few draw densities: bound every opponent, look closely at hardly any.

The rule of ``knowledge_gradient_rule`` looks at all opponents after every outcome of every game.
Here ``score_bounds`` gives every opponent an upper bound, and only those whose bound reaches the
best score so far are worked out, with the very kernels of the reference. A bound decides nothing
but what is left out, so the choice is the reference's to the bit, ties included.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from matchenv.baselines.knowledge_gradient_rule import expected_best
from matchenv.baselines.policy import Floats, Integers
from matchenv.baselines.score_bounds import OUTCOMES, SLACK, bound_scores, foresee_outcomes
from matchenv.baselines.skill_line import (
    SkillLine,
    build_envelope,
    new_skill_line,
    place_of,
    sort_opponents,
)
from matchenv.trueskill.game import density_at_zero, drifted, total_variance, update_two
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

# So many opponents are taken in the order of their bounds, which finds a high score soon;
# then all that are left in any order, so that many equals cost no more than one pass.
BEST_FIRST = 8
DONE = -1.0


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
    for outcome in OUTCOMES:
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
