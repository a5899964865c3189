"""The compiled functions of one game: from a full lobby to the players' new beliefs.

Functions change ``state`` in the queue ``row``. ``party`` is the slot of the first party of a game.
Two sides of n are two players whose performances have n times the variance, so they use the
formulas of two players. ``table`` is None for two sides of one; Numba then leaves out the branches
for lobbies, and the game is played without working arrays, for speed.
"""

from __future__ import annotations

import math

from matchenv.envs.queue.lobby import LobbyTable, Parties, best_split
from matchenv.envs.queue.params import (
    DRIFT,
    KNOWN_OFFSET,
    MARGIN,
    MU,
    OUTCOME,
    PARTY,
    PARTY_MEAN,
    PARTY_VARIANCE,
    PERFORMANCE,
    PERFORMANCES,
    RANK,
    SEAT,
    SIDE,
    SIDE_MEAN,
    SIDE_NOISE,
    SIDE_START,
    SIDE_TOTAL,
    SIDE_VARIANCE,
    SIGMA,
    SIZE,
    SKILL_IN_PARTY,
    TRUE_OFFSET,
    WEIGHT,
    Params,
)
from matchenv.envs.queue.state import (
    FORECASTS,
    NOBODY,
    NONE,
    TRUE_WIN_PROBABILITY,
    WIN_PROBABILITY,
    State,
)
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import normal, uniform
from matchenv.trueskill.game import (
    drawn_outcome,
    drifted,
    match_quality_of,
    performance_variance,
    total_variance,
    update_two,
    win_probability_of,
)
from matchenv.trueskill.sides import (
    MAX_ITERATIONS,
    TOLERANCE,
    Constants,
    Teams,
    first_place_probability_of,
    log_quality_of_sides,
    rate_sides,
    update_two_sides,
)


@compiled(inline=True)
def joint_index(number: int, count: int) -> int:
    """Return an index of random numbers for two numbers, the second below 2^32."""
    return 2**32 * number + count


@compiled(refcounted=False, inline=True)
def read_lobby(state: State, params: Params, row: int) -> int:
    """Write the parties of the open lobby to ``params``, and return their number."""
    slot = state.clock[row].focal
    count = 0
    while slot != NONE:
        party = state.players[row, slot]
        params.integers[PARTY, count] = slot
        params.integers[SIZE, count] = party.size
        params.numbers[PARTY_MEAN, count] = party.party_mu
        params.numbers[PARTY_VARIANCE, count] = party.party_sigma * party.party_sigma
        count += 1
        slot = party.next_party
    return count


@compiled(refcounted=False, inline=True)
def parties_of(params: Params, count: int) -> Parties:
    """Return the first parties that ``read_lobby`` wrote."""
    numbers = params.numbers
    return Parties(numbers[PARTY_MEAN], numbers[PARTY_VARIANCE], params.integers[SIZE], count)


@compiled(refcounted=False, inline=True)
def split_lobby(state: State, params: Params, table: LobbyTable | None, row: int) -> int:
    """Split a full lobby into the sides of a game, and return the slot of the first party."""
    parties = state.players[row]
    if table is None:
        # The founder, and its only candidate.
        founder = state.clock[row].focal
        parties[founder].side = 0
        parties[parties[founder].next_party].side = 1
        return founder
    count = read_lobby(state, params, row)
    sides = params.integers[SIDE]
    best_split(table, parties_of(params, count), params.rules[0].beta, sides)
    # The chain is built from its end.
    following = NONE
    for side in range(params.rules[0].num_sides - 1, -1, -1):
        for k in range(count - 1, -1, -1):
            if sides[k] == side:
                slot = params.integers[PARTY, k]
                parties[slot].side = side
                parties[slot].next_party = following
                following = slot
    return following


