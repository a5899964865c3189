"""Disjoint lobbies of the highest total value, planned for all waiting parties of one queue.

The value of a lobby is its match quality + multiplier x the mean gain of its members - their mean
price. Set packing of this kind is NP-hard. Queues with few possible lobbies are planned by branch
and bound over all of them. Longer queues are planned in windows of neighbours in the order of
means, and then two neighbouring lobbies at a time are planned anew.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from matchenv.baselines.knowledge_gradient_rule import possible_outcomes
from matchenv.belief import GameConstants
from matchenv.envs.queue.lobby import (
    LobbyTable,
    Parties,
    best_split,
    packing_table,
    packs,
    quality_of_sides,
    sum_sides,
)
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.state import NOBODY
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    outcome_probability_of,
    performance_variance,
    quality_per_density,
)

# Lobbies and splits of lobbies that are compared for a whole queue, and for a window of one.
MOST_LOBBIES = 10_000
MOST_SPLITS = 100_000
WINDOW_SHARE = 5

# Parties of a window, each of which is a bit of an integer.
LONGEST_WINDOW = 62

# Branch and bound stops after so many comparisons, and skips gains below this share.
MOST_COMPARISONS = 1_000_000
SMALLEST_SHARE = 1e-3

# Passes over neighbouring lobbies.
MOST_PASSES = 2

# Number of neighbours on either side, in the order of the means, that the look-ahead considers.
REACH = 10


class WaitingLine(NamedTuple):
    """The waiting parties of one queue, for the planner.

    Attributes:
        mean: of the performance of each party, shape (Q,).
        variance: of the sum of its members' skills, shape (Q,).
        size: number of its members, shape (Q,).
        price: sum of its members' prices, shape (Q,), in units of match quality.
        multiplier: number of later games that benefit from a gain, >= 0.
        first_member: index of the first member of each party in ``sigma``, shape (Q,).
        sigma: standard deviation of the belief about each player, shape (P,).
        gaps: mean of the player minus that of each neighbour, shape (P, R); NaN beyond the last.
        variances: of the differences of their performances, shape (P, R).
    """

    mean: Floats
    variance: Floats
    size: Integers
    price: Floats
    multiplier: float
    first_member: Integers
    sigma: Floats
    gaps: Floats
    variances: Floats


class Window(NamedTuple):
    """Working arrays of the planner for up to W parties, with room for L lobbies.

    Attributes:
        parties: indices of the parties, shape (W,).
        masks: parties of each lobby, as bits, shape (L,).
        values: of the lobbies, shape (L,).
        chosen: indices of the best disjoint lobbies, shape (W,).
        stack: indices of the current lobbies, shape (W,).
        counts: parties of each size in a lobby, shape (n,).
        lobby: the parties of a lobby.
        sides: of these parties, shape (S,).
    """

    parties: Integers
    masks: Integers
    values: Floats
    chosen: Integers
    stack: Integers
    counts: Integers
    lobby: Parties
    sides: Integers


@lru_cache(maxsize=16)
def table_for(settings: QueueSettings) -> LobbyTable:
    """Return the table of the settings' games."""
    return packing_table(settings.side_size, settings.num_sides)


@lru_cache(maxsize=16)
def most_lobbies(settings: QueueSettings) -> int:
    """Return the largest number of possible lobbies whose splits can all be compared."""
    splits = math.factorial(settings.num_seats) // math.factorial(settings.num_sides)
    splits //= math.factorial(settings.side_size) ** settings.num_sides
    return max(1, min(MOST_LOBBIES, MOST_SPLITS // splits))


@compiled
def plan_lobbies(
    table: LobbyTable, line: WaitingLine, constants: GameConstants, most: int
) -> Integers:
    """Return the lobby of each party, shape (Q,), ``NOBODY`` to wait.

    Args:
        table: of the game's shape.
        line: the waiting parties.
        constants: of the games.
        most: largest number of possible lobbies that are all compared.
    """
    count = line.size.size
    order = np.argsort(line.mean / line.size, kind="mergesort")
    lobby_of = np.full(count, NOBODY)
    window = new_window(table, most)
    if count <= LONGEST_WINDOW and count_lobbies(table, line, order) <= most:
        window.parties[:count] = order
        num_chosen = plan_window(table, line, constants, window, count)
        write_lobbies(window, num_chosen, 0, lobby_of)
        return lobby_of
    in_window = max(1, most // WINDOW_SHARE)
    plan_in_windows(table, line, constants, order, in_window, window, lobby_of)
    for _ in range(MOST_PASSES):
        if not improve_plan(table, line, constants, order, in_window, window, lobby_of):
            break
    return lobby_of


@compiled
def new_window(table: LobbyTable, most: int) -> Window:
    """Return working arrays for up to ``most`` lobbies."""
    seats = table.num_sides * table.side_size
    lobby = Parties(np.zeros(seats), np.zeros(seats), np.zeros(seats, dtype=np.int64), 0)
    return Window(
        np.zeros(LONGEST_WINDOW, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros(most),
        np.zeros(LONGEST_WINDOW, dtype=np.int64),
        np.zeros(LONGEST_WINDOW, dtype=np.int64),
        np.zeros(table.side_size, dtype=np.int64),
        lobby,
        np.zeros(seats, dtype=np.int64),
    )


@compiled
def count_lobbies(table: LobbyTable, line: WaitingLine, parties: Integers) -> float:
    """Return the number of sets of these parties that fill the seats, packable or not."""
    seats = table.num_sides * table.side_size
    sets = np.zeros(seats + 1)
    sets[0] = 1.0
    for party in parties:
        for taken in range(seats, line.size[party] - 1, -1):
            sets[taken] += sets[taken - line.size[party]]
    return sets[seats]


@compiled
def plan_window(
    table: LobbyTable, line: WaitingLine, constants: GameConstants, window: Window, count: int
) -> int:
    """Write the best disjoint lobbies of the first ``count`` parties of the window.

    Returns:
        The number of lobbies. ``window.values`` at ``window.chosen`` are their values.
    """
    num_lobbies = list_lobbies(table, line, constants, window, count)
    order = np.argsort(-window.values[:num_lobbies], kind="mergesort")
    window.masks[:num_lobbies] = window.masks[order]
    window.values[:num_lobbies] = window.values[order]
    players = 0
    for k in range(count):
        players += line.size[window.parties[k]]
    return best_packing(window, num_lobbies, players // (table.num_sides * table.side_size))


@compiled
def list_lobbies(
    table: LobbyTable, line: WaitingLine, constants: GameConstants, window: Window, count: int
) -> int:
    """Write all lobbies of positive value of the first parties of the window; return their number.

    The sets are visited in lexicographic order: the last party is replaced by the next one until
    there is none, then the one before it.
    """
    free = table.num_sides * table.side_size
    counts = window.counts
    counts[:] = 0
    stack = window.stack
    # Players of the parties from each one on.
    left = np.zeros(count + 1, dtype=np.int64)
    for k in range(count - 1, -1, -1):
        left[k] = left[k + 1] + line.size[window.parties[k]]
    depth = 0
    num_lobbies = 0
    mask = 0
    k = 0
    while True:
        if free > 0 and left[k] >= free:
            size = line.size[window.parties[k]]
            if size <= free:
                counts[size - 1] += 1
                if packs(table, counts):
                    stack[depth] = k
                    depth += 1
                    free -= size
                    mask |= 1 << k
                else:
                    counts[size - 1] -= 1
            k += 1
            continue
        if free == 0:
            value = value_of_stack(table, line, constants, window, depth)
            if value > 0.0:
                window.masks[num_lobbies] = mask
                window.values[num_lobbies] = value
                num_lobbies += 1
        if depth == 0:
            return num_lobbies
        depth -= 1
        k = stack[depth]
        size = line.size[window.parties[k]]
        counts[size - 1] -= 1
        free += size
        mask ^= 1 << k
        k += 1


@compiled
def value_of_stack(
    table: LobbyTable, line: WaitingLine, constants: GameConstants, window: Window, depth: int
) -> float:
    """Return the value of the lobby of the parties on the window's stack."""
    lobby = window.lobby
    price = 0.0
    for k in range(depth):
        party = window.parties[window.stack[k]]
        lobby.mean[k] = line.mean[party]
        lobby.variance[k] = line.variance[party]
        lobby.size[k] = line.size[party]
        price += line.price[party]
    parties = Parties(lobby.mean, lobby.variance, lobby.size, depth)
    best_split(table, parties, constants.beta, window.sides)
    sum_sides(table, parties, window.sides)
    seats = table.num_sides * table.side_size
    value = quality_of_sides(table, constants.beta) - price / seats
    if line.multiplier > 0.0:
        gain = 0.0
        for k in range(depth):
            party = window.parties[window.stack[k]]
            gap, variance = game_of_side(table, window.sides[k], constants.beta)
            for member in range(line.size[party]):
                player = line.first_member[party] + member
                gain += gain_of_player(line, player, gap, variance, constants)
        value += line.multiplier * gain / seats
    return value


@compiled
def game_of_side(table: LobbyTable, side: int, beta: float) -> tuple[float, float]:
    """Return mean and variance of the performance of a side minus the average of the others."""
    others = table.num_sides - 1
    noise = table.side_size * beta * beta
    gap = table.mean[side]
    variance = table.variance[side] + noise
    for other in range(table.num_sides):
        if other != side:
            gap -= table.mean[other] / others
            variance += (table.variance[other] + noise) / (others * others)
    return gap, variance


@compiled
def gain_of_player(
    line: WaitingLine, player: int, gap: float, variance: float, constants: GameConstants
) -> float:
    """Return the expected gain of a player's best match quality from a game of two sides.

    The best match is that with one of the neighbours, whose beliefs stay the same: the gain is that
    of ``information_gain`` for an opponent whose performance is that of all other players, who is
    no neighbour.

    Args:
        line: the waiting parties.
        player: index of the player.
        gap: mean of the performance of the player's side minus the other's.
        variance: of this difference.
        constants: of the games.
    """
    own = line.sigma[player] * line.sigma[player] + constants.tau * constants.tau
    noise = performance_variance(constants.beta)
    before = best_density(line, player, 0.0, 0.0, noise)
    after = 0.0
    for outcome in possible_outcomes(constants):
        probability = outcome_probability_of(gap, variance, outcome, constants.draw_margin)
        v, complement = difference_moments(gap, variance, outcome, constants.draw_margin)
        shift = own * v / math.sqrt(variance)
        loss = own * own * max(0.0, 1.0 - complement) / variance
        after += probability * best_density(line, player, shift, loss, noise)
    return (after - before) * quality_per_density(constants.beta)


@compiled
def best_density(line: WaitingLine, player: int, shift: float, loss: float, noise: float) -> float:
    """Return the highest draw density with a neighbour after a change of the player's belief.

    Args:
        line: the waiting parties.
        player: index of the player.
        shift: change of the mean.
        loss: decrease of the variance.
        noise: lower bound of the variance of a difference of performances.
    """
    best = 0.0
    for k in range(line.gaps.shape[1]):
        if not math.isnan(line.gaps[player, k]):
            variance = max(line.variances[player, k] - loss, noise)
            best = max(best, density_at_zero(line.gaps[player, k] + shift, variance))
    return best


@compiled
def best_packing(window: Window, num_lobbies: int, most: int) -> int:
    """Write disjoint lobbies of the highest sum of values; return their number.

    Lobbies are in descending order of value, so that the value of the next one bounds all later
    ones.

    Args:
        window: with masks and values; ``chosen`` is written.
        num_lobbies: number of these.
        most: largest number of disjoint lobbies.
    """
    stack = window.stack
    masks = window.masks
    values = window.values
    best = 0.0
    num_chosen = 0
    depth = 0
    used = 0
    total = 0.0
    comparisons = 0
    k = 0
    while True:
        can_improve = depth < most and k < num_lobbies and comparisons < MOST_COMPARISONS
        if can_improve and total + (most - depth) * values[k] > best * (1.0 + SMALLEST_SHARE):
            comparisons += 1
            if masks[k] & used == 0:
                stack[depth] = k
                depth += 1
                used |= masks[k]
                total += values[k]
                if total > best:
                    best = total
                    num_chosen = depth
                    window.chosen[:depth] = stack[:depth]
            k += 1
            continue
        if depth == 0:
            return num_chosen
        depth -= 1
        used ^= masks[stack[depth]]
        total -= values[stack[depth]]
        k = stack[depth] + 1


@compiled
def write_lobbies(window: Window, num_chosen: int, first: int, lobby_of: Integers) -> None:
    """Write the chosen lobbies of a window, numbered from ``first`` on."""
    for c in range(num_chosen):
        mask = window.masks[window.chosen[c]]
        for k in range(LONGEST_WINDOW):
            if (mask >> k) & 1 == 1:
                lobby_of[window.parties[k]] = first + c


@compiled
def plan_in_windows(
    table: LobbyTable,
    line: WaitingLine,
    constants: GameConstants,
    order: Integers,
    most: int,
    window: Window,
    lobby_of: Integers,
) -> None:
    """Plan neighbours in an order, as many at once as have at most ``most`` possible lobbies.

    Parties that are left over are planned again, with the next ones in the order.

    Args:
        table: of the game's shape.
        line: the waiting parties.
        constants: of the games.
        order: the parties, shape (Q,).
        most: largest number of possible lobbies of a window.
        window: working arrays.
        lobby_of: written, shape (Q,).
    """
    count = 0
    num_lobbies = 0
    k = 0
    while k < order.size:
        is_new = False
        while k < order.size and count < LONGEST_WINDOW:
            window.parties[count] = order[k]
            if count_lobbies(table, line, window.parties[: count + 1]) > most:
                break
            count += 1
            k += 1
            is_new = True
        if not is_new:
            # The first of the parties left over waits.
            count -= 1
            for i in range(count):
                window.parties[i] = window.parties[i + 1]
            continue
        num_chosen = plan_window(table, line, constants, window, count)
        write_lobbies(window, num_chosen, num_lobbies, lobby_of)
        num_lobbies += num_chosen
        num_left = 0
        for i in range(count):
            if lobby_of[window.parties[i]] == NOBODY:
                window.parties[num_left] = window.parties[i]
                num_left += 1
        count = num_left


@compiled
def improve_plan(
    table: LobbyTable,
    line: WaitingLine,
    constants: GameConstants,
    order: Integers,
    most: int,
    window: Window,
    lobby_of: Integers,
) -> bool:
    """Plan neighbouring lobbies anew, two at a time, with parties that have none.

    See ``plan_in_windows`` for the arguments.

    Returns:
        Whether that increased the value.
    """
    helped = False
    num_lobbies = lobby_of.max() + 1
    # Lobbies planned anew have new numbers.
    was_first = np.zeros(num_lobbies + 4 * order.size, dtype=np.bool_)
    for k in range(order.size):
        one = lobby_of[order[k]]
        if one == NOBODY or was_first[one]:
            continue
        was_first[one] = True
        two = next_lobby(order, k, lobby_of)
        if two == NOBODY:
            break
        count = gather(table, line, order, k, most, window, lobby_of)
        if count == 0:
            continue
        before = value_of_lobby(table, line, constants, window, count, lobby_of, one)
        before += value_of_lobby(table, line, constants, window, count, lobby_of, two)
        num_chosen = plan_window(table, line, constants, window, count)
        after = 0.0
        for c in range(num_chosen):
            after += window.values[window.chosen[c]]
        if after > before * (1.0 + SMALLEST_SHARE):
            helped = True
            for i in range(count):
                lobby_of[window.parties[i]] = NOBODY
            write_lobbies(window, num_chosen, num_lobbies, lobby_of)
            num_lobbies += num_chosen
    return helped


@compiled
def next_lobby(order: Integers, k: int, lobby_of: Integers) -> int:
    """Return the next lobby in an order after that of its element k, or ``NOBODY``."""
    one = lobby_of[order[k]]
    for i in range(k + 1, order.size):
        lobby = lobby_of[order[i]]
        if lobby not in (NOBODY, one):
            return lobby
    return NOBODY


@compiled
def gather(
    table: LobbyTable,
    line: WaitingLine,
    order: Integers,
    k: int,
    most: int,
    window: Window,
    lobby_of: Integers,
) -> int:
    """Write to the window the parties of a lobby and the next one, and then others without a lobby.

    ``k`` is the place in the order of a party of the first lobby. See ``plan_in_windows`` for the
    other arguments.

    Returns:
        The number of parties; 0 if the two lobbies have too many.
    """
    one = lobby_of[order[k]]
    two = next_lobby(order, k, lobby_of)
    count = 0
    for i in range(order.size):
        if lobby_of[order[i]] == one or lobby_of[order[i]] == two:
            window.parties[count] = order[i]
            count += 1
    if count_lobbies(table, line, window.parties[:count]) > most:
        return 0
    # Others without a lobby, from the nearest in the order on.
    for distance in range(1, order.size):
        for i in (k - distance, k + distance):
            if 0 <= i < order.size and lobby_of[order[i]] == NOBODY and count < LONGEST_WINDOW:
                window.parties[count] = order[i]
                if count_lobbies(table, line, window.parties[: count + 1]) > most:
                    return count
                count += 1
    return count


@compiled
def value_of_lobby(
    table: LobbyTable,
    line: WaitingLine,
    constants: GameConstants,
    window: Window,
    count: int,
    lobby_of: Integers,
    lobby: int,
) -> float:
    """Return the value of a lobby of the first ``count`` parties of the window."""
    depth = 0
    for k in range(count):
        if lobby_of[window.parties[k]] == lobby:
            window.stack[depth] = k
            depth += 1
    return value_of_stack(table, line, constants, window, depth)
