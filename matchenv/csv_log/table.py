"""A delimited text file as columns, each row with the number of its line.

A quoted field cannot hold a line break: so a quote left open spoils its own line and not the
rest of the file.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from matchenv.csv_log.bad_rows import BadLogError, BadRows, Reason
from matchenv.csv_log.lines import LONGEST_LINE, LongLine, decoded, whole_lines

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


def read_table(pieces: Iterable[bytes], encoding: str, bad_rows: BadRows) -> Table:
    """Split the text of a log; rows that do not fit its header go to ``bad_rows``.

    Args:
        pieces: the bytes of the file in turn, unpacked.
        encoding: name of the text's encoding; a byte order mark is skipped.
        bad_rows: takes blank lines, broken encoding or quoting and wrong column counts.

    Raises:
        BadLogError: for an unknown encoding, text that is not in it, no header, or a header
            that names a column twice.
    """
    header: list[str] = []
    numbers: list[int] = []
    flat: list[str] = []  # a list for each row would keep the garbage collector busy
    spoilt: list[list[str]] = []
    number = 0
    for text in whole_lines(decoded(pieces, encoding)):
        if isinstance(text, LongLine):
            number += 1
            if number == 1:
                raise BadLogError(
                    f"line 1: the header must have at most {LONGEST_LINE:,} characters, "
                    f"got {text.length:,}"
                )
            bad_rows.add(number, Reason.LONG_LINE, f"{text.length:,} characters")
            spoilt.append(text.beginning.split(",", MOST_COLUMNS))
            continue
        lines = text.split("\n")
        text_is_clean = not _is_broken(text)
        if number == 0:
            header = _header(lines.pop(0))
            number = 1
        for number, line in enumerate(lines, start=number + 1):  # noqa: B020
            fields = line.split(",")
            if not (text_is_clean and len(fields) == len(header) and line and '"' not in line):
                fields, problem, detail = _split_odd(line, len(header))
                if problem is not None:
                    bad_rows.add(number, problem, detail)
                    spoilt.append(fields)
                    continue
            numbers.append(number)
            flat += fields
    if number == 0:
        raise BadLogError("the log is empty: it has no header")
    columns = [flat[k :: len(header)] for k in range(len(header))]
    return Table(header, numbers, columns, spoilt, number - 1)


def _header(line: str) -> list[str]:
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