@compiled(refcounted=False, inline=True)
def seat_players(state: State, params: Params, row: int, party: int) -> None:
    """Write the slots, beliefs and true skills of the players of a game to ``params``."""
    numbers = params.numbers
    seat = 0
    while party != NONE:
        size = state.players[row, party].size
        slot = party
        while slot != NONE:
            player = state.players[row, slot]
            params.integers[SEAT, seat] = slot
            numbers[MU, seat] = player.mu + params.offsets[KNOWN_OFFSET, size]
            numbers[SIGMA, seat] = player.sigma
            numbers[SKILL_IN_PARTY, seat] = player.true_skill + params.offsets[TRUE_OFFSET, size]
            seat += 1
            slot = player.next_member
        party = state.players[row, party].next_party


@compiled(refcounted=False, inline=True)
def sum_sides(params: Params, of_truth: bool) -> None:
    """Write mean and variance of the sides of the seated players, without noise, to ``params``.

    Args:
        params: with the seated players.
        of_truth: by the true skills instead of the beliefs.
    """
    numbers = params.numbers
    for side in range(params.rules[0].num_sides):
        mean = 0.0
        variance = 0.0
        for seat in range(params.integers[SIDE_START, side], params.integers[SIDE_START, side + 1]):
            if of_truth:
                mean += numbers[SKILL_IN_PARTY, seat]
            else:
                mean += numbers[MU, seat]
                variance += numbers[SIGMA, seat] * numbers[SIGMA, seat]
        numbers[SIDE_MEAN, side] = mean
        numbers[SIDE_VARIANCE, side] = variance
        numbers[SIDE_TOTAL, side] = variance + params.rules[0].side_beta * params.rules[0].side_beta


@compiled(refcounted=False, inline=True)
def spread_within_sides(params: Params, number_row: int) -> float:
    """Return the standard deviation within the sides of the seated players' MU or true skills."""
    values = params.numbers[number_row]
    side_size = params.rules[0].side_size
    square = 0.0
    for side in range(params.rules[0].num_sides):
        mean = 0.0
        for seat in range(side * side_size, (side + 1) * side_size):
            mean += values[seat] / side_size
        for seat in range(side * side_size, (side + 1) * side_size):
            square += (values[seat] - mean) * (values[seat] - mean)
    return math.sqrt(square / params.rules[0].num_seats)


@compiled(refcounted=False, inline=True)
def gap_and_variance(params: Params) -> tuple[float, float]:
    """Return mean and variance of the difference of two sides' performances from their sums."""
    numbers = params.numbers
    gap = numbers[SIDE_MEAN, 0] - numbers[SIDE_MEAN, 1]
    variance = numbers[SIDE_VARIANCE, 0] + numbers[SIDE_VARIANCE, 1]
    return gap, variance + performance_variance(params.rules[0].side_beta)


@compiled(refcounted=False, inline=True)
def forecast_game(state: State, params: Params, row: int, column: int) -> float:
    """Return the match quality, and write each side's probability to beat all others.

    Args:
        state: changed.
        params: with the sums of the sides.
        row: of the queue.
        column: of ``state.last_game``.
    """
    num_sides = params.rules[0].num_sides
    if num_sides == 2:
        gap, variance = gap_and_variance(params)
        forecast_two_sides(state, params, row, column, gap, variance)
        return match_quality_of(gap, variance, params.rules[0].side_beta)
    mean = params.numbers[SIDE_MEAN, :num_sides]
    variance = params.numbers[SIDE_TOTAL, :num_sides]
    noise = params.numbers[SIDE_NOISE, :num_sides]
    margin = params.numbers[MARGIN, :num_sides]
    for side in range(num_sides):
        probability = first_place_probability_of(side, mean, variance, margin)
        state.last_game[row, side, column] = probability
    return math.exp(log_quality_of_sides(mean, variance, noise))


@compiled(refcounted=False, inline=True)
def forecast_two_sides(
    state: State, params: Params, row: int, column: int, gap: float, variance: float
) -> None:
    """Write the probabilities to win of two sides.

    Args:
        state: changed.
        params: of the environment.
        row: of the queue.
        column: of ``state.last_game``.
        gap: mean of the difference of the sides' performances.
        variance: its variance.
    """
    margin = params.rules[0].draw_margin
    weaker = 0
    if gap > 0.0:
        weaker = 1
    upset = win_probability_of(-abs(gap), variance, margin)
    win = 1.0 - upset
    if margin > 0.0:
        win = win_probability_of(abs(gap), variance, margin)
    state.last_game[row, weaker, column] = upset
    state.last_game[row, 1 - weaker, column] = win


