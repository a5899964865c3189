"""Times of games: which columns hold them, and their formats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd

from matchenv.logs.columns import Layout, plain_name
from matchenv.logs.faults import BadLogError
from matchenv.logs.numbers import MISSING, numbers_of

CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
DAYS = "yyyymmdd"
NUMBER = "number"
ISO = "iso"
AMERICAN = "month/day/year"
EUROPEAN = "day/month/year"
# Names of time formats, and the formats of ``pandas.to_datetime``.
TIME_FORMATS = {
    DAYS: ["%Y%m%d"],
    NUMBER: [],
    ISO: ["ISO8601"],
    AMERICAN: [f"%m/%d/%Y{clock}" for clock in CLOCKS],
    EUROPEAN: [f"%d/%m/%Y{clock}" for clock in CLOCKS],
}
# Numbers from these on are in units of so many in a second: seconds since 1970 have 10 digits.
UNITS = ((1e17, 10**9, "nanoseconds"), (1e14, 10**6, "microseconds"), (1e11, 1000, "milliseconds"))
FIRST_EPOCH = 1e8  # smaller numbers are no seconds since 1970, but for example numbers of rounds
# Share of the values that must be times, for a column whose name does not say so.
NEARLY_ALL = 0.95
FIRST_YEAR = 1850
LAST_YEAR = 2100
CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?Z?")
TIME_NAME = re.compile(r"time|date|day|when|start|begin|end|finish|played|stamp|at$")
NOT_OF_GAMES = re.compile(r"birth|dob|join|regist|update|duration|length|seconds|minutes|control")


class Times(NamedTuple):
    """The time of each row."""

    columns: tuple[str, ...]  # the column, or those of the date and of the clock
    values: pd.Series[Any]  # numbers in ``unit``, NA for unreadable ones
    unit: int  # how many make a second
    format: str  # a key of TIME_FORMATS, or a format of strptime
    missing: pd.Series[bool]  # whether there is no value


def times_of_rows(
    cells: Mapping[str, Sequence[str]], layout: Layout, time_format: str | None
) -> tuple[Times | None, list[str]]:
    """Return the times of the rows, None without any, and notes on what was decided.

    A column that the user named is used as it is. Among usual names, the first column that holds
    times counts, with a column of clock times beside one of dates. Otherwise a column is used if
    its values are times.

    Raises:
        BadLogError: for an unknown format.
    """
    if "time" in layout.chosen:
        return _times(cells, (layout.times[0],), time_format), []
    notes: list[str] = []
    clocks = [name for name in layout.times if _are_clocks(cells[name])]
    candidates = [name for name in layout.times if name not in clocks]
    for name in list(candidates):
        if "game" in layout.columns and _is_of_players(cells[name], cells[layout.columns["game"]]):
            candidates.remove(name)
            notes.append(f"column {name!r} is not used: it has times of players, not of games")
    readable = [name for name in candidates if _is_time(cells[name], time_format, 0.5)]
    if candidates and not readable:  # its rows will be reported as unreadable
        readable = candidates[:1]
    if not readable:
        readable, more = _guessed(cells, layout)
        notes += more
    if not readable:
        notes += [f"column {name!r} holds clock times without a date" for name in clocks[:1]]
        return None, notes
    columns: tuple[str, ...] = (readable[0],)
    clocks += [name for name in layout.further if _are_clocks(cells[name]) and _is_named(name)]
    if clocks and not any(":" in cell for cell in cells[readable[0]]):
        columns = readable[0], clocks[0]
    return _times(cells, columns, time_format), notes


def _is_of_players(cells: Sequence[str], game: Sequence[str]) -> bool:
    """Return whether a column has values that are no moments and differ within most games."""
    values, used = read_times(_sample(cells), None)
    moments = values.notna().sum() > 0.5 * len(values)
    if moments and (used != NUMBER or values.max() >= FIRST_EPOCH):
        return False
    distinct = pd.Series(cells, dtype=object).groupby(pd.Series(game, dtype=object)).nunique()
    return bool((distinct > 1).mean() > 0.5)


def _guessed(cells: Mapping[str, Sequence[str]], layout: Layout) -> tuple[list[str], list[str]]:
    """Return a column without a usual name that holds times, and a note."""
    candidates = [name for name in layout.further if _could_be_time(name, cells[name])]
    named = [name for name in candidates if _is_named(name)]
    ends = [name for name in named if re.search("end|finish", plain_name(name))]
    for names in (ends, named, candidates):
        if len(names) == 1 or (names and names is not candidates):
            others = [repr(name) for name in candidates if name != names[0]]
            notes = []
            if others:
                notes.append(f"{', '.join(others)} could be the time too: --columns time=NAME")
            return names[:1], notes
    if candidates:
        listed = " and ".join(map(repr, candidates))
        return [], [f"columns {listed} look like times: --columns time=NAME uses one"]
    return [], []


def _is_named(name: str) -> bool:
    plain = plain_name(name)
    return bool(TIME_NAME.search(plain)) and not NOT_OF_GAMES.search(plain)


def _could_be_time(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column without a usual name holds times of games."""
    if NOT_OF_GAMES.search(plain_name(name)):
        return False
    sample = _sample(cells)
    if len(sample) < 2:
        return False
    values, used = read_times(sample, None)
    if used == NUMBER:
        if not _is_named(name):  # a number of a player can have ten digits, too
            return False
        values = values[values >= FIRST_EPOCH]
        values = values / unit_of(values)[0]
    seconds = values.dropna().astype(float)
    years = 1970.0 + seconds / (365.25 * 86_400.0)
    return bool(years.between(FIRST_YEAR, LAST_YEAR).sum() >= NEARLY_ALL * len(sample))


