"""Rows of players in games: the values of their texts, and the games that can be rated.

A game with a bad row is left out as a whole, since its other rows would describe a game that was
not played. Rows of files (``read_log``) and tables (``MatchLog.from_table``) are indexed by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from matchenv.logs.columns import RESULTS, UNREADABLE, BadLogError, BadRow, find_columns
from matchenv.logs.match_log import LATEST, MatchLog, ranks_from_scores
from matchenv.runtime.arrays import Integers
from matchenv.trueskill.sides import LARGEST_WEIGHT

BadRows = dict[int, BadRow]

# Texts in place of a value. All words are compared in lower case.
MISSING = ("", "na", "n/a", "null", "none")
TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True)
TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", "0.0", *MISSING), False)
WORDS = dict.fromkeys(("win", "won", "w", "victory", "true"), "1")
WORDS |= dict.fromkeys(("loss", "lost", "lose", "l", "defeat", "false"), "0")
WORDS |= dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t"), "0.5")
RESULT_VALUES = (-1, 0, 0.5, 1)
# Results of two sides that agree, the smaller one first. 0 twice is a draw where -1 is a loss.
AGREEING = {(0, 1), (0.5, 0.5), (-1, 1), (0, 0)}
# Range of plausible numbers of each role. Scores are summed as floats.
LARGEST = 2**62
RANGES = dict.fromkeys(("rank", "team_score", "time"), (-LARGEST, LARGEST))
RANGES["score"] = -(2**53), 2**53
RANGES["weight"], RANGES["time_played"] = (0, int(LARGEST_WEIGHT)), (0, LARGEST)
NAMED = ("game", "player", "team")
DECIMALS = 9  # of sums of scores: 0.1 + 0.2 is 0.3
# From this share of sides with equal scores of all members, scores are those of the side.
REPEATED = 0.95

DAY_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
AMERICAN, EUROPEAN = "month/day/year", "day/month/year"
# Names of time formats, and the formats of ``pandas.to_datetime``.
TIME_FORMATS = {
    "number": [],
    "iso": ["ISO8601"],
    AMERICAN: [f"%m/%d/%Y{clock}" for clock in DAY_TIMES],
    EUROPEAN: [f"%d/%m/%Y{clock}" for clock in DAY_TIMES],
}


def whole_games(
    columns: Mapping[str, Sequence[str]], begin: int, bad: BadRows, time_format: str | None = None
) -> tuple[MatchLog, Integers, int, str | None, list[str]]:
    """Return the games without a bad row, in order of play.

    Games are sorted by their last time, if there are times. Games with equal times keep the order
    of the rows, reversed if the rows begin with the newest game. With home and away, each row is a
    game of two. Bad rows are added to those that could not be split, by line from ``begin``.

    Returns:
        ``(log, lines, games, time_format, notes)``: the log, the first line of each game, the
        number of games in the rows, the format of the times or None without times, and
        interpretations of ambiguous input.
    """
    texts = pd.DataFrame(columns, dtype=object)
    texts.index += begin
    if "home" in texts:  # each row becomes two, of one player each
        texts["game"] = texts.index.astype(str)
        texts = pd.concat([
            texts.rename(columns={side: "player", f"{side}_score": "score"})
            for side in ("home", "away")
        ], join="inner").sort_index(kind="stable")  # fmt: skip
    split, notes = ~texts.index.isin(list(bad)), list[str]()
    rows, used = _values(texts, bad, time_format)
    if used == "number" and (rows["time"] > LATEST).any():
        notes.append(f"times are read as seconds, up to {rows['time'].max():.3g}")
    if used == AMERICAN and time_format is None:
        read = texts["time"][rows["time"].notna()].str.strip().unique()
        if read_times(pd.Series(read, dtype=object), EUROPEAN)[0].notna().all():
            notes.append(f"times are read as {AMERICAN}; --time-format {EUROPEAN} is possible too")
    game = rows["game"].where(split).ffill()
    rows["run"] = (game != game.shift()).cumsum()  # consecutive rows of one game
    sound = _without(rows, bad)
    alone = pd.Series(np.arange(len(sound)), sound.index, dtype=object)
    sides = [sound["game"], sound["team"].where(sound["team"].notna(), alone)]
    sound["side"] = sound.groupby(sides, sort=False).ngroup()
    result = next(role for role in RESULTS if role in texts)
    common = result != "score" or _is_repeated(sound)
    if common and result == "score":
        notes.append("members of a side have equal scores: they are read as the score of the side")
    _add_faults(sound, result, common, bad)
    ordered = _in_order(_without(sound, bad), notes)
    log = _match_log(ordered, common, result == "rank", "time_played" in texts)
    lines = pd.Series(ordered.index).groupby(ordered["place"].to_numpy()).min().to_numpy(np.int64)
    return log, lines, rows["game"][split].nunique(), used, notes


def _values(
    texts: pd.DataFrame, bad: BadRows, time_format: str | None
) -> tuple[pd.DataFrame, str | None]:
    """Return the values of each role, NA where missing, and the time format; add bad rows.

    The column ``result`` is the role of ``RESULTS``, ``weight`` also ``time_played``; ``team``
    always exists.
    """
    values, used = pd.DataFrame({"team": None}, texts.index, dtype=object), None
    columns = {"time_played": "weight"} | dict.fromkeys(RESULTS, "result")
    for role in texts:
        place, distinct = pd.factorize(texts[role])  # each text is read once
        written = pd.Series(distinct, dtype=object).str.strip()
        lower = written.str.lower()
        missing = lower.isin(MISSING)
        if role in NAMED:
            found = written.mask(missing)
        elif role == "neutral":
            found = lower.map(TRUTH)
        elif role == "time":
            found, used = read_times(written, time_format)
        elif role == "result":
            words = lower.map(lambda text: WORDS.get(text, text))
            if lower[~missing].isin(list(WORDS)).all():  # two losses are no draw, as 0 and 0 can be
                words = words.mask(words == "0", "-1")
            found = _numbers(words, role)
        else:
            found = _numbers(written, role)
        found, missing, written = (
            cells.take(place).set_axis(texts.index) for cells in (found, missing, written)
        )
        values[columns.get(role, role)] = found
        if role != "team":
            _add(bad, found.isna() & missing, f"missing {role}", written, "")
            _add(bad, found.isna() & ~missing, f"{UNREADABLE} {role}", written, "{!a}")
    return values, used


def _numbers(texts: pd.Series[Any], role: str) -> pd.Series[Any]:
    """Return numbers, NA for other texts and numbers outside the role's range.

    A decimal comma is allowed, unless three digits follow: it could separate thousands.
    """
    plain = texts.mask(texts.str.contains(r",\d{3}$")).str.replace(",", ".")
    # Without other texts, since integers beside them would be converted to floats.
    plain = plain[plain.str.fullmatch(r"[-+.\deE]+").fillna(False).astype(bool)]
    found = pd.to_numeric(plain, errors="coerce", dtype_backend="numpy_nullable")
    good = found.isin(RESULT_VALUES) if role == "result" else found.between(*RANGES[role])
    return found.where(good.fillna(False)).reindex(texts.index)


def read_times(texts: pd.Series[Any], time_format: str | None = None) -> tuple[pd.Series[Any], str]:
    """Return times as seconds since 1970, or numbers unchanged, NA for others; and their format.

    The format is a key of ``TIME_FORMATS`` or one of strptime; None selects the first key that
    parses the most times. Times without a zone are in UTC.

    Raises:
        BadLogError: for an unknown format.
    """
    tried = {}
    for name in TIME_FORMATS if time_format is None else (time_format,):
        try:
            if name not in TIME_FORMATS and "%" not in name:
                raise ValueError("it has no %")
            tried[name] = _seconds(texts, name)
        except (TypeError, ValueError, re.error) as error:
            raise BadLogError(
                f"time_format must be one of {', '.join(map(repr, TIME_FORMATS))} or a format of "
                f"strptime, got {name!r}: {error}"
            ) from None
        if tried[name].notna().all():
            break
    used = max(tried, key=lambda name: tried[name].count())  # the first among equals
    return tried[used], used


def _seconds(texts: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return ``read_times`` for one format."""
    if name == "number":
        return _numbers(texts, "time")
    texts = texts.where(texts.str.contains(r"\d"))  # pandas would read "now" and "today"
    if name == "iso":
        texts = texts.str.replace(r"\s*(UTC|GMT)$", "Z", case=False, regex=True)
    found = pd.Series(pd.NaT, texts.index, dtype="datetime64[us, UTC]")
    for form in TIME_FORMATS.get(name, [name]):
        left = texts[found.isna()]
        read = pd.to_datetime(left, format=form, errors="coerce", utc=True).astype(found.dtype)
        found = found.where(found.notna(), read)
    return (found.astype("int64") / 1e6).where(found.notna())


