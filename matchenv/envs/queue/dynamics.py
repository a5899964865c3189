"""The compiled steps of a queue, from one choice to the next.

A tick goes as follows. Games that are over end, and each of their players queues again or logs off.
Others log on. Everyone who waits is asked about once, the longest waiting first, as long as two
wait. A player who still waits then has waited this tick, and gives up if it was the last of the
patience.

Arguments of all functions: ``state``, changed at ``row``; ``params``, of the environment; ``row``,
the queue; ``place``, of a player.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD
from matchenv.envs.queue.state import ASK, BEGIN, NONE, OVER, Params, State
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import exponential, normal, two_uniforms, uniform
from matchenv.trueskill.game import (
    draw_probability_of,
    drifted,
    match_quality_of,
    total_variance,
    update_two,
    win_probability_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]

# Streams of random numbers. The index is the number of the player who logs on for the first three,
# SECOND x player + visit for the next two, and the number of the game, or SECOND x game +
# participant, for the last two.
LOG_ON, KIND, SKILL, PATIENCE, STAY, OUTCOME, DRIFT = range(7)
SECOND = 2**32

# Later than any tick.
NEVER = 2**62


@compiled
def geometric(u: float, mean: float) -> float:
    """Return a geometric number of this mean, from 1 on, or infinity, for a uniform number."""
    if mean == math.inf:
        return math.inf
    if mean == 1.0:
        return 1.0
    return max(1.0, math.ceil(math.log(u) / math.log1p(-1.0 / mean)))


@compiled(refcounted=False, inline=True)
def join(state: State, params: Params, row: int, place: int) -> None:
    """Let a player join the queue, as the last."""
    queue, player = state.queue[row], state.players[row, place]
    u = uniform(queue.key, PATIENCE, SECOND * player.number + player.games)
    ticks = geometric(u, params.patience)
    player.joined = queue.tick
    player.leaves = queue.tick + int(ticks) - 1 if ticks < NEVER else NEVER
    player.entry = queue.length
    state.line[row, queue.length] = place
    queue.length += 1
    queue.waiting += 1
    queue.queued += 1


@compiled(refcounted=False, inline=True)
def leave(state: State, row: int, place: int) -> None:
    """Let a player leave the queue."""
    state.line[row, state.players[row, place].entry] = NONE
    state.queue[row].waiting -= 1


@compiled(refcounted=False, inline=True)
def log_off(state: State, row: int, place: int) -> None:
    """Let a player leave the service."""
    queue = state.queue[row]
    state.free[row, queue.free] = place
    queue.free += 1


@compiled(refcounted=False, inline=True)
def next_log_on(state: State, params: Params, row: int) -> float:
    """Return the ticks until the next player logs on, from the last one on."""
    if params.arrival_rate == 0.0:
        return math.inf
    queue = state.queue[row]
    return exponential(queue.key, LOG_ON, queue.logged_on) / params.arrival_rate


@compiled(refcounted=False, inline=True)
def log_on(
    state: State, params: Params, row: int, mu: float, sigma: float, skill: float, newcomer: int
) -> None:
    """Let a player of this belief and true skill log on and join the queue; there must be room."""
    queue = state.queue[row]
    queue.free -= 1
    place = state.free[row, queue.free]
    player = state.players[row, place]
    player.mu, player.sigma, player.true_skill = mu, sigma, skill
    player.number, player.games, player.newcomer = queue.logged_on, 0, newcomer
    queue.logged_on += 1
    join(state, params, row, place)


@compiled(refcounted=False, inline=True)
def log_on_all(state: State, params: Params, row: int) -> bool:
    """Let all players log on who do so in this tick; return False where room is missing."""
    queue = state.queue[row]
    while queue.next_log_on < queue.tick + 1:
        if queue.free == 0:
            return False
        number, count = queue.logged_on, params.population.shape[0]
        u, v = two_uniforms(queue.key, KIND, number)
        group = params.population[min(count - 1, int(v * count))]
        mu = group[CENTRE] + group[SPREAD] * normal(queue.key, SKILL, 2 * number)
        skill = mu + group[DEVIATION] * normal(queue.key, SKILL, 2 * number + 1)
        if u <= params.newcomers:
            log_on(state, params, row, params.mean, params.deviation, skill, 1)
        else:
            log_on(state, params, row, mu, group[DEVIATION], skill, 0)
        queue.next_log_on += next_log_on(state, params, row)
    return True


@compiled(refcounted=False, inline=True)
def outcome_of_game(state: State, params: Params, row: int, game: int, gap: float) -> int:
    """Return who wins a game, +1, 0 or -1 as seen by the first side.

    ``game`` is its number, ``gap`` the true skill of the first side minus that of the second.
    """
    u = math.nan
    if game < state.luck.shape[1]:
        u = state.luck[row, game]
    if math.isnan(u):
        u = uniform(state.queue[row].key, OUTCOME, game)
    variance = total_variance(0.0, 0.0, params.beta)
    win = win_probability_of(gap, variance, params.draw_margin)
    if u < win:
        return 1
    return 0 if u < win + draw_probability_of(gap, variance, params.draw_margin) else -1


@compiled(refcounted=False, inline=True)
def end_games(state: State, params: Params, row: int) -> None:
    """Let games end that are over: both beliefs change, and players queue again or log off."""
    queue, room = state.queue[row], state.ring.shape[1]
    while queue.playing > 0:
        first = state.ring[row, queue.first]
        if first.end > queue.tick:
            return
        i, j = first.place, state.ring[row, (queue.first + 1) % room].place
        one, two = state.players[row, i], state.players[row, j]
        gap = one.true_skill - two.true_skill
        outcome = outcome_of_game(state, params, row, first.game, gap)
        one.mu, one.sigma, two.mu, two.sigma = update_two(
            one.mu,
            drifted(one.sigma, params.tau),
            two.mu,
            drifted(two.sigma, params.tau),
            outcome,
            params.beta,
            params.draw_margin,
        )
        queue.first = (queue.first + 2) % room
        queue.playing -= 2
        come_back(state, params, row, i)
        come_back(state, params, row, j)


@compiled(refcounted=False, inline=True)
def come_back(state: State, params: Params, row: int, place: int) -> None:
    """Let a player whose game is over queue again or log off."""
    player = state.players[row, place]
    u = uniform(state.queue[row].key, STAY, SECOND * player.number + player.games)
    player.games += 1
    if u <= params.stay:
        join(state, params, row, place)
    else:
        log_off(state, row, place)


@compiled(refcounted=False, inline=True)
def begin_game(state: State, params: Params, row: int, i: int, j: int) -> None:
    """Let the players of two places leave the queue for a game with each other."""
    queue, beta = state.queue[row], params.beta
    one, two = state.players[row, i], state.players[row, j]
    variance = total_variance(one.sigma, two.sigma, beta)
    queue.match_quality = match_quality_of(one.mu - two.mu, variance, beta)
    if params.tau > 0.0:
        one.true_skill += params.tau * normal(queue.key, DRIFT, SECOND * queue.games)
        two.true_skill += params.tau * normal(queue.key, DRIFT, SECOND * queue.games + 1)
    gap = one.true_skill - two.true_skill
    queue.true_match_quality = match_quality_of(gap, total_variance(0.0, 0.0, beta), beta)
    quality = queue.true_match_quality if params.by_truth else queue.match_quality
    for side in range(2):
        place = i if side == 0 else j
        end_visit(state, row, place, True)
        room = state.ring.shape[1]
        participant = state.ring[row, (queue.first + queue.playing) % room]
        participant.place, participant.side = place, side
        participant.game, participant.end = queue.games, queue.tick + params.game_length
        queue.playing += 1
        queue.matched += 1
        queue.reward += quality - params.usual
    queue.games += 1


@compiled(refcounted=False, inline=True)
def end_visit(state: State, row: int, place: int, served: bool) -> None:
    """Let a player leave the queue for a game, or else without one, and count it."""
    queue, player = state.queue[row], state.players[row, place]
    waited = queue.tick - player.joined + (0 if served else 1)
    queue.waited += waited
    leave(state, row, place)
    if state.visits.shape[1] > 0:
        visit = state.visits[row, queue.visits]
        queue.visits += 1
        visit.tick, visit.player, visit.newcomer = queue.tick, player.number, player.newcomer
        visit.games_played, visit.waited, visit.served = player.games, waited, served
        visit.mu, visit.sigma, visit.true_skill = player.mu, player.sigma, player.true_skill
        visit.match_quality = queue.match_quality if served else 0.0
        visit.true_match_quality = queue.true_match_quality if served else 0.0


@compiled(refcounted=False, inline=True)
def has_room_for_visits(state: State, row: int) -> bool:
    """Return whether every player of a queue can leave it in this tick and be written down."""
    size = state.visits.shape[1]
    return size == 0 or state.queue[row].visits + state.line.shape[1] <= size


@compiled(refcounted=False, inline=True)
def end_tick(state: State, params: Params, row: int) -> None:
    """Count the tick for those who still wait; whose patience is over gives up."""
    queue, line = state.queue[row], state.line[row]
    queue.reward -= params.waiting_cost * queue.waiting
    length, queue.length = queue.length, 0
    for entry in range(length):
        place = line[entry]
        if place == NONE:
            continue
        player = state.players[row, place]
        if player.leaves <= queue.tick:
            end_visit(state, row, place, False)
            queue.abandoned += 1
            queue.reward -= params.abandonment_cost
            log_off(state, row, place)
        else:
            line[queue.length] = place
            player.entry = queue.length
            queue.length += 1
    queue.tick += 1
    queue.phase = BEGIN


@compiled(refcounted=False, inline=True)
def find_candidates(state: State, row: int) -> None:
    """Write the candidates nearest to the focal player's mean, and the mask.

    They are in the order of the gap of means, and of joining where gaps are equal: those who wait
    are inserted one after another, in the order of joining.
    """
    shown, players, line = state.shown[row], state.players[row], state.line[row]
    queue = state.queue[row]
    shown[0] = queue.focal
    found = 1
    if queue.focal != NONE:
        mean = players[queue.focal].mu
        for entry in range(queue.length):
            place = line[entry]
            if place == NONE or place == queue.focal:
                continue
            gap = abs(players[place].mu - mean)
            k = min(found, shown.size - 1)
            if k < found and gap >= abs(players[shown[k]].mu - mean):
                continue
            found = max(found, k + 1)
            while k > 1 and gap < abs(players[shown[k - 1]].mu - mean):
                shown[k] = shown[k - 1]
                k -= 1
            shown[k] = place
    for k in range(shown.size):
        state.mask[row, k] = k < found
        if k >= found:
            shown[k] = NONE


@compiled(refcounted=False, inline=True)
def observe(state: State, params: Params, row: int) -> None:
    """Write the observation of a queue; ``MatchmakingQueueEnv`` describes it."""
    seen, queue, capacity = state.observation[row], state.queue[row], state.shown.shape[1]
    for k in range(capacity):
        place = state.shown[row, k]
        if place == NONE:
            for number in range(4):
                seen[number * capacity + k] = 0.0
            continue
        player = state.players[row, place]
        waited = queue.tick - player.joined
        seen[k] = player.mu
        seen[capacity + k] = player.sigma
        seen[2 * capacity + k] = waited / (waited + params.game_length)
        seen[3 * capacity + k] = 1.0
    seen[4 * capacity] = queue.waiting / (queue.waiting + capacity)
    seen[4 * capacity + 1] = queue.to_ask / (queue.to_ask + capacity)
    seen[4 * capacity + 2] = queue.playing / (queue.playing + capacity)


@compiled(refcounted=False)
def advance(state: State, params: Params, row: int) -> bool:
    """Go on until someone is asked about or the horizon is reached.

    Returns:
        Whether the queue stopped before that, because its arrays have to grow.
    """
    queue = state.queue[row]
    while True:
        if queue.phase == BEGIN:
            if not has_room_for_visits(state, row):
                return True
            end_games(state, params, row)
            if not log_on_all(state, params, row):
                return True
            queue.cursor, queue.to_ask = 0, queue.waiting
            queue.phase = ASK
        while queue.cursor < queue.length and state.line[row, queue.cursor] == NONE:
            queue.cursor += 1
        if queue.cursor < queue.length and queue.waiting > 1:
            queue.focal = state.line[row, queue.cursor]
            break
        end_tick(state, params, row)
        if queue.tick >= params.horizon:
            queue.phase, queue.to_ask = OVER, 0
            queue.focal = state.line[row, 0] if queue.waiting > 0 else NONE
            break
    find_candidates(state, row)
    observe(state, params, row)
    return False


@compiled(refcounted=False)
def step_all(state: State, params: Params, actions: Integers, running: Masks) -> bool:
    """Carry out one choice in every running queue, and go on to the next.

    Args:
        state: changed.
        params: of the environment.
        actions: shape (B,), allowed by the masks.
        running: shape (B,).

    Returns:
        Whether some queue needs larger arrays, and then ``advance_all``.
    """
    stuck = False
    for row in range(actions.size):
        if not running[row]:
            continue
        queue = state.queue[row]
        queue.match_quality = queue.true_match_quality = 0.0
        if queue.phase != ASK:
            continue
        queue.cursor += 1
        queue.to_ask -= 1
        if actions[row] > 0:
            partner = state.shown[row, actions[row]]
            if state.players[row, partner].entry >= queue.cursor:
                queue.to_ask -= 1
            begin_game(state, params, row, queue.focal, partner)
        stuck |= advance(state, params, row)
    return stuck


@compiled(refcounted=False)
def advance_all(state: State, params: Params, rows: Integers) -> bool:
    """Go on in the queues of ``rows`` that stopped; return whether one did again."""
    stuck = False
    for row in rows:
        if state.queue[row].phase == BEGIN:
            stuck |= advance(state, params, row)
    return stuck


@compiled(refcounted=False)
def begin_all(
    state: State,
    params: Params,
    rows: Integers,
    keys: NDArray[np.uint64],
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
) -> None:
    """Empty queues at tick 0, joined by the players whom the user fixed.

    Args:
        state: changed; there must be room.
        params: of the environment.
        rows: the queues, shape (K,).
        keys: of their random numbers, shape (K,).
        mu: means, shape (B, n), the longest waiting first.
        sigma: their standard deviations.
        true_skill: NaN to draw it from the belief.
    """
    room = state.line.shape[1]
    for k in range(rows.size):
        row = rows[k]
        queue = state.queue[row]
        queue.key, queue.phase, queue.focal = keys[k], BEGIN, NONE
        queue.tick = queue.queued = queue.matched = queue.abandoned = queue.waited = 0
        queue.logged_on = queue.games = queue.waiting = queue.playing = queue.to_ask = 0
        queue.length = queue.cursor = queue.first = 0
        queue.reward = queue.match_quality = queue.true_match_quality = 0.0
        for entry in range(room):
            state.free[row, entry] = room - 1 - entry
        queue.free = room
        for number in range(mu.shape[1]):
            skill = true_skill[row, number]
            if math.isnan(skill):
                z = normal(queue.key, SKILL, 2 * number)
                skill = mu[row, number] + sigma[row, number] * z
            log_on(state, params, row, mu[row, number], sigma[row, number], skill, 0)
        queue.next_log_on = next_log_on(state, params, row)


@compiled(refcounted=False)
def close_all(state: State, params: Params, rows: Integers) -> None:
    """Allow no game in queues that reached the horizon before anyone was asked about."""
    for row in rows:
        if state.queue[row].phase == OVER:
            state.queue[row].focal = NONE
            find_candidates(state, row)
            observe(state, params, row)


@compiled
def shown_players(state: State) -> tuple[Floats, Floats, Floats, Integers]:
    """Return what ``QueueView`` shows.

    Returns:
        mu and sigma, shape (B, C), where no player is 0 and 1; waited, shape (B,); player.
    """
    shape = state.shown.shape
    mu, sigma = np.zeros(shape), np.ones(shape)
    waited, player = np.zeros(shape[0]), np.full(shape, NONE)
    for row in range(shape[0]):
        for k in range(shape[1]):
            place = state.shown[row, k]
            if place == NONE:
                break
            shown = state.players[row, place]
            mu[row, k], sigma[row, k], player[row, k] = shown.mu, shown.sigma, shown.number
            if k == 0:
                waited[row] = state.queue[row].tick - shown.joined
    return mu, sigma, waited, player
