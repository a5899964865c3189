"""What pairs of waiting players are worth: match quality, and what their game would teach.

Players stand in the order of their means. Values are in match quality, for each of the two.
Compiled and pure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.knowledge_gradient_rule import look_ahead_value
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    match_quality_of,
    quality_per_density,
    total_variance,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Opponents on either side that a player looks ahead to, in the order of the means.
REACH = 10


@compiled
def information_gain(
    mu: Floats,
    sigma: Floats,
    i: int,
    j: int,
    beta: float,
    draw_margin: float,
    tau: float,
    pool: Floats,
) -> float:
    """By how much the best match quality that i can expect grows with a game against j.

    KG's F_j less the best draw density now, in match quality. As in the paper, player i looks
    ahead as though the same opponents were there after the game: those who stand near, and j.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        i: whose gain it is.
        j: whom the game would be against.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
        pool: shape (2, 2 REACH + 2), overwritten.

    Source: Ryzhov, Tariq, Powell (2011), section 3, misprints corrected.
    """
    pool[0, 0], pool[1, 0] = mu[i], sigma[i]
    pool[0, 1], pool[1, 1] = mu[j], sigma[j]
    best = density_at_zero(mu[i] - mu[j], total_variance(sigma[i], sigma[j], beta))
    size = 2
    for k in range(max(0, i - REACH), min(mu.size, i + REACH + 1)):
        if k not in (i, j):
            pool[0, size], pool[1, size] = mu[k], sigma[k]
            variance = total_variance(sigma[i], sigma[k], beta)
            best = max(best, density_at_zero(mu[i] - mu[k], variance))
            size += 1
    future = look_ahead_value(pool[0, :size], pool[1, :size], 1, beta, draw_margin, tau)
    return (future - best) * quality_per_density(beta)


@compiled
def band_values(
    mu: Floats,
    sigma: Floats,
    width: int,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> Floats:
    """Match quality + multiplier x the mean of both gains, for pairs up to ``width`` apart.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        width: W, places that two players may be apart.
        multiplier: for how many games to come a player's gain counts, >= 0.
        beta: as ``information_gain``, and so are the rest.
        draw_margin: as there.
        tau: as there.

    Returns:
        Shape (n, W), entry (i, d - 1) of players i and i + d; 0 beyond the last player.
    """
    values = np.zeros((mu.size, width))
    pool = np.empty((2, 2 * REACH + 2))
    for i in range(mu.size):
        for d in range(1, min(width, mu.size - 1 - i) + 1):
            j = i + d
            variance = total_variance(sigma[i], sigma[j], beta)
            value = match_quality_of(mu[i] - mu[j], variance, beta)
            if multiplier > 0.0:
                gain = information_gain(mu, sigma, i, j, beta, draw_margin, tau, pool)
                gain += information_gain(mu, sigma, j, i, beta, draw_margin, tau, pool)
                value += 0.5 * multiplier * gain
            values[i, d - 1] = value
    return values


@compiled
def candidate_values(
    mu: Floats,
    sigma: Floats,
    multiplier: float,
    both: bool,
    beta: float,
    draw_margin: float,
    tau: float,
) -> Floats:
    """Match quality + multiplier x gain, of the first player with each of the others.

    Args:
        mu: shape (n,), means in any order, the player who is asked first.
        sigma: shape (n,), standard deviations.
        multiplier: for how many games to come a gain counts, >= 0.
        both: the gain is the mean of both players', else that of the first.
        beta: as ``information_gain``, and so are the rest.
        draw_margin: as there.
        tau: as there.

    Returns:
        Shape (n - 1,).
    """
    values = np.empty(mu.size - 1)
    for k in range(1, mu.size):
        variance = total_variance(sigma[0], sigma[k], beta)
        values[k - 1] = match_quality_of(mu[0] - mu[k], variance, beta)
    if multiplier > 0.0:
        order = np.argsort(mu, kind="mergesort")
        means, deviations = mu[order], sigma[order]
        place = np.empty(mu.size, dtype=np.int64)
        place[order] = np.arange(mu.size)
        pool = np.empty((2, 2 * REACH + 2))
        for k in range(1, mu.size):
            i, j = place[0], place[k]
            gain = information_gain(means, deviations, i, j, beta, draw_margin, tau, pool)
            if both:
                gain += information_gain(means, deviations, j, i, beta, draw_margin, tau, pool)
                gain *= 0.5
            values[k - 1] += multiplier * gain
    return values


@compiled
def best_candidates(
    mu: Floats,
    sigma: Floats,
    filled: Integers,
    asked: Floats,
    multiplier: float,
    both: bool,
    beta: float,
    draw_margin: float,
    tau: float,
) -> Integers:
    """For each queue the candidate of the highest value from 1 on, 0 if that is not enough.

    Args:
        mu: shape (B, C), the focal player of each queue, then the candidates.
        sigma: shape (B, C), standard deviations.
        filled: shape (B,), how many candidates there are.
        asked: shape (B,), the least value that is taken.
        multiplier: as ``candidate_values``, and so are the rest.
        both: as there.
        beta: as there.
        draw_margin: as there.
        tau: as there.
    """
    chosen = np.zeros(len(mu), dtype=np.int64)
    for row in range(len(mu)):
        places = filled[row] + 1
        if places > 1:
            values = candidate_values(
                mu[row, :places], sigma[row, :places], multiplier, both, beta, draw_margin, tau
            )
            best = np.argmax(values)
            if values[best] >= asked[row]:
                chosen[row] = best + 1
    return chosen
