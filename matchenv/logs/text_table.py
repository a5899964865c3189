"""Tables of texts from files, and a reason for every line that cannot be used.

Lines are split here: pandas' fast reader does not say which lines it could not split, and its
slow one is five times slower than this.
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
PIECE = 1 << 20  # bytes
DELIMITERS = ",;\t|"
MOST_MEGABYTES, MOST_ROWS = 256, 10_000_000
# A line of a log has some hundred characters. What is far beyond that is no log.
LONGEST_LINE = 100_000
# Control characters, and the lone surrogates that stand for bytes which the encoding lacks.
BROKEN = re.compile("[\x00\x1f\ud800-\udfff]")


class BadLogError(ValueError):
    """A match log that cannot be read."""


class BadRow(NamedTuple):
    """The first thing that is wrong with a line, counted from 1 with the header, and the value."""

    line: int
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


class TextTable(NamedTuple):
    """The lines of a file.

    Attributes:
        columns: texts of line 2 and the following, blank where a row is too short, by the names in
            the header without blanks around them.
        bad: by line number, what is wrong with lines that do not fit the header.
        sha256: of the file's bytes, unpacked.
    """

    columns: dict[str, list[str]]
    bad: dict[int, BadRow]
    sha256: str


def read_table(
    path: Path, encoding: str = "utf-8", max_megabytes: int = MOST_MEGABYTES
) -> TextTable:
    """Read a table with a header, plain or packed with gzip; rows that do not fit are bad.

    Columns are separated by commas, semicolons, tabs or bars. A quoted field cannot hold a line
    break, so that an open quote spoils no other line.

    Args:
        path: the file, or a device or pipe, which may have no end.
        encoding: of its text.
        max_megabytes: limit on its size, unpacked.

    Raises:
        BadLogError: for a file that cannot be read, one without a header, or a header that names
            a column twice.
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
    broken = BROKEN.search(text) is not None
    for number, line in enumerate(lines, start=2):
        fields, detail = _fields(line[:LONGEST_LINE], delimiter), ascii(line[:60])
        problem = ""
        if not line.strip():
            problem, detail = "blank line", ""
        elif len(line) > LONGEST_LINE:
            problem, detail = "line too long", f"{len(line):,} characters"
        elif broken and BROKEN.search(line):
            problem = "broken encoding"
        elif not fields:
            problem = "broken quoting"
        elif len(fields) != len(header):
            problem, detail = "wrong number of columns", f"{len(fields)} instead of {len(header)}"
        if problem:
            bad[number] = BadRow(number, problem, detail)
        rows.append(fields or line[:LONGEST_LINE].split(delimiter))
    columns = {name: [row[place] if place < len(row) else "" for row in rows]
               for place, name in enumerate(header)}  # fmt: skip
    return TextTable(columns, bad, hashlib.sha256(data).hexdigest())


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, none if its quotes are broken."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return []


def _read_bytes(path: Path, max_megabytes: int) -> bytearray:
    """Return the bytes of a file, unpacked if they are gzip's, whatever its name ends in."""
    data, most, packed = bytearray(), max_megabytes * 1_000_000, False
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            while len(data) <= most and (piece := source.read(PIECE)):
                data += piece
    except (OSError, EOFError, ValueError, zlib.error) as error:
        said = f"broken gzip file: {error}" if packed else getattr(error, "strerror", None) or error
        raise BadLogError(f"{path}: {said}") from None
    if len(data) > most:
        raise BadLogError(
            f"{path}: it has more than {max_megabytes:,} MB; --max-megabytes allows more"
        )
    return data


def read_ratings(
    path: Path, kind: str, numbers: Sequence[str] = ("mu", "sigma"), texts: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Return columns of a table with a row for each player, such as ``ratings.csv`` of a replay.

    Args:
        path: as ``read_table``.
        kind: of argument, for messages.
        numbers: columns of finite numbers, in any case in the header; ``sigma`` is above 0.
        texts: columns of texts.

    Raises:
        ValueError: if the file cannot be read, has no players or misses a column, and for bad
            numbers; it names the first one's line.
    """
    try:
        table = read_table(path)
    except BadLogError as error:
        raise ValueError(f"{kind} must be a readable file of ratings: {error}") from None
    columns: dict[str, list[Any]] = {name.lower(): each for name, each in table.columns.items()}
    if missing := [name for name in (*texts, *numbers) if name not in columns]:
        raise ValueError(
            f"{kind} must have columns {', '.join((*texts, *numbers))}: {path} has no "
            f"{' and no '.join(missing)} in line 1, {', '.join(table.columns)}"
        )
    found = {name: columns[name] for name in (*texts, *numbers)}
    if not found[numbers[0]]:
        raise ValueError(f"{kind} must hold at least one player, got none in {path}")
    bad = [str(row) for row in table.bad.values()]
    for name in numbers:
        least = SMALLEST if name == "sigma" else -LARGEST_SKILL
        written, found[name] = found[name], [_number(text) for text in found[name]]
        bad += [f"line {line}: {name} is {text.strip()!r}"
                for line, (text, value) in enumerate(zip(written, found[name], strict=True), 2)
                if not least <= value <= LARGEST_SKILL and line not in table.bad]  # fmt: skip
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ValueError(
            f"{kind} must hold finite numbers, deviations above 0: {path}: {bad[0]}{more}"
        )
    return found


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan
