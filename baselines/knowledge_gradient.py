"""KG: the draw density now, and what the game would teach for the games after it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.fast_knowledge_gradient import knowledge_gradient_opponents
from matchenv.baselines.knowledge_gradient_full import full_knowledge_gradient_scores
from matchenv.baselines.knowledge_gradient_rule import knowledge_gradient_scores
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.knowledge import KnowledgeState
from matchenv.settings import PAPER_BETA
from matchenv.validation import as_non_negative_number, as_positive_number, as_probability

PAPER_DISCOUNT = 0.99


class KnowledgeGradient(Policy):
    """Choose the opponent with the highest q_0j + multiplier F_j.

    F_j is the expected best draw density after the game with j; the multiplier says for how
    many games that counts. At most one of ``discount``, ``finite_horizon`` and
    ``multiplier`` may be given; without any, it is eq. (13) with a discount of 0.99.

    Args:
        discount: gamma of eq. (13), in [0, 1): the multiplier is gamma / (1 - gamma).
        finite_horizon: eq. (12): the multiplier is the number of games that remain after
            the one to be chosen.
        multiplier: the multiplier itself, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        horizon: as ``Policy``; matters to ``predict`` with ``finite_horizon``.
        belief: as ``Policy``; on the full one, which knows no drift, tau must be 0.

    Raises:
        ValueError: for a bad number, or more than one way to say the multiplier.

    Source: Ryzhov, Tariq, Powell (2011), eq. (12) and (13), misprints corrected.
    """

    name: ClassVar[str] = "kg"

    def __init__(
        self,
        discount: float | None = None,
        *,
        finite_horizon: bool = False,
        multiplier: float | None = None,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        horizon: int = 500,
        belief: str = "factorised",
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        if (discount is not None) + bool(finite_horizon) + (multiplier is not None) > 1:
            raise ValueError(
                "give one of discount, finite_horizon and multiplier, got "
                f"discount={discount!r}, finite_horizon={finite_horizon!r}, "
                f"multiplier={multiplier!r}"
            )
        self.finite_horizon = bool(finite_horizon)
        if multiplier is not None:
            self.multiplier = as_non_negative_number("multiplier", multiplier)
        else:
            gamma = as_probability("discount", PAPER_DISCOUNT if discount is None else discount)
            self.multiplier = gamma / (1.0 - gamma)
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)
        self.tau = as_non_negative_number("tau", tau)
        if self.belief == "full" and self.tau > 0.0:
            raise ValueError(f"tau must be 0 with belief='full', got {tau!r}")

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """The value of each opponent.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
            games_left: games left, the one to be chosen among them, broadcast to the batch.

        Returns:
            Scores of shape (..., M).

        Raises:
            ValueError: for a state of the full belief with tau > 0.
        """
        shape = knowledge_state.batch_shape
        players = knowledge_state.num_opponents + 1
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape)
        if knowledge_state.difference_sigma is not None:
            if self.tau > 0.0:
                raise ValueError(f"tau must be 0 on the full belief, got {self.tau!r}")
            full_scores = full_knowledge_gradient_scores(
                np.ascontiguousarray(knowledge_state.mu).reshape(-1, players),
                np.ascontiguousarray(knowledge_state.sigma).reshape(-1, players),
                np.ascontiguousarray(knowledge_state.difference_sigma).reshape(-1, players - 1),
                self.multipliers(left.ravel()),
                self.beta,
                self.draw_margin,
            )
            return full_scores.reshape(*shape, players - 1)
        scores = knowledge_gradient_scores(
            np.ascontiguousarray(knowledge_state.mu).reshape(-1, players),
            np.ascontiguousarray(knowledge_state.sigma).reshape(-1, players),
            self.multipliers(left.ravel()),
            self.beta,
            self.draw_margin,
            self.tau,
        )
        return scores.reshape(*shape, players - 1)

    def multipliers(self, games_left: Floats) -> Floats:
        """What a unit of future draw density is worth, with so many games left."""
        if self.finite_horizon:
            return np.maximum(games_left - 1.0, 0.0)
        return np.full(games_left.shape, self.multiplier)

    def _choose(
        self, mu: Floats, sigma: Floats, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        multipliers = self.multipliers(games_left)
        return knowledge_gradient_opponents(
            mu, sigma, multipliers, self.beta, self.draw_margin, self.tau
        )

    def _choose_full(
        self,
        mu: Floats,
        sigma: Floats,
        differences: Floats,
        games_left: Floats,
        rng: np.random.Generator,
    ) -> Integers:
        scores = full_knowledge_gradient_scores(
            mu, sigma, differences, self.multipliers(games_left), self.beta, self.draw_margin
        )
        return np.argmax(scores, axis=1)
