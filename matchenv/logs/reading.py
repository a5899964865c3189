"""Match logs from files, with a reason for every row that is left out."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from matchenv.logs.columns import UNREADABLE, find_columns
from matchenv.logs.match_log import MatchLog
from matchenv.logs.text_table import MOST_MEGABYTES, BadLogError, BadRow, read_table
from matchenv.runtime.checks import as_integer

# Above these shares of games left out, the user is warned, and nothing is rated.
MANY_LEFT_OUT, TOO_MANY_LEFT_OUT = 0.1, 0.5
TIME_ADVICE = (
    "--time-format sets the format of times: number, iso, month/day/year, day/month/year or a "
    "format of strptime, for example '%d.%m.%Y %H:%M'"
)


class GamesLeftOutError(BadLogError):
    """A match log in which too many games cannot be rated."""

    exit_status = 1


@dataclass(frozen=True)
class ReadingSettings:
    """Options for reading a log.

    Attributes:
        columns: ROLE=NAME for columns with unusual names; roles: game, time, team, player, score,
            team_score, result, rank, weight or time_played, neutral; or home, away, home_score,
            away_score.
        encoding: encoding of the text.
        time_format: number, iso, month/day/year, day/month/year or a format of strptime
            (default: the one of the four that reads the most times).
        strict: fail if any row is bad.
        max_megabytes: limit on the unpacked size of the log, in millions of bytes.
    """

    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    time_format: str | None = None
    strict: bool = False
    max_megabytes: int = MOST_MEGABYTES

    def __post_init__(self) -> None:
        as_integer("max_megabytes", self.max_megabytes, 1, 1_000_000)


@dataclass(frozen=True)
class Reading:
    """A log, and how it was read.

    Attributes:
        log: the games to rate.
        file_name: name of the file, without its folder.
        sha256: checksum of the unpacked bytes of the file.
        column_names: name of the column of each role.
        time_format: format of the times; None for a log without times.
        bad_rows: the bad rows, by line.
        rows: number of lines below the header.
        rows_left_out: number of good lines left out with a game that has a bad one.
        games: number of games in the file.
        notes: interpretations of ambiguous input.
    """

    log: MatchLog
    file_name: str
    sha256: str
    column_names: dict[str, str]
    time_format: str | None
    bad_rows: list[BadRow]
    rows: int
    rows_left_out: int
    games: int
    notes: tuple[str, ...]

    @property
    def bad_rows_by_reason(self) -> dict[str, int]:
        """Number of bad rows for each reason, the most frequent first."""
        return dict(Counter(row.reason for row in self.bad_rows).most_common())

    @property
    def source(self) -> dict[str, str]:
        """Name and checksum of the file, for result files."""
        return {"file": self.file_name, "sha256": self.sha256}


def read_log(path: str | os.PathLike[str], settings: ReadingSettings | None = None) -> Reading:
    """Read a match log from a text file with a header, plain or compressed with gzip.

    Columns are separated by commas, semicolons, tabs or bars. Games with a bad row are left out.
    Needs pandas (``pip install "matchenv[logs]"``).

    Args:
        path: the file.
        settings: options for reading it.

    Raises:
        BadLogError: for an unreadable file, header or encoding, or no game to rate.
        GamesLeftOutError: if more than half of the games cannot be rated or, if
            ``settings.strict``, for any bad row. The message counts the bad rows for each reason
            and names the first ones by line.
    """
    from matchenv.logs.rows import whole_games  # with pandas, which is slow to load

    settings, file = settings or ReadingSettings(), Path(path)
    table = read_table(file, settings.encoding, settings.max_megabytes)
    names, notes = find_columns(list(table.columns), settings.columns)
    columns = {role: table.columns[name] for role, name in names.items()}
    log, games, time_format, more = whole_games(columns, 2, table.bad, settings.time_format)
    rated, bad, rows = log.num_games, len(table.bad), len(next(iter(columns.values())))
    found = Reading(
        log=log,
        file_name=file.name,
        sha256=table.sha256,
        column_names=names,
        time_format=time_format,
        bad_rows=sorted(table.bad.values()),
        rows=rows,
        rows_left_out=rows - bad - (rated if "home" in names else len(log.player)),
        games=games,
        notes=(*notes, *more),
    )
    problem = ""
    if not rated:
        problem = "no game to rate"
    elif games - rated > TOO_MANY_LEFT_OUT * games:
        problem = f"only {rated} of {games} games can be rated"
    elif settings.strict and bad:
        problem = "1 bad row" if bad == 1 else f"{bad} bad rows"
    if problem:
        parts = [problem, *map(str.strip, _listing(found, 5))]
        raise (GamesLeftOutError if rated else BadLogError)(f"{file.name}: {'; '.join(parts)}")
    return found


def reading_text(reading: Reading, *, listed: int = 5) -> str:
    """Return a summary of the rows that were read and left out.

    It names up to ``listed`` bad rows for each reason.
    """
    log, left_out = reading.log, reading.games - reading.log.num_games
    lines = [
        f"{reading.file_name}: {reading.rows} rows, {reading.games} games; rated "
        f"{log.num_games} games of {log.num_players} players",
        f"bad rows: {len(reading.bad_rows)}; good rows left out with their game: "
        f"{reading.rows_left_out}",
        *reading.notes,
        *_listing(reading, listed),
    ]
    if left_out > MANY_LEFT_OUT * reading.games:
        share = f"{100.0 * left_out / reading.games:.0f} %"
        lines.insert(0, f"warning: {left_out} of {reading.games} games are left out ({share})")
    return "\n".join(lines)


def _listing(reading: Reading, most: int) -> list[str]:
    """Return lines of text: each reason with its count, its first bad rows, and advice."""
    text = []
    for reason, count in reading.bad_rows_by_reason.items():
        text.append(f"  {reason}: {count}")
        if most:
            text += [f"    {row}" for row in reading.bad_rows if row.reason == reason][:most]
            text += [f"    and {count - most} more"] if count > most else []
            text += [f"    {TIME_ADVICE}"] if reason == f"{UNREADABLE} time" else []
    return text
