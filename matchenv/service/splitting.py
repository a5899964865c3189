"""The fairest teams: all splits of few players, exchanges for many.

A split is the side of each unit, a party or a player alone. ``sums`` has for each unit, and then
for each side, the sum of the means (row 0) and of the variances of performances (row 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from matchenv.service.players import Split
from matchenv.trueskill import Rating, team_match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Up to so many players all splits are tried; above, so many at random, with a fixed seed.
MOST_EXACT, TRIED, SEED = 12, 1000, 0
# Splits that are improved by exchanges.
STARTS = 20
# Exchanges that gain less are rounding.
PRECISION = 1e-12


def fairest_teams(
    groups: Sequence[Sequence[str]], rated: Mapping[str, Rating], sides: int, beta: float
) -> Split:
    """Split players into teams of the highest match quality, sizes as equal as possible.

    Args:
        groups: parties, and players alone.
        rated: the belief about each player.
        sides: number of sides, 2 to the number of players.
        beta: standard deviation of one performance around skill.

    Raises:
        ValueError: if the parties do not fit.
    """
    groups = sorted(groups, key=len, reverse=True)  # players alone fill what parties leave
    size = np.array([len(group) for group in groups])
    sums = np.array(
        [
            [sum(rated[each].mu for each in group) for group in groups],
            [sum(rated[each].sigma ** 2 + beta**2 for each in group) for group in groups],
        ]
    )
    found = splits_of(size, sides)
    if len(found) == 0:
        raise ValueError(f"together must fit in {sides} teams of {len(rated)} players")
    order = np.argsort(-log_quality(terms_of(sums_of(found, sums, sides)).sum(axis=-1)))
    tried = np.array([exchanged(found[each], size, sums, sides) for each in order[:STARTS]])
    best = tried[np.argmax(log_quality(terms_of(sums_of(tried, sums, sides)).sum(axis=-1)))]
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, best.tolist(), strict=True):
        teams[side] += group
    return Split(
        teams, team_match_quality([[rated[each] for each in team] for team in teams], beta)
    )


def splits_of(size: Integers, sides: int) -> Integers:
    """Return splits that fill the sides, shape (splits, units): all, or some at random.

    Of sides that are still empty and equally large only the first is tried.

    Args:
        size: players in each unit, in descending order.
        sides: number of sides.
    """
    rng, count = np.random.default_rng(SEED), int(size.sum())
    room = count // sides + (np.arange(sides) < count % sides)
    splits, left = np.empty((1, 0), dtype=np.int64), room[None]
    for players in size.tolist():
        is_empty = left == room
        is_twin = np.zeros(left.shape, dtype=np.bool_)
        is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
        split, side = np.nonzero((left >= players) & ~is_twin)
        if count > MOST_EXACT and split.size > TRIED:
            kept = rng.choice(split.size, TRIED, replace=False)
            split, side = split[kept], side[kept]
        splits, left = np.column_stack((splits[split], side)), left[split]
        left[np.arange(len(side)), side] -= players
    return splits


def sums_of(splits: Integers, sums: Floats, sides: int) -> Floats:
    """Return the sums of the sides, shape (2, ..., sides), of splits of shape (..., units).

    Means are measured from the mean over the sides, the same one for all splits.
    """
    member = splits[..., None] == np.arange(sides)
    mean, variance = sums
    return np.stack((mean @ member - mean.sum() / sides, variance @ member))


def terms_of(sums: Floats) -> Floats:
    """Return what each side of sums (2, ...) adds to the four sums of ``log_quality``, (4, ...)."""
    mean, variance = sums
    return np.stack((np.log(variance), 1.0 / variance, mean / variance, mean**2 / variance))


def log_quality(terms: Floats) -> Floats:
    """Return the logarithm of the match quality of splits into the same sizes, but for a constant.

    As ``matchenv.trueskill.team_match_quality``, whose noise depends on the sizes alone. Unlike
    the quality it does not underflow where sides are far apart.

    Args:
        terms: sums over the sides of ``terms_of``, shape (4, ...).
    """
    log_variance, weight, first, second = terms
    spread = second - first**2 / weight  # the weighted sum of squares about the weighted mean
    return np.asarray(-0.5 * (log_variance + np.log(weight) + spread))


def exchanged(split: Integers, size: Integers, sums: Floats, sides: int) -> Integers:
    """Exchange units of equal size between sides, the best exchange first, until none helps."""
    first, second = np.triu_indices(split.size, 1)
    fits = size[first] == size[second]
    first, second = first[fits], second[fits]
    gain = sums[:, second] - sums[:, first]
    while first.size > 0:
        side = sums_of(split, sums, sides)
        terms = terms_of(side)
        total, one, other = terms.sum(axis=-1), split[first], split[second]
        change = terms_of(side[:, one] + gain) + terms_of(side[:, other] - gain)
        change -= terms[:, one] + terms[:, other]
        quality = np.where(one == other, -np.inf, log_quality(total[:, None] + change))
        best, now = int(np.argmax(quality)), float(log_quality(total))
        if quality[best] - now <= PRECISION * max(1.0, abs(now)):
            break
        pair = [first[best], second[best]]
        split[pair] = split[pair[::-1]]
    return split
