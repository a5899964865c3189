"""B queues as structured arrays, and the compiled steps from one choice to the next.

In a tick, games that are over end, and each of their players queues again or logs off. Other
players log on. Then there is a choice for each waiting player, the longest waiting first, as long
as two players wait. Players who still wait have waited this tick, and give up if it was the last of
their patience.

Each player has a place, a column of ``State.players``. Places of waiting players are in the line,
places of playing ones in the ring, and all others are free.

Functions change ``state`` at the queue ``row``; ``place`` is the place of a player.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import CENTRE, DEVIATION, SPREAD, QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Masks
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

# Structured arrays; the fields are listed at QUEUE, PLAYER, PARTICIPANT and VISIT.
Records = NDArray[Any]

# An empty entry in a list of places.
NONE = -1

# Phases of a queue: before a tick, before a choice, after the horizon.
BEGIN, ASK, OVER = range(3)

# Initial number of places, which doubles when needed.
FIRST_ROOM = 64


def _records(integers: str, reals: str = "", **others: type) -> np.dtype[np.void]:
    fields: list[tuple[str, type]] = [(name, np.int64) for name in integers.split()]
    fields += [(name, np.float64) for name in reals.split()]
    return np.dtype([*fields, *others.items()], align=True)


# A queue. Totals since the reset: queued, matched_players, abandoned, waited (ticks of all players
# who left the queue), logged_on, games. Current numbers of players: waiting, playing. phase: BEGIN,
# ASK or OVER. focal: place of the focal player. to_ask: players without a choice yet in this tick.
# free, length, visits: numbers of entries in State.free, State.line, State.visits. cursor: entry of
# the line with the next choice. first: entry of the ring with the oldest game. next_log_on: time of
# the next log-on. reward: since the last choice. Qualities: of the game that the last choice began.
QUEUE = _records(
    "tick queued matched_players abandoned waited logged_on games waiting playing "
    "phase focal to_ask free length visits cursor first",
    "next_log_on reward match_quality true_match_quality",
    key=np.uint64,
)
# A player: number in order of logging on, tick of joining the queue, last tick of patience, entry
# of the line, games played, 1 for a newcomer; belief and true skill.
PLAYER = _records("number joined leaves entry games newcomer", "mu sigma true_skill")
# A player in a current game: place, side, number of the game, tick of its end. Both participants
# of a game are consecutive.
PARTICIPANT = _records("place side game end")
# A visit to the queue that has ended; see ``QueueSimulator.taken_visits``.
VISIT = _records(
    "tick player newcomer games_played waited served",
    "mu sigma true_skill match_quality true_match_quality",
)


class Params(NamedTuple):
    """The numbers in ``QueueSettings`` that compiled functions use, and some more.

    Attributes:
        population: ``Population.rows``, shape (K, 3).
        mean: mean of a newcomer's belief.
        deviation: standard deviation of a newcomer's belief.
        by_truth: whether the reward is the true match quality.
        usual: match quality subtracted for each player of a game.
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
    usual: float = 0.0


class State(NamedTuple):
    """B queues with C actions and room for P players and V visits.

    Attributes:
        queue: QUEUE records, shape (B,).
        players: PLAYER records, shape (B, P).
        line: places of waiting players in order of joining, shape (B, P); NONE for a player who
            left in this tick.
        free: free places, shape (B, P).
        ring: PARTICIPANT records in the order in which games began, shape (B, P); circular.
        shown: places of the focal player and the candidates, shape (B, C), else NONE.
        mask: allowed actions, shape (B, C).
        observation: shape (B, 4 C + 3), float32.
        luck: uniform numbers of the first N games, shape (B, N); NaN if not fixed.
        visits: VISIT records, shape (B, V); V is 0 if visits are not recorded.
    """

    queue: Records
    players: Records
    line: Integers
    free: Integers
    ring: Records
    shown: Integers
    mask: Masks
    observation: NDArray[np.float32]
    luck: Floats
    visits: Records

    @property
    def room(self) -> int:
        """P, the number of places in each queue."""
        return self.line.shape[1]


def empty_state(
    settings: QueueSettings, count: int, room: int = FIRST_ROOM, luck: int = 0, visits: int = 0
) -> State:
    """Return ``count`` queues that have not begun, with sizes P, N and V of ``State``."""
    capacity = settings.capacity
    return State(
        queue=np.zeros(count, QUEUE),
        players=np.zeros((count, room), PLAYER),
        line=np.full((count, room), NONE),
        free=np.full((count, room), NONE),
        ring=np.zeros((count, room), PARTICIPANT),
        shown=np.full((count, capacity), NONE),
        mask=np.zeros((count, capacity), dtype=np.bool_),
        observation=np.zeros((count, settings.observation_size), dtype=np.float32),
        luck=np.full((count, luck), np.nan),
        visits=np.zeros((count, visits), VISIT),
    )


