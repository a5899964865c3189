"""The paper's equations as it prints them: ``matchenv study --belief printed``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from matchenv.belief import GameConstants, IndependentBelief

Floats = NDArray[np.float64]


class PrintedBelief(IndependentBelief):
    """The factorised belief with the misprints of eq. (1), (2) and (10); q has none.

    Where the correct forms have (mu_i - mu_j) / c and sigma_i^2 / c, the paper prints
    (mu_i - mu_j) / c^2 and sigma_i^2 / c^2.

    Source: Ryzhov, Tariq, Powell (2011), as printed. The study has neither draws nor drift.
    """

    name: ClassVar[str] = "printed"

    def updated(
        self,
        mu_0: Floats,
        sigma_0: Floats,
        mu_j: Floats,
        sigma_j: Floats,
        outcome: NDArray[np.int8],
        constants: GameConstants,
    ) -> tuple[Any, Any, Any, Any]:
        """Return beliefs after a game by eq. (1) and (2) as printed."""
        variance = sigma_0**2 + sigma_j**2 + 2.0 * constants.beta**2
        x = outcome * (mu_0 - mu_j) / variance
        v = np.exp(-0.5 * x * x - log_ndtr(x)) / math.sqrt(2.0 * math.pi)
        w = v * (v + x)
        own_0, own_j = sigma_0**2 / variance, sigma_j**2 / variance
        return (
            mu_0 + outcome * own_0 * v,
            sigma_0 * np.sqrt(1.0 - own_0 * w),
            mu_j - outcome * own_j * v,
            sigma_j * np.sqrt(1.0 - own_j * w),
        )

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return eq. (10) as printed, the variance without its root."""
        del sigma
        gap = outcome * (mu[..., :1] - mu[..., 1:])
        chances: Floats = ndtr(gap / (variance + 2.0 * constants.beta**2))
        return chances
