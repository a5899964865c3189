"""Rows of players in games: their texts as values, and the games that can be rated.

A game with a bad row is left out as a whole: the rest of its rows would describe a game that was
not played. Files (``read_log``) and tables (``MatchLog.from_table``) both become such rows, whose
index is the number of their line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.logs.reading import RESULTS, TIME_UNREADABLE
from matchenv.logs.text_table import BadLogError, BadRow
from matchenv.trueskill.sides import LARGEST_WEIGHT

Number = int | Fraction
BadRows = dict[int, BadRow]

# What logs write where they have no value; compared in lower case.
MISSING = ("", "na", "n/a", "null", "none")
TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1"), True)
TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", *MISSING), False)
WORDS = dict.fromkeys(("win", "won", "w", "victory", "true"), "1")
WORDS |= dict.fromkeys(("loss", "lost", "lose", "l", "defeat", "false"), "0")
WORDS |= dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t"), "0.5")
# An exponent of more digits would be a number that no memory holds.
NUMBER = re.compile(r"[-+]?(\d{1,500}[.,]?\d{0,500}|[.,]\d{1,500})(e[-+]?\d{1,3})?", re.A | re.I)
# Scores are counts or times; a number beyond this is a mistake.
LARGEST_SCORE = 2**64
LARGEST_TIME = 2**63 - 1
# From this share on, equal scores of a side's members are the score of their side.
REPEATED = 0.95

DAY_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
# Ways to write times, as formats of ``pandas.to_datetime``.
TIME_FORMATS = {
    "number": [],
    "iso": ["ISO8601"],
    "month/day/year": [f"%m/%d/%Y{clock}" for clock in DAY_TIMES],
    "day/month/year": [f"%d/%m/%Y{clock}" for clock in DAY_TIMES],
}


def exact(text: str, low: float = -LARGEST_SCORE, high: float = LARGEST_SCORE) -> Number | None:
    """Return the number as it is written, without rounding; None if it is none in the range.

    A decimal point may be a comma, unless three digits follow: that may separate thousands.
    """
    if not NUMBER.fullmatch(text) or re.search(r",\d{3}$", text):
        return None
    number = Fraction(text.replace(",", "."))
    if not low <= number <= high:
        return None
    return number.numerator if number.denominator == 1 else number


def _name(text: str) -> str | None:
    return None if text.lower() in MISSING else text


# Each returns None for a text that it cannot read.
READERS: dict[str, Callable[[str], Any]] = {
    "game": _name,
    "player": _name,
    "team": _name,
    "rank": exact,
    "result": lambda text: exact(WORDS.get(text.lower(), text)),
    "team_score": exact,
    "score": exact,
    "weight": lambda text: exact(text, 0, LARGEST_WEIGHT),
    "time_played": lambda text: exact(text, 0),
    "neutral": lambda text: TRUTH.get(text.lower()),
}
ROLES = (*READERS, "time")


def whole_games(
    texts: pd.DataFrame, bad: BadRows, time_format: str | None = None
) -> tuple[MatchLog, int, str | None, list[str]]:
    """Return the games without a bad row, in order of play.

    Games are sorted by their last time where there are times. Games of equal times stay in the
    order of the rows, or in the reverse order if the rows begin with the newest game.

    Args:
        texts: a column for each role, indexed by line.
        bad: by line, rows that could not be split into columns; those that are found are added.
        time_format: as ``read_times``.

    Returns:
        ``(log, games, time_format, notes)``: the log; how many games the rows name; how times were
        written, None without times; and how the rows were understood, where it could be otherwise.
    """
    split = ~texts.index.isin(list(bad))
    rows, used = _values(texts, bad, time_format)
    named = rows[split & rows["game"].notna()]
    _add_faults_of_rows(named, bad)
    # A row that could not be split may name its game all the same.
    spoilt = rows["game"][rows.index.isin(list(bad))]
    notes = list[str]()
    sound = _in_order(named[~named["game"].isin(spoilt)], notes)
    result = next(role for role in RESULTS if role in texts)
    common = result != "score" or _is_repeated(sound)
    if common and result == "score":
        notes.append("members of a side have equal scores: they are read as the score of the side")
    _add_faults_of_sides(sound, result if common else None, bad)
    sound = sound[~sound["game"].isin(sound["game"][sound.index.isin(list(bad))])]
    log = _match_log(sound, common, result == "rank", "time_played" in texts)
    return log, named["game"].nunique(), used, notes


def _values(
    texts: pd.DataFrame, bad: BadRows, time_format: str | None
) -> tuple[pd.DataFrame, str | None]:
    """Return the values of each role, None for none, and the time format.

    The result is in the column ``result``, times of play are in ``weight``.
    """
    values, used = pd.DataFrame(index=texts.index), None
    columns = {"time_played": "weight"} | dict.fromkeys(RESULTS, "result")
    for role in texts:
        written = texts[role].str.strip()
        if role == "time":
            known, used = read_times(written.unique(), time_format)
        else:
            known = {text: READERS[role](text) for text in written.unique()}
        found = pd.Series([known[text] for text in written], texts.index, dtype=object)
        values[columns.get(role, role)] = found
        missing = written.str.lower().isin(MISSING)
        reason = TIME_UNREADABLE if role == "time" else f"unreadable {role}"
        _add(bad, found.isna() & ~missing, reason, written, "{!a}")
        if role != "team":
            _add(bad, found.isna() & missing, f"missing {role}")
    return values, used


def _add(
    bad: BadRows, found: pd.Series[Any], reason: str, values: Any = None, form: str = "{}"
) -> None:
    """Add the rows that were found bad, unless something else is wrong with their lines."""
    lines = found.index[found].tolist()
    details = [""] * len(lines) if values is None else map(form.format, values[found])
    for line, detail in zip(lines, details, strict=True):
        bad.setdefault(line, BadRow(line, reason, detail))


def read_times(
    texts: Iterable[str], time_format: str | None = None
) -> tuple[dict[str, Number | None], str]:
    """Read distinct written times; a time without a zone counts as UTC.

    Args:
        texts: the times.
        time_format: a key of ``TIME_FORMATS``, a format of strptime, or None for the first that
            reads the most times.

    Returns:
        ``(times, name)``: exact seconds by text, None for an unreadable one, and the format that
        was used.

    Raises:
        BadLogError: for an unknown format.
    """
    if time_format is not None and time_format not in TIME_FORMATS and "%" not in time_format:
        raise BadLogError(
            f"time_format must be one of {', '.join(map(repr, TIME_FORMATS))} or a format of "
            f"strptime, got {time_format!r}"
        )
    distinct = pd.Series(list(texts), dtype=object)
    tried = {name: _seconds(distinct, name)
             for name in ([time_format] if time_format else TIME_FORMATS)}  # fmt: skip
    used = min(tried, key=lambda name: tried[name].count(None))  # the first of several
    return dict(zip(distinct, tried[used], strict=True)), used


def _seconds(texts: pd.Series[Any], name: str) -> list[Number | None]:
    """Return the seconds since 1970 of times in one format, or numbers as they are."""
    if name == "number":
        return [exact(text, -LARGEST_TIME, LARGEST_TIME) for text in texts]
    utc = texts.str.replace(r"\s*(UTC|GMT)$", "+00:00", case=False, regex=True)
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us, UTC]")
    for each in TIME_FORMATS.get(name, [name]):
        plain = texts if "%" in each else utc
        read = pd.to_datetime(plain[found.isna()], format=each, errors="coerce", utc=True)
        found = found.fillna(read.astype(found.dtype))
    micros = zip(found.astype("int64").tolist(), found.isna(), strict=True)
    return [None if no else Fraction(number, 10**6) for number, no in micros]


def _add_faults_of_rows(named: pd.DataFrame, bad: BadRows) -> None:
    """Add players who come twice, missing teams, and games whose rows do not stand together."""
    game, by_game = named["game"], named.groupby("game", sort=False)
    twice = named["player"].notna() & named.duplicated(["game", "player"])
    _add(bad, twice, "player twice in a game", named["player"])
    if "team" in named:
        others = named["team"].isna() & (by_game["team"].transform("count") > 0)
        _add(bad, others, "unknown team", game, "others in game {} name theirs")
    back = (game != game.shift()) & named.duplicated("game")
    if "time" in named:  # rows of one moment are one game wherever they stand
        back &= by_game["time"].transform("nunique") != 1
    _add(bad, back, "game comes back after another", game, "game {}")


def _in_order(sound: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the rows game by game and side by side, with the places of games and sides."""
    games = pd.Index(sound["game"].unique())
    if "time" in sound:
        # Exact times are slow to group, their places among all times are not.
        moment = pd.Series(pd.factorize(sound["time"], sort=True)[0], index=sound["game"])
        last = moment.groupby(level=0, sort=False).max()
        steps = last.diff()
        if (steps < 0).sum() > (steps > 0).sum():
            last = last[::-1]
            notes.append("the rows begin with the newest game: sorted by time")
        elif (steps < 0).any():
            notes.append("the rows are not in order of time: sorted by time")
        games = last.sort_values(kind="stable").index
    place = games.get_indexer(sound["game"])
    side = pd.Series(np.arange(len(sound)), index=sound.index, dtype=object)
    if "team" in sound:
        side = sound["team"].where(sound["team"].notna(), side)
    side = sound.groupby([place, side], sort=False).ngroup()
    return sound.assign(place=place, side=side).sort_values(["place", "side"], kind="stable")


