"""Rows of players in games: their texts as values, and the games that can be rated.

A game with a bad row is left out as a whole: the rest of its rows would describe a game that was
not played. Files (``read_log``) and tables (``MatchLog.from_table``) both become such rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        texts: a column for each role, and the ``line`` of each row.
        bad: by line, rows that could not be split into columns; those that are found are added.
        time_format: a key of ``TIME_FORMATS``, a format of strptime, or None for the first that
            reads the most times.

    Returns:
        ``(log, games, time_format, notes)``: the log; how many games the rows name; how times were
        written, None without times; and how the rows were understood, where it could be otherwise.

    Raises:
        BadLogError: for an unknown time format.
    """
    split = ~texts["line"].isin(list(bad))
    rows, used = _values(texts, bad, time_format)
    named = rows[split & rows["game"].notna()]
    _add_faults(named, bad)
    # A row that could not be split may name its game all the same.
    spoilt = rows["game"][rows["line"].isin(list(bad))]
    notes = list[str]()
    sound = _in_order(named[~named["game"].isin(spoilt)], notes)
    result = next(role for role in RESULTS if role in texts)
    common = result != "score" or _is_repeated(sound)
    if common and result == "score":
        notes.append("members of a side have equal scores: they are read as the score of the side")
    _add_faults_of_sides(sound, result if common else None, bad)
    sound = sound[~sound["game"].isin(sound["game"][sound["line"].isin(list(bad))])]
    log = _match_log(sound, common, result == "rank", "time_played" in texts)
    return log, named["game"].nunique(), used, notes


def sides_as_players(games: pd.DataFrame) -> pd.DataFrame:
    """Return rows of players in place of rows of games: one for home, one for away."""
    sides = [games.rename(columns={side: "player", f"{side}_score": "score"})
             for side in ("home", "away")]  # fmt: skip
    both = pd.concat(sides, join="inner").sort_index(kind="stable", ignore_index=True)
    return both.assign(game=both["line"].astype(str))


def _values(
    texts: pd.DataFrame, bad: BadRows, time_format: str | None
) -> tuple[pd.DataFrame, str | None]:
    """Return the values of each role, None for none, and the time format.

    The result is in the column ``result``, times of play are in ``weight``.
    """
    values, used = texts[["line"]].copy(), None
    columns = {"time_played": "weight"} | dict.fromkeys(RESULTS, "result")
    for role in texts.columns.drop("line"):
        written = texts[role].str.strip()
        if role == "time":
            known, used = read_times(written.unique(), time_format)
        else:
            known = {text: READERS[role](text) for text in written.unique()}
        found = pd.Series([known[text] for text in written], dtype=object)
        values[columns.get(role, role)] = found
        unknown, missing = found.isna(), written.str.lower().isin(MISSING)
        unreadable = unknown & ~missing
        reason = TIME_UNREADABLE if role == "time" else f"unreadable {role}"
        _add(bad, values["line"], unreadable, reason, written[unreadable].map(ascii))
        if role != "team":
            _add(bad, values["line"], unknown & missing, f"missing {role}")
    return values, used


def _add(
    bad: BadRows, line: pd.Series[Any], found: pd.Series[Any], reason: str, details: Any = None
) -> None:
    """Add the rows that were found bad, unless something else is wrong with their lines."""
    shown = [""] * found.sum() if details is None else details[line.index[found]]
    for number, detail in zip(line[found].tolist(), shown, strict=True):
        bad.setdefault(number, BadRow(number, reason, str(detail)))