@compiled(refcounted=False, inline=True)
def judge_game(state: State, params: Params, row: int, party: int) -> None:
    """Write the forecasts of the next game, and let the true skills of its players drift."""
    seat_players(state, params, row, party)
    clock = state.clock[row]
    rules = params.rules[0]
    sum_sides(params, False)
    clock.match_quality = forecast_game(state, params, row, WIN_PROBABILITY)
    if rules.tau > 0.0:
        for seat in range(rules.num_seats):
            index = joint_index(clock.games_begun, seat)
            drift = rules.tau * normal(clock.key, DRIFT, index)
            state.players[row, params.integers[SEAT, seat]].true_skill += drift
        seat_players(state, params, row, party)
    sum_sides(params, True)
    clock.true_match_quality = forecast_game(state, params, row, TRUE_WIN_PROBABILITY)
    if state.visits.shape[1] > 0:
        clock.spread = spread_within_sides(params, MU)
        clock.true_spread = spread_within_sides(params, SKILL_IN_PARTY)


@compiled(refcounted=False, inline=True)
def judge_pair(state: State, params: Params, row: int, party: int) -> None:
    """Do the same for a game of two players; only visits show who is likely to win."""
    clock = state.clock[row]
    rules = params.rules[0]
    first = state.players[row, party]
    second = state.players[row, first.next_party]
    gap = first.party_mu - second.party_mu
    variance = total_variance(first.party_sigma, second.party_sigma, rules.beta)
    clock.match_quality = match_quality_of(gap, variance, rules.beta)
    if state.visits.shape[1] > 0:
        forecast_two_sides(state, params, row, WIN_PROBABILITY, gap, variance)
    if rules.tau > 0.0:
        number = clock.games_begun
        first.true_skill += rules.tau * normal(clock.key, DRIFT, joint_index(number, 0))
        second.true_skill += rules.tau * normal(clock.key, DRIFT, joint_index(number, 1))
    gap = first.true_skill - second.true_skill
    variance = performance_variance(rules.beta)
    clock.true_match_quality = match_quality_of(gap, variance, rules.beta)
    if state.visits.shape[1] > 0:
        forecast_two_sides(state, params, row, TRUE_WIN_PROBABILITY, gap, variance)


@compiled(refcounted=False, inline=True)
def name_parties(state: State, params: Params, row: int, party: int) -> None:
    """Write the numbers and sizes of the parties of a game to ``state.last_game``."""
    side_size = params.rules[0].side_size
    side = NONE
    column = 0
    while party != NONE:
        record = state.players[row, party]
        if record.side != side:
            side = record.side
            column = FORECASTS
        state.last_game[row, side, column] = record.party
        state.last_game[row, side, column + side_size] = record.size
        column += 1
        party = record.next_party


@compiled(refcounted=False, inline=True)
def forget_game(state: State, params: Params, row: int) -> None:
    """Reset what ``judge_game`` and ``name_parties`` wrote about the last game."""
    side_size = params.rules[0].side_size
    for side in range(params.rules[0].num_sides):
        last_game = state.last_game[row, side]
        last_game[WIN_PROBABILITY] = 0.0
        last_game[TRUE_WIN_PROBABILITY] = 0.0
        for column in range(FORECASTS, FORECASTS + side_size):
            last_game[column] = NOBODY
            last_game[column + side_size] = 0.0


