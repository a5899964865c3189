"""KG with the equations as the 2011 paper prints them (compiled), on ``belief="printed"``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.printed import printed_update, printed_win_probability
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, total_variance

Floats = NDArray[np.float64]


@compiled
def printed_best_density_after(
    mu: Floats, sigma: Floats, j: int, outcome: int, beta: float
) -> float:
    """F^{w,n+1} and F^{l,n+1} with the printed update, the indices put right.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        j: index of the opponent, 1 to M.
        outcome: +1 if player 0 wins, -1 if not.
        beta: standard deviation of one performance around skill.
    """
    mu_0, sigma_0, mu_j, sigma_j = printed_update(mu[0], sigma[0], mu[j], sigma[j], outcome, beta)
    best = density_at_zero(mu_0 - mu_j, total_variance(sigma_0, sigma_j, beta))
    for k in range(1, mu.size):
        if k != j:
            variance = total_variance(sigma_0, sigma[k], beta)
            best = max(best, density_at_zero(mu_0 - mu[k], variance))
    return best


@compiled
def printed_knowledge_gradient_scores(
    mu: Floats, sigma: Floats, multipliers: Floats, beta: float
) -> Floats:
    """Eq. (13) with the printed update and win probability.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), their standard deviations.
        multipliers: shape (B,), what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.

    Returns:
        Scores of shape (B, M).
    """
    scores = np.empty((mu.shape[0], mu.shape[1] - 1))
    for b in range(mu.shape[0]):
        for j in range(1, mu.shape[1]):
            gap, variance = mu[b, 0] - mu[b, j], total_variance(sigma[b, 0], sigma[b, j], beta)
            future = printed_win_probability(gap, variance) * printed_best_density_after(
                mu[b], sigma[b], j, 1, beta
            )
            future += printed_win_probability(-gap, variance) * printed_best_density_after(
                mu[b], sigma[b], j, -1, beta
            )
            scores[b, j - 1] = density_at_zero(gap, variance) + multipliers[b] * future
    return scores
