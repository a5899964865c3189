"""Matching rules of five public game services, for ``matchenv compare --policy``.

They follow formulas that the services publish. Ratings and skills are converted so that one beta of
a service is one beta of the environment. The environment splits a lobby into sides itself, by match
quality. See docs/operators.md for what each rule leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue import PlannedPolicy, QueuePolicy
from matchenv.envs.queue import QueueView, WaitingParties

Floats = NDArray[np.float64]


class Teiserver(PlannedPolicy):
    """Match the first two sides found, the newest first, with win probabilities near one half.

    A party counts as one player of its mean skill, as in teiserver.

    Args:
        low: smallest win probability of a side; the largest is 1 - ``low``.
        growth: decrease of ``low`` per tick that the longest waiting member has waited.
    """

    def __init__(self, low: float = 0.3, growth: float = 0.0) -> None:
        self.low = low
        self.growth = growth

    def plan(self, waiting: WaitingParties) -> list[Any]:
        """Return lobbies until no further one is found."""
        lobbies = []
        free = list(range(waiting.mu.size))[::-1]
        while lobby := self.first_lobby(waiting, free):
            lobbies.append(lobby)
            free = [party for party in free if party not in lobby]
        return lobbies

    def first_lobby(self, waiting: WaitingParties, free: Sequence[int]) -> list[int]:
        """Return the first lobby of these parties whose forecast is even enough, if any."""
        mean = (waiting.mu / waiting.size).tolist()
        variance = (waiting.sigma**2 / waiting.size).tolist()
        seats = waiting.settings.side_size
        for one in sides_of(waiting.size, free, seats):
            others = [party for party in free if party not in one]
            for two in sides_of(waiting.size, others, seats):
                gap = sum(mean[k] for k in one) - sum(mean[k] for k in two)
                total = sum(variance[k] for k in one + two) + 2.0 * waiting.settings.beta**2
                lose = 0.5 * math.erfc(abs(gap) / math.sqrt(2.0 * total))
                if lose >= self.low - self.growth * waiting.waited[one + two].max():
                    return one + two
        return []


def sides_of(size: Any, parties: Sequence[int], seats: int) -> Iterator[list[int]]:
    """Yield the sets of parties that fill the seats of a side, depth first."""
    if seats == 0:
        yield []
    for k, party in enumerate(parties):
        if size[party] <= seats:
            for others in sides_of(size, parties[k + 1 :], seats - size[party]):
                yield [party, *others]


class ShieldBattery(PlannedPolicy):
    """Compare all lobbies of some waiting players: seconds waited minus unevenness and spread.

    Without parties and latencies.

    Args:
        credit: wait of a lobby: the ``"longest"``, ``"mean"`` or ``"sum"`` of its players'.
        tickets: players that are compared, chosen at random.
        seconds: of a tick.
    """

    def __init__(self, credit: str = "longest", tickets: int = 12, seconds: float = 6.0) -> None:
        self.credit = {"longest": np.max, "mean": np.mean, "sum": np.sum}[credit]
        self.tickets = tickets
        self.seconds = seconds

    def plan(self, waiting: WaitingParties) -> list[Any]:
        """Return disjoint lobbies, the highest quality first."""
        seats = waiting.settings.num_seats
        rng = np.random.default_rng([waiting.run, waiting.tick])
        chosen = np.sort(rng.permutation(waiting.mu.size)[: self.tickets])
        if chosen.size < seats:
            return []
        rosters = chosen[np.array([*combinations(range(chosen.size), seats)])]
        scale = 1600.0 / (math.log(10.0) * math.sqrt(4.0 * math.pi) * waiting.settings.beta)
        above = waiting.mu - waiting.sigma - waiting.settings.population.mean
        rating = (1500.0 + scale * above)[rosters]
        uneven = np.full(len(rosters), np.inf)
        for others in combinations(range(1, seats), waiting.settings.side_size - 1):
            one = np.sqrt((rating[:, [0, *others]] ** 2).mean(axis=1))
            two = np.sqrt((np.delete(rating, [0, *others], axis=1) ** 2).mean(axis=1))
            uneven = np.minimum(uneven, np.abs(0.5 - 1.0 / (1.0 + 10.0 ** ((two - one) / 400.0))))
        wait = self.seconds * self.credit(waiting.waited[rosters], axis=1)
        quality = wait - 0.005 * rating.var(axis=1, ddof=1) - 50.0 * uneven
        least = -30.0 - 15.0 * max(0, 2 * seats - waiting.mu.size)
        return disjoint(rosters[np.argsort(-quality)][: np.count_nonzero(quality >= least)])


def disjoint(lobbies: Any) -> list[Any]:
    """Return the lobbies that share no party with one before them."""
    chosen = []
    taken: set[int] = set()
    for lobby in lobbies:
        if taken.isdisjoint(lobby):
            chosen.append(lobby)
            taken.update(np.asarray(lobby).tolist())
    return chosen


class Showdown(QueuePolicy):
    """Play the nearest candidate within the window of one of the two players, in games of two.

    Args:
        decides: whose window: that of the one who waited ``"longer"`` or ``"shorter"``.
        width: window in the first tick, in skill points.
        growth: growth of the window per tick.
    """

    def __init__(self, decides: str = "longer", width: float = 1.0, growth: float = 0.2) -> None:
        self.decides = {"longer": np.maximum, "shorter": np.minimum}[decides]
        self.width = width
        self.growth = growth

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Choose the nearest candidate who is within the window, or wait."""
        actions = np.zeros(len(view), dtype=np.int64)
        for row in np.flatnonzero(view.has_candidates):
            waiting = view[row]
            focal = waiting.focal
            ticks = self.decides(waiting.waited[focal], waiting.waited[waiting.candidates])
            gaps = np.abs(waiting.mu[waiting.candidates] - waiting.mu[focal])
            is_near = gaps <= self.width + self.growth * ticks
            if is_near.any():
                actions[row] = 1 + is_near.argmax()
        return actions


