"""OptimisticDrawChance: the highest draw density with an inflated variance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_non_negative_number, as_number, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.settings import PAPER_BETA


@compiled
def optimistic_indices(mu: Floats, sigma: Floats, factors: Floats, beta: float) -> Floats:
    """-d_k^2 / (2 (a Var(s_0 - s_k) + 2 beta^2)) for every opponent of every row.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), deviations whose squares, player 0's and the opponent's, add
            up to the variance of the difference.
        factors: shape (B,), the factor a on that variance.
        beta: standard deviation of one performance around skill.

    Returns:
        Indices of shape (B, M).
    """
    indices = np.empty((mu.shape[0], mu.shape[1] - 1))
    for b in range(mu.shape[0]):
        for k in range(1, mu.shape[1]):
            doubt = sigma[b, 0] * sigma[b, 0] + sigma[b, k] * sigma[b, k]
            gap = mu[b, 0] - mu[b, k]
            indices[b, k - 1] = -0.5 * gap * gap / (factors[b] * doubt + 2.0 * beta * beta)
    return indices


class OptimisticDrawChance(Policy):
    """Choose the opponent with the highest exponent of the draw density, its variance inflated.

    The index is -d_k^2 / (2 (a Var(s_0 - s_k) + 2 beta^2)) with d_k = mu_0 - mu_k. It is the
    exponent of the draw density with a times the variance, without the root in front, which
    would lower the index of an uncertain opponent. The factor falls over the episode,
    a = 1 + (inflation - 1) share^fade, with the share of games left. It does better on the full
    belief, whose variances are right, than on the factorised one.

    Args:
        inflation: the factor at the start, >= 1.
        fade: how it fades, >= 0: 0 not at all, 1 linearly with the games left, 2 squared.
        beta: standard deviation of one performance around skill, > 0.
        horizon: as ``Policy``; the share of games left is relative to it, at most 1.
        belief: as ``Policy``.

    Raises:
        ValueError: for a bad number or belief.

    Source: the confidence bounds of bandit problems (Lai, Robbins 1985; Auer et al. 2002),
    on the draw density of Ryzhov, Tariq, Powell (2011), eq. (5).
    """

    name: ClassVar[str] = "optimistic"

    def __init__(
        self,
        inflation: float = 10.0,
        fade: float = 1.0,
        *,
        beta: float = PAPER_BETA,
        horizon: int = 500,
        belief: str = DEFAULT_BELIEF,
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        self.inflation = as_number("inflation", inflation)
        if self.inflation < 1.0:
            raise ValueError(f"inflation must be at least 1, got {inflation!r}")
        self.fade = as_non_negative_number("fade", fade)
        self.beta = as_positive_number("beta", beta)

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """The index of each opponent.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
            games_left: games left, the one to be chosen among them, broadcast to the batch.

        Returns:
            Indices of shape (..., M).
        """
        shape = knowledge_state.batch_shape
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape)
        indices = self._indices(knowledge_state.flattened(), left.ravel())
        return indices.reshape(*shape, knowledge_state.num_opponents)

    def _indices(self, state: KnowledgeState, games_left: Floats) -> Floats:
        return optimistic_indices(
            state.mu, state.paired_sigma, self._factors(games_left), self.beta
        )  # fmt: skip

    def _factors(self, games_left: Floats) -> Floats:
        share = np.minimum(games_left / self.horizon, 1.0)
        factors: Floats = 1.0 + (self.inflation - 1.0) * share**self.fade
        return factors

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return np.argmax(self._indices(state, games_left), axis=1)