def read_times(
    texts: Iterable[str], time_format: str | None = None
) -> tuple[dict[str, Number | None], str]:
    """Read distinct written times; a time without a zone counts as UTC.

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
        left = found.isna()
        plain = texts if "%" in each else utc
        read = pd.to_datetime(plain[left], format=each, errors="coerce", utc=True)
        found[left] = read.astype(found.dtype)
    micros = zip(found.astype("int64").tolist(), found.isna(), strict=True)
    return [None if no else Fraction(number, 10**6) for number, no in micros]


def _add_faults(named: pd.DataFrame, bad: BadRows) -> None:
    """Add players who come twice, missing teams, and games whose rows do not stand together."""
    line, game, by_game = named["line"], named["game"], named.groupby("game", sort=False)
    twice = named["player"].notna() & named.duplicated(["game", "player"])
    _add(bad, line, twice, "player twice in a game", named["player"])
    if "team" in named:
        others = named["team"].isna() & (by_game["team"].transform("count") > 0)
        _add(bad, line, others, "unknown team", "others in game " + game[others] + " name theirs")
    back = (game != game.shift()) & named.duplicated("game")
    if "time" in named:  # rows of one moment are one game wherever they stand
        back &= by_game["time"].transform("nunique") != 1
    _add(bad, line, back, "game comes back after another", "game " + game[back])


def _in_order(sound: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the rows game by game and side by side, with the places of games and sides."""
    games = pd.Index(sound["game"].unique())
    if "time" in sound:
        # Exact times are slow to group, their places among all times are not.
        moment = pd.Series(pd.factorize(sound["time"], sort=True)[0], index=sound.index)
        last = moment.groupby(sound["game"], sort=False).max()
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
        details = result[two].astype(float).map("{:g}".format)
        _add(bad, sound["line"], two, f"side with two values of {common}", details)
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
        first = found & ~sound["place"].where(found).duplicated()
        _add(bad, sound["line"], first, reason, "game " + sound["game"][first])


def _match_log(sound: pd.DataFrame, common: bool, is_rank: bool, is_time: bool) -> MatchLog:
    """Return the log of rows in order of play, all of them sound.

    A result is common to a side, or the members' are added up. With ``is_rank`` the lower one wins;
    with ``is_time`` weights are times of play.
    """
    if sound.empty:
        return MatchLog.from_games([], [])
    by_side, by_game = sound.groupby("side", sort=False), sound.groupby("place", sort=False)
    team_start = np.append(0, by_side.size().cumsum())
    game_start = np.append(0, by_game["side"].nunique().cumsum())
    values, firsts = sound["result"].to_numpy(), team_start[:-1]
    results = values[firsts] if common else np.add.reduceat(values, firsts)
    scores = -results if is_rank else results
    # Exact numbers have an exact order, which floats would round.
    rank = ranks_from_scores(np.unique(scores, return_inverse=True)[1], game_start)
    names = sound["player"].sort_index().unique()
    weight = neutral = time = None
    if "weight" in sound:
        played = sound["weight"].astype(float)
        most = played.groupby(sound["place"]).transform("max") if is_time else 1.0
        weight = (played / most).to_numpy()
    if "neutral" in sound:
        neutral = sound["neutral"].to_numpy(np.bool_)[team_start[game_start[:-1]]]
    if "time" in sound:
        seconds = {moment: round(moment) for moment in sound["time"].unique()}
        time = sound["time"].map(seconds).astype(np.int64).groupby(sound["place"]).max().to_numpy()
    return MatchLog(
        players=[str(name) for name in names],
        player=pd.Categorical(sound["player"], categories=names).codes.astype(np.int32),
        team_start=team_start,
        game_start=game_start,
        rank=rank,
        time=time,
        weight=weight,
        neutral=neutral,
    )


def log_of_table(frame: Any, columns: Mapping[str, str | None]) -> MatchLog:
    """Return the log of a table; see ``MatchLog.from_table``."""
    unknown = sorted(set(columns) - set(ROLES))
    if unknown:
        raise TypeError(f"columns must be of {', '.join(ROLES)}, got {', '.join(unknown)}")
    names = {"game": "game", "player": "player", **columns}
    chosen = {role: name for role, name in names.items() if name is not None}
    for least, roles in ((1, RESULTS), (0, ("weight", "time_played"))):
        given = [role for role in roles if role in chosen]
        if not least <= len(given) <= 1:
            raise ValueError(f"one of {', '.join(roles)} must be given, got {given}")
    known = [str(column) for column in getattr(frame, "columns", frame)]
    texts: dict[str, Sequence[Any]] = {}
    for role, name in chosen.items():
        if name not in known:
            raise ValueError(f"{role} must be one of the columns {', '.join(known)}, got {name!r}")
        column = pd.Series(list(frame[name]), dtype=object)
        texts[role] = column.map(str).where(column.notna(), "").tolist()
    if len({len(column) for column in texts.values()}) > 1:
        raise ValueError("frame must have columns of the same length")
    bad: BadRows = {}
    rows = pd.DataFrame(texts, dtype=object)
    log, *_ = whole_games(rows.assign(line=rows.index), bad)
    for row in sorted(bad.values())[:1]:
        raise ValueError(
            f"frame must be a log of matches: row {row.line}: {row.reason} ({row.detail})"
        )
    return log
