"""A random opponent, all equally likely."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.knowledge import KnowledgeState


class RandomOpponent(Policy):
    """Choose an opponent uniformly at random.

    Args:
        horizon: as ``Policy``.
        seed: as ``Policy``.
        belief: as ``Policy``; it makes no difference to the choice.
    """

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return rng.integers(0, state.num_opponents, size=state.batch_shape)
