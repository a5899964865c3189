"""``belief="printed"``: the equations as the 2011 paper prints them, to show what that does.

Where the correct forms have (mu_i - mu_j) / c and sigma_i^2 / c, the paper prints
(mu_i - mu_j) / c^2 and sigma_i^2 / c^2; see ``matchenv.trueskill.game`` for the correct ones.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Floats, GameConstants
from matchenv.belief.factorised import IndependentBelief
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import total_variance
from matchenv.trueskill.normal import normal_probability, win_moments


class PrintedBelief(IndependentBelief):
    """The factorised belief with the misprints of eq. (1), (2) and (10).

    It shows the same observation as the factorised one, and q, eq. (5), has no misprint. The
    paper's games have neither draws nor drift.

    Source: Ryzhov, Tariq, Powell (2011), as printed.
    """

    name: ClassVar[str] = "printed"

    def check_constants(self, constants: GameConstants) -> None:
        """The printed equations know neither draws nor drift."""
        for name in ("draw_margin", "tau"):
            value = getattr(constants, name)
            if value > 0.0:
                raise ValueError(
                    f"{name} must be 0 with belief='printed', whose equations know neither draws "
                    f"nor drift, got {value!r}"
                )

    def updated(
        self,
        mu_0: Floats,
        sigma_0: Floats,
        mu_j: Floats,
        sigma_j: Floats,
        outcome: NDArray[np.int8],
        constants: GameConstants,
    ) -> tuple[Any, Any, Any, Any]:
        """Eq. (1) and (2) as printed."""
        return _updated(mu_0, sigma_0, mu_j, sigma_j, outcome, constants.beta)

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Eq. (10) as printed."""
        del sigma
        variance = variance + 2.0 * constants.beta * constants.beta
        gap = outcome * (mu[..., :1] - mu[..., 1:])
        return _win_probabilities(gap.ravel(), variance.ravel()).reshape(gap.shape)


@compiled
def printed_update(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, outcome: int, beta: float
) -> tuple[float, float, float, float]:
    """Eq. (1) and (2) as printed: the beliefs about i and j after a game.

    Args:
        mu_i: mean of the belief about i before the game.
        sigma_i: its standard deviation.
        mu_j: mean of the belief about j.
        sigma_j: its standard deviation.
        outcome: +1 if i won, -1 if not.
        beta: standard deviation of one performance around skill.

    Returns:
        ``(mu_i, sigma_i, mu_j, sigma_j)`` after the game.
    """
    variance = total_variance(sigma_i, sigma_j, beta)
    v, w, _ = win_moments(outcome * (mu_i - mu_j) / variance)
    own_i, own_j = sigma_i * sigma_i / variance, sigma_j * sigma_j / variance
    return (
        mu_i + outcome * own_i * v,
        sigma_i * math.sqrt(1.0 - own_i * w),
        mu_j - outcome * own_j * v,
        sigma_j * math.sqrt(1.0 - own_j * w),
    )


@compiled
def printed_win_probability(gap: float, variance: float) -> float:
    """Eq. (10) as printed, the variance without its root."""
    return normal_probability(gap / variance)


@compiled
def _win_probabilities(gap: Floats, variance: Floats) -> Floats:
    values = np.empty(gap.size)
    for k in range(gap.size):
        values[k] = printed_win_probability(gap[k], variance[k])
    return values


@compiled(nogil=True)
def _updated(
    mu_0: Floats,
    sigma_0: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    outcome: NDArray[np.int8],
    beta: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    new = np.empty((4, mu_0.size))
    for k in range(mu_0.size):
        new[0, k], new[1, k], new[2, k], new[3, k] = printed_update(
            mu_0[k], sigma_0[k], mu_j[k], sigma_j[k], np.int64(outcome[k]), beta
        )
    return new[0], new[1], new[2], new[3]
