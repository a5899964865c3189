"""What the queue's observation shows, and policies that need no more: many queues at a time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue.policy import QueuePolicy
from matchenv.queue.settings import QueueSettings
from matchenv.queue.waiting import WaitingPlayers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ShownPlayers:
    """The focal player and the candidates of B queues.

    Attributes:
        mu: means of the beliefs, shape (B, C): the focal player, then the candidates, the nearest
            mean first.
        sigma: their standard deviations, shape (B, C).
        waited: ticks that the focal player has waited, shape (B,).
        filled: how many candidates there are, shape (B,); what stands behind them means nothing.
        settings: of the environment.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    filled: Integers
    settings: QueueSettings

    @classmethod
    def of(cls, waiting: WaitingPlayers) -> Self:
        """One queue."""
        shown = np.concatenate(([waiting.focal], waiting.filled))
        return cls(
            waiting.mu[None, shown],
            waiting.sigma[None, shown],
            waiting.waited[None, waiting.focal].astype(np.float64),
            np.array([shown.size - 1]),
            waiting.settings,
        )


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
