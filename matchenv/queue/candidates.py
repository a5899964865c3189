"""Whom the focal player can play, and what a policy sees of it. Compiled."""

from __future__ import annotations

import math

from matchenv.play import MU, SIGMA
from matchenv.queue.line import place_in_line
from matchenv.queue.state import (
    FOCAL,
    JOINED,
    NONE,
    ORDER,
    PLAYING,
    TICK,
    TO_ASK,
    WAITING,
    Batch,
    Rules,
)
from matchenv.runtime.compile import compiled


@compiled(refcounted=False, inline=True)
def find_candidates(batch: Batch, row: int) -> None:
    """Write the nearest candidates of the focal player, and which actions that allows.

    They are in the order of the gap of means, and of joining where gaps are equal. One hand goes
    up from the focal player's mean and another down, and the nearer one is taken.

    Args:
        batch: the queues, changed.
        row: which of them.
    """
    focal = batch.numbers[row, FOCAL]
    found = 0 if focal == NONE else _nearest(batch, row, focal)
    for k in range(found, batch.candidates.shape[1]):
        batch.candidates[row, k] = NONE
    for k in range(batch.mask.shape[1]):
        batch.mask[row, k] = k <= found


@compiled(refcounted=False, inline=True)
def _nearest(batch: Batch, row: int, focal: int) -> int:
    """Fill in the nearest and say how many there are."""
    belief, players, line = batch.belief, batch.players, batch.by_mean
    candidates = batch.candidates
    mean, waiting = belief[row, focal, MU], batch.numbers[row, WAITING]
    up = place_in_line(batch, row, mean, 0)
    # Below, players of equal means are taken from the front, the longest waiting first.
    down = down_end = next_end = up
    found = 0
    while found < candidates.shape[1]:
        if up < waiting and line[row, up] == focal:
            up += 1
        if down == down_end and next_end > 0:
            down_end = next_end
            lower = belief[row, line[row, down_end - 1], MU]
            down = down_end - 1
            if down > 0 and belief[row, line[row, down - 1], MU] == lower:
                down = place_in_line(batch, row, lower, 0)
            next_end = down
        gap_up = belief[row, line[row, up], MU] - mean if up < waiting else math.inf
        gap_down = mean - belief[row, line[row, down], MU] if down < down_end else math.inf
        if gap_up == math.inf and gap_down == math.inf:
            break
        if gap_up < gap_down or (
            gap_up == gap_down
            and players[row, line[row, up], ORDER] < players[row, line[row, down], ORDER]
        ):
            candidates[row, found] = line[row, up]
            up += 1
        else:
            candidates[row, found] = line[row, down]
            down += 1
        found += 1
    return found


@compiled(refcounted=False, inline=True)
def observe(batch: Batch, rules: Rules, row: int) -> None:
    """Write the observation of one queue; ``MatchmakingQueueEnv`` says how it is laid out.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        row: which queue.
    """
    seen, numbers = batch.observation, batch.numbers
    capacity = batch.mask.shape[1]
    for place in range(capacity):
        slot = numbers[row, FOCAL] if place == 0 else batch.candidates[row, place - 1]
        if slot == NONE:
            seen[row, place] = 0.0
            seen[row, capacity + place] = 0.0
            seen[row, 2 * capacity + place] = 0.0
            seen[row, 3 * capacity + place] = 0.0
            continue
        waited = numbers[row, TICK] - batch.players[row, slot, JOINED]
        seen[row, place] = batch.belief[row, slot, MU]
        seen[row, capacity + place] = batch.belief[row, slot, SIGMA]
        seen[row, 2 * capacity + place] = waited / (waited + rules.game_length)
        seen[row, 3 * capacity + place] = 1.0
    last = 4 * capacity
    seen[row, last] = numbers[row, WAITING] / (numbers[row, WAITING] + capacity)
    seen[row, last + 1] = numbers[row, TO_ASK] / (numbers[row, TO_ASK] + capacity)
    seen[row, last + 2] = numbers[row, PLAYING] / (numbers[row, PLAYING] + capacity)
