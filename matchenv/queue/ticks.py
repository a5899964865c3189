"""How a queue goes from choice to choice: games end, players log on, wait and give up. Compiled.

A tick goes as follows. Games that are over end, and each of their players queues again or logs off.
Others log on. Everyone who waits is asked about once, the longest waiting first, as long as two
wait. Who still waits then has waited this tick, and gives up if that was the last of the patience.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.counter_numbers import normal_number, uniform_number
from matchenv.play import MU, SIGMA, TRUE_SKILL, game_outcome
from matchenv.queue.candidates import find_candidates, observe
from matchenv.queue.line import join, leave
from matchenv.queue.population import CENTRE, DEVIATION, SPREAD
from matchenv.queue.random_numbers import (
    GAME,
    KIND,
    LOG_ON,
    SKILL,
    STAYS,
    TIME,
    VISIT,
    WHICH,
    exponential,
    stream,
)
from matchenv.queue.state import (
    ABANDONED,
    ASK,
    BEGIN,
    CURSOR,
    END,
    FIRST_GAME,
    FIRST_PLAYER,
    FOCAL,
    FREE,
    GAMES,
    HEAD,
    JOINED,
    LEAVES,
    LOGGED_ON,
    NEWCOMER,
    NEXT,
    NEXT_LOG_ON,
    NO_ROOM,
    NONE,
    NUMBER,
    OVER,
    PHASE,
    PLAYER,
    PLAYING,
    REWARD,
    SECOND_PLAYER,
    TICK,
    TO_ASK,
    WAITED,
    WAITING,
    Batch,
    Rules,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import drifted, update_two

Floats = NDArray[np.float64]


@compiled(refcounted=False, inline=True)
def time_to_next(batch: Batch, rules: Rules, row: int, player: int) -> float:
    """Ticks between a log-on and the one before: exponential."""
    if rules.arrival_rate == 0.0:
        return np.inf
    u = uniform_number(stream(batch.key[row], player, 0, LOG_ON), TIME)
    return exponential(u) / rules.arrival_rate


@compiled(refcounted=False, inline=True)
def place_player(
    batch: Batch, rules: Rules, row: int, mu: float, sigma: float, skill: float, newcomer: int
) -> None:
    """Somebody logs on and joins the queue; there must be room."""
    numbers = batch.numbers
    numbers[row, FREE] -= 1
    slot = batch.free[row, numbers[row, FREE]]
    batch.belief[row, slot, MU] = mu
    batch.belief[row, slot, SIGMA] = sigma
    batch.belief[row, slot, TRUE_SKILL] = skill
    batch.players[row, slot, PLAYER] = numbers[row, LOGGED_ON]
    batch.players[row, slot, GAMES] = 0
    batch.players[row, slot, NEWCOMER] = newcomer
    numbers[row, LOGGED_ON] += 1
    join(batch, rules, row, slot)


@compiled(refcounted=False, inline=True)
def log_on(batch: Batch, rules: Rules, row: int) -> bool:
    """Those who log on before the tick is over join the queue; False where room is missing."""
    numbers, sums = batch.numbers, batch.sums
    while sums[row, NEXT_LOG_ON] < numbers[row, TICK] + 1:
        if numbers[row, FREE] == 0:
            return False
        player = numbers[row, LOGGED_ON]
        who = stream(batch.key[row], player, 0, LOG_ON)
        bells = stream(batch.key[row], player, 0, SKILL)
        count = batch.population.shape[0]
        group = batch.population[min(count - 1, int(uniform_number(who, WHICH) * count))]
        mu = group[CENTRE] + group[SPREAD] * normal_number(bells, 0)
        skill = mu + group[DEVIATION] * normal_number(bells, 1)
        if uniform_number(who, KIND) <= rules.newcomers:
            place_player(batch, rules, row, rules.mean, rules.deviation, skill, 1)
        else:
            place_player(batch, rules, row, mu, group[DEVIATION], skill, 0)
        sums[row, NEXT_LOG_ON] += time_to_next(batch, rules, row, numbers[row, LOGGED_ON])
    return True


@compiled(refcounted=False, inline=True)
def game_noise(batch: Batch, row: int, number: int) -> float:
    """Noise of a run's game of this number."""
    if number < batch.noise.shape[1] and not math.isnan(batch.noise[row, number]):
        return batch.noise[row, number]
    return normal_number(stream(batch.key[row], number, 0, GAME), 0)


