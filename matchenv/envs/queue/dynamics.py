"""The compiled steps of B queues from one choice to the next.

In a tick, games that are over end, and each of their players queues again or logs off. Other
players log on. Then there is a choice for each waiting player, the longest waiting first, as long
as two players wait. Players who still wait have waited this tick, and give up if it was the last of
their patience.

Functions change ``state`` in the queue ``row``. A ``slot`` is that of a player.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD
from matchenv.envs.queue.state import BEFORE_CHOICE, BEFORE_TICK, NONE, NUM_SIDES, OVER, State
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import exponential, normal, two_uniforms, uniform
from matchenv.trueskill.game import (
    drawn_outcome,
    drifted,
    match_quality_of,
    performance_variance,
    total_variance,
    update_two,
    win_probability_of,
)

# Streams of random numbers, with their indices.
LOG_ON = 0  # time to the next log-on: the player's number
ORIGIN = 1  # newcomer or regular, and row of the population: the player's number
SKILL = 2  # mean and true skill: 2 x the player's number, and 1 more
PATIENCE = 3  # of a visit: ``joint_index`` of the player's number and games played
STAY = 4  # after a game: the same
OUTCOME = 5  # of a game: its number
DRIFT = 6  # of a player in a game: ``joint_index`` of the game's number and the side

# Later than any tick.
NEVER = 2**62

# An action that only advances a queue that is before a tick.
NO_ACTION = -1


class Params(NamedTuple):
    """The numbers in ``QueueSettings`` that compiled functions use, and some more.

    Attributes:
        abandonment_cost: of a player who gives up, with the usual quality of the games that the
            player would still have played.
        population: ``Population.rows``, shape (K, 3).
        mean: mean of a newcomer's belief.
        deviation: standard deviation of a newcomer's belief.
        by_truth: whether the reward is the true match quality.
        usual_quality: match quality subtracted for each player of a game.
    """

    arrival_rate: float
    newcomers: float
    patience: float
    game_length: int
    stay: float
    waiting_cost: float
    abandonment_cost: float
    horizon: int
    beta: float
    draw_margin: float
    tau: float
    population: Floats
    mean: float
    deviation: float
    by_truth: bool
    usual_quality: float


@compiled(refcounted=False)
def log_on_at_reset(
    state: State, params: Params, rows: Integers, mu: Floats, sigma: Floats, true_skill: Floats
) -> None:
    """Log on the players of a reset's options in empty queues; requires enough free slots.

    Args:
        state: changed.
        params: of the environment.
        rows: the queues, shape (K,).
        mu: means, shape (B, n), the longest waiting player first.
        sigma: standard deviations, shape (B, n).
        true_skill: shape (B, n); NaN to draw it from the belief.
    """
    for row in rows:
        clock = state.clock[row]
        for number in range(mu.shape[1]):
            skill = true_skill[row, number]
            if math.isnan(skill):
                z = normal(clock.key, SKILL, 2 * number)
                skill = mu[row, number] + sigma[row, number] * z
            log_on(state, params, row, mu[row, number], sigma[row, number], skill, 0)
        clock.next_log_on = time_to_log_on(state, params, row)


@compiled(refcounted=False)
def step_all(state: State, params: Params, actions: Integers, running: Masks) -> bool:
    """Carry out one choice in every running queue and advance to the next.

    Args:
        state: changed.
        params: of the environment.
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
            carry_out(state, params, row, action)
        if not advance(state, params, row):
            needs_room = True
    return needs_room


@compiled(refcounted=False, inline=True)
def carry_out(state: State, params: Params, row: int, action: int) -> None:
    """Carry out the choice for the focal player: 0 to wait, k to play the k-th candidate."""
    clock = state.clock[row]
    clock.match_quality = 0.0
    clock.true_match_quality = 0.0
    clock.cursor += 1
    clock.to_ask -= 1
    if action > 0:
        candidate = state.shown[row, action]
        if state.players[row, candidate].position >= clock.cursor:
            clock.to_ask -= 1
        begin_game(state, params, row, clock.focal, candidate)


