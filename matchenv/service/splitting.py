"""The fairest teams: exact for few players, by exchanges for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.service.answers import Split
from matchenv.trueskill import Rating, team_match_quality
from matchenv.trueskill.sides import quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# So many players are split exactly.
MOST_EXACT = 12
# Starting points of the exchanges, and the seed that draws them.
STARTS, SEED = 20, 0
# How often a packing of the parties is tried anew.
PACKINGS = 200


class Units(NamedTuple):
    """Those who stay together, a player alone being one too.

    Attributes:
        size: shape (units,), players.
        mean: shape (units,), sums of means.
        variance: shape (units,), sums of variances of performances.
    """

    size: Integers
    mean: Floats
    variance: Floats


def room_of_sides(players: int, sides: int) -> Integers:
    """Players of each side, as equal as can be, the larger sides first."""
    room = np.full(sides, players // sides)
    room[: players % sides] += 1
    return room


@compiled
def value_of(
    side_of: Integers, size: Integers, mean: Floats, variance: Floats, sides: int, beta: float
) -> tuple[float, float]:
    """How fair teams are: match quality, and the spread of the means where that is 0.

    Args:
        side_of: shape (units,).
        size: as ``Units``, and so are the next two.
        mean: as there.
        variance: as there.
        sides: number of them.
        beta: standard deviation of one performance around skill.

    Returns:
        The quality, and the negative variance of the sides' means.
    """
    means, variances, noises = np.zeros(sides), np.zeros(sides), np.zeros(sides)
    for unit in range(size.size):
        side = side_of[unit]
        means[side] += mean[unit]
        variances[side] += variance[unit]
        noises[side] += size[unit] * beta * beta
    return quality_of_sides(means, variances, noises), -float(np.var(means))


@compiled
def exact_split(
    size: Integers, mean: Floats, variance: Floats, room: Integers, beta: float
) -> Integers:
    """The side of each unit, of all splits the one of the highest quality; -1 if none fits.

    Goes through all splits in which the sides are as large as ``room`` says; of sides that are
    still empty and equally large only the first is tried.

    Args:
        size: as ``Units``, and so are the next two.
        mean: as there.
        variance: as there.
        room: shape (sides,), players of each.
        beta: standard deviation of one performance around skill.
    """
    units, sides = size.size, room.size
    side_of = np.full(units, -1)
    best = np.full(units, -1)
    best_quality, best_spread = -1.0, -np.inf
    left = room.copy()
    unit = 0
    while unit >= 0:
        if unit == units:
            quality, spread = value_of(side_of, size, mean, variance, sides, beta)
            if quality > best_quality or (quality == best_quality and spread > best_spread):
                best_quality, best_spread = quality, spread
                best[:] = side_of
            unit -= 1
            continue
        if side_of[unit] >= 0:
            left[side_of[unit]] += size[unit]
        side = side_of[unit] + 1
        while side < sides:
            is_twin = (
                side > 0
                and left[side] == room[side]
                and left[side - 1] == room[side - 1]
                and room[side] == room[side - 1]
            )
            if left[side] >= size[unit] and not is_twin:
                break
            side += 1
        if side == sides:
            side_of[unit] = -1
            unit -= 1
        else:
            side_of[unit] = side
            left[side] -= size[unit]
            unit += 1
    return best


@compiled
def exchange(
    side_of: Integers, size: Integers, mean: Floats, variance: Floats, sides: int, beta: float
) -> float:
    """Exchange units of equal size between sides while that makes the teams fairer.

    A unit also changes places with two that are together as large.

    Args:
        side_of: shape (units,), overwritten.
        size: as ``Units``, and so are the next two.
        mean: as there.
        variance: as there.
        sides: number of them.
        beta: standard deviation of one performance around skill.

    Returns:
        The quality in the end.
    """
    units = size.size
    quality, spread = value_of(side_of, size, mean, variance, sides, beta)
    moved = True
    while moved:
        moved = False
        for i in range(units):
            for j in range(units):
                # k = j stands for no third one.
                for k in range(j, units if size[i] > 1 else j + 1):
                    both = size[j] if k == j else size[j] + size[k]
                    a, b = side_of[i], side_of[j]
                    if a == b or size[i] != both or side_of[k] != b:
                        continue
                    side_of[i] = b
                    side_of[j] = a
                    side_of[k] = a
                    new_quality, new_spread = value_of(side_of, size, mean, variance, sides, beta)
                    if new_quality > quality or (new_quality == quality and new_spread > spread):
                        quality, spread, moved = new_quality, new_spread, True
                    else:
                        side_of[i] = a
                        side_of[j] = b
                        side_of[k] = b
    return quality


def fairest_split(units: Units, sides: int, beta: float) -> Integers | None:
    """The side of each unit, sizes as equal as can be; None if the parties do not fit.

    Up to ``MOST_EXACT`` players it is the split of the highest match quality, above the best that
    exchanges find from several starts.

    Args:
        units: parties and players alone.
        sides: number of sides, 2 to the number of players.
        beta: standard deviation of one performance around skill.
    """
    players = int(units.size.sum())
    room = room_of_sides(players, sides)
    # The largest units first: they fit or they do not.
    order = np.lexsort((-units.mean, -units.size))
    sorted_units = Units(units.size[order], units.mean[order], units.variance[order])
    if players <= MOST_EXACT:
        found = exact_split(*sorted_units, room, beta)
    else:
        found = _split_by_exchanges(sorted_units, room, beta)
    if found[0] < 0:
        return None
    side_of = np.empty_like(found)
    side_of[order] = found
    return side_of


def fairest_teams(
    groups: Sequence[Sequence[str]], rated: Mapping[str, Rating], sides: int, beta: float
) -> Split:
    """``fairest_split`` of named players.

    Args:
        groups: parties, and players alone.
        rated: the belief about each player.
        sides: number of sides.
        beta: standard deviation of one performance around skill.

    Raises:
        ValueError: if the parties do not fit.
    """
    members = [[rated[name] for name in group] for group in groups]
    units = Units(
        np.array([len(group) for group in groups]),
        np.array([sum(one.mu for one in group) for group in members]),
        np.array([sum(one.sigma**2 + beta**2 for one in group) for group in members]),
    )
    side_of = fairest_split(units, sides, beta)
    if side_of is None:
        raise ValueError(f"together must fit in {sides} teams of {len(rated)} players")
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, side_of.tolist(), strict=True):
        teams[side] += group
    quality = team_match_quality([[rated[name] for name in team] for team in teams], beta)
    return Split(teams, quality)


def _split_by_exchanges(units: Units, room: Integers, beta: float) -> Integers:
    rng = np.random.default_rng(SEED)
    best, best_quality, starts = np.full(units.size.size, -1), -1.0, 0
    for attempt in range(PACKINGS):
        side_of = _packed(units, room, rng, shuffled=attempt > 0)
        if side_of is None:
            continue
        quality = exchange(side_of, *units, room.size, beta)
        starts += 1
        if quality > best_quality:
            best, best_quality = side_of, quality
        if starts == STARTS:
            break
    return best


def _packed(
    units: Units, room: Integers, rng: np.random.Generator, *, shuffled: bool
) -> Integers | None:
    """Units one after the other to the weakest side that has room; None where one has none."""
    # Equal sizes in any order, so that starts differ.
    chance = rng.random(units.size.size) if shuffled else -units.mean
    order = np.lexsort((chance, -units.size))
    left, strength = room.copy(), np.zeros(room.size)
    side_of = np.full(units.size.size, -1)
    for unit in order.tolist():
        fits = left >= units.size[unit]
        if not fits.any():
            return None
        # Parties go where most room is, so that the next ones fit; players alone where it lacks.
        room_first = -left if units.size[unit] > 1 else np.zeros(room.size)
        if shuffled and units.size[unit] > 1:
            room_first = rng.random(room.size)
        side = int(np.lexsort((strength, room_first, ~fits))[0])
        side_of[unit] = side
        left[side] -= units.size[unit]
        strength[side] += units.mean[unit]
    return side_of
