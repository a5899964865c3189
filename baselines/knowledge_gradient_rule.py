"""KG's rule as the paper states it: the readable reference, compiled.

It looks at every opponent once for every outcome of every game: 2 M^2 draw densities a
decision. ``matchenv.baselines.fast_knowledge_gradient`` gives the same decisions with far fewer.
"""

from __future__ import annotations

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    draw_probability_of,
    drifted,
    total_variance,
    update_two,
    win_probability_of,
)


@compiled
def best_density_after(
    mu: Floats,
    sigma: Floats,
    j: int,
    outcome: int,
    beta: float,
    draw_margin: float,
    tau: float,
) -> float:
    """The best draw density of the next game, had the game with j this outcome.

    F^{w,n+1} and F^{l,n+1} of the 2011 paper: only player 0 and j have changed, and the
    maximum is over all opponents k.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        j: index of the opponent, 1 to M.
        outcome: +1 if player 0 wins, -1 if not, 0 for a draw.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
    """
    mu_0, sigma_0, mu_j, sigma_j = update_two(
        mu[0], drifted(sigma[0], tau), mu[j], drifted(sigma[j], tau), outcome, beta, draw_margin
    )
    best = density_at_zero(mu_0 - mu_j, total_variance(sigma_0, sigma_j, beta))
    for k in range(1, mu.size):
        if k != j:
            variance = total_variance(sigma_0, sigma[k], beta)
            best = max(best, density_at_zero(mu_0 - mu[k], variance))
    return best


@compiled
def expected_best(
    gap: float,
    variance: float,
    draw_margin: float,
    after_win: float,
    after_loss: float,
    after_draw: float,
) -> float:
    """The mean over the outcomes of a game of the best draw density after it.

    Args:
        gap: mean of the difference of performances, seen from player 0.
        variance: its variance c^2.
        draw_margin: performances no further apart than this are a draw.
        after_win: best draw density if player 0 wins.
        after_loss: the same for a loss.
        after_draw: the same for a draw; not used without a margin.
    """
    value = win_probability_of(gap, variance, draw_margin) * after_win
    value += win_probability_of(-gap, variance, draw_margin) * after_loss
    if draw_margin > 0.0:
        value += draw_probability_of(gap, variance, draw_margin) * after_draw
    return value


@compiled
def look_ahead_value(
    mu: Floats, sigma: Floats, j: int, beta: float, draw_margin: float, tau: float
) -> float:
    """F_j^n: the expected best draw density after a game with opponent j.

    Arguments as ``best_density_after``. Source: Ryzhov, Tariq, Powell (2011), section 3,
    with the square roots and indices that are misprinted there.
    """
    variance = total_variance(drifted(sigma[0], tau), drifted(sigma[j], tau), beta)
    after_win = best_density_after(mu, sigma, j, 1, beta, draw_margin, tau)
    after_loss = best_density_after(mu, sigma, j, -1, beta, draw_margin, tau)
    after_draw = 0.0
    if draw_margin > 0.0:
        after_draw = best_density_after(mu, sigma, j, 0, beta, draw_margin, tau)
    return expected_best(mu[0] - mu[j], variance, draw_margin, after_win, after_loss, after_draw)


@compiled
def knowledge_gradient_scores(
    mu: Floats,
    sigma: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
    tau: float,
) -> Floats:
    """q_0j + multiplier F_j for every opponent of every row: 2 M^2 densities a row.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), their standard deviations.
        multipliers: shape (B,), what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.

    Returns:
        Scores of shape (B, M).
    """
    scores = np.empty((mu.shape[0], mu.shape[1] - 1))
    for b in range(mu.shape[0]):
        for j in range(1, mu.shape[1]):
            variance = total_variance(sigma[b, 0], sigma[b, j], beta)
            density = density_at_zero(mu[b, 0] - mu[b, j], variance)
            future = look_ahead_value(mu[b], sigma[b], j, beta, draw_margin, tau)
            scores[b, j - 1] = density + multipliers[b] * future
    return scores
