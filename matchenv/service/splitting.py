"""The fairest teams: all splits of few players, exchanges for many.

A split is the side of each unit, a party or a player alone. ``sums`` has for each unit, and then
for each side, the sum of the means (row 0) and of the variances of performances (row 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    # The largest first: they fit or they do not.
    groups = sorted(groups, key=len, reverse=True)
    size = np.array([len(group) for group in groups])
    sums = np.array(
        [
            [sum(rated[each].mu for each in group) for group in groups],
            [sum(rated[each].sigma ** 2 + beta**2 for each in group) for group in groups],
        ]
    )
    room = np.full(sides, len(rated) // sides)
    room[: len(rated) % sides] += 1
    if len(rated) <= MOST_EXACT:
        splits = all_splits(size, room)
    else:
        found = [exchanged(start, size, sums, sides) for start in random_splits(size, room)]
        splits = np.array(found)
    if len(splits) == 0:
        raise ValueError(f"together must fit in {sides} teams of {len(rated)} players")
    quality = log_quality(terms_of_sides(sums_of_sides(splits, sums, sides)).sum(axis=-1))
    best = splits[np.argmax(quality)]
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, best.tolist(), strict=True):
        teams[side] += group
    return Split(
        teams, team_match_quality([[rated[each] for each in team] for team in teams], beta)
    )


def sums_of_sides(splits: Integers, sums: Floats, sides: int) -> Floats:
    """Return the sums of the sides, shape (2, ..., sides), of splits of shape (..., units).

    Means are measured from the mean over the sides, the same one for all splits.
    """
    member = splits[..., None] == np.arange(sides)
    mean, variance = sums
    return np.stack((mean @ member - mean.sum() / sides, variance @ member))


def terms_of_sides(sums: Floats) -> Floats:
    """Return what each side adds to the four sums of ``log_quality``, shape (4, ...).

    Args:
        sums: mean and variance of the sides, shape (2, ...).
    """
    mean, variance = sums
    return np.stack((np.log(variance), 1.0 / variance, mean / variance, mean**2 / variance))


def log_quality(terms: Floats) -> Floats:
    """Return the logarithm of the match quality of splits into the same sizes, but for a constant.

    As ``matchenv.trueskill.team_match_quality``, whose noise depends on the sizes alone. Unlike
    the quality it does not underflow where sides are far apart.

    Args:
        terms: sums over the sides of ``terms_of_sides``, shape (4, ...).
    """
    log_variance, weight, first, second = terms
    spread = second - first**2 / weight  # the weighted sum of squares about the weighted mean
    return np.asarray(-0.5 * (log_variance + np.log(weight) + spread))


def all_splits(size: Integers, room: Integers) -> Integers:
    """Return all splits that fill the sides, shape (splits, units).

    Of sides that are still empty and equally large only the first is tried.

    Args:
        size: players in each unit.
        room: players of each side, shape (sides,), in descending order.
    """
    splits, left = np.empty((1, 0), dtype=np.int64), room[None]
    for players in size.tolist():
        is_empty = left == room
        is_twin = np.zeros(left.shape, dtype=np.bool_)
        is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
        split, side = np.nonzero((left >= players) & ~is_twin)
        splits, left = np.column_stack((splits[split], side)), left[split]
        left[np.arange(len(side)), side] -= players
    return splits


def random_splits(size: Integers, room: Integers) -> Iterator[Integers]:
    """Yield at most ``STARTS`` random splits that fill the sides; arguments as ``all_splits``.

    Parties go to any side that has room for them, then players alone to what is left.
    """
    rng = np.random.default_rng(SEED)
    found = 0
    for _ in range(ATTEMPTS):
        left, split = room.copy(), np.zeros(size.size, dtype=np.int64)
        for unit in np.flatnonzero(size > 1).tolist():
            sides = np.flatnonzero(left >= size[unit])
            if sides.size == 0:
                break
            split[unit] = rng.choice(sides)
            left[split[unit]] -= size[unit]
        else:
            split[size == 1] = rng.permutation(np.repeat(np.arange(room.size), left))
            yield split
            found += 1
        if found == STARTS:
            break


def exchanged(split: Integers, size: Integers, sums: Floats, sides: int) -> Integers:
    """Exchange units of equal size between sides, the best exchange first, until none helps."""
    first, second = np.triu_indices(split.size, 1)
    fits = size[first] == size[second]
    first, second = first[fits], second[fits]
    gain = sums[:, second] - sums[:, first]
    while first.size > 0:
        side = sums_of_sides(split, sums, sides)
        terms = terms_of_sides(side)
        total, one, other = terms.sum(axis=-1), split[first], split[second]
        change = terms_of_sides(side[:, one] + gain) + terms_of_sides(side[:, other] - gain)
        change -= terms[:, one] + terms[:, other]
        quality = np.where(one == other, -np.inf, log_quality(total[:, None] + change))
        best, now = int(np.argmax(quality)), float(log_quality(total))
        if quality[best] - now <= PRECISION * max(1.0, abs(now)):
            break
        pair = [first[best], second[best]]
        split[pair] = split[pair[::-1]]
    return split
