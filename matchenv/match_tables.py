"""Match logs from data frames and back: pandas, polars, or plain dicts of columns.

Nothing here imports a library of frames. A frame is whatever gives a column for ``frame[name]``
and lists their names in ``frame.columns`` (or, like a dict, by itself).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matchenv.runtime.checks import as_float_array, as_integer, as_non_negative_array

if TYPE_CHECKING:
    from matchenv.match_log import MatchLog


class Games:
    """The rows of a table, grouped into games in the order in which the table first names them.

    Attributes:
        names: of the games.
        sides: for each game, for each side the numbers of its rows.
    """

    def __init__(self, game: Sequence[Hashable], team: Sequence[Hashable] | None) -> None:
        rows: dict[Hashable, list[int]] = {}
        for k, name in enumerate(game):
            rows.setdefault(name, []).append(k)
        self.names = list(rows)
        self.sides = [_sides_of(name, members, team) for name, members in rows.items()]


class Roles(NamedTuple):
    """The column of each role, as ``MatchLog.from_table`` takes them; None for none."""

    game: str
    player: str
    team: str | None
    score: str | None
    rank: str | None
    time: str | None
    weight: str | None
    time_played: str | None
    neutral: str | None


def read_table(frame: Any, roles: Roles) -> dict[str, Any]:
    """What ``MatchLog.from_games`` needs, from a table; see ``MatchLog.from_table``."""
    game, player, team, score, rank, time, weight, time_played, neutral = roles
    if (score is None) == (rank is None):
        raise ValueError(f"one of score and rank must be given, got {score!r} and {rank!r}")
    players = [str(name) for name in _whole("player", player, _column(frame, "player", player))]
    teams = None if team is None else _column(frame, "team", team)
    games = Games(_whole("game", game, _column(frame, "game", game)), teams)
    if len(players) != sum(len(side) for sides in games.sides for side in sides):
        raise ValueError("player and game must be columns of the same length")
    if rank is not None:
        results = _column(frame, "rank", rank)
        scores = [
            [-_common(rank, name, [results[k] for k in side]) for side in sides]
            for name, sides in zip(games.names, games.sides, strict=True)
        ]
    else:
        results = _whole("score", str(score), _column(frame, "score", str(score)))
        scores = [[sum(results[k] for k in side) for side in sides] for sides in games.sides]
    if weight is not None and time_played is not None:
        raise ValueError(
            f"one of weight and time_played may be given, got {weight!r} and {time_played!r}"
        )
    return {
        "games": [[[players[k] for k in side] for side in sides] for sides in games.sides],
        "scores": scores,
        "time": None if time is None else _times(time, games, _column(frame, "time", time)),
        "weights": _weights(frame, roles, games),
        "neutral": None
        if neutral is None
        else _neutral(neutral, games, _column(frame, "neutral", neutral)),
    }


def write_table(log: MatchLog, make: Callable[[dict[str, Any]], Any]) -> Any:
    """A row for each entry of a log; see ``MatchLog.to_table``."""
    team_game, entry_team = log.team_game, log.entry_team
    entry_game = team_game[entry_team]
    columns: dict[str, Any] = {
        "game": entry_game,
        "team": entry_team - log.game_start[entry_game],
        "player": [log.players[k] for k in log.player.tolist()],
        "rank": log.rank[entry_team],
    }
    if log.time is not None:
        columns["time"] = log.time[entry_game]
    if log.weight is not None:
        columns["weight"] = np.array(log.weight)
    if log.neutral is not None:
        columns["neutral"] = log.neutral[entry_game]
    return make(columns)


def ratings_table(log: MatchLog, replay: Any, make: Callable[[dict[str, Any]], Any] = dict) -> Any:
    """Everyone's rating after the last game of a log, one row for each player.

    Args:
        log: the log that was replayed.
        replay: what ``replay_trueskill``, ``replay_elo``, ``replay_weng_lin`` or
            ``replay_glicko2`` returned for it.
        make: makes the table of a dict of columns: ``pandas.DataFrame``, ``polars.DataFrame``, or
            ``dict`` for the columns themselves.

    Returns:
        A table with the columns player, games, and those of mu, sigma, rating, deviation and
        volatility that the system has.

    Raises:
        ValueError: for a replay of another number of players.
    """
    count = len(replay.games_played)
    if count != log.num_players:
        raise ValueError(f"replay must be of the log's {log.num_players} players, got {count}")
    columns: dict[str, Any] = {"player": list(log.players), "games": replay.games_played}
    for name in ("mu", "sigma", "rating", "deviation", "volatility"):
        if hasattr(replay, name):
            columns[name] = getattr(replay, name)
    return make(columns)


def curves_table(log: MatchLog, smoothed: Any, make: Callable[[dict[str, Any]], Any] = dict) -> Any:
    """Everyone's skill through time, player by player, a row for each of their games.

    Args:
        log: the log that was smoothed.
        smoothed: what ``matchenv.replay.smooth`` returned for it.
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
    game = log.team_game[log.entry_team][order]
    columns: dict[str, Any] = {
        "player": [log.players[k] for k in log.player[order].tolist()],
        "game": game,
    }
    if log.time is not None:
        columns["time"] = log.time[game]
    columns["mu"], columns["sigma"] = smoothed.mu[order], smoothed.sigma[order]
    return make(columns)