def _is_time(cells: Sequence[str], time_format: str | None, share: float) -> bool:
    sample = _sample(cells)
    return bool(read_times(sample, time_format)[0].notna().sum() > share * len(sample))


def _sample(cells: Sequence[str], most: int = 1000) -> pd.Series[Any]:
    """Return distinct cells with a value, from all of a column."""
    stripped = pd.Series(list(dict.fromkeys(cells)), dtype=object).str.strip()
    filled = stripped[~stripped.str.lower().isin(MISSING)]
    step = max(1, len(filled) // most)
    return filled[::step].reset_index(drop=True)


def _are_clocks(cells: Sequence[str]) -> bool:
    sample = _sample(cells)
    return bool(len(sample)) and bool(sample.str.fullmatch(CLOCK).all())


def _times(
    cells: Mapping[str, Sequence[str]], columns: tuple[str, ...], time_format: str | None
) -> Times:
    """Return the times of one column, or of a column of dates and one of clock times."""
    joined: Sequence[str] = cells[columns[0]]
    if len(columns) == 2:
        dates, clocks = (cells[name] for name in columns)
        joined = [
            f"{day.strip()} {clock.strip()}" for day, clock in zip(dates, clocks, strict=True)
        ]
    codes, distinct = pd.factorize(pd.Series(joined, dtype=object))  # each text is read once
    texts = pd.Series(distinct, dtype=object).str.strip()
    values, used = read_times(texts, time_format)
    unit, _ = unit_of(values) if used == NUMBER else (1, "")
    missing = texts.str.lower().isin(MISSING)
    return Times(
        columns,
        values.take(codes).reset_index(drop=True),
        unit,
        used,
        missing.take(codes).reset_index(drop=True),
    )


def unit_of(values: pd.Series[Any]) -> tuple[int, str]:
    """Return how many units of these numbers make a second, and the name of the unit."""
    largest = values.max() if values.notna().any() else 0
    for least, unit, name in UNITS:
        if largest >= least:
            return unit, name
    return 1, "seconds"


def read_times(texts: pd.Series[Any], time_format: str | None = None) -> tuple[pd.Series[Any], str]:
    """Return times as seconds since 1970, or numbers unchanged, NA for others; and their format.

    The format is a key of ``TIME_FORMATS`` or one of strptime; None selects eight digits if nearly
    all are dates, or else the first key that parses the most times. Times without a zone are in
    UTC.

    Raises:
        BadLogError: for an unknown format.
    """
    if time_format is not None:
        try:
            if time_format not in TIME_FORMATS and "%" not in time_format:
                raise ValueError("it has no %")
            return _seconds(texts, time_format), time_format
        except (TypeError, ValueError, re.error) as error:
            raise BadLogError(
                f"time_format must be one of {', '.join(map(repr, TIME_FORMATS))} or a format of "
                f"strptime, got {time_format!r}: {error}"
            ) from None
    days = _seconds(texts, DAYS)
    if _are_days(days):
        return days, DAYS
    tried = {}
    for name in (NUMBER, ISO, AMERICAN, EUROPEAN):
        tried[name] = _seconds(texts, name)
        if tried[name].notna().all():
            return tried[name], name
    used = max(tried, key=lambda name: tried[name].count())  # the first among equals
    return tried[used], used


def is_ambiguous(texts: Sequence[str]) -> bool:
    """Return whether times that are read as month/day/year can be day/month/year, too."""
    return bool(_seconds(_sample(texts), EUROPEAN).notna().all())


def _seconds(texts: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Return ``read_times`` for one format."""
    if name == NUMBER:
        return numbers_of(texts, "time")
    texts = texts.where(texts.str.contains(r"\d"))  # pandas would read "now" and "today"
    if name == DAYS:
        texts = texts.where(texts.str.fullmatch(r"\d{8}"))
    elif name == ISO:
        texts = texts.str.replace(r"\s*(UTC|GMT)$", "Z", case=False, regex=True)
        texts = texts.str.replace(r"^(\d{4})[./](\d{1,2})[./](\d{1,2})", r"\1-\2-\3", regex=True)
    elif name in (AMERICAN, EUROPEAN):
        texts = texts.str.replace(r"^(\d{1,2})[.-](\d{1,2})[.-](\d+)", r"\1/\2/\3", regex=True)
        texts = texts.str.replace(r"^(\d{1,2}/\d{1,2}/)(\d{2})(?!\d)", _with_century, regex=True)
    parsed = pd.Series(pd.NaT, texts.index, dtype="datetime64[us, UTC]")
    for form in TIME_FORMATS.get(name, [name]):
        left = texts[parsed.isna()]
        read = pd.to_datetime(left, format=form, errors="coerce", utc=True).astype(parsed.dtype)
        parsed = parsed.where(parsed.notna(), read)
    return (parsed.astype("int64") / 1e6).where(parsed.notna())


def _with_century(match: re.Match[str]) -> str:
    """Return a date with four digits of the year: 69 to 99 are of the last century, as in C."""
    century = "19" if int(match[2]) >= 69 else "20"
    return f"{match[1]}{century}{match[2]}"


def _are_days(seconds: pd.Series[Any]) -> bool:
    """Return whether nearly all values are dates of eight digits, in years of games."""
    years = 1970.0 + seconds / (365.25 * 86_400.0)
    good = years.between(FIRST_YEAR, LAST_YEAR)
    return len(seconds) > 0 and bool(good.sum() >= NEARLY_ALL * len(seconds))


def time_text(seconds: float, used: str, unit: int) -> str:
    """Return a time for a reader: a date and a clock, or the number."""
    if used == NUMBER and unit == 1 and abs(seconds) < FIRST_EPOCH:
        return f"{seconds:g}"
    try:
        moment = datetime.fromtimestamp(float(seconds), UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"
    if moment.hour == moment.minute == moment.second == 0:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M:%S}"
