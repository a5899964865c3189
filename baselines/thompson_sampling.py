"""Thompson sampling: the nearest opponent after all skills are drawn from the belief."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.nearest import nearest_opponents
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_non_negative_number


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
    stochastic: ClassVar[bool] = True

    def __init__(
        self,
        *,
        spread: float = 1.0,
        horizon: int = 500,
        seed: int | None = None,
        belief: str = DEFAULT_BELIEF,
    ) -> None:
        super().__init__(horizon=horizon, seed=seed, belief=belief)
        self.spread = as_non_negative_number("spread", spread)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        normals = rng.standard_normal(state.mu.shape)
        return nearest_opponents(state.drawn_skills(normals, self.spread))