def _column(frame: Any, role: str, name: str) -> list[Any]:
    """A column as a list, with None for what is missing."""
    known = [str(column) for column in getattr(frame, "columns", frame)]
    if name not in known:
        raise ValueError(f"{role} must be one of the columns {', '.join(known)}, got {name!r}")
    return [None if _is_missing(value) else value for value in frame[name]]


def _is_missing(value: Any) -> bool:
    # NaN, and pandas' NaT and NA, are not equal to themselves, or do not say.
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def _whole(role: str, name: str, values: list[Any]) -> list[Any]:
    if None in values:
        raise ValueError(f"{role} must not be missing, as in row {values.index(None)} of {name!r}")
    return values


def _sides_of(name: Hashable, rows: list[int], team: Sequence[Hashable] | None) -> list[list[int]]:
    """The sides of a game; where no row names a team, everybody plays alone."""
    named = [] if team is None else [k for k in rows if team[k] is not None]
    if team is None or not named:
        return [[k] for k in rows]
    if len(named) < len(rows):
        raise ValueError(f"team must be named on all rows of a game or on none, got game {name!r}")
    sides: dict[Hashable, list[int]] = {}
    for k in rows:
        sides.setdefault(team[k], []).append(k)
    return list(sides.values())


def _common(column: str, game: Hashable, values: list[Any]) -> Any:
    """The rank that all members of a side share."""
    if None in values or any(value != values[0] for value in values):
        raise ValueError(
            f"rank must be the same for all of a side, got {values!r} in game {game!r} ({column})"
        )
    return values[0]


def _weights(frame: Any, roles: Roles, games: Games) -> list[list[list[float]]] | None:
    """What each row counts, by game and side: its weight, or its share of the longest time."""
    for role in ("weight", "time_played"):
        name = getattr(roles, role)
        if name is not None:
            values = as_non_negative_array(role, _whole(role, name, _column(frame, role, name)))
            rows = [[values[side].tolist() for side in sides] for sides in games.sides]
            return rows if role == "weight" else [shares_of_longest(sides) for sides in rows]
    return None


def shares_of_longest(sides: list[list[float]]) -> list[list[float]]:
    """Times of play as shares of the longest in the game; 0 for all if nobody played.

    Args:
        sides: for each side the times of its members, >= 0.
    """
    longest = max(map(max, sides)) or 1.0
    return [[time / longest for time in side] for side in sides]


def _neutral(name: str, games: Games, values: list[Any]) -> list[bool]:
    """Whether each game was on neutral ground; its rows agree."""
    found = []
    for game, sides in zip(games.names, games.sides, strict=True):
        said = {values[k] for side in sides for k in side}
        if len(said) > 1 or not said <= {True, False}:
            raise ValueError(
                f"neutral must be one boolean for all rows of a game, got "
                f"{sorted(map(str, said))} in game {game!r} ({name})"
            )
        found.append(bool(said.pop()))
    return found


def _times(name: str, games: Games, values: list[Any]) -> list[int]:
    """When each game was played, in whole seconds: the latest time on its rows."""
    seconds = [_seconds(value) for value in _whole("time", name, values)]
    last = [max(seconds[k] for side in sides for k in side) for sides in games.sides]
    for before, after, game in zip(last, last[1:], games.names[1:], strict=False):
        if after < before:
            raise ValueError(f"time must not run backwards, as it does at game {game!r}")
    return last


def _seconds(value: Any) -> int:
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[s]").astype(np.int64))
    if hasattr(value, "timestamp"):
        # A moment without a zone counts as UTC, as in files.
        if value.tzinfo is None:
            return int(np.datetime64(value, "s").astype(np.int64))
        return math.floor(value.timestamp())
    if hasattr(value, "isoformat"):  # a date
        return int(np.datetime64(value, "s").astype(np.int64))
    if isinstance(value, float | np.floating):
        return math.floor(float(as_float_array("time", value)))
    return as_integer("time", value, -(2**63) + 1, 2**63 - 1)
