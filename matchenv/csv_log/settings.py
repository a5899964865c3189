"""How to read a match log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingSettings:
    """How to read a log.

    Attributes:
        columns: ROLE=NAME for columns with unusual names; roles: game, time, team, player, score,
            rank, or home, away, home_score, away_score.
        encoding: encoding of the text.
        time_format: number, iso, month/day/year, day/month/year or a format of strptime; if not
            given, the one of the four that reads the most times.
        strict: stop at bad rows.
    """

    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    time_format: str | None = None
    strict: bool = False
