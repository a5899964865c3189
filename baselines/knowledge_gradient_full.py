"""KG on the full belief, where a game changes every difference by its covariance (compiled)."""

from __future__ import annotations

import math

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.belief.full import slack_of_deviations
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    draw_probability_of,
    win_probability_of,
)
from matchenv.trueskill.normal import INVERSE_SQRT_2PI


@compiled
def best_density_of(
    gaps: Floats,
    variances: Floats,
    loads: Floats,
    shift: float,
    loss: float,
    j: int,
    own: float,
    first: int,
) -> float:
    """The best draw density, once a game with j has moved every difference.

    The gap to k moves by ``loads[k] * shift``, its variance falls by ``loads[k]^2 * loss``.

    Args:
        gaps: shape (M,), means of s_0 - s_k before the game.
        variances: shape (M,), of the differences of performances.
        loads: shape (M,), square roots of what player 0's variance adds to each variance.
        shift: as above.
        loss: as above.
        j: opponent of the game, 0 to M - 1.
        own: density against j after the game, whose own skill has moved too.
        first: opponent to look at first; the better it is, the fewer exponentials.
    """
    best = own
    for turn in range(-1, gaps.size):
        k = first if turn < 0 else turn
        if k == j:
            continue
        gap = gaps[k] + loads[k] * shift
        variance = variances[k] - loads[k] * loads[k] * loss
        # exp(x) >= 1 + x + x^2 / 2 bounds the density without an exponential or a root.
        scaled, square = best / INVERSE_SQRT_2PI, gap * gap
        if scaled * scaled * (variance * (variance + square) + 0.5 * square * square) >= variance:
            continue
        best = max(best, density_at_zero(gap, variance))
    return best


@compiled
def full_look_ahead_value(
    gaps: Floats,
    variances: Floats,
    loads: Floats,
    j: int,
    first: int,
    beta: float,
    draw_margin: float,
) -> float:
    """F_j: the expected best draw density after a game with opponent j.

    Args:
        gaps: as ``best_density_of``.
        variances: as there.
        loads: as there.
        j: opponent of the game, 0 to M - 1.
        first: as there.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Source: Ryzhov, Tariq, Powell (2011), section 3, on the belief of
    ``matchenv.belief.full``.
    """
    gap, variance = gaps[j], variances[j]
    noise = 2.0 * beta * beta
    uncertain = variance - noise
    value = 0.0
    for outcome in (1, -1, 0):
        if outcome == 0:
            if draw_margin == 0.0:
                break
            probability = draw_probability_of(gap, variance, draw_margin)
        else:
            probability = win_probability_of(outcome * gap, variance, draw_margin)
        v, complement = difference_moments(gap, variance, outcome, draw_margin)
        standard = v / math.sqrt(variance)
        after = uncertain * ((noise + uncertain * complement) / variance) + noise
        own = density_at_zero(gap + uncertain * standard, after)
        loss = loads[j] * loads[j] * max(0.0, 1.0 - complement) / variance
        value += probability * best_density_of(
            gaps, variances, loads, loads[j] * standard, loss, j, own, first
        )
    return value


@compiled
def measure_opponents(
    mu: Floats,
    sigma: Floats,
    differences: Floats,
    beta: float,
    gaps: Floats,
    variances: Floats,
    loads: Floats,
    densities: Floats,
) -> int:
    """Write what a look ahead needs, and the draw densities now.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        differences: shape (M,), standard deviations of s_0 - s_k.
        beta: standard deviation of one performance around skill.
        gaps: written, as ``best_density_of``, and so are the next two.
        variances: written.
        loads: written.
        densities: shape (M,), written.

    Returns:
        The first opponent, from 0 on, with the best density.
    """
    sigma_0 = sigma[0]
    first = 0
    for k in range(differences.size):
        deviation = differences[k]
        gaps[k] = mu[0] - mu[k + 1]
        variances[k] = deviation * deviation + 2.0 * beta * beta
        loads[k] = sigma_0 * slack_of_deviations(sigma_0, sigma[k + 1], deviation)
        densities[k] = density_at_zero(gaps[k], variances[k])
        if densities[k] > densities[first]:
            first = k
    return first


@compiled
def full_knowledge_gradient_scores(
    mu: Floats,
    sigma: Floats,
    differences: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
) -> Floats:
    """q_0j + multiplier F_j for every opponent of every row, on the full belief.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), their standard deviations.
        differences: shape (B, M), standard deviations of s_0 - s_k.
        multipliers: shape (B,), what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        Scores of shape (B, M).
    """
    count = differences.shape[1]
    scores = np.empty(differences.shape)
    gaps, variances, loads = np.empty(count), np.empty(count), np.empty(count)
    for b in range(mu.shape[0]):
        first = measure_opponents(
            mu[b], sigma[b], differences[b], beta, gaps, variances, loads, scores[b]
        )
        for j in range(count):
            scores[b, j] += multipliers[b] * full_look_ahead_value(
                gaps, variances, loads, j, first, beta, draw_margin
            )
    return scores