@compiled(refcounted=False, inline=True)
def advance(state: State, params: Params, row: int) -> bool:
    """Advance to the next choice or the horizon.

    Returns:
        False if the queue stopped earlier because its arrays are too small.
    """
    clock = state.clock[row]
    while True:
        if clock.phase == BEFORE_TICK and not begin_tick(state, params, row):
            return False
        while clock.cursor < clock.length and state.line[row, clock.cursor] == NONE:
            clock.cursor += 1
        if clock.cursor < clock.length and clock.waiting > 1:
            clock.focal = state.line[row, clock.cursor]
            break
        end_tick(state, params, row)
        if clock.tick >= params.horizon:
            end_run(state, row)
            break
    observe_queue(state, params, row)
    return True


@compiled(refcounted=False, inline=True)
def begin_tick(state: State, params: Params, row: int) -> bool:
    """End games and log on players; return False if the arrays are too small.

    It can be called again in a state with more room.
    """
    clock = state.clock[row]
    # All players can leave the queue in this tick, each with a record of the visit.
    if 0 < state.visits.shape[1] < clock.num_visits + state.line.shape[1]:
        return False
    end_games(state, params, row)
    if not log_on_players(state, params, row):
        return False
    clock.cursor = 0
    clock.to_ask = clock.waiting
    clock.phase = BEFORE_CHOICE
    return True


@compiled(refcounted=False, inline=True)
def end_games(state: State, params: Params, row: int) -> None:
    """End games that are over: update the beliefs; the players queue again or log off."""
    clock = state.clock[row]
    while clock.playing > 0 and state.games[row, clock.oldest].end <= clock.tick:
        seats = state.seats[row, clock.oldest]
        decide_game(state, params, row, state.games[row, clock.oldest].number, seats)
        clock.oldest = (clock.oldest + 1) % state.games.shape[1]
        clock.playing -= NUM_SIDES
        for side in range(NUM_SIDES):
            leave_game(state, params, row, seats[side])


@compiled(refcounted=False, inline=True)
def decide_game(state: State, params: Params, row: int, number: int, seats: Integers) -> None:
    """Draw the outcome of a game under the true skills, and update both beliefs."""
    one = state.players[row, seats[0]]
    two = state.players[row, seats[1]]
    u = uniform(state.clock[row].key, OUTCOME, number)
    if number < state.luck.shape[1] and not math.isnan(state.luck[row, number]):
        u = state.luck[row, number]
    gap = one.true_skill - two.true_skill
    variance = performance_variance(params.beta)
    win = win_probability_of(gap, variance, params.draw_margin)
    outcome = drawn_outcome(u, win, gap, variance, params.draw_margin)
    one.mu, one.sigma, two.mu, two.sigma = update_two(
        one.mu,
        drifted(one.sigma, params.tau),
        two.mu,
        drifted(two.sigma, params.tau),
        outcome,
        params.beta,
        params.draw_margin,
    )


@compiled(refcounted=False, inline=True)
def leave_game(state: State, params: Params, row: int, slot: int) -> None:
    """Let a player whose game is over queue again or log off."""
    player = state.players[row, slot]
    u = uniform(state.clock[row].key, STAY, joint_index(player.number, player.played))
    player.played += 1
    if u <= params.stay:
        join(state, params, row, slot)
    else:
        log_off(state, row, slot)


@compiled(refcounted=False, inline=True)
def log_on_players(state: State, params: Params, row: int) -> bool:
    """Log on the players of this tick; return False if there are too few free slots."""
    clock = state.clock[row]
    num_groups = params.population.shape[0]
    while clock.next_log_on < clock.tick + 1:
        if clock.num_free == 0:
            return False
        number = clock.logged_on
        u, v = two_uniforms(clock.key, ORIGIN, number)
        group = params.population[min(num_groups - 1, int(v * num_groups))]
        mu = group[CENTRE] + group[SPREAD] * normal(clock.key, SKILL, 2 * number)
        skill = mu + group[DEVIATION] * normal(clock.key, SKILL, 2 * number + 1)
        if u <= params.newcomers:
            log_on(state, params, row, params.mean, params.deviation, skill, 1)
        else:
            log_on(state, params, row, mu, group[DEVIATION], skill, 0)
        clock.next_log_on += time_to_log_on(state, params, row)
    return True


