"""Policies that game services use, and chance: the nearest, a widening window, random."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.queue.policy import WAIT
from matchenv.baselines.queue.shown import Integers, ShownPolicy
from matchenv.queue.shown import ShownPlayers
from matchenv.runtime.checks import as_non_negative_number, as_probability


class FirstComeFirstServed(ShownPolicy):
    """Whoever waits longest plays at once, against the nearest mean.

    Source: the first come, first served discipline of queueing theory, with the rule of
        Ryzhov, Tariq, Powell (2011), eq. (8).
    """

    name: ClassVar[str] = "fcfs"

    def choose_many(self, shown: ShownPlayers, rng: np.random.Generator) -> Integers:
        """The nearest candidate; as ``ShownPolicy``."""
        return np.where(shown.filled > 0, 1, WAIT)


class WideningWindow(ShownPolicy):
    """The nearest mean, once it is within a window that grows while the player waits.

    Args:
        width: largest difference of means in the first tick, >= 0, in skill points.
        growth: by how much the window grows with each tick, >= 0.

    Raises:
        ValueError: for a number that is negative or not finite.

    Source: the rule of open match-makers, such as FAForever/server and teiserver.
    """

    name: ClassVar[str] = "window"

    def __init__(self, width: float = 2.5, growth: float = 0.2) -> None:
        self.width = as_non_negative_number("width", width)
        self.growth = as_non_negative_number("growth", growth)

    def choose_many(self, shown: ShownPlayers, rng: np.random.Generator) -> Integers:
        """The nearest candidate if it is near enough; as ``ShownPolicy``."""
        if shown.mu.shape[1] == 1:
            return np.full(len(shown.mu), WAIT)
        window = self.width + self.growth * shown.waited
        near = np.abs(shown.mu[:, 1] - shown.mu[:, 0]) <= window
        return np.where((shown.filled > 0) & near, 1, WAIT)


class RandomCandidate(ShownPolicy):
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

    def choose_many(self, shown: ShownPlayers, rng: np.random.Generator) -> Integers:
        """Any of the candidates; as ``ShownPolicy``."""
        waits = rng.random(len(shown.mu)) < self.wait
        candidate = rng.integers(1, np.maximum(shown.filled, 1) + 1)
        return np.where(waits | (shown.filled == 0), WAIT, candidate)
