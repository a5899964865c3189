"""``belief="factorised"``: the papers' own, every player's skill apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Floats, GameConstants, Integers
from matchenv.belief.factorised_kernels import (
    learn_factorised,
    learn_from_few,
    play_factorised,
    play_few_factorised,
)
from matchenv.belief.independent import IndependentBelief
from matchenv.play import FEW


class FactorisedBelief(IndependentBelief):
    """TrueSkill's belief: independent normals before and after every game.

    The games' own correlations are forgotten, so it grows overconfident with many games.

    Source: Herbrich, Minka, Graepel (2006), section 3; Ryzhov, Tariq, Powell (2011), eq. (1)
    and (2), corrected.
    """

    name: ClassVar[str] = "factorised"

    def play(
        self,
        players: Floats,
        noise: Floats,
        games_played: Integers,
        memory: Floats,
        opponents: Integers,
        waiting: NDArray[np.bool_],
        horizon: int,
        constants: GameConstants,
        observation: NDArray[np.float32],
        terminated: NDArray[np.bool_],
        report: Floats,
        outcomes: NDArray[np.int8],
    ) -> None:
        """As ``Belief.play``, in one compiled call."""
        del memory
        play = play_few_factorised if waiting.size <= FEW else play_factorised
        play(
            players,
            noise,
            games_played,
            opponents,
            waiting,
            horizon,
            *constants,
            observation,
            terminated,
            report,
            outcomes,
        )

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
        """As ``Belief.learn``, in compiled loops."""
        del memory
        learn = learn_from_few if waiting.size <= FEW else learn_factorised
        learn(players, opponents, outcomes, waiting, *constants, report, observation)
