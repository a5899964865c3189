"""The order of those who wait: by joining, and by the mean of the belief. Compiled.

Who has waited longest is the head of a list that is linked both ways; the same players stand in
``by_mean`` in the order of their means, and of joining among equal means. Mean and order tell each
player from all others, so a place is found by halving.
"""

from __future__ import annotations

from matchenv.counter_numbers import uniform_number
from matchenv.play import MU
from matchenv.queue.random_numbers import PATIENCE, VISIT, geometric, stream
from matchenv.queue.state import (
    GAMES,
    HEAD,
    JOINED,
    LEAVES,
    NEVER,
    NEXT,
    NONE,
    ORDER,
    PLAYER,
    PREVIOUS,
    QUEUED,
    TAIL,
    TICK,
    WAITING,
    Batch,
    Rules,
)
from matchenv.runtime.compile import compiled


@compiled(refcounted=False, inline=True)
def place_in_line(batch: Batch, row: int, mean: float, order: int) -> int:
    """How many of those who wait have a lower mean, or the same and joined before.

    Args:
        batch: the queues.
        row: which of them.
        mean: of a belief.
        order: in the order of joining; 0 counts only those with a lower mean.
    """
    low, high = 0, batch.numbers[row, WAITING]
    while low < high:
        middle = (low + high) // 2
        slot = batch.by_mean[row, middle]
        other = batch.belief[row, slot, MU]
        if other < mean or (other == mean and batch.players[row, slot, ORDER] < order):
            low = middle + 1
        else:
            high = middle
    return low


@compiled(refcounted=False, inline=True)
def join(batch: Batch, rules: Rules, row: int, slot: int) -> None:
    """A player joins the queue, as the last.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        row: which queue.
        slot: the player's place.
    """
    numbers, players = batch.numbers, batch.players
    tick, order = numbers[row, TICK], numbers[row, QUEUED]
    numbers[row, QUEUED] += 1
    player, games = players[row, slot, PLAYER], players[row, slot, GAMES]
    visit = stream(batch.key[row], player, games, VISIT)
    ticks = geometric(uniform_number(visit, PATIENCE), rules.patience)
    players[row, slot, JOINED] = tick
    players[row, slot, LEAVES] = tick + int(ticks) - 1 if ticks < NEVER else NEVER
    players[row, slot, ORDER] = order
    tail = numbers[row, TAIL]
    players[row, slot, NEXT], players[row, slot, PREVIOUS] = NONE, tail
    if tail == NONE:
        numbers[row, HEAD] = slot
    else:
        players[row, tail, NEXT] = slot
    numbers[row, TAIL] = slot
    line, waiting = batch.by_mean, numbers[row, WAITING]
    place = place_in_line(batch, row, batch.belief[row, slot, MU], order)
    for k in range(waiting, place, -1):
        line[row, k] = line[row, k - 1]
    line[row, place] = slot
    numbers[row, WAITING] = waiting + 1


@compiled(refcounted=False, inline=True)
def leave(batch: Batch, row: int, slot: int) -> None:
    """A player leaves the queue; arguments as ``join``."""
    numbers, players = batch.numbers, batch.players
    before, after = players[row, slot, PREVIOUS], players[row, slot, NEXT]
    if before == NONE:
        numbers[row, HEAD] = after
    else:
        players[row, before, NEXT] = after
    if after == NONE:
        numbers[row, TAIL] = before
    else:
        players[row, after, PREVIOUS] = before
    line, waiting = batch.by_mean, numbers[row, WAITING]
    place = place_in_line(batch, row, batch.belief[row, slot, MU], players[row, slot, ORDER])
    for k in range(place, waiting - 1):
        line[row, k] = line[row, k + 1]
    numbers[row, WAITING] = waiting - 1
