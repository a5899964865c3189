"""A delimited text file as columns, each row with the number of its line.

A quoted field cannot hold a line break: so a quote left open spoils its own line and not the
rest of the file.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from matchenv.csv_log.bad_rows import BadLogError, BadRows, Reason
from matchenv.csv_log.settings import ReadingSettings

_GZIP_MAGIC = b"\x1f\x8b"

# A line of a log has some hundred characters. What is far beyond it is no log, and would cost
# memory a hundred times its size.
LONGEST_LINE = 1_000_000
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes:
        header: names of the columns as written, stripped of blanks.
        lines: the line number of each row.
        columns: the strings of each row, for each name of the header.
        spoilt: the fields of rows that could not be split as the header says, as far as they
            can be told; each of these rows is among the bad rows too.
        num_rows: rows in the file, good and bad, without the header.
    """

    header: list[str]
    lines: list[int]
    columns: list[list[str]]
    spoilt: list[list[str]]
    num_rows: int


def read_bytes(path: Path, max_megabytes: int = ReadingSettings.max_megabytes) -> bytes:
    """The bytes of a file, unpacked if they are gzip's, whatever the name ends in.

    Args:
        path: the file.
        max_megabytes: the most that it may unpack to.

    Raises:
        BadLogError: if the file cannot be read or unpacked, or unpacks to more.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a name with a zero byte
        raise BadLogError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not data.startswith(_GZIP_MAGIC):
        return data
    most = max_megabytes * 1_000_000
    try:
        with gzip.open(io.BytesIO(data)) as file:
            unpacked = file.read(most + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise BadLogError(f"{path}: broken gzip file: {error}") from None
    if len(unpacked) > most:
        raise BadLogError(
            f"{path}: unpacked it is more than {max_megabytes:,} MB; --max-megabytes allows more"
        )
    return unpacked


def read_table(data: bytes, encoding: str, bad_rows: BadRows) -> Table:
    """Split the text of a log; rows that do not fit its header go to ``bad_rows``.

    Args:
        data: the bytes of the file, unpacked.
        encoding: name of the text's encoding; a byte order mark is skipped.
        bad_rows: takes blank lines, broken encoding or quoting and wrong column counts.

    Raises:
        BadLogError: for an unknown encoding, text that is not in it, no header, or a header
            that names a column twice.
    """
    text = _decode(data, encoding)
    text_is_clean = not _is_broken(text)
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise BadLogError("the log is empty: it has no header")
    header = _header(lines[0])
    numbers: list[int] = []
    flat: list[str] = []  # a list for each row would keep the garbage collector busy
    spoilt: list[list[str]] = []
    for number, line in enumerate(islice(lines, 1, None), start=2):
        if len(line) > LONGEST_LINE:
            bad_rows.add(number, Reason.LONG_LINE, f"{len(line):,} characters")
            spoilt.append(line[:LONGEST_LINE].split(",", MOST_COLUMNS))
            continue
        fields = line.split(",")
        if not (text_is_clean and len(fields) == len(header) and line and '"' not in line):
            fields, problem, detail = _split_odd(line, len(header))
            if problem is not None:
                bad_rows.add(number, problem, detail)
                spoilt.append(fields)
                continue
        numbers.append(number)
        flat += fields
    columns = [flat[k :: len(header)] for k in range(len(header))]
    return Table(header, numbers, columns, spoilt, len(lines) - 1)


def _decode(data: bytes, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError):  # a name with a zero byte
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
    # Codecs that are none for text, such as rot13 and hex, raise errors of their own.
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise BadLogError(f"encoding must be one for text, got {encoding!r}: {error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _header(line: str) -> list[str]:
    if len(line) > LONGEST_LINE:
        raise BadLogError(
            f"line 1: the header must have at most {LONGEST_LINE:,} characters, got {len(line):,}"
        )
    fields, problem, _ = _split_odd(line, None)
    if problem is not None:
        raise BadLogError(f"line 1: the header has a {problem}")
    if len(fields) > MOST_COLUMNS:
        raise BadLogError(
            f"line 1: the header must have at most {MOST_COLUMNS:,} columns, got {len(fields):,}"
        )
    names = [name.strip() for name in fields]
    twice = sorted(name for name, count in Counter(names).items() if count > 1 and name)
    if twice:
        raise BadLogError(f"line 1: the header names {', '.join(map(repr, twice))} twice")
    return names


def _split_odd(line: str, width: int | None) -> tuple[list[str], Reason | None, str]:
    """Fields of a line that needs a second look, what is wrong with it, and a detail."""
    plain = line.split(",")
    try:
        rows = list(csv.reader([line], strict=True)) if '"' in line else [plain]
    except csv.Error:
        rows = []
    if not line.strip():
        return [], Reason.BLANK_LINE, ""
    if _is_broken(line):
        return rows[0] if len(rows) == 1 else plain, Reason.BROKEN_ENCODING, ascii(line[:60])
    if len(rows) != 1:
        return plain, Reason.BROKEN_QUOTING, ascii(line[:60])
    if width is not None and len(rows[0]) != width:
        return rows[0], Reason.COLUMN_COUNT, f"{len(rows[0])} instead of {width}"
    return rows[0], None, ""


def _is_broken(text: str) -> bool:
    """Whether the text holds bytes that could not be decoded, or control characters."""
    if "\x00" in text or "\x1f" in text:
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
