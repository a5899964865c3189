"""The compiled functions that find the candidates and write observation and mask."""

from __future__ import annotations

import math

from matchenv.envs.queue.games import read_lobby
from matchenv.envs.queue.lobby import (
    LobbyTable,
    Parties,
    best_split,
    first_split,
    packs,
    quality_of_sides,
    sum_sides,
)
from matchenv.envs.queue.params import Params
from matchenv.envs.queue.state import NONE, State
from matchenv.runtime.arrays import Integers
from matchenv.runtime.compile import compiled

# Largest numbers of parties of which all splits are compared for the quality of a candidate.
MOST_OF_TWO_SIDES = 10
MOST_OF_MORE_SIDES = 6


@compiled(refcounted=False, inline=True)
def find_candidates(state: State, params: Params, row: int) -> bool:
    """Write the founder and the candidates to ``state.shown``; return whether there are any.

    A candidate fits the free seats, and with it the lobby still packs into the sides. A stable
    insertion sort orders candidates by the gap of the means per player, and equal gaps by joining.
    """
    clock = state.clock[row]
    parties = state.parties[row]
    line = state.line[row]
    shown = state.shown[row]
    fits = params.work.fits
    capacity = shown.size
    shown[0] = clock.focal
    count = 1
    if clock.focal != NONE:
        find_sizes(state, params, row)
        mean = clock.lobby_mu / clock.seats_taken
        for position in range(clock.length):
            slot = line[position]
            if slot == NONE:
                continue
            party = parties[slot]
            if party.seated == 1 or not fits[party.size]:
                continue
            gap = abs(party.mean - mean)
            if count < capacity:
                k = count
                count += 1
            elif gap < abs(parties[shown[capacity - 1]].mean - mean):
                k = capacity - 1
            else:
                continue
            while k > 1 and gap < abs(parties[shown[k - 1]].mean - mean):
                shown[k] = shown[k - 1]
                k -= 1
            shown[k] = slot
    clock.num_allowed = count
    for k in range(count, capacity):
        shown[k] = NONE
    return count > 1


@compiled(refcounted=False, inline=True)
def find_sizes(state: State, params: Params, row: int) -> None:
    """Write to ``params.work.fits`` which sizes of parties can join the open lobby."""
    if params.num_seats == 2:
        return
    clock = state.clock[row]
    counts = params.work.counts
    fits = params.work.fits
    for k in range(params.side_size):
        counts[k] = 0
    for k in range(clock.lobby_parties):
        counts[state.parties[row, state.lobby[row, k]].size - 1] += 1
    for size in range(1, params.side_size + 1):
        counts[size - 1] += 1
        fits[size] = clock.seats_taken + size <= params.num_seats and packs(params.lobbies, counts)
        counts[size - 1] -= 1


@compiled(refcounted=False, inline=True)
def observe_queue(state: State, params: Params, row: int) -> None:
    """Write the mask and the observation; see ``MatchmakingQueueEnv``."""
    clock = state.clock[row]
    mask = state.mask[row]
    observation = state.observation[row]
    capacity = mask.size
    for k in range(capacity):
        mask[k] = k < clock.num_allowed
        slot = state.shown[row, k]
        if slot == NONE:
            for section in range(4):
                observation[section * capacity + k] = 0.0
            continue
        party = state.parties[row, slot]
        waited = clock.tick - party.joined
        observation[k] = party.mu
        observation[capacity + k] = party.sigma
        observation[2 * capacity + k] = waited / (waited + params.game_length)
        observation[3 * capacity + k] = 1.0
    end = 4 * capacity
    if params.num_seats > 2:
        observe_lobby(state, params, row)
        end = 6 * capacity
        observation[end + 3] = clock.seats_taken / params.num_seats
    observation[end] = clock.waiting / (clock.waiting + capacity)
    observation[end + 1] = clock.to_ask / (clock.to_ask + capacity)
    observation[end + 2] = clock.playing / (clock.playing + capacity)


@compiled(refcounted=False, inline=True)
def observe_lobby(state: State, params: Params, row: int) -> None:
    """Write the open lobby as the first entry, and sizes and qualities of all entries."""
    clock = state.clock[row]
    observation = state.observation[row]
    capacity = state.shown.shape[1]
    num_parties = 0
    if state.shown[row, 0] != NONE:
        num_parties = read_lobby(state, params, row)
        observation[0] = clock.lobby_mu
        observation[capacity] = math.sqrt(clock.lobby_variance)
    work = params.work
    for k in range(capacity):
        slot = state.shown[row, k]
        size = 0
        quality = 0.0
        if slot != NONE:
            size = clock.seats_taken
            number = num_parties
            if k > 0:
                party = state.parties[row, slot]
                size = party.size
                work.party_mean[num_parties] = party.mu
                work.party_variance[num_parties] = party.sigma * party.sigma
                work.party_size[num_parties] = party.size
                number += 1
            lobby = Parties(work.party_mean, work.party_variance, work.party_size, number)
            quality = quality_of_lobby(params.lobbies, lobby, params.beta, work.side_of)
        state.quality[row, k] = quality
        observation[4 * capacity + k] = size / params.side_size
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
