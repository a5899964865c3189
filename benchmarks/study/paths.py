"""Sample paths in compiled code: one loop over games for all policies that it knows."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.baselines.draw_chance import most_even_opponent
from matchenv.baselines.fast_knowledge_gradient import knowledge_gradient_opponent
from matchenv.baselines.nearest import nearest_opponent
from matchenv.baselines.skill_line import SkillLine
from matchenv.play import game_outcome
from matchenv.trueskill.game import density_at_zero, total_variance, update_two

Floats = NDArray[np.float64]

# Policies that the loop knows.
POINT_ESTIMATE, DRAW_CHANCE, KNOWLEDGE_GRADIENT, ORACLE = range(4)

# What is kept of each game, in this order.
MEASURES = ("true_draw_density", "squared_error", "skill_difference", "win_ratio")


@njit(cache=True, error_model="numpy")
def choose(
    policy: int,
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
    multiplier: float,
    beta: float,
    line: SkillLine,
) -> int:
    """The action of a policy; arguments as ``play_paths``, one path's rows."""
    if policy == POINT_ESTIMATE:
        return nearest_opponent(mu)
    if policy == DRAW_CHANCE:
        return most_even_opponent(mu, sigma, beta)
    if policy == ORACLE:
        return nearest_opponent(true_skill)
    return knowledge_gradient_opponent(mu, sigma, multiplier, beta, 0.0, 0.0, line)


@njit(cache=True, error_model="numpy")
def play_paths(
    policy: int,
    multipliers: Floats,
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
    noise: Floats,
    beta: float,
    line: SkillLine,
    games: Floats,
) -> None:
    """Play every game of every path.

    Args:
        policy: one of the four above.
        multipliers: shape (N,), of KG at each game.
        mu: shape (B, M + 1), beliefs at the start; left as they are after the last game.
        sigma: shape (B, M + 1), the same.
        true_skill: shape (B, M + 1).
        noise: shape (B, N), standard normal.
        beta: standard deviation of one performance around skill.
        line: working arrays of KG for M opponents.
        games: shape (B, 4, N), written: ``MEASURES`` of each game, the squared error as it
            was before the game.
    """
    true_variance = total_variance(0.0, 0.0, beta)
    for b in range(mu.shape[0]):
        means, deviations, skills = mu[b], sigma[b], true_skill[b]
        for n in range(noise.shape[1]):
            j = 1 + choose(policy, means, deviations, skills, multipliers[n], beta, line)
            difference = skills[0] - skills[j]
            games[b, 0, n] = density_at_zero(difference, true_variance)
            games[b, 1, n] = (means[0] - skills[0]) ** 2
            games[b, 2, n] = difference
            outcome = game_outcome(skills[0], skills[j], noise[b, n], beta, 0.0)
            means[0], deviations[0], means[j], deviations[j] = update_two(
                means[0], deviations[0], means[j], deviations[j], outcome, beta, 0.0
            )
            games[b, 3, n] = 0.5 * (1.0 + outcome)
