"""The fairest teams: all splits of few players, exchanges for many.

A split is the side of each unit: a party, or a player alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.service.players import Split
from matchenv.trueskill import Rating, team_match_quality
from matchenv.trueskill.sides import log_quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Up to so many players all splits are tried; above, so many at random, with a fixed seed, of which
# the best ``STARTS`` are improved by exchanges. Those that gain less than PRECISION are rounding.
MOST_EXACT, TRIED, SEED, STARTS, PRECISION = 12, 1000, 0, 20, 1e-12


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
    # Of each unit, sums of the means, of the performances' variances and of their noise.
    units = np.array([
        [sum(rated[each].mu for each in group) for group in groups],
        [sum(rated[each].sigma ** 2 + beta**2 for each in group) for group in groups],
        size * beta**2,
    ])  # fmt: skip
    rng, (least, rest) = np.random.default_rng(SEED), divmod(len(rated), sides)
    room = least + (np.arange(sides) < rest)
    splits, left = np.empty((1, 0), dtype=np.int64), room[None]
    for players in size.tolist():
        # Of sides that are still empty and equally large only the first is tried.
        is_empty = left == room
        is_twin = np.zeros(left.shape, dtype=np.bool_)
        is_twin[:, 1:] = is_empty[:, 1:] & is_empty[:, :-1] & (room[1:] == room[:-1])
        split, side = np.nonzero((left >= players) & ~is_twin)
        if len(rated) > MOST_EXACT and split.size > TRIED:
            kept = rng.choice(split.size, TRIED, replace=False)
            split, side = split[kept], side[kept]
        splits, left = np.column_stack((splits[split], side)), left[split]
        left[np.arange(len(side)), side] -= players
    if len(splits) == 0:
        raise ValueError(f"together must fit in {sides} teams of {len(rated)} players")
    # Few players have no better split than the best of all.
    starts = STARTS if len(rated) > MOST_EXACT else 1
    best = np.argsort([-log_quality(split, units, sides) for split in splits])[:starts]
    improved = [exchange(splits[each], size, units, sides) for each in best]
    teams: list[list[str]] = [[] for _ in range(sides)]
    for group, side in zip(groups, splits[best[np.argmax(improved)]].tolist(), strict=True):
        teams[side] += group
    return Split(
        teams, team_match_quality([[rated[each] for each in team] for team in teams], beta)
    )


@compiled
def log_quality(split: Integers, units: Floats, sides: int) -> float:
    """Return the logarithm of a split's match quality, which does not underflow."""
    teams = np.zeros((3, sides))
    for unit, side in enumerate(split):
        teams[:, side] += units[:, unit]
    return log_quality_of_sides(teams[0], teams[1], teams[2])


@compiled(nogil=True)
def exchange(split: Integers, size: Integers, units: Floats, sides: int) -> float:
    """Exchange units of equal size, in place, until none helps; return the log quality."""
    quality, is_better = log_quality(split, units, sides), True
    while is_better:
        is_better = False
        for i in range(split.size):
            for j in range(i):
                if size[i] == size[j] and split[i] != split[j]:
                    split[i], split[j] = split[j], split[i]
                    found = log_quality(split, units, sides)
                    if found > quality + PRECISION * max(1.0, abs(quality)):
                        quality, is_better = found, True
                    else:
                        split[i], split[j] = split[j], split[i]
    return quality
