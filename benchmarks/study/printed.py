"""The formulas as the 2011 paper prints them, to show what the misprints do.

Nothing else uses this file. Where the correct forms have (mu_i - mu_j) / c and
sigma_i^2 / c, the paper prints (mu_i - mu_j) / c^2 and sigma_i^2 / c^2; see
``matchenv.trueskill.game`` for the correct ones.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.trueskill.game import density_at_zero, total_variance
from matchenv.trueskill.normal import normal_probability, win_moments

Floats = NDArray[np.float64]


@njit(cache=True, error_model="numpy")
def printed_update(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, outcome: int, beta: float
) -> tuple[float, float, float, float]:
    """Eq. (1) and (2) as printed: the beliefs about i and j after a game.

    Args:
        mu_i: mean of the belief about i before the game.
        sigma_i: its standard deviation.
        mu_j: mean of the belief about j.
        sigma_j: its standard deviation.
        outcome: +1 if i won, -1 if not.
        beta: standard deviation of one performance around skill.

    Returns:
        ``(mu_i, sigma_i, mu_j, sigma_j)`` after the game.
    """
    variance = total_variance(sigma_i, sigma_j, beta)
    v, w, _ = win_moments(outcome * (mu_i - mu_j) / variance)
    own_i, own_j = sigma_i * sigma_i / variance, sigma_j * sigma_j / variance
    return (
        mu_i + outcome * own_i * v,
        sigma_i * math.sqrt(1.0 - own_i * w),
        mu_j - outcome * own_j * v,
        sigma_j * math.sqrt(1.0 - own_j * w),
    )


@njit(cache=True, error_model="numpy")
def printed_win_probability(gap: float, variance: float) -> float:
    """Eq. (10) as printed, the variance without its root."""
    return normal_probability(gap / variance)


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def printed_knowledge_gradient_opponent(
    mu: Floats, sigma: Floats, multiplier: float, beta: float
) -> int:
    """Eq. (13) with the printed update and win probability; the lowest of equals.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        multiplier: what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
    """
    chosen, best = 0, -1.0
    for j in range(1, mu.size):
        gap, variance = mu[0] - mu[j], total_variance(sigma[0], sigma[j], beta)
        future = printed_win_probability(gap, variance) * printed_best_density_after(
            mu, sigma, j, 1, beta
        )
        future += printed_win_probability(-gap, variance) * printed_best_density_after(
            mu, sigma, j, -1, beta
        )
        score = density_at_zero(gap, variance) + multiplier * future
        if score > best:
            chosen, best = j - 1, score
    return chosen