def grown(state: State) -> State:
    """Return the same queues with twice the room for players and visits."""
    queue, room, rows = state.queue.copy(), state.room, np.arange(len(state.queue))[:, np.newaxis]
    wide = {
        name: np.concatenate((array, np.zeros_like(array)), axis=1)
        for name, array in state._asdict().items()
        if name in ("players", "line", "free", "ring", "visits")
    }
    # The copy of the ring begins with the oldest game.
    old = np.arange(room)
    wide["ring"][:, :room] = state.ring[rows, (queue["first"][:, np.newaxis] + old) % room]
    wide["free"][rows, queue["free"][:, np.newaxis] + old] = room + old
    queue["first"] = 0
    queue["free"] += room
    return state._replace(queue=queue, **wide)


# Streams of random numbers and their indices: the player's number for LOG_ON and KIND, 2 x player
# for SKILL, SECOND x player + visit for PATIENCE and STAY, the game's number for OUTCOME, and
# SECOND x game + participant for DRIFT.
LOG_ON, KIND, SKILL, PATIENCE, STAY, OUTCOME, DRIFT = range(7)
SECOND = 2**32

# Later than any tick.
NEVER = 2**62


@compiled
def geometric(u: float, mean: float) -> float:
    """Return a geometric number >= 1 of this mean from a uniform number; infinity if it is."""
    if mean == math.inf:
        return math.inf
    if mean == 1.0:
        return 1.0
    return max(1.0, math.ceil(math.log(u) / math.log1p(-1.0 / mean)))


@compiled(refcounted=False, inline=True)
def join(state: State, params: Params, row: int, place: int) -> None:
    """Add a player to the end of the queue."""
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
def log_off(state: State, row: int, place: int) -> None:
    """Remove a player from the service."""
    queue = state.queue[row]
    state.free[row, queue.free] = place
    queue.free += 1


@compiled(refcounted=False, inline=True)
def next_log_on(state: State, params: Params, row: int) -> float:
    """Return the ticks from the last log-on to the next."""
    if params.arrival_rate == 0.0:
        return math.inf
    queue = state.queue[row]
    return exponential(queue.key, LOG_ON, queue.logged_on) / params.arrival_rate


@compiled(refcounted=False, inline=True)
def log_on(
    state: State, params: Params, row: int, mu: float, sigma: float, skill: float, newcomer: int
) -> None:
    """Log on a player with this belief and true skill, who joins the queue; requires a place."""
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
    """Log on the players of this tick; return False if there are too few places."""
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
def end_games(state: State, params: Params, row: int) -> None:
    """End games that are over: update the beliefs; the players queue again or log off."""
    queue, room = state.queue[row], state.ring.shape[1]
    variance = total_variance(0.0, 0.0, params.beta)
    while queue.playing > 0:
        first = state.ring[row, queue.first]
        if first.end > queue.tick:
            return
        i, j = first.place, state.ring[row, (queue.first + 1) % room].place
        one, two = state.players[row, i], state.players[row, j]
        gap = one.true_skill - two.true_skill
        u, outcome = uniform(queue.key, OUTCOME, first.game), -1
        if first.game < state.luck.shape[1] and not math.isnan(state.luck[row, first.game]):
            u = state.luck[row, first.game]
        win = win_probability_of(gap, variance, params.draw_margin)
        if u < win:
            outcome = 1
        elif u < win + draw_probability_of(gap, variance, params.draw_margin):
            outcome = 0
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
        for place in (i, j):
            player = state.players[row, place]
            u = uniform(queue.key, STAY, SECOND * player.number + player.games)
            player.games += 1
            if u <= params.stay:
                join(state, params, row, place)
            else:
                log_off(state, row, place)


@compiled(refcounted=False, inline=True)
def begin_game(state: State, params: Params, row: int, i: int, j: int) -> None:
    """Begin a game of the players in two places, who leave the queue."""
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
        queue.matched_players += 1
        queue.reward += quality - params.usual
    queue.games += 1


@compiled(refcounted=False, inline=True)
def end_visit(state: State, row: int, place: int, served: bool) -> None:
    """Remove a player from the queue, with or without a game, and update the totals."""
    queue, player = state.queue[row], state.players[row, place]
    waited = queue.tick - player.joined + (0 if served else 1)
    queue.waited += waited
    state.line[row, player.entry] = NONE
    queue.waiting -= 1
    if state.visits.shape[1] > 0:
        visit = state.visits[row, queue.visits]
        queue.visits += 1
        visit.tick, visit.player, visit.newcomer = queue.tick, player.number, player.newcomer
        visit.games_played, visit.waited, visit.served = player.games, waited, served
        visit.mu, visit.sigma, visit.true_skill = player.mu, player.sigma, player.true_skill
        visit.match_quality = queue.match_quality if served else 0.0
        visit.true_match_quality = queue.true_match_quality if served else 0.0


