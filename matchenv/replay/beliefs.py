"""Beliefs with a mean and a deviation walked over a log: what every such replay reads and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class BeliefReplay:
    """What a system believed before each game of a log, and after the last one.

    Attributes:
        team_mean: (teams,) mean of each team before its game.
        team_variance: (teams,) its variance.
        quality: (games,) match quality of each game before it, in (0, 1].
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        games_played: (players,) number of games of each player.
        entry_mu: (entries,) mean of the belief about the entry's player right after the
            game, or an empty array if no history was asked for.
        entry_sigma: (entries,) its standard deviation, or empty.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    games_played: Integers
    entry_mu: Floats
    entry_sigma: Floats


class Beliefs(NamedTuple):
    """The arrays of a ``BeliefReplay`` that a compiled loop writes; mu and sigma are read too."""

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    entry_mu: Floats
    entry_sigma: Floats

    def of(self, log: MatchLog) -> dict[str, Any]:
        """The attributes of a ``BeliefReplay`` of that log."""
        return {**self._asdict(), "games_played": np.bincount(log.player, minlength=len(self.mu))}


def beliefs_before(log: MatchLog, mu: float, sigma: float, keep_history: bool) -> Beliefs:
    """The beliefs before the first game, and room for what is believed later.

    Args:
        log: the matches.
        mu: mean of the belief about every player.
        sigma: its standard deviation.
        keep_history: whether there is room for each belief after each game.
    """
    teams, history = len(log.rank), len(log.player) if keep_history else 0
    return Beliefs(
        team_mean=np.empty(teams),
        team_variance=np.empty(teams),
        quality=np.empty(log.num_games),
        mu=np.full(log.num_players, mu),
        sigma=np.full(log.num_players, sigma),
        entry_mu=np.empty(history),
        entry_sigma=np.empty(history),
    )


@compiled
def set_sides(
    team_start: Integers,
    rank: Indices,
    first_team: int,
    last_team: int,
    start: Integers,
    game_rank: Floats,
) -> None:
    """Write where each side's players begin in a game, and its rank.

    Args:
        team_start: (teams + 1,) as in ``MatchLog``.
        rank: (teams,) as in ``MatchLog``.
        first_team: of the game.
        last_team: one after its last.
        start: (>= sides + 1,) written, 0 for the game's first player.
        game_rank: (>= sides,) written.
    """
    first = team_start[first_team]
    start[0] = 0
    for team in range(first_team, last_team):
        side = team - first_team
        start[side + 1] = team_start[team + 1] - first
        game_rank[side] = rank[team]


# Kernels of one game take arrays: to hand over a tuple of many takes longer than their work.


@compiled
def copy_beliefs(
    player: Indices, first: int, last: int, from_mu: Floats, from_sigma: Floats, mu: Floats,
    sigma: Floats,
) -> None:  # fmt: skip
    """Copy the beliefs about the players of entries first to last - 1 to the start of two arrays.

    Args:
        player: (entries,) as in ``MatchLog``.
        first: entry of the game.
        last: one after its last entry.
        from_mu: (players,) means of the beliefs.
        from_sigma: (players,) their standard deviations.
        mu: written from its start, one number for each entry of the game.
        sigma: written likewise.
    """
    for entry in range(first, last):
        mu[entry - first] = from_mu[player[entry]]
        sigma[entry - first] = from_sigma[player[entry]]


@compiled
def put_beliefs(
    player: Indices, first: int, last: int, mu: Floats, sigma: Floats, to_mu: Floats,
    to_sigma: Floats,
) -> None:  # fmt: skip
    """The reverse of ``copy_beliefs``."""
    for entry in range(first, last):
        to_mu[player[entry]] = mu[entry - first]
        to_sigma[player[entry]] = sigma[entry - first]
