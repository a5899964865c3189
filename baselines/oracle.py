"""The oracle: the opponent whose true skill is nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.nearest import nearest_opponents
from matchenv.baselines.policy import Floats, Integers, Masks, Policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_float_array


class Oracle(Policy):
    """Choose the opponent with the highest true draw density: no policy can do better.

    Args:
        true_skill: true skills of shape (M + 1,), or one row for each state of a batch; or a
            function without arguments that returns them, asked at each choice, such as
            ``lambda: env.unwrapped.true_skill``.
        horizon: as ``Policy``.
        belief: as ``Policy``; it makes no difference to the choice.

    Source: the maximum of eq. (14) of Ryzhov, Tariq, Powell (2011) over the opponents.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def __init__(
        self,
        true_skill: ArrayLike | Callable[[], ArrayLike],
        *,
        horizon: int = 500,
        belief: str = DEFAULT_BELIEF,
    ) -> None:
        super().__init__(horizon=horizon, belief=belief)
        self._true_skill = true_skill

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(self._skills(state.mu.shape))

    def _choose_among(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator, allowed: Masks
    ) -> Integers:
        skills = self._skills(state.mu.shape)
        skills[:, 1:][~allowed] = np.inf
        return nearest_opponents(skills)

    def _skills(self, shape: tuple[int, ...]) -> Floats:
        """The true skills of each state, a new array of shape (B, M + 1)."""
        value = self._true_skill() if callable(self._true_skill) else self._true_skill
        skills = as_float_array("true_skill", value)
        try:
            skills = np.broadcast_to(skills.reshape(-1, skills.shape[-1]), shape)
        except (ValueError, IndexError):
            raise ValueError(
                f"true_skill must have shape {shape[1:]} or {shape}, got {skills.shape}"
            ) from None
        return np.array(skills)