def _is_repeated(sound: pd.DataFrame) -> bool:
    """Return whether members of a side have equal scores in nearly all sides.

    Sides of one member and sides in which everybody has 0 tell nothing.
    """
    sides = sound["result"].groupby(sound["side"])
    distinct = sides.nunique()
    told = distinct[(sides.size() > 1) & ((distinct > 1) | (sides.first() != 0))]
    return len(told) > 0 and bool((told == 1).mean() >= REPEATED)


def _add_faults_of_sides(sound: pd.DataFrame, common: str | None, bad: BadRows) -> None:
    """Add what is wrong with sides of games.

    ``common`` is the role of a result that is common to a side; None if members have their own.
    """
    place, side, result = sound["place"], sound["side"], sound["result"]
    if common is not None:
        two = result != result.groupby(side).transform("first")
        _add(bad, two, f"side with two values of {common}", result.map(float), "{:g}")
    faults = {"game of one side": side.groupby(place).transform("nunique") == 1}
    if "weight" in sound:
        # The square is what counts, and is 0 for the smallest of numbers too.
        most = sound["weight"].astype(float).groupby(side).transform("max")
        faults["side whose weights are all 0"] = most * most == 0.0
    if "neutral" in sound:
        grounds = sound["neutral"].groupby(place).transform("nunique")
        faults["game both on neutral ground and not"] = grounds > 1
    # One line stands for the game.
    for reason, found in faults.items():
        first = found & ~place.where(found).duplicated()
        _add(bad, first, reason, sound["game"], "game {}")


