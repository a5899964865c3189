"""The compiled steps of B queues from one choice to the next.

In a tick, games that are over end, and each of their parties queues again or logs off. Other
parties log on. Then each waiting party, the longest waiting first, founds a lobby, as long as
enough players wait for a game. At each choice another party joins the open lobby, which begins its
game once it is full, or the lobby dissolves. Parties who still wait have waited this tick, and give
up if it was the last of their patience.

Functions change ``state`` in the queue ``row``. A ``slot`` is that of a party. ``table`` is that of
the game's shape, or None for two sides of one, whose functions are compiled without lobbies.
"""

from __future__ import annotations

import math

from matchenv.envs.queue.games import (
    decide_game,
    decide_pair,
    forget_game,
    joint_index,
    judge_game,
    judge_pair,
    name_parties,
    split_lobby,
)
from matchenv.envs.queue.lobby import LobbyTable
from matchenv.envs.queue.observation import find_candidates, observe_queue
from matchenv.envs.queue.params import (
    KNOWN_OFFSET,
    LOG_ON,
    ORIGIN,
    PARTY_SIZE,
    PATIENCE,
    SKILL,
    STAY,
    Params,
)
from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD
from matchenv.envs.queue.state import (
    BEFORE_CHOICE,
    BEFORE_TICK,
    NONE,
    OVER,
    TRUE_WIN_PROBABILITY,
    WIN_PROBABILITY,
    State,
)
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import exponential, normal, two_uniforms, uniform

# Later than any tick.
NEVER = 2**62

# An action that only advances a queue that is before a tick.
NO_ACTION = -1

# Action: dissolve the lobby, whose founder waits this tick.
DISSOLVE = 0


@compiled(refcounted=False)
def log_on_at_reset(
    state: State,
    params: Params,
    rows: Integers,
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
    party_size: Integers,
) -> None:
    """Log on the players of a reset's options in empty queues; requires enough free slots.

    Args:
        state: changed.
        params: of the environment.
        rows: the queues, shape (K,).
        mu: means, shape (B, n), the longest waiting party's members first.
        sigma: standard deviations, shape (B, n).
        true_skill: shape (B, n); NaN to draw it from the belief.
        party_size: sizes of the parties, shape (B, m); 0 beyond the last.
    """
    for row in rows:
        clock = state.clock[row]
        for k in range(party_size.shape[1]):
            if party_size[row, k] == 0:
                break
            slot = log_on_party(state, row, party_size[row, k])
            new_slot = slot
            for member in range(party_size[row, k]):
                if member > 0:
                    new_slot = add_member(state, row, new_slot)
                player = state.players[row, new_slot]
                number = player.number
                skill = true_skill[row, number]
                if math.isnan(skill):
                    z = normal(clock.key, SKILL, 2 * number)
                    skill = mu[row, number] + sigma[row, number] * z
                player.mu = mu[row, number]
                player.sigma = sigma[row, number]
                player.true_skill = skill
                player.newcomer = 0
            join(state, params, row, slot)
        clock.next_log_on = next_log_on(state, params, row)


@compiled(refcounted=False)
def step_all(
    state: State, params: Params, table: LobbyTable | None, actions: Integers, running: Masks
) -> bool:
    """Carry out one choice in every running queue and advance to the next.

    Args:
        state: changed.
        params: of the environment.
        table: of the game's shape, or None.
        actions: shape (B,), allowed by the masks, or ``NO_ACTION``.
        running: shape (B,).

    Returns:
        Whether a queue stopped before its next choice because its arrays are too small.
    """
    needs_room = False
    for row in range(actions.size):
        clock = state.clock[row]
        action = actions[row]
        phase = BEFORE_TICK if action == NO_ACTION else BEFORE_CHOICE
        if not running[row] or clock.phase != phase:
            continue
        if action != NO_ACTION:
            carry_out(state, params, table, row, action)
        if not advance(state, params, table, row):
            needs_room = True
    return needs_room