@compiled(refcounted=False, inline=True)
def end_games(batch: Batch, rules: Rules, row: int) -> None:
    """Games that are over change both beliefs; each player queues again or logs off."""
    numbers, games, belief = batch.numbers, batch.games, batch.belief
    while numbers[row, PLAYING] > 0:
        first = numbers[row, FIRST_GAME]
        if games[row, first, END] > numbers[row, TICK]:
            return
        i, j = games[row, first, FIRST_PLAYER], games[row, first, SECOND_PLAYER]
        outcome = game_outcome(
            belief[row, i, TRUE_SKILL],
            belief[row, j, TRUE_SKILL],
            game_noise(batch, row, games[row, first, NUMBER]),
            rules.beta,
            rules.draw_margin,
        )
        (
            belief[row, i, MU],
            belief[row, i, SIGMA],
            belief[row, j, MU],
            belief[row, j, SIGMA],
        ) = update_two(
            belief[row, i, MU],
            drifted(belief[row, i, SIGMA], rules.tau),
            belief[row, j, MU],
            drifted(belief[row, j, SIGMA], rules.tau),
            outcome,
            rules.beta,
            rules.draw_margin,
        )
        numbers[row, FIRST_GAME] = 0 if first + 1 == games.shape[1] else first + 1
        numbers[row, PLAYING] -= 2
        come_back(batch, rules, row, i)
        come_back(batch, rules, row, j)


@compiled(refcounted=False, inline=True)
def come_back(batch: Batch, rules: Rules, row: int, slot: int) -> None:
    """A player whose game is over queues again, or logs off; arguments as ``join``."""
    player, games = batch.players[row, slot, PLAYER], batch.players[row, slot, GAMES]
    stays = uniform_number(stream(batch.key[row], player, games, VISIT), STAYS)
    batch.players[row, slot, GAMES] = games + 1
    if stays <= rules.stay:
        join(batch, rules, row, slot)
    else:
        log_off(batch, row, slot)


@compiled(refcounted=False, inline=True)
def log_off(batch: Batch, row: int, slot: int) -> None:
    """A player leaves the system; arguments as ``join``."""
    batch.free[row, batch.numbers[row, FREE]] = slot
    batch.numbers[row, FREE] += 1


@compiled(refcounted=False, inline=True)
def keep_visit(
    batch: Batch, row: int, slot: int, served: bool, quality: float, true_quality: float
) -> None:
    """Write down a visit to the queue that ends now, where visits are kept."""
    if batch.visits.shape[0] == 0:
        return
    visit = batch.visits[batch.num_visits[0]]
    batch.num_visits[0] += 1
    player, belief = batch.players[row, slot], batch.belief[row, slot]
    tick = batch.numbers[row, TICK]
    visit[0], visit[1], visit[2] = row, tick, player[PLAYER]
    visit[3], visit[4] = player[NEWCOMER], player[GAMES]
    visit[5] = tick - player[JOINED] + (0 if served else 1)
    visit[6], visit[7], visit[8] = served, belief[MU], belief[SIGMA]
    visit[9], visit[10], visit[11] = belief[TRUE_SKILL], quality, true_quality


@compiled(refcounted=False)
def has_room_for_visits(batch: Batch) -> bool:
    """Whether all players of all queues may leave within a tick, and there is room to keep it."""
    most = (batch.numbers.shape[0] + 1) * batch.by_mean.shape[1]
    return batch.visits.shape[0] == 0 or batch.visits.shape[0] >= batch.num_visits[0] + most


@compiled(refcounted=False, inline=True)
def end_tick(batch: Batch, rules: Rules, row: int) -> None:
    """Who still waits has waited one more tick; who has no more patience leaves."""
    numbers, players = batch.numbers, batch.players
    batch.sums[row, REWARD] -= rules.waiting_cost * numbers[row, WAITING]
    slot = numbers[row, HEAD] if rules.patience < np.inf else NONE
    while slot != NONE:
        after = players[row, slot, NEXT]
        if players[row, slot, LEAVES] <= numbers[row, TICK]:
            keep_visit(batch, row, slot, False, 0.0, 0.0)
            leave(batch, row, slot)
            numbers[row, WAITED] += numbers[row, TICK] - players[row, slot, JOINED] + 1
            numbers[row, ABANDONED] += 1
            batch.sums[row, REWARD] -= rules.abandonment_cost
            log_off(batch, row, slot)
        slot = after
    numbers[row, TICK] += 1
    numbers[row, PHASE] = BEGIN


@compiled(refcounted=False)
def advance(batch: Batch, rules: Rules, row: int) -> int:
    """Go on until somebody is to be asked about, the horizon is reached or room is missing.

    Args:
        batch: the queues, changed.
        rules: of the environment.
        row: which queue.

    Returns:
        ASK, OVER or NO_ROOM.
    """
    numbers = batch.numbers
    while True:
        if numbers[row, PHASE] == BEGIN:
            if not has_room_for_visits(batch):
                return NO_ROOM
            end_games(batch, rules, row)
            if not log_on(batch, rules, row):
                return NO_ROOM
            numbers[row, CURSOR], numbers[row, TO_ASK] = numbers[row, HEAD], numbers[row, WAITING]
            numbers[row, PHASE] = ASK
        if numbers[row, CURSOR] != NONE and numbers[row, WAITING] > 1:
            numbers[row, FOCAL] = numbers[row, CURSOR]
            break
        end_tick(batch, rules, row)
        if numbers[row, TICK] >= rules.horizon:
            numbers[row, PHASE] = OVER
            numbers[row, FOCAL] = numbers[row, HEAD]
            numbers[row, TO_ASK] = 0
            break
    find_candidates(batch, row)
    observe(batch, rules, row)
    return numbers[row, PHASE]
