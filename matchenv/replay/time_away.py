"""How long a player was away before each game of a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.compile import compiled

Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

SECONDS_PER_DAY = 86_400.0


def as_time_drift(value: Any, log: MatchLog) -> float:
    """``value`` as the standard deviation of a drift over a day, 0 or above.

    Raises:
        ValueError: if it is none, or above 0 for a log without times.
    """
    drift = as_non_negative_number("time_drift", value)
    if drift > 0.0 and log.time is None:
        raise ValueError(f"time_drift must be 0 for a log without times, got {value!r}")
    return drift


def games_and_those_before(log: MatchLog) -> tuple[Integers, Integers]:
    """(entries,) the game of each entry, and its player's game before; the first has itself."""
    size = np.diff(log.team_start[log.game_start])
    game = np.repeat(np.arange(log.num_games), size)
    return game, _games_before(log.player, game, log.num_players)


@compiled
def _games_before(player: Indices, game: Integers, num_players: int) -> Integers:
    last = np.full(num_players, -1, np.int64)
    before = game.copy()
    for entry in range(player.size):
        if last[player[entry]] >= 0:
            before[entry] = last[player[entry]]
        last[player[entry]] = game[entry]
    return before
