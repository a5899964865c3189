"""The fairest teams: exhaustive search for few players, local search for many.

A unit is a party or a single player; a split is an array with the side of each unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.service.players import Split
from matchenv.trueskill import Rating, team_match_quality
from matchenv.trueskill.sides import log_quality_of_sides

# Most parties whose fit is searched.
DEEPEST = 200

# All splits of up to MOST_EXACT players are compared. For more, TRIED random splits are drawn with
# a fixed seed, and exchanges improve the best STARTS of them by more than rounding (PRECISION).
MOST_EXACT, TRIED, SEED, STARTS, PRECISION = 12, 1000, 0, 20, 1e-12


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
    groups = sorted(groups, key=len, reverse=True)  # single players fill the gaps between parties
    size = np.array([len(group) for group in groups])
    # Sums over each unit: means, variances of performances, and noise variances.
    units = np.array([
        [sum(ratings[name].mu for name in group) for group in groups],
        [sum(ratings[name].sigma ** 2 + beta**2 for name in group) for group in groups],
        size * beta**2,
    ])  # fmt: skip
    rng, (least, rest) = np.random.default_rng(SEED), divmod(len(ratings), sides)
    room = least + (np.arange(sides) < rest)
    splits, left = np.empty((1, 0), dtype=np.int64), room[None]
    for unit, players in enumerate(size.tolist()):
        # Of empty sides with equal room, only the first is tried.
        is_empty = left == room
        is_twin = np.zeros(left.shape, dtype=np.bool_)
        is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
        split, side = np.nonzero((left >= players) & ~is_twin)
        if len(ratings) > MOST_EXACT and split.size > TRIED:
            if players > 1:  # keep no split in which later parties do not fit
                rooms = left[split]
                rooms[np.arange(len(side)), side] -= players
                kinds, kind = np.unique(np.sort(rooms, axis=1), axis=0, return_inverse=True)
                parties = tuple(size[unit + 1 :][size[unit + 1 :] > 1].tolist())
                possible = np.array([parties_fit(tuple(each), parties) for each in kinds.tolist()])
                split, side = (each[possible[kind.ravel()]] for each in (split, side))
            kept = rng.permutation(split.size)[:TRIED]
            split, side = split[kept], side[kept]
        splits, left = np.column_stack((splits[split], side)), left[split]
        left[np.arange(len(side)), side] -= players
    if len(splits) == 0:
        raise ValueError(f"together must fit into {sides} teams of {len(ratings)} players")
    starts = STARTS if len(ratings) > MOST_EXACT else 1  # the best of all splits needs no search
    best = np.argsort([-log_quality(split, units, sides) for split in splits])[:starts]
    improved = [exchange(splits[start], size, units, sides) for start in best]
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, splits[best[np.argmax(improved)]].tolist(), strict=True):
        teams[side] += group
    beliefs = [[ratings[name] for name in team] for team in teams]
    return Split(teams, team_match_quality(beliefs, beta))


@lru_cache(maxsize=1 << 16)
def parties_fit(room: tuple[int, ...], parties: tuple[int, ...]) -> bool:
    """Return whether parties, the largest first, fit into sides with this room, in any order.

    So many parties that the search is too deep are assumed to fit.
    """
    if not parties or len(parties) > DEEPEST:
        return True
    return any(
        parties_fit(tuple(sorted((*room[:k], room[k] - parties[0], *room[k + 1 :]))), parties[1:])
        for k in reversed(range(len(room)))
        if room[k] >= parties[0] and room[k] not in room[k + 1 :]
    )


@compiled
def log_quality(split: Integers, units: Floats, sides: int) -> float:
    """Return the logarithm of a split's match quality, which does not underflow."""
    teams = np.zeros((3, sides))
    for unit in range(split.size):
        for row in range(3):
            teams[row, split[unit]] += units[row, unit]
    return log_quality_of_sides(teams[0], teams[1], teams[2])


@compiled(nogil=True)
def exchange(split: Integers, size: Integers, units: Floats, sides: int) -> float:
    """Exchange units of equal size in place until none improves; return the log quality."""
    quality, is_better = log_quality(split, units, sides), True
    while is_better:
        is_better = False
        for i in range(split.size):
            for j in range(i):
                one, two = split[i], split[j]
                if size[i] != size[j] or one == two:
                    continue
                split[i], split[j] = two, one
                other = log_quality(split, units, sides)
                if other > quality + PRECISION * max(1.0, abs(quality)):
                    quality, is_better = other, True
                else:
                    split[i], split[j] = one, two
    return quality
