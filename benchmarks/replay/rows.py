"""The rows of a log as numbers: one entry for each player in each game, in file order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.bad_rows import BadRows, Reason
from matchenv.benchmarks.replay.columns import Columns
from matchenv.benchmarks.replay.table import Table
from matchenv.benchmarks.replay.times import parse_times

Ints = NDArray[np.int64]

# What logs write where they have no value; compared in lower case.
MISSING = frozenset({"", "na", "n/a", "null", "none"})
# Above this, neighbouring whole scores are the same float.
_LARGEST_SCORE = 2.0**53


@dataclass(frozen=True)
class Rows:
    """One entry for each player in each game, as the file has them.

    Attributes:
        line: (rows,), line number.
        game: (rows,), number of the game by first appearance, -1 where it is not named.
        team: (rows,), number of the team's name, -1 where it is not named.
        player: (rows,), number of the player by first appearance, -1 where not named.
        result: (rows,), score or rank, NaN where it cannot be read.
        ranked: whether ``result`` is a rank (low is good) instead of a score.
        time: (rows,), NaN where it cannot be read; None for a log without times.
        time_format: how times were written; None for a log without times.
        games: names of the games, by number.
        players: names of the players, by number.
        spoilt_games: numbers of games with a row that could not even be split.
    """

    line: Ints
    game: Ints
    team: Ints
    player: Ints
    result: NDArray[np.float64]
    ranked: bool
    time: NDArray[np.float64] | None
    time_format: str | None
    games: list[str]
    players: list[str]
    spoilt_games: list[int]


def number_rows(table: Table, columns: Columns, time_format: str | None, bad_rows: BadRows) -> Rows:
    """Turn the strings of a table into numbers; what cannot be read goes to ``bad_rows``.

    Args:
        table: the split file.
        columns: which column plays which role.
        time_format: as ``times.parse_times`` takes it.
        bad_rows: takes missing or unreadable games, players, scores, ranks and times.
    """
    text = {role: table.columns[place] for role, place in columns.places.items()}
    line, spoilt_games = table.lines, []
    if columns.home_and_away:
        game, games = np.arange(len(line), dtype=np.int64), list(map(str, line))
        # Each row is a game of its own, so a spoilt one spoils no other.
        names, results = (
            [field for pair in zip(text[home], text[away], strict=True) for field in pair]
            for home, away in (("home", "away"), ("home_score", "away_score"))
        )
        line, game = np.repeat(line, 2), np.repeat(game, 2)
    else:
        names = text["player"]
        results = text["rank"] if "rank" in text else text["score"]
        game, games = _number_names(text["game"])
        spoilt_games = _games_of_spoilt(table, columns.places["game"], games)
        _report(bad_rows, line, game < 0, Reason.MISSING_GAME)
    player, players = _number_names(names)
    _report(bad_rows, line, player < 0, Reason.MISSING_PLAYER)
    if "team" in text:
        team, _ = _number_names(text["team"])
    else:
        team = np.full(len(line), -1, dtype=np.int64)
    ranked = "rank" in text and not columns.home_and_away
    result = _read_results(results, ranked, line, bad_rows)
    time, used_format = None, None
    if "time" in text:
        time, used_format = parse_times(text["time"], time_format)
        for row in np.flatnonzero(np.isnan(time)):
            bad_rows.add(table.lines[row], Reason.BAD_TIME, repr(text["time"][row]))
        time = np.repeat(time, 2) if columns.home_and_away else time
    return Rows(
        line, game, team, player, result, ranked, time, used_format, games, players, spoilt_games
    )


def _number_names(names: Sequence[str]) -> tuple[Ints, list[str]]:
    """Numbers by first appearance, -1 for missing names, and the names by number."""
    numbers: dict[str, int] = {}
    coded = np.array(
        [numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64
    ).reshape(len(names))
    # Blanks around a name are dropped after the fact: few distinct names, many rows.
    stripped: dict[str, int] = {}
    place = [
        -1 if name.strip().lower() in MISSING else stripped.setdefault(name.strip(), len(stripped))
        for name in numbers
    ]
    return np.array([*place, -1], dtype=np.int64)[coded], list(stripped)


def _games_of_spoilt(table: Table, place: int, games: list[str]) -> list[int]:
    known = {name: number for number, name in enumerate(games)}
    named = (row.fields[place].strip() for row in table.spoilt if place < len(row.fields))
    return sorted({known[name] for name in named if name in known})


def _read_results(
    texts: Sequence[str], ranked: bool, line: Ints, bad_rows: BadRows
) -> NDArray[np.float64]:
    try:
        values = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        values = np.array([_float_or_nan(text) for text in texts], dtype=np.float64)
    if any("_" in text for text in texts):
        # Python's own numbers may hold underscores; a score that does is a mishap.
        values[["_" in text for text in texts]] = np.nan
    values[~(np.abs(values) <= _LARGEST_SCORE)] = np.nan
    missing = Reason.MISSING_RANK if ranked else Reason.MISSING_SCORE
    bad = Reason.BAD_RANK if ranked else Reason.BAD_SCORE
    for row in np.flatnonzero(np.isnan(values)).tolist():
        text = texts[row].strip()
        if text.lower() in MISSING:
            bad_rows.add(line[row], missing)
        else:
            bad_rows.add(line[row], bad, ascii(text))
    return values


def _float_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _report(bad_rows: BadRows, line: Ints, bad: NDArray[np.bool_], reason: Reason) -> None:
    for number in line[bad]:
        bad_rows.add(number, reason)
