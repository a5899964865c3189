"""Policies that game services use, and chance: the nearest, a widening window, random."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.queue.policy import WAIT, QueuePolicy
from matchenv.queue import WaitingPlayers
from matchenv.validation import as_non_negative_number, as_probability


class FirstComeFirstServed(QueuePolicy):
    """Whoever waits longest plays at once, against the nearest mean.

    Source: the first come, first served discipline of queueing theory, with the rule of
        Ryzhov, Tariq, Powell (2011), eq. (8).
    """

    name: ClassVar[str] = "fcfs"

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """The nearest candidate; as ``QueuePolicy``."""
        return 1 if waiting.filled.size > 0 else WAIT


class WideningWindow(QueuePolicy):
    """The nearest mean, once it is within a window that grows while the player waits.

    Args:
        width: largest difference of means in the first tick, >= 0, in skill points.
        growth: by how much the window grows with each tick, >= 0.

    Raises:
        ValueError: for a number that is negative or not finite.

    Source: the rule that game services document, such as Open Match's tutorials and Riot's
        and FAForever's match-makers.
    """

    name: ClassVar[str] = "window"

    def __init__(self, width: float = 1.0, growth: float = 0.2) -> None:
        self.width = as_non_negative_number("width", width)
        self.growth = as_non_negative_number("growth", growth)

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """The nearest candidate if it is near enough; as ``QueuePolicy``."""
        candidates, focal = waiting.filled, waiting.focal
        if candidates.size == 0:
            return WAIT
        window = self.width + self.growth * waiting.waited[focal]
        near = abs(waiting.mu[candidates[0]] - waiting.mu[focal]) <= window
        return 1 if near else WAIT


class RandomCandidate(QueuePolicy):
    """A candidate at random, all equally likely.

    Args:
        wait: probability to wait this tick, in [0, 1).

    Raises:
        ValueError: for another probability.
    """

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def __init__(self, wait: float = 0.0) -> None:
        self.wait = as_probability("wait", wait)

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """Any of the candidates; as ``QueuePolicy``."""
        count = waiting.filled.size
        waits = rng.random() < self.wait
        return WAIT if waits or count == 0 else int(rng.integers(1, count + 1))