@compiled(refcounted=False, inline=True)
def carry_out(
    state: State, params: Params, table: LobbyTable | None, row: int, action: int
) -> None:
    """Carry out a choice: 0 to dissolve the lobby, k to add the k-th candidate."""
    clock = state.clock[row]
    clock.match_quality = 0.0
    clock.true_match_quality = 0.0
    if table is not None:
        forget_game(state, params, row)
    if action == DISSOLVE:
        dissolve_lobby(state, row)
        return
    join_lobby(state, row, state.entries[row, action].slot)
    if clock.seats_taken == params.rules[0].num_seats:
        begin_game(state, params, table, row)


@compiled(refcounted=False, inline=True)
def advance(state: State, params: Params, table: LobbyTable | None, row: int) -> bool:
    """Advance to the next choice or the horizon.

    Returns:
        False if the queue stopped earlier because its arrays are too small.
    """
    clock = state.clock[row]
    while True:
        if clock.phase == BEFORE_TICK and not begin_tick(state, params, table, row):
            return False
        if find_choice(state, params, table, row):
            clock.had_choice = 1
            break
        end_tick(state, params, row)
        if clock.tick >= params.rules[0].horizon:
            end_run(state, params, table, row)
            break
    observe_queue(state, params, table, row)
    return True


@compiled(refcounted=False, inline=True)
def find_choice(state: State, params: Params, table: LobbyTable | None, row: int) -> bool:
    """Find the next choice of this tick; return False if there is none.

    A lobby without a candidate dissolves. No lobby is founded if fewer players wait than a game
    has.
    """
    clock = state.clock[row]
    while True:
        if clock.lobby_parties == 0:
            while clock.cursor < clock.length and state.line[row, clock.cursor] == NONE:
                clock.cursor += 1
            if clock.cursor >= clock.length or clock.waiting < params.rules[0].num_seats:
                return False
            found_lobby(state, row, state.line[row, clock.cursor])
        if find_candidates(state, params, table, row):
            return True
        dissolve_lobby(state, row)


@compiled(refcounted=False, inline=True)
def found_lobby(state: State, row: int, slot: int) -> None:
    """Open a lobby with a party as its founder."""
    clock = state.clock[row]
    clock.focal = slot
    clock.last = NONE
    clock.lobby_parties = 0
    clock.seats_taken = 0
    clock.lobby_mu = 0.0
    clock.lobby_variance = 0.0
    join_lobby(state, row, slot)


@compiled(refcounted=False, inline=True)
def join_lobby(state: State, row: int, slot: int) -> None:
    """Add a waiting party to the open lobby."""
    clock = state.clock[row]
    party = state.players[row, slot]
    if clock.last != NONE:
        state.players[row, clock.last].next_party = slot
    clock.last = slot
    party.next_party = NONE
    party.seated = 1
    clock.lobby_parties += 1
    clock.seats_taken += party.size
    clock.lobby_mu += party.party_mu
    clock.lobby_variance += party.party_sigma * party.party_sigma


@compiled(refcounted=False, inline=True)
def dissolve_lobby(state: State, row: int) -> None:
    """Dissolve the open lobby; its founder waits this tick."""
    clock = state.clock[row]
    slot = clock.focal
    while slot != NONE:
        state.players[row, slot].seated = 0
        slot = state.players[row, slot].next_party
    clock.lobby_parties = 0
    clock.seats_taken = 0
    clock.cursor += 1
    clock.to_ask -= state.players[row, clock.focal].size


@compiled(refcounted=False, inline=True)
def begin_tick(state: State, params: Params, table: LobbyTable | None, row: int) -> bool:
    """End games and log on parties; return False if the arrays are too small.

    It can be called again in a state with more room.
    """
    clock = state.clock[row]
    # All players can leave the queue in this tick, each with a record of the visit.
    if 0 < state.visits.shape[1] < clock.num_visits + state.line.shape[1]:
        return False
    end_games(state, params, table, row)
    if not log_on_parties(state, params, row):
        return False
    clock.cursor = 0
    clock.to_ask = clock.waiting
    clock.phase = BEFORE_CHOICE
    return True


