"""Match logs from files: columns with usual names, and a reason for every row that is left out."""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchenv.logs.bad_rows import BadLogError, BadRow, BadRows, Reason, listing
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.checks import as_integer

# For each role, its usual names, in lower case without blanks and punctuation.
ROLES: dict[str, tuple[str, ...]] = {
    "game": ("game", "gameid", "gameuuid", "match", "matchid", "matchuuid", "matchguid"),
    "time": (
        "time", "endtime", "endedat", "endat", "finishedat", "playedat", "starttime", "startedat",
        "date", "datetime", "timestamp", "matchdate", "gamedate", "createdat",
    ),
    "team": ("team", "teamid", "teamname", "side", "sideid"),
    "player": (
        "player", "playerid", "playername", "account", "accountid", "accountname", "user",
        "userid", "username",
    ),
    "rank": ("rank", "place", "position", "placement", "finish", "standing"),
    "result": ("result", "outcome", "winloss", "wl"),
    "team_score": ("teamscore", "teampoints", "sidescore"),
    "score": ("score", "points", "playerscore", "roundswon"),
    # A column of that name may well be of something else, for example kilograms.
    "weight": (),
    "time_played": ("timeplayed",),
    "neutral": ("neutral", "neutralground", "neutralvenue"),
    "home": ("hometeam", "home"),
    "away": ("awayteam", "away"),
    "home_score": ("homescore", "homegoals"),
    "away_score": ("awayscore", "awaygoals"),
}  # fmt: skip
# The first of these that a log has decides, unless the user names one.
RESULTS = ("rank", "result", "team_score", "score")
HOME_AND_AWAY = ("home", "away", "home_score", "away_score")

GZIP = b"\x1f\x8b"
PIECE = 1 << 20  # bytes
DELIMITERS = ",;\t|"
MOST_COLUMNS = 10_000
MOST_ROWS = 10_000_000
# A line of a log has some hundred characters. What is far beyond that is no log.
LONGEST_LINE = 1_000_000
# Shares of the games left out from which the user is warned, and from which nothing is rated.
MANY_LEFT_OUT, TOO_MANY_LEFT_OUT = 0.1, 0.5


@dataclass(frozen=True)
class ReadingSettings:
    """How to read a log.

    Attributes:
        columns: ROLE=NAME for columns with unusual names; roles: game, time, team, player, score,
            team_score, result, rank, weight or time_played, neutral; or home, away, home_score,
            away_score.
        encoding: encoding of the text.
        time_format: number, iso, month/day/year, day/month/year or a format of strptime
            (default: the one of the four that reads the most times).
        strict: stop at bad rows.
        max_megabytes: limit on what a .csv.gz may unpack to, and on what a pipe may give, in
            millions of bytes.
    """

    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    time_format: str | None = None
    strict: bool = False
    max_megabytes: int = 256

    def __post_init__(self) -> None:
        as_integer("max_megabytes", self.max_megabytes, 1, 1_000_000)


@dataclass(frozen=True)
class Reading:
    """A log as it was read.

    Attributes:
        log: the games to rate.
        file_name: name of the file, without its folder.
        sha256: of the file's bytes, unpacked.
        column_names: role to the name of its column.
        time_format: how times were written; None for a log without times.
        bad_rows: all that was wrong, by line.
        rows: lines of the file that are not its header.
        bad_lines: lines with something wrong.
        rows_left_out: good lines that were left out since their game has a bad one.
        games: games that the file names.
        notes: how the rows were understood, where it could be otherwise.
    """

    log: MatchLog
    file_name: str
    sha256: str
    column_names: dict[str, str]
    time_format: str | None
    bad_rows: list[BadRow]
    rows: int
    bad_lines: int
    rows_left_out: int
    games: int
    notes: tuple[str, ...]

    @property
    def share_left_out(self) -> float:
        """Share of the games that were left out."""
        return 1.0 - self.log.num_games / self.games


