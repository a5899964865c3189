"""Thompson sampling: the most even opponent in a world drawn from the belief."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from matchenv.baselines.nearest import nearest_opponents
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.full_belief import slack_of_deviations
from matchenv.validation import as_non_negative_number


@njit(cache=True, error_model="numpy")
def joint_draws(
    mu: Floats, sigma: Floats, differences: Floats, normals: Floats, spread: float
) -> Floats:
    """Skills of all players drawn from the full belief: player 0's, then each one given it.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), their standard deviations.
        differences: shape (B, M), standard deviations of s_0 - s_k.
        normals: shape (B, M + 1), standard normal.
        spread: factor on every deviation from the mean.

    Returns:
        Skills of shape (B, M + 1).
    """
    skills = np.empty(mu.shape)
    for b in range(mu.shape[0]):
        sigma_0 = sigma[b, 0]
        shift = spread * sigma_0 * normals[b, 0]
        skills[b, 0] = mu[b, 0] + shift
        for k in range(1, mu.shape[1]):
            deviation = differences[b, k - 1]
            slack = slack_of_deviations(sigma_0, sigma[b, k], deviation)
            rest = np.sqrt(max(0.0, deviation**2 - (slack * sigma_0) ** 2))
            skills[b, k] = mu[b, k] + (1.0 - slack) * shift + spread * rest * normals[b, k]
    return skills


class ThompsonSampling(Policy):
    """Draw every skill from its belief and choose the opponent nearest to player 0.

    Args:
        spread: factor on the standard deviations that the skills are drawn with, >= 0: 1 is
            Thompson's rule, 0 is ``PointEstimate``.
        horizon: as ``Policy``.
        seed: as ``Policy``.
        belief: as ``Policy``; on the full belief all skills are drawn jointly.

    Raises:
        ValueError: for a spread that is negative or not finite.

    Source: Thompson (1933), with the draw density of known skills, eq. (14) of the 2011
    paper, as the reward that is maximised.
    """

    name: ClassVar[str] = "thompson"

    def __init__(
        self,
        *,
        spread: float = 1.0,
        horizon: int = 500,
        seed: int | None = None,
        belief: str = "factorised",
    ) -> None:
        super().__init__(horizon=horizon, seed=seed, belief=belief)
        self.spread = as_non_negative_number("spread", spread)

    def _choose(
        self, mu: Floats, sigma: Floats, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(mu + self.spread * sigma * rng.standard_normal(mu.shape))

    def _choose_full(
        self,
        mu: Floats,
        sigma: Floats,
        differences: Floats,
        games_left: Floats,
        rng: np.random.Generator,
    ) -> Integers:
        normals = rng.standard_normal(mu.shape)
        return nearest_opponents(joint_draws(mu, sigma, differences, normals, self.spread))