@compiled(refcounted=False, inline=True)
def end_games(state: State, params: Params, table: LobbyTable | None, row: int) -> None:
    """End games that are over: update the beliefs; the parties queue again or log off."""
    clock = state.clock[row]
    while clock.num_games > 0 and state.games[row, clock.oldest].end <= clock.tick:
        game = state.games[row, clock.oldest]
        if table is None:
            decide_pair(state, params, row, game.number, game.party)
        else:
            decide_game(state, params, row, game.number, game.party)
        slot = game.party
        while slot != NONE:
            following = state.players[row, slot].next_party
            leave_game(state, params, row, slot)
            slot = following
        clock.oldest = (clock.oldest + 1) % state.games.shape[1]
        clock.playing -= params.rules[0].num_seats
        clock.num_games -= 1


@compiled(refcounted=False, inline=True)
def leave_game(state: State, params: Params, row: int, slot: int) -> None:
    """Let a party whose game is over queue again or log off."""
    party = state.players[row, slot]
    u = uniform(state.clock[row].key, STAY, joint_index(party.party, party.played))
    party.played += 1
    if u <= params.rules[0].stay:
        join(state, params, row, slot)
    else:
        log_off(state, row, slot)


@compiled(refcounted=False, inline=True)
def log_on_parties(state: State, params: Params, row: int) -> bool:
    """Log on the parties of this tick; return False if there are too few free slots."""
    clock = state.clock[row]
    num_groups = params.population.shape[0]
    while clock.next_log_on < clock.tick + 1:
        size = size_of_party(state, params, row)
        if clock.num_free < size:
            return False
        slot = log_on_party(state, row, size)
        new_slot = slot
        for member in range(size):
            if member > 0:
                new_slot = add_member(state, row, new_slot)
            player = state.players[row, new_slot]
            number = player.number
            u, v = two_uniforms(clock.key, ORIGIN, number)
            group = params.population[min(num_groups - 1, int(v * num_groups))]
            mu = group[CENTRE] + group[SPREAD] * normal(clock.key, SKILL, 2 * number)
            player.true_skill = mu + group[DEVIATION] * normal(clock.key, SKILL, 2 * number + 1)
            player.mu = mu
            player.sigma = group[DEVIATION]
            player.newcomer = 0
            if u <= params.rules[0].newcomers:
                player.mu = params.rules[0].mean
                player.sigma = params.rules[0].deviation
                player.newcomer = 1
        join(state, params, row, slot)
        clock.next_log_on = next_log_on(state, params, row)
    return True


@compiled(refcounted=False, inline=True)
def size_of_party(state: State, params: Params, row: int) -> int:
    """Return the size of the next party to log on."""
    if params.size_limits.size == 1:
        return 1
    clock = state.clock[row]
    u = uniform(clock.key, PARTY_SIZE, clock.log_ons)
    size = 1
    while u >= params.size_limits[size - 1]:
        size += 1
    return size


@compiled(refcounted=False, inline=True)
def log_on_party(state: State, row: int, size: int) -> int:
    """Log on a party with its first member, and return their slot."""
    clock = state.clock[row]
    slot = log_on(state, row)
    party = state.players[row, slot]
    party.party = clock.log_ons
    party.size = size
    party.played = 0
    party.seated = 0
    clock.log_ons += 1
    return slot


@compiled(refcounted=False, inline=True)
def add_member(state: State, row: int, last: int) -> int:
    """Log on the next member of a party, and return the slot.

    Args:
        state: changed.
        row: of the queue.
        last: slot of the last member so far.
    """
    slot = log_on(state, row)
    state.players[row, last].next_member = slot
    return slot


@compiled(refcounted=False, inline=True)
def log_on(state: State, row: int) -> int:
    """Give the next player a free slot, and return it."""
    clock = state.clock[row]
    slot = clock.free_slot
    player = state.players[row, slot]
    clock.free_slot = player.next_member
    clock.num_free -= 1
    player.next_member = NONE
    player.number = clock.logged_on
    clock.logged_on += 1
    return slot


