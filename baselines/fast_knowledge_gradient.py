"""KG's decision with few draw densities: most opponents are ruled out by an upper bound.

The rule of ``knowledge_gradient_rule`` looks at all opponents after every outcome of every game.
Here ``score_bounds`` gives every opponent an upper bound of its score. Scores are computed only
where the bound reaches the best score so far, with the kernels of the reference. So the choice
is the reference's to the bit, among equal scores too.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from matchenv.baselines.contenders import (
    SLACK,
    Contenders,
    bound_roughly,
    build_envelope,
    find_contenders,
    new_contenders,
)
from matchenv.baselines.knowledge_gradient_rule import expected_best
from matchenv.baselines.policy import Floats, Integers
from matchenv.baselines.score_bounds import DONE, OUTCOMES, bound_scores, foresee_outcomes
from matchenv.baselines.skill_line import SkillLine, new_skill_line, place_of, sort_opponents
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, drifted, total_variance, updated_belief
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

# So many opponents are taken in the order of their bounds, which finds a high score soon;
# then all that are left in any order, so that many equals cost no more than one pass.
BEST_FIRST = 8

# Entries of the last orders that are remembered for a batch.
MOST_REMEMBERED = 1_000_000


@compiled
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
    # V exp(g^2 / V) is at least V + g^2.
    square = weight - least
    if square <= least:
        return weight, square
    # Far out another bound is nearer: log V + g^2 / V is at least log(least) + g^2 / widest.
    exponent = 2.0 * math.log(ratio) - math.log(least)
    return weight, min(square, widest * (exponent + SLACK * (1.0 + abs(exponent))))


@compiled
def best_density_by_search(
    contenders: Contenders,
    own: int,
    mu_0: float,
    sigma_0: float,
    own_density: float,
    beta: float,
) -> float:
    """The best draw density once a game has moved player 0 and one opponent.

    Args:
        contenders: with their envelope.
        own: place in the line of the opponent who has played.
        mu_0: mean of the belief about player 0 after the game.
        sigma_0: its standard deviation after the game.
        own_density: the density against that opponent after the game.
        beta: standard deviation of one performance around skill.
    """
    rest = total_variance(sigma_0, 0.0, beta)
    least, widest = rest + contenders.narrowest[0], rest + contenders.widest[0]
    best = own_density
    count, size = contenders.sizes[0], contenders.sizes[1]
    lowest = contenders.envelope[place_of(contenders.borders, 1, size, mu_0) - 1]
    if contenders.places[lowest] != own:
        variance = total_variance(sigma_0, contenders.sigma[lowest], beta)
        best = max(best, density_at_zero(mu_0 - contenders.mu[lowest], variance))
    weight, reach = reach_of(best, least, widest)
    start = place_of(contenders.mu, 0, count, mu_0)
    for step in (1, -1):
        place = start if step > 0 else start - 1
        while 0 <= place < count:
            gap = mu_0 - contenders.mu[place]
            square = gap * gap
            if square >= reach:
                break
            variance = total_variance(sigma_0, contenders.sigma[place], beta)
            if (
                contenders.places[place] != own
                and variance + square * (1.0 + 0.5 * square / variance) < weight
            ):
                density = density_at_zero(gap, variance)
                if density > best:
                    best = density
                    weight, reach = reach_of(best, least, widest)
            place += step
    return best


@compiled
def score_by_search(
    line: SkillLine,
    contenders: Contenders,
    own: int,
    mu_0: float,
    sigma_0: float,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> float:
    """q_0j + multiplier F_j of the opponent at place ``own``, as the reference computes it.

    The line must be sorted, with the outcomes foreseen, and the contenders have their envelope.
    """
    mu_j, sigma_j = line.mu[own], line.sigma[own]
    gap = mu_0 - mu_j
    before_0, before_j = drifted(sigma_0, tau), drifted(sigma_j, tau)
    variance = total_variance(before_0, before_j, beta)
    after_win, after_loss, after_draw = 0.0, 0.0, 0.0
    for row, outcome in enumerate(OUTCOMES):
        if outcome == 0 and draw_margin <= 0.0:
            continue
        # The moments of ``update_two``, to the bit.
        v, complement = line.shifts[row, own], line.complements[row, own]
        new_mu_0, new_sigma_0 = updated_belief(
            mu_0, before_0, before_j, beta, variance, v, complement
        )
        new_mu_j, new_sigma_j = updated_belief(
            mu_j, before_j, before_0, beta, variance, -v, complement
        )
        own_density = density_at_zero(
            new_mu_0 - new_mu_j, total_variance(new_sigma_0, new_sigma_j, beta)
        )
        best = best_density_by_search(contenders, own, new_mu_0, new_sigma_0, own_density, beta)
        if outcome == 1:
            after_win = best
        elif outcome == -1:
            after_loss = best
        else:
            after_draw = best
    future = expected_best(gap, variance, draw_margin, after_win, after_loss, after_draw)
    density = density_at_zero(gap, total_variance(sigma_0, sigma_j, beta))
    return density + multiplier * future


@compiled
def knowledge_gradient_opponent(
    mu: Floats,
    sigma: Floats,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
    line: SkillLine,
    contenders: Contenders,
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
        contenders: more of them, from ``new_contenders``.
    """
    mu_0, sigma_0, bounds = mu[0], sigma[0], line.bounds
    sort_opponents(line, mu, sigma)
    lowest = find_contenders(line, contenders, mu_0, sigma_0, beta, draw_margin, tau)
    build_envelope(contenders)
    bound_roughly(line, lowest, mu_0, sigma_0, multiplier, beta, draw_margin, tau)
    place = int(np.argmax(bounds))
    foresee_outcomes(line, place, place + 1, DONE, mu_0, sigma_0, beta, draw_margin, tau)
    best = score_by_search(
        line, contenders, place, mu_0, sigma_0, multiplier, beta, draw_margin, tau
    )
    chosen = line.order[place] - 1
    bounds[place] = DONE
    foresee_outcomes(line, 0, bounds.size, best, mu_0, sigma_0, beta, draw_margin, tau)
    bound_scores(line, contenders, mu_0, sigma_0, multiplier, beta, draw_margin, tau)
    for turn in range(BEST_FIRST + bounds.size):
        place = int(np.argmax(bounds)) if turn < BEST_FIRST else turn - BEST_FIRST
        bound = bounds[place]
        bounds[place] = DONE
        if bound < best or bound == DONE:
            if turn < BEST_FIRST:
                break
            continue
        # With the mean and deviation of the one before it has the same score and a higher index.
        if (
            place > 0
            and line.mu[place] == line.mu[place - 1]
            and line.sigma[place] == line.sigma[place - 1]
        ):
            continue
        score = score_by_search(
            line, contenders, place, mu_0, sigma_0, multiplier, beta, draw_margin, tau
        )
        action = line.order[place] - 1
        if score > best or (score == best and action < chosen):
            best, chosen = score, action
    # Where all scores are 0, some opponents were passed over for a bound of 0.
    return chosen if best > 0.0 else 0


