"""Text files as columns of strings: plain or compressed, with a delimiter or JSON.

Lines are split here: the fast parser of pandas does not report which lines it could not split, and
its slow parser takes five times as long.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from matchenv.logs.faults import BadLogError, BadRow, BadRows
from matchenv.logs.nested import is_json, table_of_json

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
CHUNK = 1 << 20  # bytes
DELIMITERS = ",;\t|"
MOST_MEGABYTES = 256
MOST_ROWS = 10_000_000
LONGEST_LINE = 100_000  # characters; lines of logs have about a hundred
# Control characters, and the lone surrogates that stand for bytes outside the encoding.
BROKEN = re.compile("[\x00\x1f\ud800-\udfff]")
OUTSIDE = re.compile("[\ud800-\udfff]")
NOT_ASCII = re.compile("[^\x00-\x7f]")


class TextTable(NamedTuple):
    """The rows of a file below its header."""

    columns: dict[str, list[str]]  # cells by column name, blank where a row is too short
    lines: list[int]  # line of each row; in JSON the number of its game
    bad: BadRows  # lines that do not fit the header
    sha256: str  # checksum of the unpacked bytes of the file
    notes: tuple[str, ...] = ()  # what was decided about the file


def read_table(
    path: Path, encoding: str | None = None, max_megabytes: int = MOST_MEGABYTES
) -> TextTable:
    """Read a table with a header, or JSON, plain or compressed with gzip.

    Columns are separated by commas, semicolons, tabs or bars. A quoted cell cannot contain a line
    break, so an unclosed quote affects one line only. The limit is on the unpacked size; the file
    can be a device without an end.

    Args:
        path: the file.
        encoding: encoding of the text; None for UTF-8, or cp1252 where it is not UTF-8.
        max_megabytes: limit on the unpacked size, in millions of bytes.

    Raises:
        BadLogError: for an unreadable file, a missing header, or a repeated column name.
    """
    data = _read_bytes(path, max_megabytes)
    if data.startswith(ZIP):
        raise BadLogError("the log is a zip archive: unpack it")
    content, encoding, notes = _decoded(data, encoding)
    sha256 = hashlib.sha256(data).hexdigest()
    del data
    content = content.removeprefix("\ufeff")
    if not content or content.isspace():
        raise BadLogError("the log is empty: it has no header")
    if is_json(content):
        columns, numbers = table_of_json(content)
        return TextTable(columns, numbers, {}, sha256, notes)
    content = content.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if content.count("\n") > MOST_ROWS:
        raise BadLogError(f"the log has more than {MOST_ROWS:,} rows")
    columns, bad = _split(content, encoding)
    count = len(next(iter(columns.values())))
    return TextTable(columns, list(range(2, count + 2)), bad, sha256, notes)


def _decoded(data: bytearray, encoding: str | None) -> tuple[str, str, tuple[str, ...]]:
    """Return the text of a file, its encoding, and notes; broken bytes become surrogates."""
    if encoding is not None:
        try:
            return data.decode(encoding, "surrogateescape"), encoding, ()
        except (LookupError, ValueError) as error:
            rule = f"the log cannot be read with encoding {encoding!r}"
            raise BadLogError(f"{rule}: {error}") from None
    if data.startswith(UTF16):
        return data.decode("utf-16", "replace"), "utf-16", ("encoding: utf-16, by its mark",)
    content = data.decode("utf-8", "surrogateescape")
    broken = len(OUTSIDE.findall(content))
    if broken > 0 and len(NOT_ASCII.findall(content)) == broken:  # no other letter needs UTF-8
        try:
            note = "encoding: cp1252, since the file is not UTF-8; --encoding names another one"
            return data.decode("cp1252"), "cp1252", (note,)
        except UnicodeDecodeError:  # cp1252 does not use all bytes
            pass
    return content, "utf-8", ()


def _split(content: str, encoding: str) -> tuple[dict[str, list[str]], BadRows]:
    """Return columns of cells, and the lines that do not fit the header."""
    first, *lines = content.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    delimiter = max(DELIMITERS, key=first.count)
    header = [name.strip() for name in _cells(first, delimiter)]
    if BROKEN.search(first):
        fault = f"no text in {encoding}, see --encoding"
        raise BadLogError(f"line 1: the header cannot be read: {fault}")
    if not header:
        raise BadLogError("line 1: the header cannot be read: broken quoting")
    for name in filter(None, header):
        if header.count(name) > 1:
            raise BadLogError(f"line 1: the header names {name!r} twice")
    rows: list[list[str]] = []
    bad: BadRows = {}
    for number, line in enumerate(lines, start=2):
        cells = _cells(line[:LONGEST_LINE], delimiter)
        if len(cells) != len(header) or len(line) > LONGEST_LINE or BROKEN.search(line):
            bad[number] = _fault(number, line, cells, len(header))
        rows.append(cells or line[:LONGEST_LINE].split(delimiter))
    columns = {}
    for index, name in enumerate(header):
        columns[name] = [row[index] if index < len(row) else "" for row in rows]
    return columns, bad


def _fault(number: int, line: str, cells: list[str], width: int) -> BadRow:
    """Return why a line does not fit a header of ``width`` columns."""
    if not line.strip():
        return BadRow(number, "blank line")
    if len(line) > LONGEST_LINE:
        return BadRow(number, "line too long", f"{len(line):,} characters")
    if BROKEN.search(line):
        return BadRow(number, "broken encoding", ascii(line[:60]))
    if not cells:
        return BadRow(number, "broken quoting", ascii(line[:60]))
    return BadRow(number, "wrong number of columns", f"{len(cells)} instead of {width}")


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line; none for broken quoting."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return []


def _read_bytes(path: Path, max_megabytes: int) -> bytearray:
    """Return the bytes of a file, unpacked if its content is gzip."""
    data = bytearray()
    most = max_megabytes * 1_000_000
    packed = False
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            while len(data) <= most and (chunk := source.read(CHUNK)):
                data += chunk
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if packed:
            raise BadLogError(f"{path}: broken gzip file: {error}") from None
        raise BadLogError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > most:
        raise BadLogError(f"{path}: it has more than {max_megabytes:,} MB, see --max-megabytes")
    return data
