"""``belief="factorised"``: the papers' own, every player's skill apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Floats, GameConstants, Integers
from matchenv.belief.independent import IndependentBelief
from matchenv.compilation import compiled
from matchenv.play import MU, SIGMA, report_belief
from matchenv.trueskill.game import drifted, quality_per_density, total_variance, update_two


class FactorisedBelief(IndependentBelief):
    """TrueSkill's belief: independent normals before and after every game.

    The games' own correlations are forgotten, so it grows overconfident with many games.

    Source: Herbrich, Minka, Graepel (2006), section 3; Ryzhov, Tariq, Powell (2011), eq. (1)
    and (2), corrected.
    """

    name: ClassVar[str] = "factorised"

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
        """As ``Belief.learn``, in one compiled loop."""
        del memory
        learn_factorised(
            players, opponents, outcomes, waiting, *constants, report, observation
        )  # fmt: skip


@compiled(nogil=True)
def learn_factorised(
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``Belief.learn``; the constants are those of ``GameConstants``."""
    quality = quality_per_density(beta)
    count = players.shape[1]
    for b in range(players.shape[0]):
        j = opponents[b] + 1
        mu_0, sigma_0 = players[b, 0, MU], players[b, 0, SIGMA]
        mu_j, sigma_j = players[b, j, MU], players[b, j, SIGMA]
        variance = total_variance(sigma_0, sigma_j, beta)
        report_belief(b, waiting[b], mu_0 - mu_j, variance, quality, report)
        if waiting[b]:
            continue
        outcome = np.int64(outcomes[b])  # the type that other callers have: compiled once
        mu_0, sigma_0, mu_j, sigma_j = update_two(
            mu_0, drifted(sigma_0, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
        )
        players[b, 0, MU], players[b, 0, SIGMA] = mu_0, sigma_0
        players[b, j, MU], players[b, j, SIGMA] = mu_j, sigma_j
        observation[b, 0] = mu_0
        observation[b, j] = mu_j
        observation[b, count] = sigma_0
        observation[b, count + j] = sigma_j