class FAForever(PlannedPolicy):
    """Compare the lobby around each party: gap of the sides and spread of the ratings.

    Without the bonuses for newcomers and minorities.

    Args:
        spread: count the spread over the ``"lobby"`` or as the larger one of both ``"sides"``.
        least: smallest quality of a lobby.
    """

    def __init__(self, spread: str = "lobby", least: float = 0.4) -> None:
        self.spread = spread
        self.least = least

    def plan(self, waiting: WaitingParties) -> list[Any]:
        """Return disjoint lobbies, the highest quality first."""
        scale = 240.0 / waiting.settings.beta
        rating = scale * (waiting.mu - 3.0 * waiting.sigma * np.sqrt(waiting.size))
        mean = rating / waiting.size
        order = np.argsort(mean, kind="stable").tolist()
        found = []
        for place in range(len(order)):
            lobby = around(place, order, waiting)
            sides = largest_differencing(5000.0 * waiting.size[lobby] + rating[lobby])
            players = [waiting.size[lobby][side].sum() for side in sides]
            if len(lobby) < 2 or players != [waiting.settings.side_size] * 2:
                continue
            gap = rating[lobby][sides[0]].sum() - rating[lobby][sides[1]].sum()
            spread = mean[lobby].std()
            if self.spread == "sides":
                spread = max(mean[lobby][side].std() for side in sides)
            share = waiting.size[lobby] / waiting.settings.side_size
            bonus = np.minimum(0.01 * waiting.waited[lobby], 0.2) @ share
            quality = 1.0 - math.hypot(gap / 250.0, spread / 250.0) + bonus
            if quality >= self.least:
                found.append((quality, lobby))
        return disjoint(lobby for _, lobby in sorted(found, key=lambda item: -item[0]))


def around(place: int, order: list[int], waiting: WaitingParties) -> list[int]:
    """Return the party at a place of an order with neighbours below and above, as many as fit."""
    free = waiting.settings.num_seats - waiting.size[order[place]]
    lobby = [order[place]]
    for distance in range(1, len(order)):
        for other in (place - distance, place + distance):
            if 0 <= other < len(order) and waiting.size[order[other]] <= free:
                free -= waiting.size[order[other]]
                lobby.append(order[other])
    return lobby


def largest_differencing(values: Floats) -> list[list[int]]:
    """Return two sides with nearly equal sums, as indices, by Karmarkar and Karp's method.

    The two largest values go to different sides and are replaced by their difference.
    """
    groups = [(float(value), [k], []) for k, value in enumerate(values)]
    groups = sorted(groups, key=lambda group: group[0])
    while len(groups) > 1:
        large, one, two = groups.pop()
        small, three, four = groups.pop()
        groups.append((large - small, one + four, two + three))
        groups.sort(key=lambda group: group[0])
    return [*groups[0][1:]]


class Osu(PlannedPolicy):
    """Match the lowest rating first with random others within a radius that doubles in five ticks.

    Ratings have a mean of 1500 and a standard deviation of 350. Without parties.

    Args:
        radius: of a player of rating 1500 in the first tick.
        rarity: whether the radius grows with the distance from 1500.
        most: largest radius; it is larger for ratings that are further above ``top``.
        top: rating of the hundredth best player.
    """

    def __init__(
        self, radius: float = 60.0, rarity: bool = True, most: float = 9999.0, top: float = 2300.0
    ) -> None:
        self.radius = radius
        self.rarity = rarity
        self.most = most
        self.top = top

    def plan(self, waiting: WaitingParties) -> list[Any]:
        """Return lobbies of players within the radius of the lowest one."""
        population = waiting.settings.population
        rating = 1500.0 + 350.0 * (waiting.mu - population.mean) / population.deviation
        radius = self.radius * 2.0 ** (waiting.waited / 5.0)
        if self.rarity:
            radius = radius * np.exp(((rating - 1500.0) / 750.0) ** 2)
        radius = np.minimum(self.most * np.maximum(1.0, (rating - self.top) / self.most), radius)
        rng = np.random.default_rng([waiting.run, waiting.tick])
        others = waiting.settings.num_seats - 1
        free = set(range(rating.size))
        lobbies = []
        for player in np.argsort(rating, kind="stable").tolist():
            gaps = np.abs(rating - rating[player])
            near = [k for k in sorted(free - {player}) if gaps[k] <= radius[player]]
            if player in free and len(near) >= others:
                lobbies.append([player, *rng.choice(near, others, replace=False).tolist()])
                free -= set(lobbies[-1])
        return lobbies