@compiled(refcounted=False, inline=True)
def log_on(
    state: State, params: Params, row: int, mu: float, sigma: float, skill: float, newcomer: int
) -> None:
    """Log on a player with this belief and true skill, who joins the queue."""
    clock = state.clock[row]
    clock.num_free -= 1
    slot = state.free_players[row, clock.num_free]
    player = state.players[row, slot]
    player.number = clock.logged_on
    player.played = 0
    player.newcomer = newcomer
    player.mu = mu
    player.sigma = sigma
    player.true_skill = skill
    clock.logged_on += 1
    join(state, params, row, slot)


@compiled(refcounted=False, inline=True)
def time_to_log_on(state: State, params: Params, row: int) -> float:
    """Return the ticks from the last log-on to the next."""
    if params.arrival_rate == 0.0:
        return math.inf
    clock = state.clock[row]
    return exponential(clock.key, LOG_ON, clock.logged_on) / params.arrival_rate


@compiled(refcounted=False, inline=True)
def log_off(state: State, row: int, slot: int) -> None:
    """Remove a player from the service."""
    clock = state.clock[row]
    state.free_players[row, clock.num_free] = slot
    clock.num_free += 1


@compiled(refcounted=False, inline=True)
def join(state: State, params: Params, row: int, slot: int) -> None:
    """Add a player to the end of the line."""
    clock = state.clock[row]
    player = state.players[row, slot]
    u = uniform(clock.key, PATIENCE, joint_index(player.number, player.played))
    ticks = geometric(u, params.patience)
    player.joined = clock.tick
    player.leaves = NEVER
    if ticks < NEVER:
        player.leaves = clock.tick + int(ticks) - 1
    player.position = clock.length
    state.line[row, clock.length] = slot
    clock.length += 1
    clock.waiting += 1
    clock.queued += 1


@compiled
def geometric(u: float, mean: float) -> float:
    """Return a geometric number >= 1 of this mean from a uniform number; infinity if it is."""
    if mean == math.inf:
        return math.inf
    if mean == 1.0:
        return 1.0
    return max(1.0, math.ceil(math.log(u) / math.log1p(-1.0 / mean)))


@compiled(inline=True)
def joint_index(number: int, count: int) -> int:
    """Return an index of random numbers for two numbers, the second below 2^32."""
    return 2**32 * number + count


