"""``belief="full"``: covariances between players are kept."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Belief, Floats, GameConstants, Integers
from matchenv.belief.full_kernels import (
    begin_full,
    difference_variances,
    joint_draws,
    learn_full,
    memory_of_deviations,
)
from matchenv.runtime.checks import as_positive_array

# Observations are float32: three deviations of one belief may disagree by this much of their sum.
ROUNDING = 1e-5


class FullBelief(Belief):
    """Normal skills with all covariances that games with player 0 can make.

    ``matchenv.belief.full_kernels`` says how. An observation shows, beside mu and sigma, the
    standard deviations of s_0 - s_1 to s_0 - s_M: together they say all covariances, since
    the opponents are independent given s_0.
    """

    name: ClassVar[str] = "full"
    memory_rows: ClassVar[int] = 2
    extra_rows: ClassVar[int] = 1
    extra_name: ClassVar[str] = "difference_sigma"

    def check_constants(self, constants: GameConstants) -> None:
        """No drift: it would tie the opponents to each other."""
        if constants.tau > 0.0:
            raise ValueError(
                "tau must be 0 with belief='full', which keeps the opponents independent given "
                f"player 0's skill, as they no longer are once that skill drifts, "
                f"got {constants.tau!r}"
            )

    def begin(
        self,
        rows: Integers,
        players: Floats,
        memory: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """No covariances yet."""
        begin_full(rows, players, memory, observation)

    def learn(
        self,
        players: Floats,
        memory: Floats,
        opponents: Integers,
        outcomes: NDArray[np.int8],
        waiting: NDArray[np.bool_],
        constants: GameConstants,
        report: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """As ``Belief.learn``; q uses the variance of the difference."""
        learn_full(
            players, memory, opponents, outcomes, waiting,
            constants.beta, constants.draw_margin, report, observation,
        )  # fmt: skip

    def difference_variances(self, players: Floats, memory: Floats) -> Floats:
        """Var(s_0 - s_k), shape (B, M)."""
        return difference_variances(players, memory)

    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Standard deviations of s_0 - s_k, shape (B, M)."""
        deviations: Floats = np.sqrt(difference_variances(players, memory))
        return deviations

    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """Slack and prior variance that the deviations imply, shape (B, 2, M)."""
        return memory_of_deviations(sigma, extra)

    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """The squares of what is shown."""
        del sigma
        return extra**2

    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """All on the opponent: player 0 gets a deviation of 0."""
        del sigma
        return np.concatenate((np.zeros((*extra.shape[:-1], 1)), extra), axis=-1)

    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Jointly: player 0's skill, then each opponent's given it."""
        return joint_draws(mu, sigma, extra, normals, spread)

    def check_extra(self, sigma: Floats, extra: Floats) -> None:
        """Deviations of s_0 - s_k that some covariance gives."""
        as_positive_array(self.extra_name, extra)
        total = sigma[..., :1] + sigma[..., 1:]
        least = np.abs(sigma[..., :1] - sigma[..., 1:])
        slip = ROUNDING * total
        good = (extra >= least - slip) & (extra <= total + slip)
        if not good.all():
            index = tuple(int(k) for k in np.argwhere(~good)[0])
            raise ValueError(
                "difference_sigma must lie between |sigma_0 - sigma_k| and sigma_0 + sigma_k, "
                f"got {float(extra[index])!r} at index {index}"
            )
