"""Match logs from files: what was read from which column, and why rows were set aside."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchenv.logs.faults import UNREADABLE, BadLogError, BadRow
from matchenv.logs.files import MOST_MEGABYTES, TextTable, read_table
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.checks import LARGEST_SKILL, SMALLEST, as_integer, counted
from matchenv.runtime.files import csv_bytes, without_apostrophe

# Above these shares of games left out, the user is warned, and nothing is rated.
MANY_LEFT_OUT = 0.1
TOO_MANY_LEFT_OUT = 0.5
# Reasons that an error names.
REASONS = 3
TIME_ADVICE = (
    "--time-format sets the format of times: yyyymmdd, number, iso, month/day/year, "
    "day/month/year or a format of strptime, for example '%d.%m.%Y %H:%M'"
)


class GamesLeftOutError(BadLogError):
    """A match log in which too many games cannot be rated."""

    exit_status = 1


@dataclass(frozen=True)
class ReadingSettings:
    """Options for reading a log.

    Attributes:
        columns: ROLE=NAME for columns with unusual names; roles: game, player, team, rank, result,
            score, team_score, time, at_home, neutral, weight; with a row for each game home, away,
            home_score, away_score; side1, side2, side1_score, side2_score; winner, loser.
        partial_play: column with the time that each player took part; the weight of a performance
            is its share of the longest of the game (default: all weights are 1).
        encoding: encoding of the text (default: utf-8, or cp1252 where it is not UTF-8).
        time_format: yyyymmdd, number, iso, month/day/year, day/month/year or a format of strptime
            (default: the one that reads the most times).
        strict: fail if any row is bad.
        max_megabytes: limit on the unpacked size of the log, in millions of bytes.
    """

    columns: tuple[str, ...] = ()
    partial_play: str | None = None
    encoding: str | None = None
    time_format: str | None = None
    strict: bool = False
    max_megabytes: int = MOST_MEGABYTES

    def __post_init__(self) -> None:
        as_integer("max_megabytes", self.max_megabytes, 1, 1_000_000)

    @property
    def chosen_columns(self) -> tuple[str, ...]:
        """``columns`` with the column of ``partial_play``."""
        if self.partial_play is None:
            return tuple(self.columns)
        return (*self.columns, f"partial_play={self.partial_play}")


@dataclass(frozen=True)
class Reading:
    """A log, and how it was read.

    Attributes:
        log: the games to rate.
        file_name: name of the file, without its folder.
        sha256: checksum of the unpacked bytes of the file.
        column_names: name of the column of each role; first and second are the sides of a log with
            a row for each game.
        time_format: format of the times; None for a log without times.
        bad_rows: the bad rows, by line.
        rows: number of lines below the header.
        rows_left_out: number of good lines left out with a game that has a bad one.
        games: number of games in the file that were played.
        notes: what was read from which column, and how, a line each.
        first_side: column that says which side was first (home, white, model_a); empty if none
            does, and then the order of the sides of a game means nothing.
        header: names of all columns of the file.
        further: cells of further columns, by name: one string for each game of ``log``, from the
            first line of the game. See ``read_log``.
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
    first_side: str = ""
    header: tuple[str, ...] = ()
    further: dict[str, list[str]] = field(default_factory=dict)

    @property
    def bad_rows_by_reason(self) -> dict[str, int]:
        """Number of bad rows for each reason, the most frequent first."""
        return dict(Counter(row.reason for row in self.bad_rows).most_common())

    @property
    def source(self) -> dict[str, str]:
        """Name and checksum of the file, for result files."""
        return {"file": self.file_name, "sha256": self.sha256}


def read_log(
    path: str | os.PathLike[str],
    settings: ReadingSettings | None = None,
    *,
    further: Iterable[str] = (),
) -> Reading:
    """Read a match log from a text file with a header or from JSON, plain or packed with gzip.

    The file has a row for each player in each game, or a row for each game with two sides, or holds
    nested JSON; the columns are found by their names. Games with a bad row are left out; of games
    of more than two sides, only the side without a result. Needs pandas
    (``pip install "matchenv[logs]"``).

    Args:
        path: the file.
        settings: options for reading it.
        further: names of columns whose cells are wanted for each game, for example prompt and
            language. ``Reading.header`` names those that the file has.

    Example:
        reading = read_log("votes.csv", further=["prompt"])
        prompts = reading.further["prompt"]  # one for each game of reading.log

    Raises:
        BadLogError: for an unreadable file, header or encoding, columns that disagree about the
            results, a further column that the file does not have, or no game to rate.
        GamesLeftOutError: if more than half of the games cannot be rated or, if
            ``settings.strict``, for any bad row. The message has the most frequent reasons, and
            ``bad_rows`` all rows that were set aside.
    """
    from matchenv.logs.tables import read_games  # with pandas, which is slow to load

    settings = settings or ReadingSettings()
    file = Path(path)
    wanted = list(further)
    table = read_table(file, settings.encoding, settings.max_megabytes)
    header = tuple(table.columns)
    for name in wanted:
        if name not in header:
            raise BadLogError(f"further: no column {name!r} in the header {', '.join(header)}")
    table_reading = read_games(
        table.columns, table.lines, table.bad, settings.chosen_columns, settings.time_format
    )
    games = table_reading.games
    columns = dict(table_reading.layout.columns)
    if table_reading.layout.sides is not None:
        for role, names in zip(
            ("first", "second"), table_reading.layout.sides.columns, strict=True
        ):
            columns[role] = " and ".join(names)
    columns[games.result.role] = " and ".join(games.result.names)
    if table_reading.times is not None:
        columns["time"] = " and ".join(table_reading.times.columns)
    set_aside = games.lines.union(table.bad)
    reading = Reading(
        log=MatchLog(**games.arrays),
        file_name=file.name,
        sha256=table.sha256,
        column_names=columns,
        time_format=None if table_reading.times is None else table_reading.times.format,
        bad_rows=sorted(table.bad.values()),
        rows=len(set(table.lines)),
        rows_left_out=len(set(table.lines) - set_aside),
        games=games.games,
        notes=(*table.notes, *table_reading.read_as),
        first_side=table_reading.first_side,
        header=header,
        further=_cells_of_games(table, wanted, games.line.tolist()),
    )
    _check_enough(reading, settings.strict)
    return reading


