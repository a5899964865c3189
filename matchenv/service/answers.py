"""What a pool answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.ratings.leaderboard import RankedPlayer
from matchenv.service.players import Players, sigmas_after
from matchenv.service.settings import PoolSettings


class Meeting(NamedTuple):
    """Two players who should meet.

    Attributes:
        player: who was asked for, or the first of a pair.
        opponent: the other one.
        match_quality: of their game, in (0, 1].
    """

    player: str
    opponent: str
    match_quality: float


class Split(NamedTuple):
    """Teams.

    Attributes:
        teams: the sides, lists of names.
        match_quality: of their game, in (0, 1].
    """

    teams: list[list[str]]
    match_quality: float


def standings_of(
    players: Players, settings: PoolSettings, now: float, most: int | None
) -> list[RankedPlayer]:
    """The players, the highest mu - k sigma first; equal ones by name.

    Args:
        players: of the pool.
        settings: of the pool.
        now: in seconds.
        most: so many of the first alone; None for all.
    """
    slots = players.present()
    grown = sigmas_after(players.sigma[slots], players.seen[slots], now, settings.drift_per_day)
    mu = players.mu[slots]
    exposed = mu - settings.exposed_deviations * grown
    order = np.argsort(-exposed, kind="stable")
    if most is not None and most < order.size:
        # Those who are equal to the last one compete by name.
        order = order[exposed[order] >= exposed[order[most - 1]]]
    names = map(players.names.__getitem__, slots[order].tolist())
    numbers = (mu[order], grown[order], exposed[order], players.played[slots[order]])
    columns = (names, *(each.tolist() for each in numbers))
    lines = list(map(RankedPlayer._make, zip(*columns, strict=True)))
    for start, end in _equal_runs(numbers[2]):
        lines[start:end] = sorted(lines[start:end], key=lambda line: line.name)
    return lines[:most]


def _equal_runs(values: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Where sorted values are equal: the first place and the one after the last."""
    ends = np.flatnonzero(np.diff(values, append=np.nan) != 0.0) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    long = ends - starts > 1
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))
