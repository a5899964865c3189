"""The compiled functions of one game: from a full lobby to the players' new beliefs.

Functions change ``state`` in the queue ``row``. ``sides`` are the parties' slots of one game, shape
(k, n), a row of ``State.sides``. Two sides of n are two players whose performances have n times the
variance, so they use the formulas of two players.
"""

from __future__ import annotations

import math

from matchenv.envs.queue.lobby import Parties, best_split, quality_of_sides
from matchenv.envs.queue.params import DRIFT, OUTCOME, PERFORMANCE, Params
from matchenv.envs.queue.state import NOBODY, NONE, State
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import normal, uniform
from matchenv.trueskill.game import (
    drawn_outcome,
    drifted,
    performance_variance,
    win_probability_of,
)
from matchenv.trueskill.sides import (
    Teams,
    first_place_probability_of,
    rate_sides,
    update_two_sides,
)


@compiled(inline=True)
def joint_index(number: int, count: int) -> int:
    """Return an index of random numbers for two numbers, the second below 2^32."""
    return 2**32 * number + count


@compiled(refcounted=False, inline=True)
def read_lobby(state: State, params: Params, row: int) -> int:
    """Write the parties of the open lobby to ``params.work``, and return their number."""
    work = params.work
    num_parties = state.clock[row].lobby_parties
    for k in range(num_parties):
        party = state.parties[row, state.lobby[row, k]]
        work.party_mean[k] = party.mu
        work.party_variance[k] = party.sigma * party.sigma
        work.party_size[k] = party.size
    return num_parties


@compiled(refcounted=False, inline=True)
def split_lobby(state: State, params: Params, row: int, sides: Integers) -> None:
    """Split a full lobby into the sides of a game."""
    work = params.work
    num_parties = read_lobby(state, params, row)
    parties = Parties(work.party_mean, work.party_variance, work.party_size, num_parties)
    best_split(params.lobbies, parties, params.beta, work.side_of)
    for side in range(params.num_sides):
        count = 0
        for k in range(num_parties):
            if work.side_of[k] == side:
                sides[side, count] = state.lobby[row, k]
                count += 1
        for k in range(count, params.side_size):
            sides[side, k] = NONE


@compiled(refcounted=False, inline=True)
def seat_players(state: State, params: Params, row: int, sides: Integers) -> None:
    """Write the players' slots of a game to ``params.work``, side by side."""
    seat = 0
    for side in range(params.num_sides):
        for k in range(params.side_size):
            slot = sides[side, k]
            if slot == NONE:
                break
            for member in range(state.parties[row, slot].size):
                params.work.seats[seat] = state.members[row, slot, member]
                seat += 1


@compiled(refcounted=False, inline=True)
def sum_true_skills(state: State, params: Params, row: int, sides: Integers) -> None:
    """Write mean and variance of the sides' true performances to ``params.lobbies``."""
    sums = params.lobbies
    for side in range(params.num_sides):
        sums.mean[side] = 0.0
        sums.variance[side] = 0.0
        for k in range(params.side_size):
            slot = sides[side, k]
            if slot == NONE:
                break
            party = state.parties[row, slot]
            for member in range(party.size):
                sums.mean[side] += state.players[row, state.members[row, slot, member]].true_skill
            sums.mean[side] += party.size * params.true_offset[party.size]


@compiled(refcounted=False, inline=True)
def sum_beliefs(state: State, params: Params, row: int, sides: Integers) -> None:
    """Write mean and variance of the sides under the beliefs to ``params.lobbies``."""
    sums = params.lobbies
    for side in range(params.num_sides):
        sums.mean[side] = 0.0
        sums.variance[side] = 0.0
        for k in range(params.side_size):
            slot = sides[side, k]
            if slot == NONE:
                break
            party = state.parties[row, slot]
            sums.mean[side] += party.mu
            sums.variance[side] += party.sigma * party.sigma


@compiled(refcounted=False, inline=True)
def write_win_probabilities(params: Params, probabilities: Floats) -> None:
    """Write each side's probability to beat all others from the sums in ``params.lobbies``."""
    sums = params.lobbies
    if params.num_sides == 2:
        gap = sums.mean[0] - sums.mean[1]
        variance = sums.variance[0] + sums.variance[1] + performance_variance(params.side_beta)
        probabilities[0] = win_probability_of(gap, variance, params.draw_margin)
        probabilities[1] = win_probability_of(-gap, variance, params.draw_margin)
        return
    for side in range(params.num_sides):
        sums.total[side] = sums.variance[side] + params.side_beta * params.side_beta
    for side in range(params.num_sides):
        probabilities[side] = first_place_probability_of(
            side, sums.mean, sums.total, params.margins
        )


@compiled(refcounted=False, inline=True)
def judge_game(state: State, params: Params, row: int, sides: Integers) -> None:
    """Write the forecasts of the next game, and let the true skills of its players drift."""
    clock = state.clock[row]
    sum_beliefs(state, params, row, sides)
    clock.match_quality = quality_of_sides(params.lobbies, params.beta)
    write_win_probabilities(params, state.win_probability[row])
    if params.tau > 0.0:
        for seat in range(params.num_seats):
            player = state.players[row, params.work.seats[seat]]
            index = joint_index(clock.games_begun, seat)
            player.true_skill += params.tau * normal(clock.key, DRIFT, index)
    sum_true_skills(state, params, row, sides)
    clock.true_match_quality = quality_of_sides(params.lobbies, params.beta)
    write_win_probabilities(params, state.true_win_probability[row])
    if state.visits.shape[1] > 0:
        clock.spread = spread_within_sides(state, params, row, False)
        clock.true_spread = spread_within_sides(state, params, row, True)
    for side in range(params.num_sides):
        for k in range(params.side_size):
            slot = sides[side, k]
            if slot == NONE:
                break
            state.game_parties[row, side, k] = state.parties[row, slot].number
            state.game_sizes[row, side, k] = state.parties[row, slot].size
    clock.began = 1


