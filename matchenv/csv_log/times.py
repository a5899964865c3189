"""Times of a match log, written in one of the usual ways, as numbers in order of play."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from matchenv.csv_log.bad_rows import BadLogError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A match log keeps times as int64.
_LARGEST_TIME = 2**63 - 1

Time = int | float


def parse_times(texts: Sequence[str], time_format: str | None = None) -> tuple[list[Time], str]:
    """Seconds (or the log's own numbers) for written times, NaN where one is unreadable.

    Args:
        texts: (rows,) times as written; equal ones are read once.
        time_format: ``number``, ``iso``, ``month/day/year``, ``day/month/year`` (each of the
            last two with or without a time of day), a format of ``datetime.strptime`` with
            a ``%``, or None for the first of the named ones that reads the most.

    Returns:
        ``(times, name)``: a number for each row, whole ones without rounding, and the format
        that was used. A time without a zone counts as UTC.

    Raises:
        BadLogError: for an unknown format.
    """
    distinct = list(dict.fromkeys(texts))
    names = list(_READERS) if time_format is None else [time_format]
    values, used = _read_all(distinct, _reader_of(names[0])), names[0]
    for name in names[1:]:
        if (unread := sum(map(math.isnan, values))) == 0:
            break
        others = _read_all(distinct, _reader_of(name))
        if sum(map(math.isnan, others)) < unread:
            values, used = others, name
    known = dict(zip(distinct, values, strict=True))
    return [known[text] for text in texts], used


def _read_all(texts: list[str], reader: Callable[[str], Time]) -> list[Time]:
    values: list[Time] = []
    for text in texts:
        try:
            values.append(reader(text.strip()))
        except (ValueError, OverflowError):
            values.append(math.nan)
    return values


def _number(text: str) -> Time:
    value = float(text)
    if "_" in text or not abs(value) <= _LARGEST_TIME:
        raise ValueError
    return int(text) if text.lstrip("+-").isdecimal() else value


def _seconds(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds()


def _iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(text))


def _month_day_year(text: str) -> float:
    date, _, clock = text.partition(" ")
    month, day, year = date.split("/")
    return _iso(f"{year:0>4}-{month:0>2}-{day:0>2}" + (f"T{clock}" if clock else ""))


def _day_month_year(text: str) -> float:
    date, _, clock = text.partition(" ")
    day, month, year = date.split("/")
    return _month_day_year(f"{month}/{day}/{year} {clock}".rstrip())


_READERS: dict[str, Callable[[str], Time]] = {
    "number": _number,
    "iso": _iso,
    "month/day/year": _month_day_year,
    "day/month/year": _day_month_year,
}


def _reader_of(time_format: str) -> Callable[[str], Time]:
    if time_format in _READERS:
        return _READERS[time_format]
    if "%" not in time_format:
        known = ", ".join(map(repr, _READERS))
        raise BadLogError(
            f"time_format must be one of {known} or a format of strptime, got {time_format!r}"
        )
    return lambda text: _seconds(datetime.strptime(text, time_format))
