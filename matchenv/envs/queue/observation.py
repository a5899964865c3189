"""The compiled functions that find the candidates and write observation and mask.

``table`` is that of the game's shape, or None for two sides of one; see ``games``.
"""

from __future__ import annotations

import math

from matchenv.envs.queue.games import parties_of, read_lobby
from matchenv.envs.queue.lobby import (
    LobbyTable,
    Parties,
    best_split,
    first_split,
    packs,
    quality_of_sides,
    sum_sides,
)
from matchenv.envs.queue.params import (
    COUNT,
    FITS,
    PARTY_MEAN,
    PARTY_VARIANCE,
    SIDE,
    SIZE,
    Params,
)
from matchenv.envs.queue.state import NONE, State
from matchenv.runtime.arrays import Integers
from matchenv.runtime.compile import compiled

# Largest numbers of parties of which all splits are compared for the quality of a candidate.
MOST_OF_TWO_SIDES = 10
MOST_OF_MORE_SIDES = 6


@compiled(refcounted=False, inline=True)
def find_candidates(state: State, params: Params, table: LobbyTable | None, row: int) -> bool:
    """Write the founder and the candidates to ``state.entries``; return whether there are any.

    A candidate fits the free seats, and with it the lobby still packs into the sides. A stable
    insertion sort orders candidates by the gap of the means per player, and equal gaps by joining.
    """
    clock = state.clock[row]
    parties = state.players[row]
    line = state.line[row]
    entries = state.entries[row]
    capacity = entries.size
    entries[0].slot = clock.focal
    count = 1
    if clock.focal != NONE:
        mean = parties[clock.focal].party_mean
        if table is not None:
            find_sizes(state, params, table, row)
            mean = clock.lobby_mu / clock.seats_taken
        for position in range(clock.length):
            slot = line[position]
            if slot == NONE:
                continue
            party = parties[slot]
            if party.seated == 1 or not can_join(params, table, party.size):
                continue
            gap = abs(party.party_mean - mean)
            if count < capacity:
                k = count
                count += 1
            elif gap < abs(parties[entries[capacity - 1].slot].party_mean - mean):
                k = capacity - 1
            else:
                continue
            while k > 1 and gap < abs(parties[entries[k - 1].slot].party_mean - mean):
                entries[k].slot = entries[k - 1].slot
                k -= 1
            entries[k].slot = slot
    clock.num_allowed = count
    for k in range(count, capacity):
        entries[k].slot = NONE
    return count > 1


@compiled(refcounted=False, inline=True)
def can_join(params: Params, table: LobbyTable | None, size: int) -> bool:
    """Return whether parties of a size can join the open lobby."""
    if table is None:
        return True
    return params.integers[FITS, size] == 1


@compiled(refcounted=False, inline=True)
def find_sizes(state: State, params: Params, table: LobbyTable, row: int) -> None:
    """Write to ``params`` which sizes of parties can join the open lobby."""
    clock = state.clock[row]
    side_size = params.rules[0].side_size
    counts = params.integers[COUNT, :side_size]
    fits = params.integers[FITS]
    counts[:] = 0
    slot = clock.focal
    while slot != NONE:
        counts[state.players[row, slot].size - 1] += 1
        slot = state.players[row, slot].next_party
    free_seats = params.rules[0].num_seats - clock.seats_taken
    for size in range(1, side_size + 1):
        fits[size] = 0
        if size <= free_seats:
            counts[size - 1] += 1
            fits[size] = packs(table, counts)
            counts[size - 1] -= 1


@compiled(refcounted=False, inline=True)
def observe_queue(state: State, params: Params, table: LobbyTable | None, row: int) -> None:
    """Write the mask and the observation; see ``MatchmakingQueueEnv``."""
    clock = state.clock[row]
    mask = state.mask[row]
    observation = state.observation[row]
    capacity = mask.size
    for k in range(capacity):
        mask[k] = k < clock.num_allowed
        slot = state.entries[row, k].slot
        if slot == NONE:
            for section in range(4):
                observation[section * capacity + k] = 0.0
            continue
        party = state.players[row, slot]
        waited = clock.tick - party.joined
        observation[k] = party.party_mu
        observation[capacity + k] = party.party_sigma
        observation[2 * capacity + k] = waited / (waited + params.rules[0].game_length)
        observation[3 * capacity + k] = 1.0
    end = 4 * capacity
    if table is not None:
        observe_lobby(state, params, table, row)
        end = 6 * capacity
        observation[end + 3] = clock.seats_taken / params.rules[0].num_seats
    observation[end] = clock.waiting / (clock.waiting + capacity)
    observation[end + 1] = clock.to_ask / (clock.to_ask + capacity)
    observation[end + 2] = clock.playing / (clock.playing + capacity)


@compiled(refcounted=False, inline=True)
def observe_lobby(state: State, params: Params, table: LobbyTable, row: int) -> None:
    """Write the open lobby as the first entry, and sizes and qualities of all entries."""
    clock = state.clock[row]
    entries = state.entries[row]
    observation = state.observation[row]
    capacity = entries.size
    num_parties = 0
    if entries[0].slot != NONE:
        num_parties = read_lobby(state, params, row)
        observation[0] = clock.lobby_mu
        observation[capacity] = math.sqrt(clock.lobby_variance)
    for k in range(capacity):
        size = 0
        quality = 0.0
        if entries[k].slot != NONE:
            size = clock.seats_taken
            number = num_parties
            if k > 0:
                party = state.players[row, entries[k].slot]
                size = party.size
                params.numbers[PARTY_MEAN, num_parties] = party.party_mu
                params.numbers[PARTY_VARIANCE, num_parties] = party.party_sigma * party.party_sigma
                params.integers[SIZE, num_parties] = party.size
                number += 1
            lobby = parties_of(params, number)
            quality = quality_of_lobby(table, lobby, params.rules[0].beta, params.integers[SIDE])
        entries[k].quality = quality
        observation[4 * capacity + k] = size / params.rules[0].side_size
        observation[5 * capacity + k] = quality


@compiled(refcounted=False)
def quality_of_lobby(table: LobbyTable, parties: Parties, beta: float, sides: Integers) -> float:
    """Return the match quality of a lobby, whose free seats are held by average players of it.

    All splits are compared if that is quick; otherwise parties join the weakest side one by one,
    see ``first_split``.

    Args:
        table: of the game's shape; its arrays are changed.
        parties: of the lobby. Beyond the last one, the arrays, shape (S,), are changed.
        beta: standard deviation of one performance around skill.
        sides: written, shape (S,).
    """
    taken = 0
    mean = 0.0
    variance = 0.0
    for k in range(parties.number):
        taken += parties.size[k]
        mean += parties.mean[k]
        variance += parties.variance[k]
    free = table.num_sides * table.side_size - taken
    for k in range(parties.number, parties.number + free):
        parties.mean[k] = mean / taken
        parties.variance[k] = variance / taken
        parties.size[k] = 1
    filled = Parties(parties.mean, parties.variance, parties.size, parties.number + free)
    most = MOST_OF_TWO_SIDES if table.num_sides == 2 else MOST_OF_MORE_SIDES
    if filled.number <= most:
        best_split(table, filled, beta, sides)
    else:
        first_split(table, filled, 0, sides)
    sum_sides(table, filled, sides)
    return quality_of_sides(table, beta)