@compiled(refcounted=False, inline=True)
def next_log_on(state: State, params: Params, row: int) -> float:
    """Return the time of the next log-on, in ticks.

    Log-ons are a Poisson process whose rate is constant within a tick.
    """
    if params.rules[0].rate_of_day == 0.0:
        return math.inf
    clock = state.clock[row]
    amount = exponential(clock.key, LOG_ON, clock.log_ons)
    num_ticks = params.rates.size
    if num_ticks == 1:
        return clock.next_log_on + amount / params.rules[0].rate_of_day
    # The time at which the integral of the rate has grown by this amount.
    days = math.floor(amount / params.rules[0].rate_of_day)
    amount -= days * params.rules[0].rate_of_day
    time = clock.next_log_on + days * num_ticks
    while True:
        end = math.floor(time) + 1.0
        rate = params.rates[int(end - 1.0) % num_ticks]
        if amount < (end - time) * rate:
            return time + amount / rate
        amount -= (end - time) * rate
        time = end


@compiled(refcounted=False, inline=True)
def log_off(state: State, row: int, slot: int) -> None:
    """Remove the members of a party from the service."""
    clock = state.clock[row]
    while slot != NONE:
        player = state.players[row, slot]
        following = player.next_member
        player.next_member = clock.free_slot
        clock.free_slot = slot
        clock.num_free += 1
        slot = following


@compiled(refcounted=False, inline=True)
def join(state: State, params: Params, row: int, slot: int) -> None:
    """Add a party to the end of the line."""
    clock = state.clock[row]
    party = state.players[row, slot]
    u = uniform(clock.key, PATIENCE, joint_index(party.party, party.played))
    ticks = geometric(u, params.rules[0].patience)
    party.joined = clock.tick
    party.leaves = NEVER
    if ticks < NEVER:
        party.leaves = clock.tick + int(ticks) - 1
    sum_members(state, params, row, slot)
    party.position = clock.length
    state.line[row, clock.length] = slot
    clock.length += 1
    clock.waiting += party.size
    clock.queued += party.size


@compiled(refcounted=False, inline=True)
def sum_members(state: State, params: Params, row: int, slot: int) -> None:
    """Write mean and deviation of the performance of a party."""
    party = state.players[row, slot]
    if party.size == 1:
        # The offset is 0, and nothing is rounded: this is only quicker.
        party.party_mu = party.mu
        party.party_sigma = party.sigma
        party.party_mean = party.mu
        return
    mu = party.size * params.offsets[KNOWN_OFFSET, party.size]
    variance = 0.0
    member = slot
    while member != NONE:
        player = state.players[row, member]
        mu += player.mu
        variance += player.sigma * player.sigma
        member = player.next_member
    party.party_mu = mu
    party.party_sigma = math.sqrt(variance)
    party.party_mean = mu / party.size


@compiled
def geometric(u: float, mean: float) -> float:
    """Return a geometric number >= 1 of this mean from a uniform number; infinity if it is."""
    if mean == math.inf:
        return math.inf
    if mean == 1.0:
        return 1.0
    return max(1.0, math.ceil(math.log(u) / math.log1p(-1.0 / mean)))


@compiled(refcounted=False, inline=True)
def begin_game(state: State, params: Params, table: LobbyTable | None, row: int) -> None:
    """Begin a game of the parties in the open lobby, who leave the queue."""
    clock = state.clock[row]
    party = split_lobby(state, params, table, row)
    if table is None:
        judge_pair(state, params, row, party)
    else:
        judge_game(state, params, row, party)
        name_parties(state, params, row, party)
    game = state.games[row, (clock.oldest + clock.num_games) % state.games.shape[1]]
    game.number = clock.games_begun
    game.end = clock.tick + params.rules[0].game_length
    game.party = party
    while party != NONE:
        leave_queue_for_game(state, params, row, party)
        party = state.players[row, party].next_party
    clock.lobby_parties = 0
    clock.seats_taken = 0
    clock.cursor += 1
    clock.playing += params.rules[0].num_seats
    clock.num_games += 1
    clock.games_begun += 1


