"""Policies that need no more than the observation shows: many queues at a time."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue.policy import QueuePolicy
from matchenv.queue.shown import ShownPlayers
from matchenv.queue.waiting import WaitingPlayers

Integers = NDArray[np.int64]


class ShownPolicy(QueuePolicy):
    """A rule that looks at the focal player and the candidates alone."""

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """As ``QueuePolicy``."""
        return int(self.choose_many(ShownPlayers.of(waiting), rng)[0])

    @abstractmethod
    def choose_many(self, shown: ShownPlayers, rng: np.random.Generator) -> Integers:
        """What the focal player of each queue does.

        Args:
            shown: B queues.
            rng: for stochastic policies.

        Returns:
            Shape (B,): 0 to wait this tick, k for the k-th candidate.
        """
