"""How to read a match log."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.runtime.checks import as_integer


@dataclass(frozen=True)
class ReadingSettings:
    """How to read a log.

    Attributes:
        columns: ROLE=NAME for columns with unusual names; roles: game, time, team, player, score,
            rank, weight or time_played, neutral; or home, away, home_score, away_score.
        encoding: encoding of the text.
        time_format: number, iso, month/day/year, day/month/year or a format of strptime; if not
            given, the one of the four that reads the most times.
        strict: stop at bad rows.
        max_megabytes: the most that a .csv.gz may unpack to, and that a pipe may give, in millions
            of bytes.
    """

    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    time_format: str | None = None
    strict: bool = False
    max_megabytes: int = 256

    def __post_init__(self) -> None:
        as_integer("max_megabytes", self.max_megabytes, 1, 1_000_000)