@compiled(refcounted=False, inline=True)
def begin_game(state: State, params: Params, row: int, first: int, second: int) -> None:
    """Begin a game of the players in two slots, who leave the queue."""
    clock = state.clock[row]
    judge_game(state, params, row, first, second)
    quality = clock.true_match_quality if params.by_truth else clock.match_quality
    most_games = state.games.shape[1]
    column = (clock.oldest + clock.playing // NUM_SIDES) % most_games
    game = state.games[row, column]
    game.number = clock.games_begun
    game.end = clock.tick + params.game_length
    seats = state.seats[row, column]
    seats[0] = first
    seats[1] = second
    for side in range(NUM_SIDES):
        end_visit(state, row, seats[side], True)
        clock.matched_players += 1
        clock.reward += quality - params.usual_quality
    clock.playing += NUM_SIDES
    clock.games_begun += 1


@compiled(refcounted=False, inline=True)
def judge_game(state: State, params: Params, row: int, first: int, second: int) -> None:
    """Write the match qualities of the next game, and let the true skills of its players drift."""
    clock = state.clock[row]
    one = state.players[row, first]
    two = state.players[row, second]
    variance = total_variance(one.sigma, two.sigma, params.beta)
    clock.match_quality = match_quality_of(one.mu - two.mu, variance, params.beta)
    if params.tau > 0.0:
        number = clock.games_begun
        one.true_skill += params.tau * normal(clock.key, DRIFT, joint_index(number, 0))
        two.true_skill += params.tau * normal(clock.key, DRIFT, joint_index(number, 1))
    gap = one.true_skill - two.true_skill
    true_variance = performance_variance(params.beta)
    clock.true_match_quality = match_quality_of(gap, true_variance, params.beta)


@compiled(refcounted=False, inline=True)
def end_tick(state: State, params: Params, row: int) -> None:
    """Count the tick for waiting players and remove those who give up."""
    clock = state.clock[row]
    line = state.line[row]
    clock.reward -= params.waiting_cost * clock.waiting
    length = clock.length
    clock.length = 0
    for position in range(length):
        slot = line[position]
        if slot == NONE:
            continue
        player = state.players[row, slot]
        if player.leaves <= clock.tick:
            end_visit(state, row, slot, False)
            clock.abandoned += 1
            clock.reward -= params.abandonment_cost
            log_off(state, row, slot)
        else:
            line[clock.length] = slot
            player.position = clock.length
            clock.length += 1
    clock.tick += 1
    clock.phase = BEFORE_TICK


@compiled(refcounted=False, inline=True)
def end_visit(state: State, row: int, slot: int, served: bool) -> None:
    """Remove a player from the queue, with or without a game, and update the totals."""
    clock = state.clock[row]
    player = state.players[row, slot]
    waited = clock.tick - player.joined
    if not served:
        waited += 1
    clock.waited += waited
    clock.waiting -= 1
    state.line[row, player.position] = NONE
    if state.visits.shape[1] == 0:
        return
    visit = state.visits[row, clock.num_visits]
    clock.num_visits += 1
    visit.tick = clock.tick
    visit.player = player.number
    visit.newcomer = player.newcomer
    visit.games_played = player.played
    visit.waited = waited
    visit.served = served
    visit.mu = player.mu
    visit.sigma = player.sigma
    visit.true_skill = player.true_skill
    visit.match_quality = clock.match_quality if served else 0.0
    visit.true_match_quality = clock.true_match_quality if served else 0.0


@compiled(refcounted=False, inline=True)
def end_run(state: State, row: int) -> None:
    """Mark a queue at the horizon as over, with the longest waiting player as the focal player."""
    clock = state.clock[row]
    clock.phase = OVER
    clock.to_ask = 0
    # A queue that never had a choice allows no game.
    had_choice = clock.focal != NONE
    clock.focal = NONE
    if had_choice and clock.waiting > 0:
        clock.focal = state.line[row, 0]


@compiled(refcounted=False, inline=True)
def observe_queue(state: State, params: Params, row: int) -> None:
    """Write the candidates, the mask and the observation; see ``MatchmakingQueueEnv``."""
    clock = state.clock[row]
    mask = state.mask[row]
    observation = state.observation[row]
    capacity = mask.size
    num_allowed = find_candidates(state, row)
    for k in range(capacity):
        mask[k] = k < num_allowed
        slot = state.shown[row, k]
        if slot == NONE:
            for section in range(4):
                observation[section * capacity + k] = 0.0
            continue
        player = state.players[row, slot]
        waited = clock.tick - player.joined
        observation[k] = player.mu
        observation[capacity + k] = player.sigma
        observation[2 * capacity + k] = waited / (waited + params.game_length)
        observation[3 * capacity + k] = 1.0
    observation[4 * capacity] = clock.waiting / (clock.waiting + capacity)
    observation[4 * capacity + 1] = clock.to_ask / (clock.to_ask + capacity)
    observation[4 * capacity + 2] = clock.playing / (clock.playing + capacity)


@compiled(refcounted=False, inline=True)
def find_candidates(state: State, row: int) -> int:
    """Write the slots of the focal player and the candidates; return the number of allowed actions.

    A stable insertion sort orders candidates by the gap of means, and equal gaps by joining.
    """
    clock = state.clock[row]
    players = state.players[row]
    line = state.line[row]
    shown = state.shown[row]
    capacity = shown.size
    focal = clock.focal
    shown[0] = focal
    count = 1
    if focal != NONE:
        mean = players[focal].mu
        for position in range(clock.length):
            slot = line[position]
            if slot in (NONE, focal):
                continue
            gap = abs(players[slot].mu - mean)
            if count < capacity:
                k = count
                count += 1
            elif gap < abs(players[shown[capacity - 1]].mu - mean):
                k = capacity - 1
            else:
                continue
            while k > 1 and gap < abs(players[shown[k - 1]].mu - mean):
                shown[k] = shown[k - 1]
                k -= 1
            shown[k] = slot
    for k in range(count, capacity):
        shown[k] = NONE
    return count
