"""Who logs on, as a log has rated them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.population import RatedPopulation
from matchenv.logs import TrueSkillReplay
from matchenv.logs.games import SECONDS_PER_DAY
from matchenv.logs.match_log import MatchLog

# Rows of a population: enough for any figure here, and quick.
MOST_ROWS = 2000


def population_of_log(
    log: MatchLog,
    replay: TrueSkillReplay,
    begins: NDArray[np.bool_] | None,
    time_drift: float,
) -> RatedPopulation:
    """The beliefs about those who logged on and had played before, as they were then.

    Who plays often is there often. A log in which nobody comes back gives the ratings after its
    last game.

    Args:
        log: the games.
        replay: of the log, with its history.
        begins: (entries,), where somebody logged on; None for every game.
        time_drift: drift of a skill over a day.
    """
    order = np.argsort(log.player, kind="stable")
    again = np.flatnonzero(np.diff(log.player[order]) == 0) + 1
    before, now = order[again - 1], order[again]
    if begins is not None:
        before, now = before[begins[now]], now[begins[now]]
    if now.size == 0:
        return RatedPopulation(replay.mu, replay.sigma, "the log")
    in_time = np.argsort(now, kind="stable")
    chosen = in_time[np.unique(np.linspace(0, now.size - 1, MOST_ROWS).astype(np.int64))]
    before, now = before[chosen], now[chosen]
    variance = replay.entry_sigma[before] ** 2
    if log.time is not None:
        time = log.time[log.team_game[log.entry_team]]
        variance = variance + time_drift**2 * (time[now] - time[before]) / SECONDS_PER_DAY
    return RatedPopulation(replay.entry_mu[before], np.sqrt(variance), "the log")
