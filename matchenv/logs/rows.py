"""Rows of players in games: their texts as values, and the games that can be rated.

A game with a bad row is left out as a whole: the rest of its rows would describe a game that was
not played. Files (``reading``) and tables (``MatchLog.from_table``) both become such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from matchenv.logs.bad_rows import BadLogError, BadRows, Reason
from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.trueskill.sides import LARGEST_WEIGHT

Texts = Mapping[str, Sequence[str]]

# What logs write where they have no value; compared in lower case.
MISSING = ("", "na", "n/a", "null", "none")
TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1"), True)
TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", *MISSING), False)
RESULTS = dict.fromkeys(("win", "won", "w", "victory", "true"), "1")
RESULTS |= dict.fromkeys(("loss", "lost", "lose", "l", "defeat", "false"), "0")
RESULTS |= dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t"), "0.5")
# Scores are counts or times; a number beyond this is a mistake.
LARGEST_SCORE = 2**64
# Characters, and exponent, of a number.
LONGEST_NUMBER = 1000
LARGEST_TIME = 2**63 - 1
# From this share on, equal scores of a side's members are the score of their side.
REPEATED = 0.95

_DAY_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
# Ways to write times, as formats of ``pandas.to_datetime``.
TIME_FORMATS = {
    "iso": ["ISO8601"],
    "month/day/year": [f"%m/%d/%Y{clock}" for clock in _DAY_TIMES],
    "day/month/year": [f"%d/%m/%Y{clock}" for clock in _DAY_TIMES],
}


@dataclass(frozen=True)
class Rows:
    """Rows of players in games.

    Attributes:
        frame: a row for each; columns line, game, player and result, and those of team, time
            (whole ticks), weight and neutral that there are. Missing and unreadable values are
            None or NaN.
        result: the role of the result: score, team_score, result or rank.
        ticks: in a second.
        time_format: how times were written; None without times.
        weight_is_time: whether weights are times of play.
    """

    frame: pd.DataFrame
    result: str
    ticks: int = 1
    time_format: str | None = None
    weight_is_time: bool = False


def read_rows(texts: Texts, lines: Sequence[int], time_format: str | None, bad: BadRows) -> Rows:
    """Read the texts of a log.

    Args:
        texts: the columns by role, all of a length.
        lines: the line of each row.
        time_format: ``number``, a key of ``TIME_FORMATS``, a format of strptime, or None for the
            first that reads the most times.
        bad: missing and unreadable values are added.

    Raises:
        BadLogError: for an unknown time format.
    """
    line = np.array(lines, np.int64)
    stripped = {
        role: pd.Series([text.strip() for text in column], dtype=object)
        for role, column in texts.items()
    }
    frame = pd.DataFrame({"line": line})

    def note(column: str, role: str, reason: Reason) -> None:
        """Add the rows without a value in a column, with their texts."""
        found = frame[column].isna()
        bad.add(line[found], reason, map(ascii, stripped[role][found]))

    for role in ("game", "player", "team"):
        if role in stripped:
            frame[role] = _mapped(stripped[role], _name)
    bad.add(line[frame["game"].isna()], Reason.MISSING_GAME)
    bad.add(line[frame["player"].isna()], Reason.MISSING_PLAYER)
    result = next(role for role in ("rank", "result", "team_score", "score") if role in texts)
    written = stripped[result]
    frame["result"] = _mapped(written, _result if result == "result" else _exact)
    missing = written.str.lower().isin(MISSING)
    kind = result.removeprefix("team_").upper()
    bad.add(line[missing], Reason[f"MISSING_{kind}"])
    wrong = frame["result"].isna() & ~missing
    bad.add(line[wrong], Reason[f"BAD_{kind}"], map(ascii, written[wrong]))
    ticks, used = 1, None
    if "time" in stripped:
        frame["time"], ticks, used = read_times(stripped["time"], time_format)
        note("time", "time", Reason.BAD_TIME)
    for role, most in (("weight", LARGEST_WEIGHT), ("time_played", LARGEST_SCORE)):
        if role in stripped:
            numbers = _mapped(stripped[role], _exact).astype(float)
            frame["weight"] = numbers.where(numbers.between(0, most))
            note("weight", role, Reason(f"{role} is missing or out of range"))
    if "neutral" in stripped:
        frame["neutral"] = _mapped(stripped["neutral"], lambda text: TRUTH.get(text.lower()))
        note("neutral", "neutral", Reason.BAD_NEUTRAL)
    return Rows(frame, result, ticks, used, "time_played" in texts)


def _name(text: str) -> str | None:
    return None if text.lower() in MISSING else text


def _result(text: str) -> int | Fraction | None:
    return _exact(RESULTS.get(text.lower(), text))


def _mapped(texts: pd.Series[str], read: Any) -> pd.Series[Any]:
    """Return a value for each text, an object; each distinct text is read once."""
    known = {text: read(text) for text in texts.unique()}
    return pd.Series([known[text] for text in texts], index=texts.index, dtype=object)


def _exact(text: str) -> int | Fraction | None:
    """Return the number as it is written, without rounding; None if it is none.

    A decimal point may be a comma, unless three digits follow: that may separate thousands.
    """
    if "," in text:
        text = "" if len(text.rpartition(",")[2]) == 3 else text.replace(",", ".", 1)
    try:
        # Python's own numbers may hold underscores. And 1e-99999999 is 0 as a float, but as a
        # fraction more than any memory holds.
        if "_" in text or not abs(float(text)) <= LARGEST_SCORE or len(text) > LONGEST_NUMBER:
            return None
        _, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > LONGEST_NUMBER:
            return None
        exact = Fraction(text)
    except ValueError:
        return None
    return exact.numerator if exact.denominator == 1 else exact


def read_times(
    texts: pd.Series[str], time_format: str | None = None
) -> tuple[pd.Series[Any], int, str]:
    """Read written times.

    Args:
        texts: times; equal ones are read once. A time without a zone counts as UTC.
        time_format: as ``read_rows``.

    Returns:
        ``(times, ticks, name)``: whole numbers, NA where one is unreadable; how many of them are
        a second; and the format that was used.

    Raises:
        BadLogError: for an unknown format.
    """
    names = ["number", *TIME_FORMATS]
    if time_format is not None:
        if time_format not in names and "%" not in time_format:
            raise BadLogError(
                f"time_format must be one of {', '.join(map(repr, names))} or a format of "
                f"strptime, got {time_format!r}"
            )
        names = [time_format]
    distinct = pd.Series(texts.unique(), dtype=object)
    best, ticks, used = pd.Series(pd.NA, index=distinct.index, dtype="Int64"), 1, names[0]
    for name in names:
        found, unit = _times(distinct, name)
        if found.notna().sum() > best.notna().sum():
            best, ticks, used = found, unit, name
        if best.notna().all():
            break
    return texts.map(dict(zip(distinct, best, strict=True))).astype("Int64"), ticks, used


def _times(texts: pd.Series[Any], name: str) -> tuple[pd.Series[Any], int]:
    if name == "number":
        exact = [_exact(text) for text in texts]
        whole = all(number is None or isinstance(number, int) for number in exact)
        ticks = 1 if whole else 1_000_000
        ticked = [None if number is None else round(number * ticks) for number in exact]
        if any(number is not None and abs(number) > LARGEST_TIME for number in ticked):
            ticks, ticked = 1, [None if number is None else round(number) for number in exact]
        kept = [None if n is None or abs(n) > LARGEST_TIME else n for n in ticked]
        return pd.Series(kept, index=texts.index, dtype="Int64"), ticks
    utc = texts.str.replace(r"\s*(UTC|GMT)$", "+00:00", case=False, regex=True)
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us, UTC]")
    for each in TIME_FORMATS.get(name, [name]):
        left = found.isna()
        plain = texts if "%" in each else utc
        read = pd.to_datetime(plain[left], format=each, errors="coerce", utc=True)
        found[left] = read.astype(found.dtype)
    ticks = found.fillna(pd.Timestamp(0, tz="UTC")).astype("int64").astype("Int64")
    return ticks.mask(found.isna()), 1_000_000


@dataclass(frozen=True)
class Found:
    """The games of rows that can be rated.

    Attributes:
        log: these games; None if there are none.
        lines: the lines of their rows.
        games: how many games the rows name.
        notes: how the rows were understood, where it could be otherwise.
    """

    log: MatchLog | None
    lines: set[int]
    games: int
    notes: list[str]


def whole_games(rows: Rows, bad: BadRows, spoilt: Iterable[str] = ()) -> Found:
    """Return the games without a bad row, in order of play.

    Games are sorted by their last time where there are times. Games of equal times stay in the
    order of the rows, or in the reverse order if the rows begin with the newest game.

    Args:
        rows: the rows.
        bad: bad rows; those of games are added.
        spoilt: names of games with a row that could not even be split.
    """
    named = rows.frame[rows.frame["game"].notna()]
    _add_faults(named, bad)
    wrong = set(named["game"][named["line"].isin(bad.lines())]) | set(spoilt)
    sound = named[~named["game"].isin(wrong)]
    count = named["game"].nunique()
    if sound.empty:
        return Found(None, set(), count, [])
    notes = []
    game, _ = pd.factorize(sound["game"])
    if "time" in sound:
        last = sound["time"].groupby(game).max().to_numpy(np.int64)
        place, newest_first = _order_of_play(last)
        game = place[game]
        if newest_first:
            notes.append("the rows begin with the newest game: sorted by time")
        elif (np.diff(last) < 0).any():
            notes.append("the rows are not in order of time: sorted by time")
    alone = pd.Series(np.arange(len(sound)), index=sound.index, dtype=object)
    team = sound["team"].where(sound["team"].notna(), alone) if "team" in sound else alone
    side = sound.groupby([game, team], sort=False).ngroup()
    order = np.lexsort((side, game))
    sound, game, side = sound.iloc[order], game[order], side.iloc[order]
    common = rows.result != "score" or _is_repeated(sound["result"], side)
    if common and rows.result == "score":
        notes.append("members of a side have equal scores: they are read as the score of the side")
    wrong_games = _faults_of_sides(sound, game, side, rows.result if common else None, bad)
    kept = ~np.isin(game, wrong_games)
    if not kept.any():
        return Found(None, set(), count, notes)
    sound, game, side = sound[kept], game[kept], side[kept]
    log = _match_log(sound, game, side.to_numpy(), rows, common)
    return Found(log, set(sound["line"].tolist()), count, notes)


def _add_faults(named: pd.DataFrame, bad: BadRows) -> None:
    """Add players who come twice, missing teams, and games whose rows do not stand together."""
    line, by_game = named["line"], named.groupby("game", sort=False)
    twice = named["player"].notna() & named.duplicated(["game", "player"])
    bad.add(line[twice], Reason.PLAYER_TWICE, named["player"][twice])
    if "team" in named:
        others = named["team"].isna() & (by_game["team"].transform("count") > 0)
        bad.add(line[others], Reason.UNKNOWN_TEAM, ["others in the game name theirs"] * len(line))
    back = (named["game"] != named["game"].shift()) & named.duplicated("game")
    if "time" in named:  # rows of one moment are one game wherever they stand
        back &= by_game["time"].transform("nunique") != 1
    bad.add(line[back], Reason.GAME_SPLIT, "game " + named["game"][back].astype(str))


def _order_of_play(last: NDArray[np.int64]) -> tuple[NDArray[np.int64], bool]:
    """Return the place of each game by its time, and whether games come newest first."""
    steps = np.diff(last)
    newest_first = bool((steps < 0).sum() > (steps > 0).sum())
    order = np.argsort(last, kind="stable")
    if newest_first:
        order = len(last) - 1 - np.argsort(last[::-1], kind="stable")
    place = np.empty(len(last), np.int64)
    place[order] = np.arange(len(last))
    return place, newest_first


def _is_repeated(score: pd.Series[Any], side: pd.Series[int]) -> bool:
    """Return whether members of a side have equal scores in nearly all sides.

    Sides of one member and sides in which everybody has 0 tell nothing.
    """
    first = score.groupby(side).transform("first")
    size, scored = side.groupby(side).transform("size"), (score != 0).groupby(side).transform("any")
    telling = (size > 1) & scored
    sides = side[telling].nunique()
    different = side[telling & (score != first)].nunique()
    return sides > 0 and sides - different >= REPEATED * sides


def _faults_of_sides(
    sound: pd.DataFrame, game: NDArray[np.int64], side: pd.Series[int], common: str | None,
    bad: BadRows,
) -> NDArray[np.int64]:  # fmt: skip
    """Add what is wrong with sides of games; return these games.

    Args:
        sound: the rows in order of play.
        game: of each row.
        side: of each row, numbered over all games.
        common: the role of a result that is common to a side; None if members have their own.
        bad: bad rows are added.
    """
    wrong = np.zeros(len(sound), dtype=np.bool_)
    if common is not None:
        first = sound["result"].groupby(side).transform("first")
        two = (sound["result"] != first).to_numpy()
        reason = Reason[f"TWO_{common.removeprefix('team_').upper()}S"]
        bad.add(sound["line"][two], reason, map("{:g}".format, map(float, sound["result"][two])))
        wrong |= two
    faults = {Reason.ONE_SIDE: side.groupby(game).transform("nunique").to_numpy() == 1}
    if "weight" in sound:
        # The square is what counts, and is 0 for the smallest of numbers too.
        most = sound["weight"].groupby(side).transform("max")
        faults[Reason.NOBODY_PLAYED] = (most * most == 0.0).to_numpy()
    if "neutral" in sound:
        grounds = sound["neutral"].groupby(game).transform("nunique")
        faults[Reason.TWO_GROUNDS] = grounds.to_numpy() > 1
    first_line = sound["line"].groupby(game).transform("min")
    for reason, found in faults.items():
        bad.add(first_line[found], reason, "game " + sound["game"][found].astype(str))
        wrong |= found
    return np.unique(game[wrong])


def _match_log(
    sound: pd.DataFrame, game: NDArray[np.int64], side: NDArray[np.int64], rows: Rows, common: bool
) -> MatchLog:
    """Return the log of rows in order of play, all of them sound."""
    team_start = np.append(np.flatnonzero(np.diff(side, prepend=-1)), len(side))
    game_row = np.flatnonzero(np.diff(game, prepend=-1))
    game_start = np.append(np.searchsorted(team_start, game_row), len(team_start) - 1)
    values = sound["result"].to_numpy()
    results = values[team_start[:-1]] if common else np.add.reduceat(values, team_start[:-1])
    scores = -results if rows.result == "rank" else results
    rank = ranks_from_scores(list(scores), game_start)
    names = sound["player"].sort_index().unique()
    weight = neutral = time = None
    if "weight" in sound:
        weight = sound["weight"].to_numpy(np.float64)
        if rows.weight_is_time:
            weight = weight / np.repeat(
                np.maximum.reduceat(weight, game_row), np.diff(np.append(game_row, len(weight)))
            )
    if "neutral" in sound:
        neutral = sound["neutral"].to_numpy(np.bool_)[game_row]
    if "time" in sound:
        ticks = sound["time"].groupby(game).max().to_numpy(np.int64)
        time = ticks if rows.ticks == 1 else np.round(ticks / rows.ticks).astype(np.int64)
    return MatchLog(
        players=[str(name) for name in names],
        player=pd.Categorical(sound["player"], categories=names).codes.astype(np.int32),
        team_start=team_start,
        game_start=game_start,
        rank=rank,
        score=-rank.astype(np.float64) if rows.result == "rank" else scores.astype(np.float64),
        time=time,
        weight=weight,
        neutral=neutral,
    )