def read_log(path: str | os.PathLike[str], settings: ReadingSettings | None = None) -> Reading:
    """Read a match log from a text file with a header, plain or packed with gzip.

    Columns are separated by commas, semicolons, tabs or bars. A game with a bad row is left out as
    a whole; nothing else is. Needs pandas (``pip install "matchenv[logs]"``).

    Args:
        path: the file.
        settings: how to read it.

    Raises:
        BadLogError: for a file, header or encoding that cannot be read at all, a log of which
            more than half of the games cannot be rated, or, if ``settings.strict``, for any bad
            row; the message counts the bad rows of each reason and names the first ones with
            their line numbers.
    """
    from matchenv.logs.rows import read_rows, whole_games  # pandas is slow to load

    settings, file, bad = settings or ReadingSettings(), Path(path), BadRows()
    data = read_bytes(file, settings.max_megabytes)
    table = read_table(decoded(data, settings.encoding), bad)
    names = find_columns(table.header, settings.columns)
    places = {role: table.header.index(name) for role, name in names.items()}
    texts = {role: [row[place] for row in table.rows] for role, place in places.items()}
    lines, notes = table.lines, _choices(table.header, names)
    if table.delimiter != ",":
        notes.append(f"columns are separated by {table.delimiter!r}")
    if "home" in texts:
        texts, lines = _both_sides(texts, lines)
    rows = read_rows(texts, lines, settings.time_format, bad)
    place = places.get("game", MOST_COLUMNS)
    spoilt = {fields[place].strip() for fields in table.spoilt if place < len(fields)}
    found = whole_games(rows, bad, spoilt)
    rated = 0 if found.log is None else found.log.num_games
    problem = ""
    if not rated:
        problem = "no game to rate"
    elif found.games - rated > TOO_MANY_LEFT_OUT * found.games:
        problem = f"only {rated} of {found.games} games can be rated"
    elif settings.strict and len(bad):
        problem = f"{len(bad)} bad rows"
    if problem or found.log is None:
        said = [problem, *map(str.strip, listing(bad.sorted()))]
        raise BadLogError(f"{file.name}: {'; '.join(said)}")
    bad_lines = len(bad.lines())
    return Reading(
        log=found.log,
        file_name=file.name,
        sha256=hashlib.sha256(data).hexdigest(),
        column_names=names,
        time_format=rows.time_format,
        bad_rows=bad.sorted(),
        rows=table.num_rows,
        bad_lines=bad_lines,
        rows_left_out=table.num_rows - bad_lines - len(found.lines),
        games=found.games,
        notes=(*notes, *found.notes),
    )


def reading_text(reading: Reading, *, listed: int = 5) -> str:
    """Return what was read and left out, with the first line numbers of each reason.

    Args:
        reading: the log as it was read.
        listed: how many bad rows to name for each reason.
    """
    log, left_out = reading.log, reading.games - reading.log.num_games
    lines = []
    if reading.share_left_out > MANY_LEFT_OUT:
        lines.append(
            f"warning: {left_out} of {reading.games} games are left out "
            f"({100.0 * reading.share_left_out:.0f} %)"
        )
    lines += [
        f"{reading.file_name}: {reading.rows} rows, {reading.games} games; rated "
        f"{log.num_games} games of {log.num_players} players",
        f"bad rows: {reading.bad_lines}; good rows left out with their game: "
        f"{reading.rows_left_out}",
    ]
    return "\n".join([*lines, *reading.notes, *listing(reading.bad_rows, listed)])


