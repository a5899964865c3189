"""PE: the opponent whose estimated skill is nearest."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.nearest import nearest_opponents
from matchenv.baselines.policy import Floats, Integers, Policy
from matchenv.knowledge import KnowledgeState


class PointEstimate(Policy):
    """Choose the opponent with the smallest ``|mu_0 - mu_j|``, whatever the uncertainty.

    Args:
        horizon: as ``Policy``.
        belief: as ``Policy``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (8), the minimum taken over the opponent j.
    """

    name: ClassVar[str] = "pe"

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(state.mu)
