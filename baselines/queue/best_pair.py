"""Policies that give each candidate a value and take the best, if it is good enough."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from matchenv.baselines.queue.pair_values import focal_values
from matchenv.baselines.queue.policy import WAIT, Floats, QueuePolicy, Reservation
from matchenv.queue import WaitingPlayers
from matchenv.validation import as_non_negative_number


class BestPair(QueuePolicy):
    """The candidate of the highest value, once that is no less than the reservation.

    Args:
        reservation: as ``Reservation``.
        fall: as there.
    """

    def __init__(self, reservation: float, fall: float) -> None:
        self._asked = Reservation(reservation, fall)
        self.reservation, self.fall = self._asked.reservation, self._asked.fall

    @abstractmethod
    def values(self, waiting: WaitingPlayers) -> Floats:
        """The value of each of ``waiting.filled``, of which there is at least one."""

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """The best candidate or none; as ``QueuePolicy``. Of equals the nearest."""
        if waiting.filled.size == 0:
            return WAIT
        values = self.values(waiting)
        best = int(np.argmax(values))
        asked = self._asked.after(waiting.waited[waiting.focal])
        return best + 1 if values[best] >= asked else WAIT


class ReservedDrawChance(BestPair):
    """The candidate of the highest match quality, once that reaches a falling reservation.

    Args:
        reservation: match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Ryzhov, Tariq, Powell (2011), eq. (9).
    """

    name: ClassVar[str] = "drawchance"

    def __init__(self, reservation: float = 0.7, fall: float = 0.02) -> None:
        super().__init__(reservation, fall)

    def values(self, waiting: WaitingPlayers) -> Floats:
        """Match quality of each candidate."""
        return waiting.candidate_quality()


class QueueKnowledgeGradient(BestPair):
    """KG: match quality now, and what the game would teach for the games to come.

    The value of a candidate is the match quality + multiplier x gain; the gain of a player is
    F_j less the best draw density now, in match quality. Who looks ahead does so as though the
    same candidates were there.

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
        multiplier: float = 5.0,
        *,
        both: bool = False,
        reservation: float = 0.7,
        fall: float = 0.02,
    ) -> None:
        super().__init__(reservation, fall)
        self.multiplier = as_non_negative_number("multiplier", multiplier)
        self.both = bool(both)

    def values(self, waiting: WaitingPlayers) -> Floats:
        """Match quality + multiplier x gain of each candidate."""
        shown = np.concatenate(([waiting.focal], waiting.filled))
        mu, sigma = waiting.mu[shown], waiting.sigma[shown]
        order = np.argsort(mu, kind="stable")
        focal = int(np.flatnonzero(order == 0)[0])
        in_order = focal_values(
            mu[order], sigma[order], focal, self.multiplier, self.both, *waiting.settings.constants
        )
        values = np.empty(shown.size)
        values[order] = in_order
        return values[1:]