def find_columns(header: list[str], chosen: Iterable[str]) -> dict[str, str]:
    """Return the column of each role: the user's names first, then the usual ones.

    Args:
        header: the names of the columns.
        chosen: ``ROLE=NAME`` as the user gave them; may be empty.

    Raises:
        BadLogError: for an unknown role, a role named twice, a missing column, or a needed role
            that has none.
    """
    named: dict[str, str] = {}
    for text in chosen:
        role, _, name = (part.strip() for part in text.partition("="))
        if not name or role not in ROLES or role in named:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(ROLES)}, got {text!r}"
            )
        if name not in header:
            raise BadLogError(
                f"columns: no column {name!r} for {role!r} in the header {', '.join(header)}"
            )
        named[role] = name
    if "weight" in named and "time_played" in named:
        raise BadLogError("columns: one of weight and time_played may be named, got both")
    plain = {_plain(name): name for name in reversed(header)}
    usual = {
        role: [plain[each] for each in names if each in plain] for role, names in ROLES.items()
    }
    found = {
        role: named.get(role) or usual[role][0] for role in ROLES if role in named or usual[role]
    }
    results = [role for role in RESULTS if role in named] or [r for r in RESULTS if r in found]
    if "player" not in found and all(role in found for role in HOME_AND_AWAY):
        wanted = [*HOME_AND_AWAY, "time", "neutral"]
    else:
        wanted = ["game", "time", "team", "player", *results[:1], "neutral"]
        wanted += ["weight" if "weight" in found else "time_played"]
        missing = [role for role in ("game", "player") if role not in found]
        missing += [] if results else ["score, result or rank"]
        if missing:
            raise BadLogError(
                f"columns: nothing found for {', '.join(missing)} in the header "
                f"{', '.join(header)}; name columns with --columns ROLE=NAME ... "
                "(or home, away, home_score, away_score for a game on each row)"
            )
    return {role: found[role] for role in wanted if role in found}


def _choices(header: list[str], names: dict[str, str]) -> list[str]:
    """Return notes on columns that were chosen where others would do."""
    notes = [
        f"{role} from the column {names[role]!r}"
        for role in ("weight", "time_played", "neutral")
        if role in names
    ]
    result = next((role for role in RESULTS if role in names), None)
    others = [
        f"{role}={name}"
        for name in header
        for role in RESULTS
        if result and name != names[result] and _plain(name) in ROLES[role]
    ]
    if result and others:
        notes.append(
            f"{result} from the column {names[result]!r}; another one: --columns "
            f"{' or '.join(others)}"
        )
    return notes


