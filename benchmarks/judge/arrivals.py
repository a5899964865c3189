"""Who logs on when, as far as a log of games tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.judge.settings import ArrivalSettings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.logs.match_log import MatchLog

Integers = NDArray[np.int64]

DEFAULTS = QueueSettings.checked()

MINUTE, HOUR = 60, 3600

# Players who log on in a tick; a queue of more would take days to play.
BUSIEST = 1000.0

# Of the times between two games of a player without a break, this share is taken to hold no wait.
SHORTEST = 0.1


@dataclass(frozen=True)
class Arrivals:
    """The load of a service.

    Attributes:
        arrival_rate: players who log on in a minute, when a typical player does: the mean over
            those who log on, not over the hours, of which many are empty.
        mean_rate: the same over all hours; NaN where it was not read off the log.
        game_minutes: minutes that a game lasts.
        patience_minutes: minutes after which a waiting player gives up, on average.
        stay: probability to queue again after a game.
        newcomers: share of those who log on who are new.
        sessions: times that somebody logged on; 0 where it was not read off the log.
        between_minutes: median minutes between two games of a session, the game's own not
            counted; NaN as well.
        read_off: names of what the log told.
    """

    arrival_rate: float
    mean_rate: float
    game_minutes: float
    patience_minutes: float
    stay: float
    newcomers: float
    sessions: int
    between_minutes: float
    read_off: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.ticks_rate <= BUSIEST:
            raise ValueError(
                f"arrival_rate times game_minutes must be at most "
                f"{BUSIEST * DEFAULTS.game_length:,.0f} players, got {self.arrival_rate:g} times "
                f"{self.game_minutes:g}"
            )

    @property
    def tick_minutes(self) -> float:
        """Minutes of a tick: a game has as many ticks as the environment's default."""
        return self.game_minutes / DEFAULTS.game_length

    @property
    def ticks_rate(self) -> float:
        """Players who log on in a tick."""
        return self.arrival_rate * self.tick_minutes

    @property
    def patience(self) -> float:
        """Ticks after which a waiting player gives up, on average, 1 at least."""
        return max(1.0, self.patience_minutes / self.tick_minutes)


def arrivals_of(log: MatchLog, settings: ArrivalSettings) -> Arrivals:
    """What the times of a log say of its service, but for what is given.

    A session begins with a player's first game and with every game after a break of
    ``session_minutes``.

    Args:
        log: the games.
        settings: what is given.

    Raises:
        ValueError: where the log does not tell what is not given.
    """
    if log.time is None:
        return _given(settings)
    begins, gaps = sessions_of(log, settings.session_minutes)
    game = log.team_game[log.entry_team]
    starts = np.sort(log.time[game[begins]])
    length = settings.game_minutes
    if length is None:
        length = float(np.quantile(gaps, SHORTEST)) / MINUTE if gaps.size else 0.0
        if not length > 0.0:
            raise ValueError(
                "game_minutes must be given where the log does not tell: no player has two games "
                f"within {settings.session_minutes:g} minutes at times that differ"
            )
    typical, mean = _rates(starts)
    rate = settings.arrival_rate
    if rate is None:
        rate = typical
        if not rate > 0.0:
            raise ValueError(
                "arrival_rate must be given where the log's times do not tell it: "
                f"{starts.size} players logged on within {starts[-1] - starts[0]} seconds"
            )
    values = {
        "arrival_rate": rate,
        "game_minutes": length,
        "patience_minutes": settings.patience_minutes or _usual_patience(length),
        "stay": 1.0 - starts.size / len(log.player) if settings.stay is None else settings.stay,
        "newcomers": _newcomers(log, begins) if settings.newcomers is None else settings.newcomers,
    }
    return Arrivals(
        **values,
        mean_rate=mean,
        sessions=int(starts.size),
        between_minutes=float(np.median(gaps)) / MINUTE - length if gaps.size else float("nan"),
        read_off=tuple(
            name
            for name in values
            if name != "patience_minutes" and getattr(settings, name) is None
        ),
    )


def sessions_of(log: MatchLog, session_minutes: float) -> tuple[NDArray[np.bool_], Integers]:
    """Where sessions begin.

    Args:
        log: the games, with times.
        session_minutes: the longest time between two games of a session.

    Returns:
        ``(begins, gaps)``: (entries,), whether the entry's player logged on for that game; and
        the seconds between two games of one session, in no order.
    """
    assert log.time is not None
    order = np.argsort(log.player, kind="stable")
    player, time = log.player[order], log.time[log.team_game[log.entry_team]][order]
    gap = np.diff(time)
    same = (np.diff(player) == 0) & (gap <= session_minutes * MINUTE)
    begins = np.ones(len(order), dtype=np.bool_)
    begins[order[1:]] = ~same
    return begins, gap[same]


def _rates(starts: Integers) -> tuple[float, float]:
    """Players who log on in a minute: as one of them sees it, and over all hours."""
    span = int(starts[-1] - starts[0])
    if span == 0:
        return 0.0, 0.0
    width = min(HOUR, span)
    count = np.bincount((starts - starts[0]) // width).astype(np.float64)
    # One who logs on sees the others of the hour: n (n - 1) has no Poisson noise in its mean.
    typical = float((count * (count - 1.0)).sum() / count.sum())
    return typical / width * MINUTE, (starts.size - 1) / span * MINUTE


def _newcomers(log: MatchLog, begins: NDArray[np.bool_]) -> float:
    """Share of first sessions, in the later half: a log begins with players who are not new."""
    _, first = np.unique(log.player, return_index=True)
    is_first = np.zeros(len(log.player), dtype=np.bool_)
    is_first[first] = True
    later = np.flatnonzero(begins)
    later = later[later.size // 2 :]
    return float(is_first[later].mean())


def _given(settings: ArrivalSettings) -> Arrivals:
    if settings.arrival_rate is None:
        raise ValueError("arrival_rate must be given for a log without times, got None")
    if settings.game_minutes is None:
        raise ValueError("game_minutes must be given for a log without times, got None")
    return Arrivals(
        arrival_rate=settings.arrival_rate,
        mean_rate=float("nan"),
        game_minutes=settings.game_minutes,
        patience_minutes=settings.patience_minutes or _usual_patience(settings.game_minutes),
        stay=DEFAULTS.stay if settings.stay is None else settings.stay,
        newcomers=DEFAULTS.newcomers if settings.newcomers is None else settings.newcomers,
        sessions=0,
        between_minutes=float("nan"),
        read_off=(),
    )


def _usual_patience(game_minutes: float) -> float:
    return game_minutes * DEFAULTS.patience / DEFAULTS.game_length