@compiled(refcounted=False, inline=True)
def leave_queue_for_game(state: State, params: Params, row: int, slot: int) -> None:
    """Remove a party from the queue for a game, and count the reward of its members."""
    clock = state.clock[row]
    party = state.players[row, slot]
    party.seated = 0
    if party.position >= clock.cursor:
        clock.to_ask -= party.size
    end_visit(state, params, row, slot, party.side)
    clock.matched_players += party.size
    quality = clock.match_quality
    if params.rules[0].by_truth == 1:
        quality = clock.true_match_quality
    for _ in range(party.size):
        clock.reward += quality - params.rules[0].usual_quality


@compiled(refcounted=False, inline=True)
def end_tick(state: State, params: Params, row: int) -> None:
    """Count the tick for waiting players and remove parties who give up."""
    clock = state.clock[row]
    line = state.line[row]
    clock.reward -= params.rules[0].waiting_cost * clock.waiting
    length = clock.length
    clock.length = 0
    for position in range(length):
        slot = line[position]
        if slot == NONE:
            continue
        party = state.players[row, slot]
        if party.leaves <= clock.tick:
            end_visit(state, params, row, slot, NONE)
            clock.abandoned += party.size
            for _ in range(party.size):
                clock.reward -= params.rules[0].abandonment_cost
            log_off(state, row, slot)
        else:
            line[clock.length] = slot
            party.position = clock.length
            clock.length += 1
    clock.tick += 1
    clock.phase = BEFORE_TICK


@compiled(refcounted=False, inline=True)
def end_visit(state: State, params: Params, row: int, slot: int, side: int) -> None:
    """Remove a party from the queue and update the totals.

    Args:
        state: changed.
        params: of the environment.
        row: of the queue.
        slot: of the party.
        side: of the party in the game that begins, or ``NONE`` if it gives up.
    """
    clock = state.clock[row]
    party = state.players[row, slot]
    waited = clock.tick - party.joined
    if side == NONE:
        waited += 1
    clock.waited += waited * party.size
    clock.waiting -= party.size
    state.line[row, party.position] = NONE
    if state.visits.shape[1] == 0:
        return
    last_game = state.last_game[row]
    favourite = 0
    for other in range(1, params.rules[0].num_sides):
        if last_game[other, WIN_PROBABILITY] > last_game[favourite, WIN_PROBABILITY]:
            favourite = other
    member = slot
    while member != NONE:
        player = state.players[row, member]
        visit = state.visits[row, clock.num_visits]
        clock.num_visits += 1
        visit.tick = clock.tick
        visit.player = player.number
        visit.party = party.party
        visit.party_size = party.size
        visit.newcomer = player.newcomer
        visit.games_played = party.played
        visit.waited = waited
        visit.served = side != NONE
        visit.mu = player.mu
        visit.sigma = player.sigma
        visit.true_skill = player.true_skill
        visit.match_quality = clock.match_quality
        visit.true_match_quality = clock.true_match_quality
        visit.win_probability = last_game[side, WIN_PROBABILITY]
        visit.true_win_probability = last_game[side, TRUE_WIN_PROBABILITY]
        visit.favourite = last_game[favourite, WIN_PROBABILITY]
        visit.true_favourite = last_game[favourite, TRUE_WIN_PROBABILITY]
        visit.spread = clock.spread
        visit.true_spread = clock.true_spread
        if side == NONE:
            visit.match_quality = 0.0
            visit.true_match_quality = 0.0
            visit.win_probability = 0.0
            visit.true_win_probability = 0.0
            visit.favourite = 0.0
            visit.true_favourite = 0.0
            visit.spread = 0.0
            visit.true_spread = 0.0
        member = player.next_member


@compiled(refcounted=False, inline=True)
def end_run(state: State, params: Params, table: LobbyTable | None, row: int) -> None:
    """Mark a queue at the horizon as over, with the longest waiting party as the founder."""
    clock = state.clock[row]
    clock.phase = OVER
    clock.to_ask = 0
    clock.focal = NONE
    # A queue that never had a choice allows no game.
    if clock.had_choice == 1 and clock.waiting > 0:
        found_lobby(state, row, state.line[row, 0])
    find_candidates(state, params, table, row)
