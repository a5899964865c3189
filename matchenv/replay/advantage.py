"""The advantage of the first side, game by game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.runtime.checks import as_number


def advantages_of(log: MatchLog, advantage: float) -> NDArray[np.float64]:
    """(games,) what the first side of each game is stronger by: nothing on neutral ground.

    Args:
        log: the games.
        advantage: in skill points.

    Raises:
        ValueError: for an advantage that is no finite number.
    """
    ahead = np.full(log.num_games, as_number("advantage", advantage))
    if log.neutral is not None:
        ahead[log.neutral] = 0.0
    return ahead
