"""A delimited text file as columns, each row with the number of its line.

Lines are split all at once, since a log has hundreds of thousands of them; only lines
with quotes are looked at one by one. A quoted field cannot hold a line break: so a quote
left open spoils its own line and not the rest of the file.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.bad_rows import BadLogError, BadRows, Reason

_GZIP_MAGIC = b"\x1f\x8b"
# Stands for a delimiter inside a quoted field while all lines are split at once.
_INNER_DELIMITER = "\x1f"


@dataclass(frozen=True)
class SpoiltRow:
    """A row that could not be split as its header says.

    Attributes:
        line: its line number.
        fields: what could be made out.
    """

    line: int
    fields: list[str]


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes:
        header: names of the columns as written, stripped of blanks.
        lines: (rows,), the line number of each row.
        columns: one list of (rows,) strings for each name of the header.
        spoilt: rows that could not be split; each is among the bad rows too.
        num_rows: rows in the file, good and bad, without the header.
    """

    header: list[str]
    lines: NDArray[np.int64]
    columns: list[list[str]]
    spoilt: list[SpoiltRow]
    num_rows: int


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, unpacked if they are gzip's, whatever the name ends in.

    Raises:
        BadLogError: if the file cannot be read or unpacked.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadLogError(f"{path}: {error.strerror or error}") from None
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise BadLogError(f"{path}: broken gzip file: {error}") from None


def read_table(data: bytes, encoding: str, bad_rows: BadRows) -> Table:
    """Split the text of a log; rows that do not fit its header go to ``bad_rows``.

    Args:
        data: the bytes of the file, unpacked.
        encoding: name of the text's encoding; a byte order mark is skipped.
        bad_rows: takes blank lines, broken encoding or quoting and wrong column counts.

    Raises:
        BadLogError: for an unknown encoding, text that cannot be told apart in it at all,
            no header, or a header that names a column twice.
    """
    lines = _decode(data, encoding).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise BadLogError("the log is empty: it has no header")
    header = _header(lines[0])
    good, numbers, spoilt = _sort_out(lines, len(header), bad_rows)
    fields = ",".join(good).split(",") if good else []
    columns = [fields[k :: len(header)] for k in range(len(header))]
    if any(_INNER_DELIMITER in line for line in good):
        columns = [[field.replace(_INNER_DELIMITER, ",") for field in c] for c in columns]
    return Table(header, np.array(numbers, dtype=np.int64), columns, spoilt, len(lines) - 1)


def _decode(data: bytes, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        raise BadLogError(f"encoding must be one that Python knows, got {encoding!r}") from None
    if codec == "utf-8":
        codec = "utf-8-sig"
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        if not codec.startswith("utf-8"):
            raise BadLogError(f"the log is not {encoding}: {error}") from None
        # Undecodable bytes become lone surrogates, by which their rows are found again.
        text = data.decode(codec, errors="surrogateescape")
    except ValueError as error:
        raise BadLogError(f"encoding must be one for text, got {encoding!r}: {error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _header(line: str) -> list[str]:
    if _is_broken(line):
        raise BadLogError("line 1: the header has a broken encoding")
    fields = _split_quoted(line) if '"' in line else line.split(",")
    if fields is None:
        raise BadLogError("line 1: the header has a broken quoting")
    names = [name.strip() for name in fields]
    twice = sorted({name for name in names if names.count(name) > 1 and name})
    if twice:
        raise BadLogError(f"line 1: the header names {', '.join(map(repr, twice))} twice")
    return names


def _sort_out(
    lines: list[str], width: int, bad_rows: BadRows
) -> tuple[list[str], list[int], list[SpoiltRow]]:
    """Good lines in a form that splits at commas, their numbers, and the spoilt ones."""
    text_is_clean = not _is_broken("".join(lines))
    good: list[str] = []
    numbers: list[int] = []
    spoilt: list[SpoiltRow] = []
    commas = width - 1
    for number, line in enumerate(lines[1:], start=2):
        if text_is_clean and line.count(",") == commas and '"' not in line and line:
            good.append(line)
            numbers.append(number)
            continue
        fields, problem, detail = _split_odd(line, width)
        if problem is None:
            good.append(",".join(field.replace(",", _INNER_DELIMITER) for field in fields))
            numbers.append(number)
        else:
            bad_rows.add(number, problem, detail)
            spoilt.append(SpoiltRow(number, fields))
    return good, numbers, spoilt


def _split_odd(line: str, width: int) -> tuple[list[str], Reason | None, str]:
    """Fields of a line that needs a second look, and what is wrong with it."""
    if not line.strip():
        return [], Reason.BLANK_LINE, ""
    fields = _split_quoted(line) if '"' in line else line.split(",")
    if _is_broken(line):
        return fields or line.split(","), Reason.BROKEN_ENCODING, ascii(line[:60])
    if fields is None:
        return line.split(","), Reason.BROKEN_QUOTING, ascii(line[:60])
    if len(fields) != width:
        return fields, Reason.COLUMN_COUNT, f"{len(fields)} instead of {width}"
    return fields, None, ""


def _split_quoted(line: str) -> list[str] | None:
    try:
        rows = list(csv.reader([line], strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def _is_broken(text: str) -> bool:
    """Whether the text holds bytes that could not be decoded, or control characters."""
    if "\x00" in text or _INNER_DELIMITER in text:
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
