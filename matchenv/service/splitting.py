"""The fairest teams: all splits of few players, exchanges for many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.service.players import Split
from matchenv.trueskill import Rating, team_match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# So many players are split exactly.
MOST_EXACT = 12
# Starting points of the exchanges, how often one is looked for, and the seed.
STARTS, ATTEMPTS, SEED = 20, 200, 0
# Exchanges that gain less are rounding.
PRECISION = 1e-12


class Units(NamedTuple):
    """Players who stay together, a player alone being one too; shape (units,).

    Attributes:
        size: players.
        mean: sums of means.
        variance: sums of variances of performances.
    """

    size: Integers
    mean: Floats
    variance: Floats


def fairest_teams(
    groups: Sequence[Sequence[str]], rated: Mapping[str, Rating], sides: int, beta: float
) -> Split:
    """Split players into teams of the highest match quality, sizes as equal as can be.

    Up to ``MOST_EXACT`` players it is the best of all splits, above the best that exchanges find
    from several starts.

    Args:
        groups: parties, and players alone.
        rated: the belief about each player.
        sides: number of sides, 2 to the number of players.
        beta: standard deviation of one performance around skill.

    Raises:
        ValueError: if the parties do not fit.
    """
    # The largest units first: they fit or they do not. Then the strongest.
    groups = sorted(groups, key=lambda group: (-len(group), -sum(rated[each].mu for each in group)))
    units = Units(
        np.array([len(group) for group in groups]),
        np.array([sum(rated[each].mu for each in group) for group in groups]),
        np.array([sum(rated[each].sigma ** 2 + beta**2 for each in group) for group in groups]),
    )
    room = np.full(sides, len(rated) // sides)
    room[: len(rated) % sides] += 1
    if len(rated) <= MOST_EXACT:
        splits = all_splits(units.size, room)
    else:
        starts = start_splits(units.size, room)
        splits = np.array([exchanged(start, units, sides) for start in starts])
    if len(splits) == 0:
        raise ValueError(f"together must fit in {sides} teams of {len(rated)} players")
    side_of = splits[np.argmax(log_quality(*sums_of_sides(splits, units, sides)))]
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, side_of.tolist(), strict=True):
        teams[side] += group
    return Split(
        teams, team_match_quality([[rated[each] for each in team] for team in teams], beta)
    )


def log_quality(mean: Floats, variance: Floats) -> Floats:
    """Return the logarithm of the match quality of splits into the same sizes, but for a constant.

    As ``matchenv.trueskill.team_match_quality``, whose noise depends on the sizes alone. Unlike
    the quality it does not underflow where sides are far apart.

    Args:
        mean: shape (splits, sides), of the performances.
        variance: shape (splits, sides).
    """
    inverse = 1.0 / variance
    total = inverse.sum(axis=-1)
    gap = mean - ((mean * inverse).sum(axis=-1) / total)[..., None]
    return -0.5 * (np.log(variance).sum(axis=-1) + np.log(total) + (gap**2 * inverse).sum(axis=-1))


def sums_of_sides(side_of: Integers, units: Units, sides: int) -> tuple[Floats, Floats]:
    """Return means and variances of the sides, shape (splits, sides), from (splits, units)."""
    member = side_of[..., None] == np.arange(sides)
    return units.mean @ member, units.variance @ member


def all_splits(size: Integers, room: Integers) -> Integers:
    """Return the side of each unit in all splits, shape (splits, units), that fill the sides.

    Of sides that are still empty and equally large only the first is tried.

    Args:
        size: players in each unit.
        room: players of each side, shape (sides,), in descending order.
    """
    side_of = np.empty((1, 0), dtype=np.int64)
    left = room[None]
    for players in size.tolist():
        is_twin = np.zeros(left.shape, dtype=np.bool_)
        is_empty = left == room
        is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
        split, side = np.nonzero((left >= players) & ~is_twin)
        side_of = np.column_stack((side_of[split], side))
        left = left[split]
        left[np.arange(len(side)), side] -= players
    return side_of


def start_splits(size: Integers, room: Integers) -> Iterator[Integers]:
    """Yield at most ``STARTS`` random splits that fill the sides; arguments as ``all_splits``.

    Parties go to any side that has room for them, then players alone to what is left.
    """
    rng = np.random.default_rng(SEED)
    found = 0
    for _ in range(ATTEMPTS):
        left, side_of = room.copy(), np.zeros(size.size, dtype=np.int64)
        for unit in np.flatnonzero(size > 1).tolist():
            sides = np.flatnonzero(left >= size[unit])
            if sides.size == 0:
                break
            side_of[unit] = rng.choice(sides)
            left[side_of[unit]] -= size[unit]
        else:
            side_of[size == 1] = rng.permutation(np.repeat(np.arange(room.size), left))
            yield side_of
            found += 1
        if found == STARTS:
            break


def exchanged(side_of: Integers, units: Units, sides: int) -> Integers:
    """Exchange units of equal size between sides, the best exchange first, until none helps.

    Args:
        side_of: shape (units,).
        units: parties and players alone.
        sides: number of sides.
    """
    first, second = np.triu_indices(side_of.size, 1)
    fits = units.size[first] == units.size[second]
    first, second = first[fits], second[fits]
    if first.size == 0:
        return side_of
    mean, variance = sums_of_sides(side_of, units, sides)
    while True:
        one, other = side_of[first], side_of[second]
        every = np.arange(first.size)
        after = []
        for values, sums in ((units.mean, mean), (units.variance, variance)):
            # Row by row the sums after one exchange; within a side nothing changes.
            moved = np.repeat(sums[None], first.size, axis=0)
            gain = values[second] - values[first]
            moved[every, one] += gain
            moved[every, other] -= gain
            after.append(moved)
        quality = log_quality(*after)
        now = float(log_quality(mean, variance))
        best = int(np.argmax(quality))
        if quality[best] - now <= PRECISION * max(1.0, abs(now)):
            return side_of
        side_of[[first[best], second[best]]] = other[best], one[best]
        mean, variance = sums_of_sides(side_of, units, sides)