def _match_log(sound: pd.DataFrame, common: bool, is_rank: bool, is_time: bool) -> MatchLog:
    """Return the log of rows in order of play, all of them sound.

    A result is common to a side, or the members' are added up. With ``is_rank`` the lower one wins;
    with ``is_time`` weights are times of play.
    """
    place, values = sound["place"].to_numpy(), sound["result"].to_numpy()
    first = np.flatnonzero(np.diff(sound["side"], prepend=-1))  # row of each side
    begins = np.flatnonzero(np.diff(place[first], prepend=-1))  # side of each game
    game_start = np.append(begins, len(first))
    results = values[first] if common else np.add.reduceat(values, first)
    # Exact numbers have an exact order, which floats would round.
    level = np.unique(-results if is_rank else results, return_inverse=True)[1]
    names = sound["player"].sort_index(kind="stable").unique()
    columns: dict[str, Any] = {}
    if "weight" in sound:
        played = sound["weight"].astype(float)
        most = played.groupby(place).transform("max") if is_time else 1.0
        columns["weight"] = (played / most).to_numpy()
    if "neutral" in sound:
        columns["neutral"] = sound["neutral"].to_numpy(np.bool_)[first[begins]]
    if "time" in sound:
        seconds = {moment: round(moment) for moment in sound["time"].unique()}
        columns["time"] = sound["time"].map(seconds).astype(np.int64).groupby(place).max()
    return MatchLog(
        players=names.tolist(),
        player=pd.Categorical(sound["player"], categories=names).codes.astype(np.int32),
        team_start=np.append(first, len(sound)),
        game_start=game_start,
        rank=ranks_from_scores(level, game_start),
        **columns,
    )


def log_of_table(frame: Any, columns: Mapping[str, str | None]) -> MatchLog:
    """Return the log of a table; see ``MatchLog.from_table``."""
    if unknown := sorted(set(columns) - set(ROLES)):
        raise TypeError(f"columns must be of {', '.join(ROLES)}, got {', '.join(unknown)}")
    names = {"game": "game", "player": "player", **columns}
    chosen = {role: name for role, name in names.items() if name is not None}
    for least, roles in ((1, RESULTS), (0, ("weight", "time_played"))):
        given = [role for role in roles if role in chosen]
        if not least <= len(given) <= 1:
            raise ValueError(f"one of {', '.join(roles)} must be given, got {given}")
    known = [str(column) for column in getattr(frame, "columns", frame)]
    for role, name in chosen.items():
        if name not in known:
            raise ValueError(f"{role} must be one of the columns {', '.join(known)}, got {name!r}")
    table = pd.DataFrame({role: list(frame[name]) for role, name in chosen.items()}, dtype=object)
    bad: BadRows = {}
    log, *_ = whole_games(table.map(str).where(table.notna(), ""), bad)
    for row in sorted(bad.values())[:1]:
        raise ValueError(
            f"frame must be a log of matches: row {row.line}: {row.reason} ({row.detail})"
        )
    return log