def _add(
    bad: BadRows, wrong: pd.Series[Any], reason: str, values: pd.Series[Any], form: str = "{}"
) -> None:
    """Add the wrong rows to the bad ones, with formatted values; a line keeps its first fault."""
    for line, value in values[wrong].items():
        bad.setdefault(line, BadRow(line, reason, form.format(value)))


def _without(rows: pd.DataFrame, bad: BadRows) -> pd.DataFrame:
    """Return a copy of the rows of games without a bad row."""
    # A row that could not be split can still name its game.
    return rows[~rows["game"].isin(rows["game"][rows.index.isin(list(bad))])].copy()


def _is_repeated(sound: pd.DataFrame) -> bool:
    """Return whether members of a side have equal scores in nearly all sides.

    Sides of one member, and sides in which all scores are 0, do not count.
    """
    sides = sound.groupby("side")["result"]
    distinct = sides.nunique()
    counted = distinct[(sides.size() > 1) & ((distinct > 1) | (sides.first() != 0))]
    return len(counted) > 0 and bool((counted == 1).mean() >= REPEATED)


def _add_faults(sound: pd.DataFrame, result: str, common: bool, bad: BadRows) -> None:
    """Add contradictions within games whose rows are good on their own.

    ``result`` is the role of the results, ``common`` if the members of a side share one.
    """
    game, by_game, by_side = sound["game"], sound.groupby("game"), sound.groupby("side")
    _add(bad, sound.duplicated(["game", "player"]), "player twice in a game", sound["player"])
    nameless = sound["team"].isna() & (by_game["team"].transform("count") > 0)
    _add(bad, nameless, "unknown team", game, "others in game {} name theirs")
    back = sound["run"] != by_game["run"].transform("first")
    if "time" in sound:  # rows with one time are one game wherever they stand
        back &= by_game["time"].transform("nunique") != 1
    _add(bad, back, "game comes back after another", game, "game {}")
    if common:
        other = sound["result"] != by_side["result"].transform("first")
        _add(bad, other, f"side with two values of {result}", sound["result"])
    faults = {"game of one side": by_game["side"].transform("nunique") == 1}
    if result == "result":
        sides = sound.drop_duplicates("side").groupby("game")["result"].agg(["size", "min", "max"])
        agree = [pair in AGREEING for pair in zip(sides["min"], sides["max"], strict=True)]
        wrong = sides.index[(sides["size"] == 2) & ~np.array(agree, dtype=np.bool_)]
        faults["results of two sides that do not agree"] = game.isin(wrong)
    if "weight" in sound:
        # Squares count, and the square of a tiny number is 0.
        largest = by_side["weight"].transform("max").astype(float)
        faults["side whose weights are all 0"] = largest * largest == 0.0
    if "neutral" in sound:
        grounds = by_game["neutral"].transform("nunique")
        faults["game both on neutral ground and not"] = grounds > 1
    for reason, wrong in faults.items():  # one line of each game
        _add(bad, wrong & ~game.where(wrong).duplicated(), reason, game, "game {}")


