"""Policies that give each candidate a value and take the best, if it is good enough."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.queue.pair_values import best_candidates, candidate_values
from matchenv.baselines.queue.policy import Floats, Integers, QueuePolicy, Reservation
from matchenv.envs.queue.view import QueueView
from matchenv.runtime.checks import as_non_negative_number


class QueueKnowledgeGradient(QueuePolicy):
    """KG: match quality now, and what the game would teach for the games to come.

    The value of a candidate is the match quality + multiplier x gain; the gain of a player is
    F_j less the best draw density now, in match quality. Who looks ahead does so as though the
    same candidates were there. The best one is taken once its value is no less than the
    reservation.

    Args:
        multiplier: for how many games to come a gain counts, >= 0.
        both: the gain is the mean of both players', else the focal player's.
        reservation: value that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative multiplier or fall.

    Source: Ryzhov, Tariq, Powell (2011), eq. (13), for a player who queues again and again.
    """

    name: ClassVar[str] = "kg"

    def __init__(
        self,
        multiplier: float = 0.3,
        *,
        both: bool = False,
        reservation: float = 0.45,
        fall: float = 0.05,
    ) -> None:
        self._asked = Reservation(reservation, fall)
        self.reservation, self.fall = self._asked.reservation, self._asked.fall
        self.multiplier = as_non_negative_number("multiplier", multiplier)
        self.both = bool(both)

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """The best candidate or none, of equals the nearest; as ``QueuePolicy``."""
        return best_candidates(
            queues.mu,
            queues.sigma,
            queues.filled,
            self._asked.after(queues.waited),
            self.multiplier,
            self.both,
            *queues.settings.constants,
        )

    def values(self, queues: QueueView) -> Floats:
        """The value of each candidate of the first queue."""
        places = 1 + int(queues.filled[0])
        return candidate_values(
            queues.mu[0, :places],
            queues.sigma[0, :places],
            self.multiplier,
            self.both,
            *queues.settings.constants,
        )


class ReservedDrawChance(QueueKnowledgeGradient):
    """The candidate of the highest match quality, once that reaches a falling reservation.

    Args:
        reservation: match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Ryzhov, Tariq, Powell (2011), eq. (9).
    """

    name: ClassVar[str] = "drawchance"

    def __init__(self, reservation: float = 0.45, fall: float = 0.05) -> None:
        super().__init__(0.0, reservation=reservation, fall=fall)
