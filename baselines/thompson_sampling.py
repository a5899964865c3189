"""Thompson sampling: the most even opponent in a world drawn from the belief."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.nearest import nearest_opponents
from baselines.policy import Floats, Integers, Policy
from matchenv.validation import as_non_negative_number


class ThompsonSampling(Policy):
    """Draw every skill from its belief and choose the opponent nearest to player 0.

    Args:
        spread: factor on the standard deviations that the skills are drawn with, >= 0: 1 is
            Thompson's rule, 0 is ``PointEstimate``.
        horizon: as ``Policy``.
        seed: as ``Policy``.

    Raises:
        ValueError: for a spread that is negative or not finite.

    Source: Thompson (1933), with the draw density of known skills, eq. (14) of the 2011
    paper, as the reward that is maximised.
    """

    name: ClassVar[str] = "thompson"

    def __init__(self, *, spread: float = 1.0, horizon: int = 500, seed: int | None = None) -> None:
        super().__init__(horizon=horizon, seed=seed)
        self.spread = as_non_negative_number("spread", spread)

    def _choose(
        self, mu: Floats, sigma: Floats, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(mu + self.spread * sigma * rng.standard_normal(mu.shape))