def _plain(name: str) -> str:
    """Return a name in lower case without blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def read_bytes(path: Path, max_megabytes: int = ReadingSettings.max_megabytes) -> bytes:
    """Return the bytes of a file, unpacked if they are gzip's, whatever its name ends in.

    The limit holds for packed files, and for devices and pipes: they may have no end.
    """
    most, packed = max_megabytes * 1_000_000, False
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            limited = packed or not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            # In pieces: a buffer of the limit's size would be made at once.
            pieces, left = [], most + 1
            while left > 0 and (piece := source.read(PIECE)):
                pieces.append(piece)
                left -= len(piece) if limited else 0
    except (OSError, EOFError, ValueError, zlib.error) as error:
        said = f"broken gzip file: {error}" if packed else getattr(error, "strerror", None) or error
        raise BadLogError(f"{path}: {said}") from None
    if left <= 0:
        raise BadLogError(
            f"{path}: {'unpacked ' if packed else ''}it is more than {max_megabytes:,} MB; "
            "--max-megabytes allows more"
        )
    return b"".join(pieces)


def decoded(data: bytes, encoding: str) -> str:
    r"""Return a text with lines that end in ``\n`` and no blank lines at its end.

    Bytes that are not UTF-8 become lone surrogates, by which their rows are found again.
    """
    unicode = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        text = data.decode("utf-8-sig" if unicode else encoding,
                           "surrogateescape" if unicode else "strict")  # fmt: skip
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} in position {error.start}"
        raise BadLogError(f"the log is not {encoding}: {byte}: {error.reason}") from None
    except (LookupError, ValueError):
        raise BadLogError(f"encoding must be one of a text in Python, got {encoding!r}") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip()
    if text.count("\n") > MOST_ROWS:
        raise BadLogError(f"the log has more than {MOST_ROWS:,} rows")
    return text


@dataclass(frozen=True)
class Table:
    """The rows of a text.

    Attributes:
        delimiter: what separates its columns.
        header: names of the columns, without blanks around them.
        lines: the line number of each row.
        rows: the fields of each row, as many as names.
        spoilt: fields of the rows that do not fit the header.
        num_rows: lines after the header.
    """

    delimiter: str
    header: list[str]
    lines: list[int]
    rows: list[list[str]]
    spoilt: list[list[str]]
    num_rows: int


def read_table(text: str, bad: BadRows) -> Table:
    """Split a text into rows; those that do not fit its header are bad.

    Args:
        text: from ``decoded``.
        bad: bad rows are added.

    Raises:
        BadLogError: for a text without a header, or a header that names a column twice.
    """
    if not text:
        raise BadLogError("the log is empty: it has no header")
    first, *rest = text.split("\n")
    if len(first) > LONGEST_LINE:
        raise BadLogError(
            f"line 1: the header must have at most {LONGEST_LINE:,} characters, got {len(first):,}"
        )
    delimiter = max(DELIMITERS, key=first.count)
    header, problem, _ = _split(first, delimiter, None)
    if problem is not None:
        raise BadLogError(f"line 1: the header has a {problem}")
    if len(header) > MOST_COLUMNS:
        raise BadLogError(
            f"line 1: the header must have at most {MOST_COLUMNS:,} columns, got {len(header):,}"
        )
    header = [name.strip() for name in header]
    twice = sorted(name for name, count in Counter(header).items() if count > 1 and name)
    if twice:
        raise BadLogError(f"line 1: the header names {', '.join(map(repr, twice))} twice")
    clean = not _is_broken(text)
    rows, lines, spoilt = [], [], []
    for number, line in enumerate(rest, start=2):
        simple = clean and line and '"' not in line and len(line) <= LONGEST_LINE
        fields = line.split(delimiter) if simple else []
        if len(fields) != len(header):
            fields, problem, detail = _split(line, delimiter, len(header))
            if problem is not None:
                bad.add([number], problem, [detail])
                spoilt.append(fields)
                continue
        rows.append(fields)
        lines.append(number)
    return Table(delimiter, header, lines, rows, spoilt, len(rest))


def _split(line: str, delimiter: str, width: int | None) -> tuple[list[str], Reason | None, str]:
    """Return the fields of a line, what is wrong with it, and a detail.

    A quoted field cannot hold a line break: so an open quote spoils no other line.
    """
    if len(line) > LONGEST_LINE:
        fields = line[:LONGEST_LINE].split(delimiter, MOST_COLUMNS)
        return fields, Reason.LONG_LINE, f"{len(line):,} characters"
    fields = line.split(delimiter)
    if not line.strip():
        return [], Reason.BLANK_LINE, ""
    if '"' in line:
        try:
            fields = next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error:
            return fields, Reason.BROKEN_QUOTING, ascii(line[:60])
    if _is_broken(line):
        return fields, Reason.BROKEN_ENCODING, ascii(line[:60])
    if width is not None and len(fields) != width:
        return fields, Reason.COLUMN_COUNT, f"{len(fields)} instead of {width}"
    return fields, None, ""


def _is_broken(text: str) -> bool:
    """Return whether a text holds bytes that could not be decoded, or control characters."""
    if "\x00" in text or "\x1f" in text:
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _both_sides(
    texts: dict[str, list[str]], lines: list[int]
) -> tuple[dict[str, list[str]], list[int]]:
    """Return rows of players in place of rows of games: one for home, one for away."""
    twice = [line for line in lines for _ in range(2)]
    found = {"game": list(map(str, twice))}
    names = {"home": "player", "home_score": "score", "time": "time", "neutral": "neutral"}
    for role, name in names.items():
        if role in texts:
            pairs = zip(texts[role], texts[role.replace("home", "away")], strict=True)
            found[name] = [each for pair in pairs for each in pair]
    return found, twice
