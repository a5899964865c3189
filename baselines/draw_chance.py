"""DrawChance: the opponent with the highest draw density now."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.contenders import SLACK
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.settings import PAPER_BETA
from matchenv.trueskill.game import density_at_zero, total_variance
from matchenv.trueskill.normal import INVERSE_SQRT_2PI


@compiled
def most_even_opponent(mu: Floats, sigma: Floats, beta: float) -> int:
    """The action with the highest draw density; of equals the lowest.

    Where every density underflows to 0, their logarithms decide. A density is at most
    1 / sqrt(2 pi (V + g^2)), since exp(x) >= 1 + x: few opponents need the exponential.

    Args:
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), their standard deviations.
        beta: standard deviation of one performance around skill.
    """
    best, most, least = 0, -1.0, np.inf
    for k in range(1, mu.size):
        gap, variance = mu[0] - mu[k], total_variance(sigma[0], sigma[k], beta)
        if variance + gap * gap >= least:
            continue
        density = density_at_zero(gap, variance)
        if density > most:
            best, most = k - 1, density
            if most > 0.0:
                ratio = INVERSE_SQRT_2PI / most
                least = ratio * ratio * (1.0 + SLACK)
    if most > 0.0:
        return best
    most = -np.inf
    for k in range(1, mu.size):
        variance = total_variance(sigma[0], sigma[k], beta)
        log_density = -0.5 * (np.log(variance) + (mu[0] - mu[k]) ** 2 / variance)
        if log_density > most:
            best, most = k - 1, log_density
    return best


@compiled
def most_even_opponents(mu: Floats, sigma: Floats, beta: float) -> Integers:
    """``most_even_opponent`` for every row, shapes (B, M + 1) to (B,)."""
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        actions[b] = most_even_opponent(mu[b], sigma[b], beta)
    return actions


class DrawChance(Policy):
    """Choose the opponent with the highest draw density under the belief.

    Args:
        beta: standard deviation of one performance around skill, > 0.
        horizon: as ``Policy``.
        belief: as ``Policy``; the full one gives the variance of the difference.

    Raises:
        ValueError: for beta <= 0 or an unknown belief.

    Source: Ryzhov, Tariq, Powell (2011), eq. (9); Herbrich, Minka, Graepel (2006), 4.2.
    """

    name: ClassVar[str] = "drawchance"

    def __init__(
        self, *, beta: float = PAPER_BETA, horizon: int = 500, belief: str = DEFAULT_BELIEF
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        self.beta = as_positive_number("beta", beta)

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike = 0) -> Any:
        """Draw density of every opponent, shape (..., M + 1) to (..., M)."""
        return knowledge_state.draw_density(self.beta)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return most_even_opponents(state.mu, state.paired_sigma, self.beta)