@compiled(refcounted=False, inline=True)
def end_tick(state: State, params: Params, row: int) -> None:
    """Count the tick for waiting players and remove those who give up."""
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
def show(state: State, params: Params, row: int) -> None:
    """Write the candidates, the mask and the observation; see ``MatchmakingQueueEnv``.

    A stable insertion sort orders candidates by the gap of means, and equal gaps by joining.
    """
    queue, players, line = state.queue[row], state.players[row], state.line[row]
    shown, seen = state.shown[row], state.observation[row]
    capacity, found = shown.size, 1
    shown[0] = queue.focal
    if queue.focal != NONE:
        mean = players[queue.focal].mu
        for entry in range(queue.length):
            place = line[entry]
            if place == NONE or place == queue.focal:
                continue
            gap = abs(players[place].mu - mean)
            k = min(found, capacity - 1)
            if k < found and gap >= abs(players[shown[k]].mu - mean):
                continue
            found = max(found, k + 1)
            while k > 1 and gap < abs(players[shown[k - 1]].mu - mean):
                shown[k] = shown[k - 1]
                k -= 1
            shown[k] = place
    for k in range(capacity):
        state.mask[row, k] = k < found
        if k >= found:
            shown[k] = NONE
        if shown[k] == NONE:
            for number in range(4):
                seen[number * capacity + k] = 0.0
            continue
        player = players[shown[k]]
        waited = queue.tick - player.joined
        seen[k] = player.mu
        seen[capacity + k] = player.sigma
        seen[2 * capacity + k] = waited / (waited + params.game_length)
        seen[3 * capacity + k] = 1.0
    seen[4 * capacity] = queue.waiting / (queue.waiting + capacity)
    seen[4 * capacity + 1] = queue.to_ask / (queue.to_ask + capacity)
    seen[4 * capacity + 2] = queue.playing / (queue.playing + capacity)


@compiled(refcounted=False, inline=True)
def advance(state: State, params: Params, row: int) -> bool:
    """Advance to the next choice or the horizon.

    Returns:
        Whether the queue stopped earlier because its arrays are too small.
    """
    queue = state.queue[row]
    while True:
        if queue.phase == BEGIN:
            # All players can leave the queue in this tick, each with a record of the visit.
            if 0 < state.visits.shape[1] < queue.visits + state.line.shape[1]:
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
            # A queue that never had a choice allows no game.
            asked = queue.focal != NONE and queue.waiting > 0
            queue.focal = state.line[row, 0] if asked else NONE
            break
    show(state, params, row)
    return False


@compiled(refcounted=False)
def step_all(state: State, params: Params, actions: Integers, running: Masks) -> bool:
    """Carry out one choice in every running queue and advance to the next.

    Args:
        state: changed.
        params: of the environment.
        actions: shape (B,), allowed by the masks; ``NONE`` only advances queues before a tick.
        running: shape (B,).

    Returns:
        Whether a queue stopped before its next choice because its arrays are too small.
    """
    stuck = False
    for row in range(actions.size):
        queue, chosen = state.queue[row], actions[row]
        if not running[row] or queue.phase != (BEGIN if chosen == NONE else ASK):
            continue
        if chosen != NONE:
            queue.match_quality = queue.true_match_quality = 0.0
            queue.cursor += 1
            queue.to_ask -= 1
        if chosen > 0:
            partner = state.shown[row, chosen]
            if state.players[row, partner].entry >= queue.cursor:
                queue.to_ask -= 1
            begin_game(state, params, row, queue.focal, partner)
        stuck |= advance(state, params, row)
    return stuck


@compiled(refcounted=False)
def join_all(
    state: State, params: Params, rows: Integers, mu: Floats, sigma: Floats, true_skill: Floats
) -> None:
    """Add the players of a reset's options to empty queues; requires enough places.

    Args:
        state: changed.
        params: of the environment.
        rows: the queues, shape (K,).
        mu: means, shape (B, n), the longest waiting player first.
        sigma: standard deviations, shape (B, n).
        true_skill: shape (B, n); NaN to draw it from the belief.
    """
    for row in rows:
        queue = state.queue[row]
        for number in range(mu.shape[1]):
            skill = true_skill[row, number]
            if math.isnan(skill):
                z = normal(queue.key, SKILL, 2 * number)
                skill = mu[row, number] + sigma[row, number] * z
            log_on(state, params, row, mu[row, number], sigma[row, number], skill, 0)
        queue.next_log_on = next_log_on(state, params, row)