def _in_order(sound: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the rows sorted by game and side, with the ``place`` of each game in order of play."""
    last = sound.groupby("game", sort=False)["time" if "time" in sound else "run"].max()
    if "time" in sound:
        steps = last.diff()
        if (steps < 0).sum() > (steps > 0).sum():
            last = last[::-1]
            notes.append("the rows begin with the newest game: sorted by time")
        elif (steps < 0).any():
            notes.append("the rows are not in order of time: sorted by time")
        last = last.sort_values(kind="stable")
    place = last.index.get_indexer(sound["game"])
    return sound.assign(place=place).sort_values(["place", "side"], kind="stable")


def _match_log(rows: pd.DataFrame, common: bool, is_rank: bool, is_time: bool) -> MatchLog:
    """Return the log of good rows in order of play.

    A side has one common result, or the sum of its members'. With ``is_rank`` the lower one wins;
    with ``is_time`` weights are times, divided by the longest of the game.
    """
    first = np.flatnonzero(np.diff(rows["side"], prepend=-1))  # row of each side
    begins = np.flatnonzero(np.diff(rows["place"].iloc[first], prepend=-1))  # side of each game
    game_start, by_game = np.append(begins, len(first)), rows.groupby("place")
    results = rows["result"].to_numpy()
    if common:
        results = results[first]
    else:
        results = np.add.reduceat(results.astype(np.float64), first).round(DECIMALS)
    level = np.unique(results, return_inverse=True)[1]
    names = rows["player"].sort_index(kind="stable").unique()
    columns: dict[str, Any] = {}
    if "weight" in rows:
        longest = by_game["weight"].transform("max") if is_time else 1
        columns["weight"] = (rows["weight"] / longest).to_numpy(np.float64)
    if "neutral" in rows:
        columns["neutral"] = by_game["neutral"].first().to_numpy(np.bool_)
    if "time" in rows:
        columns["time"] = by_game["time"].max().round().to_numpy(np.int64)
    return MatchLog(
        players=names.tolist(),
        player=pd.Categorical(rows["player"], categories=names).codes.astype(np.int32),
        team_start=np.append(first, len(rows)),
        game_start=game_start,
        rank=ranks_from_scores(-level if is_rank else level, game_start),
        **columns,
    )


def log_of_table(frame: Any, columns: Mapping[str, str]) -> MatchLog:
    """Return the log of a table; see ``MatchLog.from_table``."""
    try:
        given = [str(column).strip() for column in getattr(frame, "columns", frame)]
        header = dict(zip(given, getattr(frame, "columns", frame), strict=True))
        names, _ = find_columns(list(header), [f"{role}={name}" for role, name in columns.items()])
        if twice := [name for name in names.values() if given.count(name) > 1]:
            raise ValueError(f"two columns are named {twice[0]!r}")
        cells = {role: list(frame[header[name]]) for role, name in names.items()}
        table, bad = pd.DataFrame(cells, dtype=object), BadRows()
    except BadLogError:
        raise
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"frame must be a data frame or a dict of columns of equal length: {error}"
        ) from None
    log, *_ = whole_games(table.map(str).where(table.notna(), "").to_dict("list"), 0, bad)
    if bad:
        row = min(bad.values())
        raise ValueError(
            f"frame must be a log of matches: row {row.line}: {row.reason} ({row.detail})"
        )
    return log
