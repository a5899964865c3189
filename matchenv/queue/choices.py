"""Choices: what the focal player's does to a queue, and whole batches of them. Compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.counter_numbers import normal_number
from matchenv.play import MU, SIGMA, TRUE_SKILL
from matchenv.queue.candidates import find_candidates, observe
from matchenv.queue.line import leave
from matchenv.queue.random_numbers import GAME, stream
from matchenv.queue.state import (
    ASK,
    BEGIN,
    CURSOR,
    END,
    FIRST_GAME,
    FIRST_PLAYER,
    FOCAL,
    FREE,
    HEAD,
    JOINED,
    LOGGED_ON,
    MATCHED,
    MATCHES,
    NEXT,
    NEXT_LOG_ON,
    NO_ROOM,
    NONE,
    NUMBER,
    ORDER,
    OVER,
    PHASE,
    PLAYING,
    QUALITY,
    REWARD,
    SECOND_PLAYER,
    TAIL,
    TICK,
    TO_ASK,
    TRUE_QUALITY,
    WAITED,
    Batch,
    Rules,
)
from matchenv.queue.ticks import advance, keep_visit, place_player, time_to_next
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import match_quality_of, total_variance

Floats = NDArray[np.float64]


@compiled(refcounted=False, inline=True)
def begin_game(batch: Batch, rules: Rules, row: int, i: int, j: int) -> None:
    """Two players leave the queue for a game with each other; arguments as ``join``."""
    numbers, sums, belief = batch.numbers, batch.sums, batch.belief
    variance = total_variance(belief[row, i, SIGMA], belief[row, j, SIGMA], rules.beta)
    quality = match_quality_of(belief[row, i, MU] - belief[row, j, MU], variance, rules.beta)
    number = numbers[row, MATCHES]
    if rules.tau > 0.0:
        drift = stream(batch.key[row], number, 1, GAME)
        belief[row, i, TRUE_SKILL] += rules.tau * normal_number(drift, 0)
        belief[row, j, TRUE_SKILL] += rules.tau * normal_number(drift, 1)
    difference = belief[row, i, TRUE_SKILL] - belief[row, j, TRUE_SKILL]
    known = total_variance(0.0, 0.0, rules.beta)
    true_quality = match_quality_of(difference, known, rules.beta)
    for slot in (i, j):
        keep_visit(batch, row, slot, True, quality, true_quality)
        leave(batch, row, slot)
        numbers[row, WAITED] += numbers[row, TICK] - batch.players[row, slot, JOINED]
    last = numbers[row, FIRST_GAME] + numbers[row, PLAYING] // 2
    if last >= batch.games.shape[1]:
        last -= batch.games.shape[1]
    batch.games[row, last, FIRST_PLAYER] = i
    batch.games[row, last, SECOND_PLAYER] = j
    batch.games[row, last, NUMBER] = number
    batch.games[row, last, END] = numbers[row, TICK] + rules.game_length
    numbers[row, PLAYING] += 2
    numbers[row, MATCHED] += 2
    numbers[row, MATCHES] += 1
    sums[row, QUALITY], sums[row, TRUE_QUALITY] = quality, true_quality
    sums[row, REWARD] += 2.0 * (true_quality if rules.by_truth else quality)


@compiled(refcounted=False, inline=True)
def choose(batch: Batch, rules: Rules, row: int, action: int) -> None:
    """The focal player waits or plays; ``advance`` comes after it.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        row: which queue; its phase is ASK.
        action: 0 to wait, k for the k-th candidate, allowed by the mask.
    """
    numbers, players = batch.numbers, batch.players
    focal = numbers[row, FOCAL]
    after = players[row, focal, NEXT]
    numbers[row, TO_ASK] -= 1
    if action > 0:
        partner = batch.candidates[row, action - 1]
        if players[row, partner, ORDER] > players[row, focal, ORDER]:
            numbers[row, TO_ASK] -= 1
            if partner == after:
                after = players[row, partner, NEXT]
        begin_game(batch, rules, row, focal, partner)
    numbers[row, CURSOR] = after


@compiled(refcounted=False)
def step_all(
    batch: Batch, rules: Rules, actions: NDArray[np.int64], idle: NDArray[np.bool_]
) -> bool:
    """Carry out one choice in every queue that is not idle, and go on to the next.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        actions: shape (B,), allowed by the masks.
        idle: shape (B,), queues to leave alone.

    Returns:
        Whether some queue needs more room before it can go on: see ``advance_all``.
    """
    stuck = False
    for row in range(actions.size):
        if idle[row]:
            continue
        batch.sums[row, QUALITY] = 0.0
        batch.sums[row, TRUE_QUALITY] = 0.0
        if batch.numbers[row, PHASE] == ASK:
            choose(batch, rules, row, actions[row])
            stuck |= advance(batch, rules, row) == NO_ROOM
    return stuck


@compiled(refcounted=False)
def begin_all(
    batch: Batch, rules: Rules, rows: NDArray[np.int64], mu: Floats, sigma: Floats, skill: Floats
) -> None:
    """Empty queues at tick 0, joined by those whom the user fixed; ``advance_all`` comes after it.

    Args:
        batch: the queues, changed; there must be room.
        rules: of the environment.
        rows: of these queues.
        mu: means, shape (B, n), the longest waiting first.
        sigma: their deviations.
        skill: true skills.
    """
    for row in rows:
        numbers, room = batch.numbers[row], batch.by_mean.shape[1]
        numbers[:] = 0
        batch.sums[row] = 0.0
        for where in (HEAD, TAIL, CURSOR, FOCAL):
            numbers[where] = NONE
        for slot in range(room):
            batch.free[row, slot] = room - 1 - slot
        numbers[FREE] = room
        numbers[PHASE] = BEGIN
        for k in range(mu.shape[1]):
            place_player(batch, rules, row, mu[row, k], sigma[row, k], skill[row, k], 0)
        batch.sums[row, NEXT_LOG_ON] = time_to_next(batch, rules, row, numbers[LOGGED_ON])


@compiled(refcounted=False)
def close_all(batch: Batch, rules: Rules, rows: NDArray[np.int64]) -> None:
    """Where the horizon was reached before anybody was asked about, nobody is to be chosen."""
    for row in rows:
        if batch.numbers[row, PHASE] == OVER:
            batch.numbers[row, FOCAL] = NONE
            find_candidates(batch, row)
            observe(batch, rules, row)


@compiled(refcounted=False)
def advance_all(batch: Batch, rules: Rules, rows: NDArray[np.int64]) -> bool:
    """Go on wherever a tick is to be begun; arguments and result as ``step_all``.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        rows: of these queues.
    """
    stuck = False
    for row in rows:
        if batch.numbers[row, PHASE] == BEGIN:
            stuck |= advance(batch, rules, row) == NO_ROOM
    return stuck