@compiled(refcounted=False, inline=True)
def decide_game(state: State, params: Params, row: int, number: int, party: int) -> None:
    """Draw the outcome of a game under the true skills, and update all beliefs."""
    rules = params.rules[0]
    num_sides = rules.num_sides
    mu = params.numbers[MU]
    sigma = params.numbers[SIGMA]
    seat_players(state, params, row, party)
    for seat in range(rules.num_seats):
        sigma[seat] = drifted(sigma[seat], rules.tau)
    sum_sides(params, True)
    if num_sides == 2:
        gap, variance = gap_and_variance(params)
        outcome = draw_outcome(state, params, row, number, gap, variance)
        update_two_sides(mu, sigma, rules.side_size, outcome, rules.beta, rules.draw_margin)
    else:
        draw_ranks(state, params, row, number)
        # The drift is in the deviations.
        constants = Constants(rules.beta, 0.0, rules.draw_margin, False, TOLERANCE, MAX_ITERATIONS)
        side_start = params.integers[SIDE_START, : num_sides + 1]
        teams = Teams(mu, sigma, params.numbers[WEIGHT], side_start)
        rate_sides(teams, params.numbers[RANK, :num_sides], constants, params.messages)
    write_beliefs(state, params, row, party)


@compiled(refcounted=False, inline=True)
def decide_pair(state: State, params: Params, row: int, number: int, party: int) -> None:
    """Do the same for a game of two players."""
    rules = params.rules[0]
    one = state.players[row, party]
    two = state.players[row, one.next_party]
    gap = one.true_skill - two.true_skill
    outcome = draw_outcome(state, params, row, number, gap, performance_variance(rules.beta))
    one.mu, one.sigma, two.mu, two.sigma = update_two(
        one.mu,
        drifted(one.sigma, rules.tau),
        two.mu,
        drifted(two.sigma, rules.tau),
        outcome,
        rules.beta,
        rules.draw_margin,
    )


@compiled(refcounted=False, inline=True)
def draw_outcome(
    state: State, params: Params, row: int, number: int, gap: float, variance: float
) -> int:
    """Return the outcome of a game of two sides, whose true skills differ by ``gap``.

    Args:
        state: of the queues.
        params: of the environment.
        row: of the queue.
        number: of the game.
        gap: difference of the sums of the true skills.
        variance: of the difference of the performances around it.
    """
    margin = params.rules[0].draw_margin
    u = uniform(state.clock[row].key, OUTCOME, number)
    if number < state.luck.shape[1] and not math.isnan(state.luck[row, number]):
        u = state.luck[row, number]
    win = win_probability_of(gap, variance, margin)
    return drawn_outcome(u, win, gap, variance, margin)


@compiled(refcounted=False, inline=True)
def write_beliefs(state: State, params: Params, row: int, party: int) -> None:
    """Write the seated players' beliefs after a game, without the bonus of their parties."""
    seat = 0
    while party != NONE:
        offset = params.offsets[KNOWN_OFFSET, state.players[row, party].size]
        slot = party
        while slot != NONE:
            player = state.players[row, slot]
            player.mu = params.numbers[MU, seat] - offset
            player.sigma = params.numbers[SIGMA, seat]
            seat += 1
            slot = player.next_member
        party = state.players[row, party].next_party


@compiled(refcounted=False, inline=True)
def draw_ranks(state: State, params: Params, row: int, number: int) -> None:
    """Write the ranks of more than two sides, the best is 0, from the sums of their true skills.

    Neighbours in the order whose performances differ by at most the margin have equal ranks.
    """
    rules = params.rules[0]
    performance = params.numbers[PERFORMANCES]
    ranks = params.numbers[RANK]
    for side in range(rules.num_sides):
        z = normal(state.clock[row].key, PERFORMANCE, joint_index(number, side))
        performance[side] = params.numbers[SIDE_MEAN, side] + rules.side_beta * z
        ranks[side] = NONE
    rank = 0.0
    last = math.inf
    for place in range(rules.num_sides):
        best = NONE
        for side in range(rules.num_sides):
            if ranks[side] != NONE:
                continue
            if best == NONE or performance[side] > performance[best]:
                best = side
        is_draw = rules.draw_margin > 0.0 and last - performance[best] <= rules.draw_margin
        if place > 0 and not is_draw:
            rank += 1.0
        ranks[best] = rank
        last = performance[best]
