"""KG: the draw density of the next game, and the value of what it teaches for later games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.fast_knowledge_gradient import knowledge_gradient_opponents
from matchenv.baselines.fast_knowledge_gradient_full import full_knowledge_gradient_opponents
from matchenv.baselines.knowledge_gradient_full import full_knowledge_gradient_scores
from matchenv.baselines.knowledge_gradient_printed import printed_knowledge_gradient_scores
from matchenv.baselines.knowledge_gradient_rule import knowledge_gradient_scores
from matchenv.baselines.look_ahead import look_ahead_scores
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.belief import (
    DEFAULT_BELIEF,
    FactorisedBelief,
    FullBelief,
    GameConstants,
    PrintedBelief,
    belief_named,
)
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_non_negative_number, as_positive_number, as_probability
from matchenv.settings import PAPER_BETA

PAPER_DISCOUNT = 0.99

# Compiled rules for beliefs that have one; any other is looked ahead through its own update.
Rule = Callable[[KnowledgeState, Floats, GameConstants], Any]
SCORES: dict[str, Rule] = {
    FactorisedBelief.name: lambda state, multipliers, game: knowledge_gradient_scores(
        state.mu, state.sigma, multipliers, *game
    ),
    FullBelief.name: lambda state, multipliers, game: full_knowledge_gradient_scores(
        state.mu, state.sigma, state.extra, multipliers, game.beta, game.draw_margin
    ),
    PrintedBelief.name: lambda state, multipliers, game: printed_knowledge_gradient_scores(
        state.mu, state.sigma, multipliers, game.beta
    ),
}
CHOICES: dict[str, Rule] = {
    FactorisedBelief.name: lambda state, multipliers, game: knowledge_gradient_opponents(
        state.mu, state.sigma, multipliers, *game
    ),
    FullBelief.name: lambda state, multipliers, game: full_knowledge_gradient_opponents(
        state.mu, state.sigma, state.extra, multipliers, game.beta, game.draw_margin
    ),
}


class KnowledgeGradient(Policy):
    """Choose the opponent with the highest q_0j + multiplier F_j.

    F_j is the expected best draw density after the game with j. The multiplier says for how
    many games it counts. At most one of ``discount``, ``finite_horizon`` and
    ``multiplier`` may be given. Without any of them it is eq. (13) with a discount of 0.99.

    Args:
        discount: gamma of eq. (13), in [0, 1): the multiplier is gamma / (1 - gamma).
        finite_horizon: eq. (12): the multiplier is the number of games that remain after
            the one to be chosen.
        multiplier: the multiplier itself, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        horizon: as ``Policy``; matters to ``predict`` with ``finite_horizon``.
        belief: as ``Policy``; some know no drift or no draws.

    Raises:
        ValueError: for a bad number, or more than one of the three that set the multiplier.

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
        belief: str = DEFAULT_BELIEF,
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
        self._constants = GameConstants(self.beta, self.draw_margin, self.tau)
        belief_named(self.belief).check_constants(self._constants)

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """The value of each opponent.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
            games_left: games left, the one to be chosen among them, broadcast to the batch.

        Returns:
            Scores of shape (..., M).

        Raises:
            ValueError: for a state of a belief that does not know such games.
        """
        shape = knowledge_state.batch_shape
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape)
        knowledge_state.kind.check_constants(self._constants)
        scores = self._scores(knowledge_state.flattened(), left.ravel())
        return scores.reshape(*shape, knowledge_state.num_opponents)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        rule = SCORES.get(state.belief, look_ahead_scores)
        return rule(state, self.multipliers(games_left), self._constants)

    def multipliers(self, games_left: Floats) -> Floats:
        """What a unit of future draw density is worth, with so many games left."""
        if self.finite_horizon:
            return np.maximum(games_left - 1.0, 0.0)
        return np.full(games_left.shape, self.multiplier)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        choose = CHOICES.get(state.belief)
        if choose is not None:
            return choose(state, self.multipliers(games_left), self._constants)
        return np.argmax(self._scores(state, games_left), axis=1)
