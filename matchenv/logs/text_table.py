"""Tables of text from files, with a reason for every line that cannot be used.

Lines are split here: the fast parser of pandas does not report which lines it could not split, and
its slow parser takes five times as long.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matchenv.runtime.checks import LARGEST_SKILL, SMALLEST

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20  # bytes
DELIMITERS = ",;\t|"
MOST_MEGABYTES, MOST_ROWS = 256, 10_000_000
LONGEST_LINE = 100_000  # characters; lines of logs have about a hundred
# Control characters, and the lone surrogates that stand for bytes outside the encoding.
BROKEN = re.compile("[\x00\x1f\ud800-\udfff]")


class BadLogError(ValueError):
    """A match log that cannot be read."""


class BadRow(NamedTuple):
    """A bad line, counted from 1 with the header, with its first fault and the value."""

    line: int
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


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
    try:
        text = data.decode(encoding, "surrogateescape")
    except (LookupError, ValueError) as error:
        raise BadLogError(f"the log cannot be read with encoding {encoding!r}: {error}") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip()
    if not text:
        raise BadLogError("the log is empty: it has no header")
    if text.count("\n") > MOST_ROWS:
        raise BadLogError(f"the log has more than {MOST_ROWS:,} rows")
    first, *lines = text.split("\n")
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
    return {name: columns[name] for name in (*texts, *numbers)}


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan
