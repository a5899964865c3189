"""Rows of a match log that cannot be used: each with its line number and its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# Each takes some 300 bytes of memory.
MOST_BAD_ROWS = 1_000_000


class BadLogError(ValueError):
    """A match log that cannot be read, or has bad rows where none are allowed."""


class Reason(StrEnum):
    """Why a row is bad."""

    BLANK_LINE = "blank line"
    LONG_LINE = "line too long"
    BROKEN_ENCODING = "broken encoding"
    BROKEN_QUOTING = "broken quoting"
    COLUMN_COUNT = "wrong number of columns"
    MISSING_GAME = "missing game"
    MISSING_PLAYER = "missing player"
    MISSING_RESULT = "missing result"
    MISSING_SCORE = "missing score"
    MISSING_RANK = "missing rank"
    BAD_RESULT = "result is neither a win, a draw or a loss nor a number"
    BAD_SCORE = "score is not a number"
    BAD_RANK = "rank is not a number"
    BAD_TIME = "time is missing or unreadable"
    BAD_WEIGHT = "weight is missing or out of range"
    BAD_TIME_PLAYED = "time_played is missing or out of range"
    BAD_NEUTRAL = "neutral is neither true nor false"
    UNKNOWN_TEAM = "unknown team"
    TWO_RESULTS = "team with two results"
    TWO_SCORES = "team with two scores"
    TWO_RANKS = "team with two ranks"
    PLAYER_TWICE = "player twice in a game"
    ONE_SIDE = "game of one side"
    NOBODY_PLAYED = "side whose weights are all 0"
    TWO_GROUNDS = "game both on neutral ground and not"
    GAME_SPLIT = "game comes back after another"


# What a user can do about a reason.
ADVICE = {
    Reason.BAD_TIME: "--time-format says how times are written: number, iso, month/day/year, "
    "day/month/year or a format of strptime, for example '%d.%m.%Y %H:%M'"
}


@dataclass(frozen=True, order=True)
class BadRow:
    """One thing that is wrong with one line.

    Attributes:
        line: number of the line in the file, counted from 1 with the header.
        reason: what is wrong.
        detail: the value, for the reader.
    """

    line: int
    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


class BadRows:
    """All that is wrong with a log, one entry for each line and reason."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, Reason], BadRow] = {}

    def add(self, lines: Iterable[int], reason: Reason, details: Iterable[Any] = ()) -> None:
        """Note bad rows; a second note for the same line and reason changes nothing.

        Args:
            lines: numbers of the lines.
            reason: what is wrong with them.
            details: a value for each line, or none.

        Raises:
            BadLogError: beyond ``MOST_BAD_ROWS``.
        """
        details = iter(details)
        for line in map(int, lines):
            self._rows.setdefault((line, reason), BadRow(line, reason, str(next(details, ""))))
            if len(self._rows) > MOST_BAD_ROWS:
                raise BadLogError(
                    f"the log has more than {MOST_BAD_ROWS:,} bad rows, the last one {reason} in "
                    f"line {line}; is it a match log?"
                )

    def __len__(self) -> int:
        return len(self._rows)

    def sorted(self) -> list[BadRow]:
        """Return all of them by line."""
        return sorted(self._rows.values())

    def lines(self) -> set[int]:
        """Return the distinct lines."""
        return {line for line, _ in self._rows}


def reason_counts(rows: list[BadRow]) -> dict[str, int]:
    """Count the rows of each reason that occurs, in the order of ``Reason``."""
    found = Counter(row.reason for row in rows)
    return {str(reason): found[reason] for reason in Reason if found[reason]}


def listing(rows: list[BadRow], most: int = 5) -> list[str]:
    """Return lines of text: each reason with its count, its first rows, and advice.

    Args:
        rows: the bad rows, by line.
        most: how many rows to name for each reason; 0 for the counts alone.
    """
    text = []
    for reason, count in reason_counts(rows).items():
        text.append(f"  {reason}: {count}")
        if most:
            named = [row for row in rows if row.reason == reason][:most]
            text.extend(f"    {row}" for row in named)
            if count > most:
                text.append(f"    and {count - most} more")
            if reason in ADVICE:
                text.append(f"    {ADVICE[Reason(reason)]}")
    return text