def _cells_of_games(
    table: TextTable, names: Sequence[str], lines: Sequence[int]
) -> dict[str, list[str]]:
    """Return the cells of further columns for games that begin in these lines."""
    if not names:
        return {}
    row_of_line: dict[int, int] = {}
    for row, line in enumerate(table.lines):
        row_of_line.setdefault(line, row)
    return {name: [table.columns[name][row_of_line[line]] for line in lines] for name in names}


def _check_enough(reading: Reading, strict: bool) -> None:
    """Refuse a log of which too little can be rated; see ``read_log``."""
    rated = reading.log.num_games
    bad = reading.bad_rows
    if not rated:
        problem = "no game to rate"
    elif reading.games - rated > TOO_MANY_LEFT_OUT * reading.games:
        problem = f"only {rated:,} of {reading.games:,} games can be rated"
    elif strict and bad:
        problem = counted(len(bad), "bad row")
    else:
        return
    reasons = []
    for reason, count in list(reading.bad_rows_by_reason.items())[:REASONS]:
        first = next(row for row in bad if row.reason == reason)
        reasons.append(f"{reason}: {count:,}, first in {first}")
    left = len(reading.bad_rows_by_reason) - len(reasons)
    if left:
        reasons.append(f"and {counted(left, 'other reason')}")
    if any(reason.startswith(f"{UNREADABLE} time") for reason in reasons):
        reasons.append(TIME_ADVICE)
    message = "; ".join([f"{reading.file_name}: {problem}", *reasons])
    raise (GamesLeftOutError if rated else BadLogError)(message, bad)


def reading_text(reading: Reading, *, listed: int = 5) -> str:
    """Return what was read and what was left out, in lines.

    It names up to ``listed`` bad rows for each reason.
    """
    log = reading.log
    left_out = reading.games - log.num_games
    lines = [
        f"{reading.file_name}: {counted(reading.rows, 'row')}, {counted(reading.games, 'game')}; "
        f"rated {counted(log.num_games, 'game')} of {counted(log.num_players, 'player')}",
        *reading.notes,
        f"bad rows: {len(reading.bad_rows)}; good rows left out with their game: "
        f"{reading.rows_left_out}",
        *_listing(reading, listed),
    ]
    if left_out > MANY_LEFT_OUT * reading.games:
        share = f"{100.0 * left_out / reading.games:.0f} %"
        lines.insert(0, f"warning: {left_out} of {reading.games} games are left out ({share})")
    return "\n".join(lines)


def _listing(reading: Reading, most: int) -> list[str]:
    """Return lines: each reason with its count, its first bad rows, and advice."""
    lines = []
    for reason, count in reading.bad_rows_by_reason.items():
        lines.append(f"  {reason}: {count}")
        if not most:
            continue
        first = [row for row in reading.bad_rows if row.reason == reason][:most]
        lines += [f"    {row}" for row in first]
        if count > most:
            lines.append(f"    and {count - most} more")
        if reason == f"{UNREADABLE} time":
            lines.append(f"    {TIME_ADVICE}")
    return lines


def bad_rows_csv(rows: Iterable[BadRow]) -> bytes:
    """Return the content of ``bad_rows.csv``."""
    return csv_bytes(("line", "reason", "detail"), rows)


def read_ratings(
    path: Path, kind: str, numbers: Sequence[str] = ("mu", "sigma"), texts: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Return columns of a table with a row for each player, for example a replay's ``ratings.csv``.

    The names of columns are in lower case; numbers are finite, and ``sigma`` is positive. ``kind``
    is the name of the argument in messages.

    Raises:
        ValueError: for an unreadable file, a table without players, a missing column, and bad
            lines or numbers; names the first line.
    """
    try:
        table = read_table(path)
    except BadLogError as error:
        raise ValueError(f"{kind} must be a readable file of ratings: {error}") from None
    columns: dict[str, list[Any]] = {name.lower(): cells for name, cells in table.columns.items()}
    if missing := [name for name in (*texts, *numbers) if name not in columns]:
        raise ValueError(
            f"{kind} must have columns {', '.join((*texts, *numbers))}: {path} has no "
            f"{' and no '.join(missing)} in line 1, {', '.join(table.columns)}"
        )
    if not columns[numbers[0]]:
        raise ValueError(f"{kind} must hold at least one player, got none in {path}")
    bad = [str(row) for row in table.bad.values()]
    for name in numbers:
        least = SMALLEST if name == "sigma" else -LARGEST_SKILL
        cells = columns[name]
        columns[name] = [_number(cell) for cell in cells]
        bad += [
            f"line {line}: {name} is {cell.strip()!r}"
            for line, (cell, value) in enumerate(zip(cells, columns[name], strict=True), 2)
            if not least <= value <= LARGEST_SKILL and line not in table.bad
        ]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ValueError(
            f"{kind} must hold finite numbers, deviations above 0: {path}: {bad[0]}{more}"
        )
    names = {name: [without_apostrophe(cell) for cell in columns[name]] for name in texts}
    return {**names, **{name: columns[name] for name in numbers}}


def _number(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
