"""Match logs from files: lines, columns, and a reason for every row that is left out.

Lines are split here: the fast parser of pandas does not report which lines it could not split, and
its slow parser takes five times as long.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from matchenv.logs.columns import UNREADABLE, BadLogError, BadRow, find_columns
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.checks import LARGEST_SKILL, SMALLEST, as_integer, counted
from matchenv.runtime.files import without_apostrophe

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20  # bytes
DELIMITERS = ",;\t|"
MOST_MEGABYTES, MOST_ROWS = 256, 10_000_000
LONGEST_LINE = 100_000  # characters; lines of logs have about a hundred
# Control characters, and the lone surrogates that stand for bytes outside the encoding.
BROKEN = re.compile("[\x00\x1f\ud800-\udfff]")
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


class TextTable(NamedTuple):
    """The lines of a file below its header."""

    columns: dict[str, list[str]]  # fields by column name, blank where a row is too short
    bad: dict[int, BadRow]  # by line number, lines that do not fit the header
    sha256: str  # checksum of the unpacked bytes of the file


def read_table(
    path: Path, encoding: str = "utf-8", max_megabytes: int = MOST_MEGABYTES
) -> TextTable:
    """Read a table with a header, plain or compressed with gzip.

    Columns are separated by commas, semicolons, tabs or bars. A quoted field cannot contain a line
    break, so an unclosed quote affects one line only. The limit is on the unpacked size; the file
    can be a device without an end.

    Raises:
        BadLogError: for an unreadable file, a missing header, or a repeated column name.
    """
    data = _read_bytes(path, max_megabytes)
    if data.startswith(b"PK\x03\x04"):
        raise BadLogError("the log is a zip archive: unpack it")
    try:
        text = data.decode(encoding, "surrogateescape")
    except (LookupError, ValueError) as error:
        raise BadLogError(f"the log cannot be read with encoding {encoding!r}: {error}") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if not text or text.isspace():
        raise BadLogError("the log is empty: it has no header")
    if text.count("\n") > MOST_ROWS:
        raise BadLogError(f"the log has more than {MOST_ROWS:,} rows")
    first, *lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    delimiter = max(DELIMITERS, key=first.count)
    header = [name.strip() for name in _fields(first, delimiter)]
    if not header or BROKEN.search(first):
        fault = f"no text in {encoding}, see --encoding" if header else "broken quoting"
        raise BadLogError(f"line 1: the header cannot be read: {fault}")
    for name in filter(None, header):
        if header.count(name) > 1:
            raise BadLogError(f"line 1: the header names {name!r} twice")
    rows, bad = list[list[str]](), dict[int, BadRow]()
    for number, line in enumerate(lines, start=2):
        fields, detail = _fields(line[:LONGEST_LINE], delimiter), ascii(line[:60])
        reason = ""
        if not line.strip():
            reason, detail = "blank line", ""
        elif len(line) > LONGEST_LINE:
            reason, detail = "line too long", f"{len(line):,} characters"
        elif BROKEN.search(line):
            reason = "broken encoding"
        elif not fields:
            reason = "broken quoting"
        elif len(fields) != len(header):
            reason, detail = "wrong number of columns", f"{len(fields)} instead of {len(header)}"
        if reason:
            bad[number] = BadRow(number, reason, detail)
        rows.append(fields or line[:LONGEST_LINE].split(delimiter))
    columns = {
        name: [row[place] if place < len(row) else "" for row in rows]
        for place, name in enumerate(header)
    }
    return TextTable(columns, bad, hashlib.sha256(data).hexdigest())


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; none for broken quoting."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return []


def _read_bytes(path: Path, max_megabytes: int) -> bytearray:
    """Return the bytes of a file, unpacked if its content is gzip."""
    data, most, packed = bytearray(), max_megabytes * 1_000_000, False
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            while len(data) <= most and (chunk := source.read(CHUNK)):
                data += chunk
    except (OSError, EOFError, ValueError, zlib.error) as error:
        text = f"broken gzip file: {error}" if packed else getattr(error, "strerror", None) or error
        raise BadLogError(f"{path}: {text}") from None
    if len(data) > most:
        raise BadLogError(f"{path}: it has more than {max_megabytes:,} MB, see --max-megabytes")
    return data


def read_log(
    path: str | os.PathLike[str],
    settings: ReadingSettings | None = None,
    *,
    further: Iterable[str] = (),
) -> Reading:
    """Read a match log from a text file with a header, plain or compressed with gzip.

    Columns are separated by commas, semicolons, tabs or bars. Games with a bad row are left out.
    Needs pandas (``pip install "matchenv[logs]"``).

    Args:
        path: the file.
        settings: options for reading it.
        further: names of columns whose cells are wanted for each game, for example prompt and
            language. ``Reading.header`` names those that the file has.

    Example:
        reading = read_log("votes.csv", further=["prompt"])
        prompts = reading.further["prompt"]  # one for each game of reading.log

    Raises:
        BadLogError: for an unreadable file, header or encoding, a further column that the file does
            not have, or no game to rate.
        GamesLeftOutError: if more than half of the games cannot be rated or, if
            ``settings.strict``, for any bad row. The message counts the bad rows for each reason
            and names the first ones by line.
    """
    from matchenv.logs.rows import whole_games  # with pandas, which is slow to load

    settings, file, further = settings or ReadingSettings(), Path(path), list(further)
    table = read_table(file, settings.encoding, settings.max_megabytes)
    names, notes = find_columns(list(table.columns), settings.columns)
    columns = {role: table.columns[name] for role, name in names.items()}
    for name in further:
        if name not in table.columns:
            header = ", ".join(table.columns)
            raise BadLogError(f"further: no column {name!r} in the header {header}")
    log, lines, games, time_format, more = whole_games(columns, 2, table.bad, settings.time_format)
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
        first_side=names.get("home", ""),
        header=tuple(table.columns),
        further={name: [table.columns[name][line - 2] for line in lines] for name in further},
    )
    problem = ""
    if not rated:
        problem = "no game to rate"
    elif games - rated > TOO_MANY_LEFT_OUT * games:
        problem = f"only {rated} of {games} games can be rated"
    elif settings.strict and bad:
        problem = counted(bad, "bad row")
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
        f"{reading.file_name}: {counted(reading.rows, 'row')}, {counted(reading.games, 'game')}; "
        f"rated {counted(log.num_games, 'game')} of {counted(log.num_players, 'player')}",
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
        least, cells = SMALLEST if name == "sigma" else -LARGEST_SKILL, columns[name]
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


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan
