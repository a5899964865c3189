"""Disjoint lobbies of the highest total value, planned for all waiting parties of one queue.

The value of a lobby is its match quality + multiplier x the mean gain of its members - their mean
price. Set packing of this kind is NP-hard. Queues with few possible lobbies are planned by branch
and bound over all of them, and if that takes long, by dynamic programming over sets of parties.
Longer queues are planned in windows of neighbours in the order of means; then one or two
neighbouring lobbies at a time are planned anew.
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
from matchenv.envs.queue.view import WaitingParties
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    outcome_probability_of,
    performance_variance,
    quality_per_density,
)

# Possible lobbies, and splits of them, that are compared for a whole queue; the share of it for a
# window of a longer queue, and of either with gains, which take longer than splits.
MOST_LOBBIES = 10_000
MOST_SPLITS = 100_000
WINDOW_SHARE = 0.1
GAIN_SHARE = 0.2

# Parties of a window, each of which is a bit of an integer.
LONGEST_WINDOW = 62

# Gains below this share are skipped.
SMALLEST_SHARE = 0.005

# Branch and bound stops after so many comparisons. If that is not enough for so many parties, a
# table of their sets decides.
MOST_COMPARISONS = 20_000
LONGEST_TABLE = 16

# Passes over neighbouring lobbies.
MOST_PASSES = 2

# Number of neighbours on either side, in the order of the means, that the look-ahead considers.
REACH = 10


class Line(NamedTuple):
    """The waiting parties of one queue, for the planner.

    Attributes:
        mean: of the performance of each party, shape (Q,).
        variance: of the sum of its members' skills, shape (Q,).
        size: number of its members, shape (Q,).
        price: sum of its members' prices, shape (Q,), in units of match quality.
        multiplier: number of later games that benefit from a gain, >= 0.
        first_member: index of the first member of each party in ``sigma``, shape (Q,).
        sigma: standard deviation of the belief about each player, shape (P,).
        gaps: mean of the player minus that of each neighbour, shape (P, R); NaN for no neighbour.
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
    """Working arrays of the planner for up to W parties and L lobbies of S seats.

    Attributes:
        parties: indices of the parties, shape (W,).
        left: players of the parties from each one on, shape (W + 1,).
        masks: parties of each lobby, as bits, shape (L,).
        values: of the lobbies, shape (L,).
        chosen: indices of the best disjoint lobbies, shape (W,).
        stack: indices of the current parties or lobbies, shape (W,).
        counts: parties of each size in the current lobby, shape (n,).
        lobby: its parties, S elements.
        sides: of these parties, shape (S,).
    """

    parties: Integers
    left: Integers
    masks: Integers
    values: Floats
    chosen: Integers
    stack: Integers
    counts: Integers
    lobby: Parties
    sides: Integers


class PackingTable(NamedTuple):
    """The table of an exact search, with an element for each set of parties that are undecided.

    The parties decided so far are always the last ones, each in a lobby or left out, and those in
    a lobby with one of them.

    Attributes:
        totals: highest sum of values of disjoint lobbies of the other parties, shape (2^W,), below
            0 if the set was not reached.
        before: set before the last decision, shape (2^W,).
        chosen: lobby of the last decision, ``NOBODY`` to leave out a party, shape (2^W,).
        by_last: lobbies by their last party, and then in descending order of value, shape (L,).
        first: place in ``by_last`` of the first lobby with each last party, shape (W + 1,).
        highest: highest value of the lobbies up to each last party, shape (W,).
        players: members of each party, shape (W,).
    """

    totals: Floats
    before: Integers
    chosen: Integers
    by_last: Integers
    first: Integers
    highest: Floats
    players: Integers


class Lobby(NamedTuple):
    """A planned lobby.

    Attributes:
        parties: indices of the parties, shape (m,).
        value: of the lobby.
    """

    parties: Integers
    value: float


def line_of(
    waiting: WaitingParties, mu: Floats, sigma: Floats, prices: Floats, multiplier: float
) -> Line:
    """Return the waiting parties for the planner.

    Args:
        waiting: parties of the queue.
        mu: means of the parties' performances, shape (Q,).
        sigma: standard deviations of the sums of their members' skills, shape (Q,).
        prices: mean price of each party's members, shape (Q,).
        multiplier: number of later games that benefit from a gain, >= 0.
    """
    size = waiting.size
    first_member = np.cumsum(size) - size
    means = np.zeros(0)
    deviations = np.zeros(0)
    if multiplier > 0.0:
        is_member = np.arange(waiting.member_mu.shape[1]) < size[:, np.newaxis]
        means = waiting.member_mu[is_member]
        deviations = waiting.member_sigma[is_member]
    gaps, variances = neighbours(means, deviations, waiting.settings.constants)
    return Line(
        mean=np.ascontiguousarray(mu),
        variance=sigma**2,
        size=np.ascontiguousarray(size),
        price=prices * size,
        multiplier=multiplier,
        first_member=first_member,
        sigma=deviations,
        gaps=gaps,
        variances=variances,
    )


def neighbours(mu: Floats, sigma: Floats, constants: GameConstants) -> tuple[Floats, Floats]:
    """Return gaps to the neighbours of each player, and variances of these games.

    Args:
        mu: means of the beliefs, shape (P,).
        sigma: standard deviations, shape (P,).
        constants: of the games.

    Returns:
        Two arrays of shape (P, 2 ``REACH``); NaN for no neighbour.
    """
    offsets = np.concatenate((np.arange(-REACH, 0), np.arange(1, REACH + 1)))
    order = np.argsort(mu, kind="stable")
    ranks = np.arange(mu.size)[:, np.newaxis] + offsets
    exists = (ranks >= 0) & (ranks < mu.size)
    other = order[np.where(exists, ranks, 0)]
    own = order[:, np.newaxis]
    gaps = np.empty((mu.size, offsets.size))
    variances = np.empty_like(gaps)
    gaps[order] = np.where(exists, mu[own] - mu[other], np.nan)
    noise = performance_variance(constants.beta) + constants.tau**2
    variances[order] = sigma[own] ** 2 + sigma[other] ** 2 + noise
    return gaps, variances


def lobby_gains(waiting: WaitingParties) -> Floats:
    """Return the mean gain of the members of the open lobby with each candidate, shape (K,)."""
    settings = waiting.settings
    line = line_of(waiting, waiting.mu, waiting.sigma, np.zeros(waiting.mu.size), 1.0)
    gains = np.zeros(waiting.candidates.size)
    shape = (settings.num_sides, settings.side_size)
    lobby = np.ascontiguousarray(waiting.lobby)
    candidates = np.ascontiguousarray(waiting.candidates)
    write_gains(line, lobby, candidates, shape, settings.constants, gains)
    return gains


class LobbyPlanner:
    """Plans the lobbies of one queue in one tick.

    Args:
        settings: of the environment.
        line: the waiting parties.
    """

    def __init__(self, settings: QueueSettings, line: Line) -> None:
        self.line = line
        self.constants = settings.constants
        self.num_seats = settings.num_seats
        self.table = packing_table(settings.side_size, settings.num_sides)
        most = most_lobbies(settings.num_sides, settings.side_size)
        if line.multiplier > 0.0:
            most *= GAIN_SHARE
        self.most = max(1, int(most))
        self.most_of_window = max(1, int(WINDOW_SHARE * most))
        self.window = new_window(settings, self.most)
        self.order = np.argsort(line.mean / line.size, kind="stable")

    def plan(self) -> list[Lobby]:
        """Return disjoint lobbies of positive values with a high sum."""
        count = self.order.size
        if count <= LONGEST_WINDOW and self.count_lobbies(self.order) <= self.most:
            return self.plan_parties(self.order)
        lobbies = self.plan_in_windows()
        for _ in range(MOST_PASSES):
            lobbies, has_improved = self.improved(lobbies)
            if not has_improved:
                break
        return lobbies

    def count_lobbies(self, parties: Integers) -> float:
        """Return the number of sets of these parties that fill the seats, packable or not."""
        sets = self.no_sets()
        for party in parties.tolist():
            self.add_sets(sets, party)
        return float(sets[-1])

    def no_sets(self) -> Floats:
        """Return the number of sets of no parties by the number of players, shape (S + 1,)."""
        sets = np.zeros(self.num_seats + 1)
        sets[0] = 1.0
        return sets

    def add_sets(self, sets: Floats, party: int) -> None:
        """Add the sets that contain one more party to the numbers of sets."""
        size = self.line.size[party]
        sets[size:] += sets[:-size].copy()

    def plan_parties(self, parties: Integers) -> list[Lobby]:
        """Return the best disjoint lobbies of a few parties, by comparing all lobbies."""
        window = self.window
        count = parties.size
        # The exact search decides about large parties, which fit into few lobbies, first.
        parties = parties[np.argsort(self.line.size[parties], kind="stable")]
        players = self.line.size[parties]
        window.parties[:count] = parties
        window.left[count] = 0
        window.left[:count] = np.cumsum(players[::-1])[::-1]
        num_lobbies = list_lobbies(self.table, self.line, self.constants, window, count)
        if num_lobbies == 0:
            return []
        order = np.argsort(-window.values[:num_lobbies], kind="stable")
        window.masks[:num_lobbies] = window.masks[order]
        window.values[:num_lobbies] = window.values[order]
        num_chosen = best_packing(window, num_lobbies, int(players.sum()) // self.num_seats)
        chosen = window.chosen[:num_chosen]
        if count <= LONGEST_TABLE:
            chosen = self.exact_packing(chosen, num_lobbies, players)
        lobbies = []
        for k in chosen.tolist():
            is_in_lobby = (window.masks[k] >> np.arange(count)) & 1 == 1
            lobbies.append(Lobby(parties[is_in_lobby], float(window.values[k])))
        return lobbies

    def exact_packing(self, chosen: Integers, num_lobbies: int, players: Integers) -> Integers:
        """Return disjoint lobbies of the window with the highest sum, up to ``SMALLEST_SHARE``.

        Args:
            chosen: indices of some disjoint lobbies, returned if they are good enough.
            num_lobbies: number of lobbies in the window.
            players: members of each party in the window, shape (count,).
        """
        values = self.window.values[:num_lobbies]
        least = values[chosen].sum() * (1.0 + SMALLEST_SHARE)
        if players.sum() // self.num_seats * values[0] <= least:
            return chosen
        masks = self.window.masks[:num_lobbies]
        last = np.searchsorted(1 << np.arange(players.size), masks, side="right") - 1
        by_last = np.argsort(last, kind="stable")
        first = np.searchsorted(last[by_last], np.arange(players.size + 1))
        highest = np.zeros(players.size)
        np.maximum.at(highest, last, values)
        num_sets = 1 << players.size
        table = PackingTable(
            totals=np.full(num_sets, -1.0),
            before=np.zeros(num_sets, dtype=np.int64),
            chosen=np.zeros(num_sets, dtype=np.int64),
            by_last=by_last,
            first=first,
            highest=np.maximum.accumulate(highest),
            players=np.ascontiguousarray(players),
        )
        free = fill_table(table, masks, values, self.num_seats, float(least))
        if free == NOBODY:
            return chosen
        better = []
        while free < num_sets - 1:
            if table.chosen[free] != NOBODY:
                better.append(table.chosen[free])
            free = table.before[free]
        return np.array(better)

    def plan_in_windows(self) -> list[Lobby]:
        """Return lobbies of neighbours in the order of means.

        A window has as many parties as can be planned at once. Those without a lobby are planned
        again with the next ones in the order.
        """
        lobbies: list[Lobby] = []
        window: list[int] = []
        parties = self.order.tolist()
        k = 0
        while k < len(parties):
            first = k
            sets = self.no_sets()
            for party in window:
                self.add_sets(sets, party)
            while k < len(parties) and len(window) < LONGEST_WINDOW:
                self.add_sets(sets, parties[k])
                if sets[-1] > self.most_of_window:
                    break
                window.append(parties[k])
                k += 1
            if k == first:
                del window[0]  # waits
                continue
            planned = self.plan_parties(np.array(window))
            lobbies += planned
            window = self.without_lobby(window, planned)
        return lobbies

    def without_lobby(self, parties: list[int], lobbies: list[Lobby]) -> list[int]:
        """Return the parties that are in none of the lobbies."""
        is_free = np.ones(self.order.size, dtype=np.bool_)
        for lobby in lobbies:
            is_free[lobby.parties] = False
        return [party for party in parties if is_free[party]]

    def improved(self, lobbies: list[Lobby]) -> tuple[list[Lobby], bool]:
        """Plan each lobby, and each two neighbours, anew with the nearest parties that have none.

        Returns:
            The lobbies, and whether that increased their value.
        """
        rank = np.empty(self.order.size, dtype=np.int64)
        rank[self.order] = np.arange(rank.size)
        lobbies = sorted(lobbies, key=lambda lobby: float(rank[lobby.parties].mean()))
        free = self.without_lobby(self.order.tolist(), lobbies)
        has_improved = False
        for number in (1, 2):
            i = 0
            while i + number <= len(lobbies):
                before = lobbies[i : i + number]
                i += 1
                parties = self.with_free_parties(before, free, rank)
                if parties.size == 0 or (number == 1 and parties.size == before[0].parties.size):
                    continue
                after = self.plan_parties(parties)
                if total_value(after) > total_value(before) * (1.0 + SMALLEST_SHARE):
                    has_improved = True
                    lobbies[i - 1 : i - 1 + number] = after
                    free = self.without_lobby(self.order.tolist(), lobbies)
        return lobbies, has_improved

    def with_free_parties(self, lobbies: list[Lobby], free: list[int], rank: Integers) -> Integers:
        """Return the parties of some lobbies and, nearest first, those that have none.

        Args:
            lobbies: one or two.
            free: parties without a lobby.
            rank: of each party in the order.

        Returns:
            As many as can be planned at once; none if the lobbies have too many.
        """
        parties = np.concatenate([lobby.parties for lobby in lobbies])
        sets = self.no_sets()
        for party in parties.tolist():
            self.add_sets(sets, party)
        if sets[-1] > self.most_of_window:
            return parties[:0]
        indices = np.array(free, dtype=np.int64)
        nearest = np.argsort(np.abs(rank[indices] - rank[parties].mean()), kind="stable")
        chosen = parties.tolist()
        for party in indices[nearest].tolist():
            self.add_sets(sets, party)
            if sets[-1] > self.most_of_window or len(chosen) == LONGEST_WINDOW:
                break
            chosen.append(party)
        return np.array(chosen)


def total_value(lobbies: list[Lobby]) -> float:
    """Return the sum of the values of some lobbies."""
    return sum(lobby.value for lobby in lobbies)


@lru_cache(maxsize=64)
def most_lobbies(num_sides: int, side_size: int) -> float:
    """Return the largest number of possible lobbies whose splits can all be compared."""
    splits = math.factorial(num_sides * side_size) // math.factorial(num_sides)
    splits //= math.factorial(side_size) ** num_sides
    return min(MOST_LOBBIES, MOST_SPLITS / splits)


def new_window(settings: QueueSettings, most: int) -> Window:
    """Return working arrays for up to ``most`` lobbies."""
    seats = settings.num_seats
    sizes = np.zeros(seats, dtype=np.int64)
    return Window(
        parties=np.zeros(LONGEST_WINDOW, dtype=np.int64),
        left=np.zeros(LONGEST_WINDOW + 1, dtype=np.int64),
        masks=np.zeros(most, dtype=np.int64),
        values=np.zeros(most),
        chosen=np.zeros(LONGEST_WINDOW, dtype=np.int64),
        stack=np.zeros(LONGEST_WINDOW, dtype=np.int64),
        counts=np.zeros(settings.side_size, dtype=np.int64),
        lobby=Parties(np.zeros(seats), np.zeros(seats), sizes, 0),
        sides=np.zeros(seats, dtype=np.int64),
    )


@compiled(refcounted=False)
def list_lobbies(
    table: LobbyTable, line: Line, constants: GameConstants, window: Window, count: int
) -> int:
    """Write all lobbies of positive value of the first parties of the window; return their number.

    The sets are visited in lexicographic order: the last party is replaced by the next one until
    there is none, then the one before it.
    """
    free = table.num_sides * table.side_size
    counts = window.counts
    for size in range(counts.size):
        counts[size] = 0
    stack = window.stack
    depth = 0
    num_lobbies = 0
    mask = 0
    k = 0
    while True:
        if free > 0 and window.left[k] >= free:
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


@compiled(refcounted=False)
def value_of_stack(
    table: LobbyTable, line: Line, constants: GameConstants, window: Window, depth: int
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
            gain += gain_of_members(line, party, gap, variance, constants)
        value += line.multiplier * gain / seats
    return value


@compiled(refcounted=False)
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


@compiled(refcounted=False)
def gain_of_player(
    line: Line, player: int, gap: float, variance: float, constants: GameConstants
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


@compiled(refcounted=False)
def best_density(line: Line, player: int, shift: float, loss: float, noise: float) -> float:
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


@compiled(refcounted=False)
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
                    for c in range(depth):
                        window.chosen[c] = stack[c]
            k += 1
            continue
        if depth == 0:
            return num_chosen
        depth -= 1
        used ^= masks[stack[depth]]
        total -= values[stack[depth]]
        k = stack[depth] + 1


@compiled(refcounted=False)
def fill_table(
    table: PackingTable, masks: Integers, values: Floats, num_seats: int, least: float
) -> int:
    """Search disjoint lobbies whose values have a sum above ``least``.

    Args:
        table: changed.
        masks: parties of each lobby, as bits, shape (L,).
        values: of the lobbies, shape (L,).
        num_seats: of a game.
        least: smallest sum of interest.

    Returns:
        The set of parties that remain undecided after the best choice, or ``NOBODY``.
    """
    best_set = NOBODY
    every = table.totals.size - 1
    table.totals[every] = 0.0
    last = table.players.size - 1
    for free in range(every, 0, -1):
        while free >> last == 0:
            last -= 1
        total = table.totals[free]
        if total < 0.0:
            continue
        players = 0
        for k in range(last + 1):
            players += table.players[k] * ((free >> k) & 1)
        if total + players // num_seats * table.highest[last] <= least:
            continue
        without = free ^ (1 << last)
        if total > table.totals[without]:
            table.totals[without] = total
            table.before[without] = free
            table.chosen[without] = NOBODY
        for i in range(table.first[last], table.first[last + 1]):
            lobby = table.by_last[i]
            if masks[lobby] & free != masks[lobby]:
                continue
            remaining = free ^ masks[lobby]
            if total + values[lobby] > table.totals[remaining]:
                table.totals[remaining] = total + values[lobby]
                table.before[remaining] = free
                table.chosen[remaining] = lobby
                if table.totals[remaining] > least:
                    least = table.totals[remaining] * (1.0 + SMALLEST_SHARE)
                    best_set = remaining
    return best_set


@compiled(refcounted=False)
def write_gains(
    line: Line,
    lobby: Integers,
    candidates: Integers,
    shape: tuple[int, int],
    constants: GameConstants,
    gains: Floats,
) -> None:
    """Write the mean gain of the members of an open lobby with each candidate.

    Free seats count as average players of it, and its sides as even.

    Args:
        line: the waiting parties.
        lobby: indices of the parties in the lobby, shape (m,).
        candidates: indices of the candidates, shape (K,).
        shape: number of sides, and players of a side.
        constants: of the games.
        gains: written, shape (K,).
    """
    num_sides, side_size = shape
    seats = num_sides * side_size
    for k in range(candidates.size):
        taken = line.size[candidates[k]]
        variance = line.variance[candidates[k]]
        for party in lobby:
            taken += line.size[party]
            variance += line.variance[party]
        noise = seats * constants.beta * constants.beta
        variance = (variance * seats / taken + noise) / (num_sides - 1)
        gain = gain_of_members(line, candidates[k], 0.0, variance, constants)
        for party in lobby:
            gain += gain_of_members(line, party, 0.0, variance, constants)
        gains[k] = gain / taken


@compiled(refcounted=False)
def gain_of_members(
    line: Line, party: int, gap: float, variance: float, constants: GameConstants
) -> float:
    """Return the sum of the gains of a party's members; see ``gain_of_player``."""
    gain = 0.0
    for member in range(line.size[party]):
        gain += gain_of_player(line, line.first_member[party] + member, gap, variance, constants)
    return gain
