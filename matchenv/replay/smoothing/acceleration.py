"""Fewer walks until messages settle: Anderson's acceleration.

Walks pass on what games say about differences of skills quickly, and slowly what they say about the
level of all players together: each walk takes a few hundredths of the way. From the last few
walks, where they would end can be told.

Source: Anderson (1965), "Iterative procedures for nonlinear integral equations".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]

# Walks that are remembered.
DEPTH = 4
# The first walks change the messages' precisions too, and say little about the later ones.
FIRST = 3
# A step so many times as long as the shortest one so far: mixing went astray.
ASTRAY = 2.0
# Walks without mixing after that.
PAUSE = 10
# All is forgotten after so many walks; what a stopped smoothing goes on from is written then.
FORGOTTEN_AFTER = 20


class Acceleration:
    """Mixes what a walk gives with what the last ones gave.

    Args:
        size: numbers that a walk changes.
    """

    def __init__(self, size: int) -> None:
        self._moves = np.empty((DEPTH, size))
        self._turns = np.empty((DEPTH, size))
        self._before, self._step = np.empty(size), np.empty(size)
        self._walks = 0
        self._shortest = np.inf
        self._pause = 0

    @property
    def remembers(self) -> bool:
        """Whether the next result depends on earlier walks."""
        return self._shortest < np.inf

    def mix(self, before: Floats, after: Floats, iteration: int) -> None:
        """Put in place of what a walk gave what it is likely to lead to.

        Args:
            before: (size,) the numbers before the walk.
            after: (size,) the numbers after it, overwritten.
            iteration: how many walks there were, this one included.
        """
        if iteration % FORGOTTEN_AFTER == 0:
            self._walks, self._pause, self._shortest = 0, 0, np.inf
            return
        length = _distance(before, after)
        if length > ASTRAY * self._shortest and self._walks:
            self._pause = PAUSE
        self._shortest = min(self._shortest, length)
        if self._pause or iteration < FIRST:
            self._pause = max(0, self._pause - 1)
            self._walks = 0
            return
        known = min(self._walks, DEPTH)
        if known:
            place = (self._walks - 1) % DEPTH
            _remember(before, after, self._before, self._step, self._moves, self._turns, place)
            gram, slope = _products(before, after, self._turns, known)
            share = np.linalg.lstsq(gram, slope, rcond=None)[0]
        self._before[:] = before
        np.subtract(after, before, out=self._step)
        if known:
            _mix(after, self._moves, self._turns, share)
        self._walks += 1


@compiled
def _distance(before: Floats, after: Floats) -> float:
    total = 0.0
    for k in range(before.size):
        total += (after[k] - before[k]) ** 2
    return np.sqrt(total)


@compiled
def _remember(
    before: Floats,
    after: Floats,
    last_before: Floats,
    last_step: Floats,
    moves: Floats,
    turns: Floats,
    place: int,
) -> None:
    """Note how far this walk began from the last one, and how its step differs."""
    for k in range(before.size):
        moves[place, k] = before[k] - last_before[k]
        turns[place, k] = after[k] - before[k] - last_step[k]


@compiled
def _products(before: Floats, after: Floats, turns: Floats, known: int) -> tuple[Floats, Floats]:
    """The inner products of the turns with each other and with the step, in one fixed order."""
    gram, slope = np.zeros((known, known)), np.zeros(known)
    for k in range(before.size):
        step = after[k] - before[k]
        for i in range(known):
            slope[i] += turns[i, k] * step
            for j in range(i + 1):
                gram[i, j] += turns[i, k] * turns[j, k]
    for i in range(known):
        for j in range(i):
            gram[j, i] = gram[i, j]
    return gram, slope


@compiled
def _mix(after: Floats, moves: Floats, turns: Floats, share: Floats) -> None:
    for k in range(after.size):
        for i in range(share.size):
            after[k] -= share[i] * (moves[i, k] + turns[i, k])
