"""Policies that game services use, and chance: the nearest, a widening window, random."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.queue.policy import WAIT, Integers, QueuePolicy
from matchenv.envs.queue.view import QueueView
from matchenv.runtime.checks import as_non_negative_number, as_probability


class FirstComeFirstServed(QueuePolicy):
    """Whoever waits longest plays at once, against the nearest mean.

    Source: the first come, first served discipline of queueing theory, with the rule of
        Ryzhov, Tariq, Powell (2011), eq. (8).
    """

    name: ClassVar[str] = "fcfs"

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """The nearest candidate; as ``QueuePolicy``."""
        return np.where(queues.filled > 0, 1, WAIT)


class WideningWindow(QueuePolicy):
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

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """The nearest candidate if it is near enough; as ``QueuePolicy``."""
        if queues.mu.shape[1] == 1:
            return np.full(len(queues.mu), WAIT)
        window = self.width + self.growth * queues.waited
        near = np.abs(queues.mu[:, 1] - queues.mu[:, 0]) <= window
        return np.where((queues.filled > 0) & near, 1, WAIT)


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

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Any of the candidates; as ``QueuePolicy``."""
        rng = np.random.default_rng() if rng is None else rng
        waits = rng.random(len(queues.mu)) < self.wait
        candidate = rng.integers(1, np.maximum(queues.filled, 1) + 1)
        return np.where(waits | (queues.filled == 0), WAIT, candidate)
