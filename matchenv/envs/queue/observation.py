"""The compiled functions that find the candidates and write observation and mask."""

from __future__ import annotations

import math

from matchenv.envs.queue.games import read_lobby
from matchenv.envs.queue.lobby import best_split, packs, quality_of_sides, sum_sides
from matchenv.envs.queue.params import Params
from matchenv.envs.queue.state import NONE, State
from matchenv.runtime.compile import compiled


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
    for k in range(capacity):
        slot = state.shown[row, k]
        size = 0
        quality = 0.0
        if slot != NONE:
            size = clock.seats_taken
            if k > 0:
                size = state.parties[row, slot].size
            quality = quality_with(state, params, row, num_parties, k)
        state.quality[row, k] = quality
        observation[4 * capacity + k] = size / params.side_size
        observation[5 * capacity + k] = quality


@compiled(refcounted=False, inline=True)
def quality_with(state: State, params: Params, row: int, num_parties: int, k: int) -> float:
    """Return the match quality of the lobby with a candidate, whose free seats are filled.

    They are filled with single players who have the mean and variance of the lobby's average player
    with the candidate.

    Args:
        state: not changed.
        params: the lobby's parties are in ``params.work``.
        row: of the queue.
        num_parties: number of these parties.
        k: of the candidate; 0 for the lobby alone.
    """
    clock = state.clock[row]
    work = params.work
    mu = clock.lobby_mu
    variance = clock.lobby_variance
    taken = clock.seats_taken
    if k > 0:
        party = state.parties[row, state.shown[row, k]]
        work.party_mean[num_parties] = party.mu
        work.party_variance[num_parties] = party.sigma * party.sigma
        work.party_size[num_parties] = party.size
        mu += party.mu
        variance += work.party_variance[num_parties]
        taken += party.size
        num_parties += 1
    for seat in range(params.num_seats - taken):
        work.party_mean[num_parties + seat] = mu / taken
        work.party_variance[num_parties + seat] = variance / taken
        work.party_size[num_parties + seat] = 1
    num_parties += params.num_seats - taken
    best_split(
        params.lobbies,
        work.party_mean,
        work.party_variance,
        work.party_size,
        num_parties,
        params.beta,
        work.side_of,
    )
    sum_sides(params.lobbies, work.party_mean, work.party_variance, work.side_of, num_parties)
    return quality_of_sides(params.lobbies, params.beta)
