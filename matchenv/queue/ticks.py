"""How a queue goes from choice to choice: games end, players log on, wait and give up. Compiled.

A tick goes so: games that are over end, and each of the two queues again or logs off; players log
on; everyone who waits is asked about once, the longest waiting first, as long as two wait; who still
waits then has waited this tick, and gives up if that was the last of its patience.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.play import MU, SIGMA, TRUE_SKILL, game_outcome
from matchenv.queue.candidates import find_candidates, observe
from matchenv.queue.line import join, leave
from matchenv.queue.population import CENTRE, DEVIATION, SPREAD
from matchenv.queue.random_numbers import (
    GAME,
    LOG_ON,
    SKILL,
    VISIT,
    exponential,
    normals,
    uniforms,
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
    MATCHED,
    MATCHES,
    NEWCOMER,
    NEXT,
    NEXT_LOG_ON,
    NO_ROOM,
    NONE,
    NUMBER,
    ORDER,
    OVER,
    PHASE,
    PLAYER,
    PLAYING,
    QUALITY,
    REWARD,
    SECOND_PLAYER,
    TAIL,
    TICK,
    TO_ASK,
    TRUE_QUALITY,
    WAITED,
    WAITING,
    Batch,
    Rules,
)
from matchenv.trueskill.game import drifted, match_quality_of, total_variance, update_two

Floats = NDArray[np.float64]


@compiled
def time_to_next(batch: Batch, rules: Rules, row: int, player: int) -> float:
    """Ticks between a log-on and the one before: exponential."""
    if rules.arrival_rate == 0.0:
        return np.inf
    return (
        exponential(uniforms(batch.key[row, 0], batch.key[row, 1], player, 0, LOG_ON)[0])
        / rules.arrival_rate
    )


@compiled
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


@compiled
def log_on(batch: Batch, rules: Rules, row: int) -> bool:
    """Those who log on before the tick is over join the queue; False where room is missing."""
    numbers, sums = batch.numbers, batch.sums
    while sums[row, NEXT_LOG_ON] < numbers[row, TICK] + 1:
        if numbers[row, FREE] == 0:
            return False
        player = numbers[row, LOGGED_ON]
        _, kind, which, _ = uniforms(batch.key[row, 0], batch.key[row, 1], player, 0, LOG_ON)
        z_1, z_2 = normals(batch.key[row, 0], batch.key[row, 1], player, 0, SKILL)
        count = batch.population.shape[0]
        group = batch.population[min(count - 1, int(which * count))]
        mu = group[CENTRE] + group[SPREAD] * z_1
        skill = mu + group[DEVIATION] * z_2
        if kind <= rules.newcomers:
            place_player(batch, rules, row, rules.mean, rules.deviation, skill, 1)
        else:
            place_player(batch, rules, row, mu, group[DEVIATION], skill, 0)
        sums[row, NEXT_LOG_ON] += time_to_next(batch, rules, row, numbers[row, LOGGED_ON])
    return True


@compiled
def game_noise(batch: Batch, row: int, number: int) -> float:
    """Noise of a run's game of this number."""
    if number < batch.noise.shape[1] and not math.isnan(batch.noise[row, number]):
        return batch.noise[row, number]
    return normals(batch.key[row, 0], batch.key[row, 1], number, 0, GAME)[0]


@compiled
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


@compiled
def come_back(batch: Batch, rules: Rules, row: int, slot: int) -> None:
    """A player whose game is over queues again, or logs off; arguments as ``join``."""
    player, games = batch.players[row, slot, PLAYER], batch.players[row, slot, GAMES]
    stays = uniforms(batch.key[row, 0], batch.key[row, 1], player, games, VISIT)[1]
    batch.players[row, slot, GAMES] = games + 1
    if stays <= rules.stay:
        join(batch, rules, row, slot)
    else:
        log_off(batch, row, slot)


@compiled
def log_off(batch: Batch, row: int, slot: int) -> None:
    """A player leaves the system; arguments as ``join``."""
    batch.free[row, batch.numbers[row, FREE]] = slot
    batch.numbers[row, FREE] += 1


@compiled
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


@compiled
def has_room_for_visits(batch: Batch) -> bool:
    """Whether all players of all queues may leave within a tick, and there is room to keep it."""
    most = (batch.numbers.shape[0] + 1) * batch.by_mean.shape[1]
    return batch.visits.shape[0] == 0 or batch.visits.shape[0] >= batch.num_visits[0] + most


@compiled
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


@compiled
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


@compiled
def begin_game(batch: Batch, rules: Rules, row: int, i: int, j: int) -> None:
    """Two players leave the queue for a game with each other; arguments as ``join``."""
    numbers, sums, belief = batch.numbers, batch.sums, batch.belief
    variance = total_variance(belief[row, i, SIGMA], belief[row, j, SIGMA], rules.beta)
    quality = match_quality_of(belief[row, i, MU] - belief[row, j, MU], variance, rules.beta)
    number = numbers[row, MATCHES]
    if rules.tau > 0.0:
        z_1, z_2 = normals(batch.key[row, 0], batch.key[row, 1], number, 1, GAME)
        belief[row, i, TRUE_SKILL] += rules.tau * z_1
        belief[row, j, TRUE_SKILL] += rules.tau * z_2
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


@compiled
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


@compiled
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


@compiled
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


@compiled
def close_all(batch: Batch, rules: Rules, rows: NDArray[np.int64]) -> None:
    """Where the horizon was reached before anybody was asked about, nobody is to be chosen."""
    for row in rows:
        if batch.numbers[row, PHASE] == OVER:
            batch.numbers[row, FOCAL] = NONE
            find_candidates(batch, row)
            observe(batch, rules, row)


@compiled
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
