"""The fairest teams: exhaustive search for few players, local search for many.

A unit is a party or a single player; a split is an array with the side of each unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.compile import compiled
from matchenv.service.players import Split
from matchenv.trueskill import Rating, team_match_quality
from matchenv.trueskill.sides import log_quality_of_sides

# All splits of up to this many players are compared.
MOST_EXACT = 12
# For more, this many random splits are drawn with a fixed seed, and exchanges improve the best of
# them by more than rounding.
RANDOM_SPLITS = 1000
SEED = 0
STARTS = 20
PRECISION = 1e-12
# Most parties whose fit is searched.
DEEPEST = 200


def fairest_teams(
    groups: Sequence[Sequence[str]], ratings: Mapping[str, Rating], sides: int, beta: float
) -> Split:
    """Split players into the teams of highest match quality, with sizes as equal as possible.

    Args:
        groups: names of the members of each unit.
        ratings: belief about each player.
        sides: number of sides, from 2 to the number of players.
        beta: standard deviation of one performance around skill.

    Raises:
        ValueError: if the parties do not fit.
    """
    is_exact = len(ratings) <= MOST_EXACT
    groups = sorted(groups, key=len, reverse=True)  # single players fill the gaps between parties
    sizes = np.array([len(group) for group in groups])
    units = sums_of_units(groups, ratings, beta)
    splits = candidate_splits(sizes, sides, None if is_exact else RANDOM_SPLITS)
    if len(splits) == 0:
        raise ValueError(f"together must fit into {sides} teams of {len(ratings)} players")
    qualities = np.array([log_quality(split, units, sides) for split in splits])
    by_quality = np.argsort(-qualities)
    if is_exact:
        best = splits[by_quality[0]]
    else:
        best = best_by_exchanges(splits[by_quality[:STARTS]], sizes, units, sides)
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, best.tolist(), strict=True):
        teams[side] += group
    beliefs = [[ratings[name] for name in team] for team in teams]
    return Split(teams, team_match_quality(beliefs, beta))


def sums_of_units(
    groups: Sequence[Sequence[str]], ratings: Mapping[str, Rating], beta: float
) -> Floats:
    """Return the sums over each unit of means, variances of performances and noise variances.

    Returns:
        An array of shape (3, units).
    """
    units = np.zeros((3, len(groups)))
    for unit, group in enumerate(groups):
        for name in group:
            mu, sigma = ratings[name]
            units[0, unit] += mu
            units[1, unit] += sigma**2 + beta**2
        units[2, unit] = len(group) * beta**2
    return units


def candidate_splits(sizes: Integers, sides: int, most: int | None) -> Integers:
    """Return splits into sides whose sizes differ by at most one.

    Args:
        sizes: number of players of each unit, the largest first, shape (units,).
        sides: number of sides.
        most: number of random splits to keep; None for all splits.

    Returns:
        The side of each unit, shape (splits, units); no rows if the parties do not fit.
    """
    rng = np.random.default_rng(SEED)
    smallest, larger_sides = divmod(int(sizes.sum()), sides)
    room = smallest + (np.arange(sides) < larger_sides)
    splits = np.empty((1, 0), dtype=np.int64)
    left = room[np.newaxis]  # seats left on each side of each split
    for unit, players in enumerate(sizes.tolist()):
        split, side = np.nonzero((left >= players) & ~_is_twin(left, room))
        if most is not None and len(split) > most:
            if players > 1:
                later = sizes[unit + 1 :]
                possible = _leaves_room(left, split, side, players, later[later > 1])
                split = split[possible]
                side = side[possible]
            kept = rng.permutation(len(split))[:most]
            split = split[kept]
            side = side[kept]
        splits = np.column_stack((splits[split], side))
        left = left[split]
        left[np.arange(len(side)), side] -= players
    return splits


def _is_twin(left: Integers, room: Integers) -> Masks:
    """Return the sides like the one before them: of empty sides with equal room, one is enough."""
    is_empty = left == room
    is_twin = np.zeros(left.shape, dtype=np.bool_)
    is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
    return is_twin


def _leaves_room(
    left: Integers, split: Integers, side: Integers, players: int, parties: Integers
) -> Masks:
    """Return whether all later parties fit after a unit has joined a side, for each choice.

    Args:
        left: seats left on each side of each split, shape (splits, sides).
        split: the split of each choice, shape (choices,).
        side: the side that the unit joins, shape (choices,).
        players: size of the unit.
        parties: sizes of the later parties, the largest first.
    """
    rooms = left[split]
    rooms[np.arange(len(side)), side] -= players
    distinct, index = np.unique(np.sort(rooms, axis=1), axis=0, return_inverse=True)
    sizes = tuple(parties.tolist())
    fits = np.array([parties_fit(tuple(row), sizes) for row in distinct.tolist()])
    return fits[index.ravel()]


def best_by_exchanges(splits: Integers, sizes: Integers, units: Floats, sides: int) -> Integers:
    """Return the best of some splits after exchanges of units, shape (units,)."""
    improved = splits.copy()
    qualities = [exchange(split, sizes, units, sides) for split in improved]
    return improved[np.argmax(qualities)]


@lru_cache(maxsize=1 << 16)
def parties_fit(room: tuple[int, ...], parties: tuple[int, ...]) -> bool:
    """Return whether parties, the largest first, fit into sides with this room, in any order.

    So many parties that the search is too deep are assumed to fit.
    """
    if not parties or len(parties) > DEEPEST:
        return True
    largest = parties[0]
    for side in reversed(range(len(room))):
        seats = room[side]
        is_tried = seats in room[side + 1 :]
        if seats >= largest and not is_tried:
            after = sorted((*room[:side], seats - largest, *room[side + 1 :]))
            if parties_fit(tuple(after), parties[1:]):
                return True
    return False


@compiled
def log_quality(split: Integers, units: Floats, sides: int) -> float:
    """Return the logarithm of a split's match quality, which does not underflow."""
    teams = np.zeros((3, sides))
    for unit in range(split.size):
        for row in range(3):
            teams[row, split[unit]] += units[row, unit]
    return log_quality_of_sides(teams[0], teams[1], teams[2])


@compiled(nogil=True)
def exchange(split: Integers, sizes: Integers, units: Floats, sides: int) -> float:
    """Exchange units of equal size in place until none improves; return the log quality."""
    quality = log_quality(split, units, sides)
    is_better = True
    while is_better:
        is_better = False
        for i in range(split.size):
            for j in range(i):
                side_i = split[i]
                side_j = split[j]
                if sizes[i] != sizes[j] or side_i == side_j:
                    continue
                split[i] = side_j
                split[j] = side_i
                exchanged = log_quality(split, units, sides)
                if exchanged > quality + PRECISION * max(1.0, abs(quality)):
                    quality = exchanged
                    is_better = True
                else:
                    split[i] = side_i
                    split[j] = side_j
    return quality
