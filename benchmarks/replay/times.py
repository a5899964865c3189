"""Times of a match log, written in one of the usual ways, as numbers in order of play."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.bad_rows import BadLogError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Whole numbers up to here keep their order as floats.
_LARGEST_TIME = 2.0**53


def parse_times(
    texts: Sequence[str], time_format: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Seconds (or the log's own numbers) for written times, NaN where one is unreadable.

    Args:
        texts: (rows,) times as written; equal ones are read once.
        time_format: ``number``, ``iso``, ``month/day/year``, ``day/month/year`` (each of the
            last two with or without a time of day), a format of ``datetime.strptime`` with
            a ``%``, or None for the first of the named ones that reads the most.

    Returns:
        ``(times, name)``: (rows,) float64 and the format that was used. A time without a
        zone counts as UTC.

    Raises:
        BadLogError: for an unknown format.
    """
    distinct = list(dict.fromkeys(texts))
    if time_format is None:
        values, name = _first_that_fits(distinct)
    else:
        values, name = _read_all(distinct, _reader_of(time_format)), time_format
    known = dict(zip(distinct, values, strict=True))
    return np.array([known[text] for text in texts], dtype=np.float64), name


def _first_that_fits(texts: list[str]) -> tuple[list[float], str]:
    best: tuple[int, list[float], str] | None = None
    for name, reader in _READERS.items():
        values = _read_all(texts, reader)
        unread = sum(map(math.isnan, values))
        if best is None or unread < best[0]:
            best = (unread, values, name)
        if unread == 0:
            break
    assert best is not None
    return best[1], best[2]


def _read_all(texts: list[str], reader: Callable[[str], float]) -> list[float]:
    values = []
    for text in texts:
        try:
            values.append(reader(text.strip()))
        except (ValueError, OverflowError):
            values.append(math.nan)
    return values


def _number(text: str) -> float:
    value = float(text)
    if "_" in text or not abs(value) <= _LARGEST_TIME:
        raise ValueError
    return value


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


_READERS: dict[str, Callable[[str], float]] = {
    "number": _number,
    "iso": _iso,
    "month/day/year": _month_day_year,
    "day/month/year": _day_month_year,
}


def _reader_of(time_format: str) -> Callable[[str], float]:
    if time_format in _READERS:
        return _READERS[time_format]
    if "%" not in time_format:
        known = ", ".join(map(repr, _READERS))
        raise BadLogError(
            f"time_format must be one of {known} or a format of strptime, got {time_format!r}"
        )
    return lambda text: _seconds(datetime.strptime(text, time_format))
