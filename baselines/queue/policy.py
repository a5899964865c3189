"""The base class of the queue's policies, and the falling reservation that most of them have."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.envs.queue.view import QueueView, WaitingPlayers
from matchenv.runtime.checks import as_non_negative_number, as_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The action of a focal player who waits this tick.
WAIT = 0


class QueuePolicy(ABC):
    """A rule that chooses an opponent for the focal player of each queue.

    It never touches an environment.

    Attributes:
        name: the policy's name in tables and on command lines.
        stochastic: whether equal queues may get different actions, so that it needs ``rng``.
        needs_truth: whether it reads the true skills, which no fair policy sees.
    """

    name: ClassVar[str]
    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __repr__(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    @abstractmethod
    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Choose an action for the focal player of each queue.

        Args:
            queues: view of B queues; ``queues[row]`` holds all who wait in one.
            rng: generator for stochastic policies; None for a new one.
            action_masks: not used; the view holds the candidates that are allowed.

        Returns:
            Shape (B,): 0 to wait this tick, k for the k-th candidate.
        """

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator | None = None) -> int:
        """Return the action in one queue, as ``act``."""
        return int(self.act(QueueView.of(waiting), rng)[0])


class Reservation:
    """The least value of a game that a player takes; it falls while the player waits.

    Args:
        reservation: match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: the reservation value of search theory, McCall (1970).
    """

    def __init__(self, reservation: float, fall: float) -> None:
        self.reservation = as_number("reservation", reservation)
        self.fall = as_non_negative_number("fall", fall)

    def after(self, waited: ArrayLike) -> Floats:
        """What is asked for after so many ticks, of the same shape."""
        return self.reservation - self.fall * np.asarray(waited, dtype=np.float64)