@compiled(refcounted=False, inline=True)
def forget_game(state: State, params: Params, row: int) -> None:
    """Reset the results of the last choice."""
    clock = state.clock[row]
    if clock.began == 0:
        return
    clock.began = 0
    clock.match_quality = 0.0
    clock.true_match_quality = 0.0
    for side in range(params.num_sides):
        state.win_probability[row, side] = 0.0
        state.true_win_probability[row, side] = 0.0
        for k in range(params.side_size):
            state.game_parties[row, side, k] = NOBODY
            state.game_sizes[row, side, k] = 0


@compiled(refcounted=False, inline=True)
def spread_within_sides(state: State, params: Params, row: int, of_truth: bool) -> float:
    """Return the standard deviation within the sides of the seated players' means or skills."""
    square = 0.0
    for side in range(params.num_sides):
        mean = 0.0
        for seat in range(side * params.side_size, (side + 1) * params.side_size):
            mean += skill_of(state, params, row, seat, of_truth) / params.side_size
        for seat in range(side * params.side_size, (side + 1) * params.side_size):
            gap = skill_of(state, params, row, seat, of_truth) - mean
            square += gap * gap
    return math.sqrt(square / params.num_seats)


@compiled(refcounted=False, inline=True)
def skill_of(state: State, params: Params, row: int, seat: int, of_truth: bool) -> float:
    """Return the true skill of a seated player, or the mean of the belief about it."""
    player = state.players[row, params.work.seats[seat]]
    if of_truth:
        return player.true_skill
    return player.mu


@compiled(refcounted=False, inline=True)
def decide_game(state: State, params: Params, row: int, number: int, sides: Integers) -> None:
    """Draw the outcome of a game under the true skills, and update all beliefs.

    The players must be seated, see ``seat_players``.
    """
    read_beliefs(state, params, row, sides)
    sum_true_skills(state, params, row, sides)
    work = params.work
    if params.num_sides == 2:
        outcome = draw_outcome(state, params, row, number)
        update_two_sides(
            work.mu, work.sigma, params.side_size, outcome, params.beta, params.draw_margin
        )
    else:
        draw_ranks(state, params, row, number)
        teams = Teams(work.mu, work.sigma, work.weight, work.side_start)
        rate_sides(teams, work.rank, params.game, work.messages)
    for seat in range(params.num_seats):
        player = state.players[row, work.seats[seat]]
        player.mu = work.mu[seat] - work.offset[seat]
        player.sigma = work.sigma[seat]


@compiled(refcounted=False, inline=True)
def read_beliefs(state: State, params: Params, row: int, sides: Integers) -> None:
    """Write the beliefs about the players of a game, after drift, to ``params.work``."""
    work = params.work
    seat = 0
    for side in range(params.num_sides):
        for k in range(params.side_size):
            slot = sides[side, k]
            if slot == NONE:
                break
            size = state.parties[row, slot].size
            for _ in range(size):
                player = state.players[row, work.seats[seat]]
                work.offset[seat] = params.known_offset[size]
                work.mu[seat] = player.mu + work.offset[seat]
                work.sigma[seat] = drifted(player.sigma, params.tau)
                seat += 1


@compiled(refcounted=False, inline=True)
def draw_outcome(state: State, params: Params, row: int, number: int) -> int:
    """Return the outcome of a game of two sides from the sums in ``params.lobbies``."""
    u = uniform(state.clock[row].key, OUTCOME, number)
    if number < state.luck.shape[1] and not math.isnan(state.luck[row, number]):
        u = state.luck[row, number]
    gap = params.lobbies.mean[0] - params.lobbies.mean[1]
    variance = performance_variance(params.side_beta)
    win = win_probability_of(gap, variance, params.draw_margin)
    return drawn_outcome(u, win, gap, variance, params.draw_margin)


@compiled(refcounted=False, inline=True)
def draw_ranks(state: State, params: Params, row: int, number: int) -> None:
    """Write the order of more than two sides to ``params.work.rank``, the best first.

    Neighbours in the order whose performances differ by at most the margin have equal ranks.
    """
    work = params.work
    key = state.clock[row].key
    for side in range(params.num_sides):
        z = normal(key, PERFORMANCE, joint_index(number, side))
        work.performance[side] = params.lobbies.mean[side] + params.side_beta * z
        work.rank[side] = -1.0
    rank = 0.0
    last = math.inf
    for place in range(params.num_sides):
        best = NONE
        for side in range(params.num_sides):
            if work.rank[side] >= 0.0:
                continue
            if best == NONE or work.performance[side] > work.performance[best]:
                best = side
        is_draw = params.draw_margin > 0.0 and last - work.performance[best] <= params.draw_margin
        if place > 0 and not is_draw:
            rank += 1.0
        work.rank[best] = rank
        last = work.performance[best]