@compiled
def choose_by_search(
    mu: Floats,
    sigma: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
    tau: float,
    line: SkillLine,
    contenders: Contenders,
    orders: Integers,
) -> Integers:
    """``knowledge_gradient_opponent`` for every row, shapes (B, M + 1) and (B,) to (B,).

    Args:
        mu: as there, a row for each decision, and so are the next five.
        sigma: as there.
        multipliers: as there.
        beta: as there.
        draw_margin: as there.
        tau: as there.
        line: working arrays.
        contenders: working arrays.
        orders: shape (B, M) or (1, M), permutations of 1 to M in which sorting begins; those in
            which it ended are written.
    """
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        order = orders[b % orders.shape[0]]
        line.order[:] = order
        actions[b] = knowledge_gradient_opponent(
            mu[b], sigma[b], multipliers[b], beta, draw_margin, tau, line, contenders
        )
        order[:] = line.order
    return actions


@lru_cache(maxsize=4)
def _last_orders(count: int, num_opponents: int) -> Integers:
    """The order of the opponents in each decision of the last batch of this size.

    A game moves two players, so that the next batch is nearly in this order. It saves sorting
    and changes no result.
    """
    rows = count if count * num_opponents <= MOST_REMEMBERED else 1
    return np.tile(np.arange(1, num_opponents + 1), (rows, 1))


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
    count, num_opponents = mu.shape[0], mu.shape[1] - 1
    line, contenders = new_skill_line(num_opponents), new_contenders(num_opponents)
    orders = _last_orders(count, num_opponents)
    return choose_by_search(
        mu, sigma, multipliers, beta, draw_margin, tau, line, contenders, orders
    )
