"""Tables of any library of data frames: logs from them, ratings and skill curves to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import BeliefReplay, EloReplay
from matchenv.logs.smoothing import SmoothedLog

ROLES = (
    "game", "player", "team", "score", "team_score", "rank", "time", "weight", "time_played",
    "neutral",
)  # fmt: skip
Maker = Callable[[dict[str, Any]], Any]


def log_of_table(frame: Any, columns: Mapping[str, str | None]) -> MatchLog:
    """Return the log of a table; see ``MatchLog.from_table``."""
    import pandas as pd

    from matchenv.logs.bad_rows import BadRows
    from matchenv.logs.rows import read_rows, whole_games

    unknown = sorted(set(columns) - set(ROLES))
    if unknown:
        raise TypeError(f"columns must be of {', '.join(ROLES)}, got {', '.join(unknown)}")
    names = {"game": "game", "player": "player", **columns}
    chosen = {role: name for role, name in names.items() if name is not None}
    for one, *others in (("score", "team_score", "rank"), ("weight", "time_played")):
        given = [role for role in (one, *others) if role in chosen]
        if len(given) > 1 or (one == "score" and not given):
            raise ValueError(f"one of {', '.join((one, *others))} must be given, got {given}")
    known = [str(column) for column in getattr(frame, "columns", frame)]
    texts = {}
    for role, name in chosen.items():
        if name not in known:
            raise ValueError(f"{role} must be one of the columns {', '.join(known)}, got {name!r}")
        column = list(frame[name])
        gone = pd.isna(pd.Series(column, dtype=object))
        texts[role] = ["" if no else str(value) for value, no in zip(column, gone, strict=True)]
    if len({len(column) for column in texts.values()}) > 1:
        raise ValueError("frame must have columns of the same length")
    bad = BadRows()
    rows = read_rows(texts, range(len(texts["game"])), None, bad)
    log = whole_games(rows, bad).log
    if len(bad):
        first = bad.sorted()[0]
        raise ValueError(
            f"frame must be a log of matches: row {first.line}: {first.reason} ({first.detail})"
        )
    return MatchLog.from_games([], []) if log is None else log


def ratings_table(log: MatchLog, replay: BeliefReplay | EloReplay, make: Maker = dict) -> Any:
    """Return everyone's rating after the last game of a log, one row for each player.

    Args:
        log: the log that was replayed.
        replay: the result of ``replay_trueskill``, ``replay_elo`` or ``replay_system``.
        make: makes the table of a dict of columns: ``pandas.DataFrame``, ``polars.DataFrame``, or
            ``dict`` for the columns themselves.

    Returns:
        A table with the columns player, games, and mu and sigma or rating.

    Raises:
        ValueError: for a replay of another number of players.
    """
    count = len(replay.games_played)
    if count != log.num_players:
        raise ValueError(f"replay must be of the log's {log.num_players} players, got {count}")
    columns: dict[str, Any] = {"player": list(log.players), "games": replay.games_played}
    for name in ("mu", "sigma", "rating"):
        if hasattr(replay, name):
            columns[name] = getattr(replay, name)
    return make(columns)


def curves_table(log: MatchLog, smoothed: SmoothedLog, make: Maker = dict) -> Any:
    """Return everyone's skill through time, player by player, a row for each of their games.

    Args:
        log: the log that was smoothed.
        smoothed: the result of ``smooth``.
        make: as in ``ratings_table``.

    Returns:
        A table with the columns player, game (its number in the log), time if the log has times,
        mu and sigma.

    Raises:
        ValueError: for a smoothed log of other entries.
    """
    if len(smoothed.mu) != len(log.player):
        raise ValueError(
            f"smoothed must be of the log's {len(log.player)} entries, got {len(smoothed.mu)}"
        )
    order = np.argsort(log.player, kind="stable")
    game = log.entry_game[order]
    columns: dict[str, Any] = {
        "player": [log.players[k] for k in log.player[order].tolist()],
        "game": game,
    }
    if log.time is not None:
        columns["time"] = log.time[game]
    columns["mu"], columns["sigma"] = smoothed.mu[order], smoothed.sigma[order]
    return make(columns)
