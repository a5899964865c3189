"""The text of a log a piece at a time: bytes from a file, then characters, then whole lines.

A file never stands in memory as a whole, so that what a log costs is what its rows cost.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, cast

from matchenv.csv_log.bad_rows import BadLogError
from matchenv.csv_log.settings import ReadingSettings

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 19  # bytes

# What says in which order bytes come; without it they come in that of this machine.
_MARKED = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}

# A line of a log has some hundred characters. What is far beyond it is no log, and would cost
# memory a hundred times its size.
LONGEST_LINE = 1_000_000


@dataclass(frozen=True)
class LongLine:
    """A line of more than ``LONGEST_LINE`` characters.

    Attributes:
        beginning: its first ``LONGEST_LINE`` characters.
        length: characters in all.
    """

    beginning: str
    length: int


def read_pieces(path: Path, max_megabytes: int = ReadingSettings.max_megabytes) -> Iterator[bytes]:
    """The bytes of a file in turn, unpacked if they are gzip's, whatever the name ends in.

    Args:
        path: the file.
        max_megabytes: the most that it may unpack to, and that may come from what is no plain
            file, such as a device or a pipe: it may have no end.

    Raises:
        BadLogError: if the file cannot be read or unpacked, or has more.
    """
    try:
        file = io.BufferedReader(path.open("rb", buffering=0), _PIECE)
    except (OSError, ValueError) as error:  # a name with a zero byte
        raise BadLogError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    with file:
        try:
            packed = file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
            endless = not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        except OSError as error:
            raise BadLogError(f"{path}: {error.strerror or error}") from None
        left = max_megabytes * 1_000_000
        unpacked = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if packed else file
        for piece in _read(unpacked, path, packed):
            left -= len(piece)
            if left < 0 and (packed or endless):
                raise BadLogError(
                    f"{path}: {'unpacked ' if packed else ''}it is more than {max_megabytes:,} MB; "
                    "--max-megabytes allows more"
                )
            yield piece


def _read(file: IO[bytes], path: Path, packed: bool) -> Iterator[bytes]:
    while True:
        try:
            piece = file.read(_PIECE)
        except (EOFError, OSError, zlib.error) as error:
            said = f"broken gzip file: {error}" if packed else getattr(error, "strerror", error)
            raise BadLogError(f"{path}: {said}") from None
        if not piece:
            return
        yield piece


def decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[str]:
    r"""The text of bytes that come in pieces; each line ends in ``\n``, however it was written.

    Args:
        pieces: of a file.
        encoding: name of the text's encoding; a byte order mark is skipped. Bytes that are not
            UTF-8 become lone surrogates, by which their rows are found again.

    Raises:
        BadLogError: for an unknown encoding, or text that is not in it.
    """
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError):  # a name with a zero byte
        raise BadLogError(f"encoding must be one that Python knows, got {encoding!r}") from None
    unicode = codec.startswith("utf-8")
    if codec == "utf-8":
        codec = "utf-8-sig"
    pieces = iter(pieces)
    start = next(pieces, b"")
    if codec in _MARKED and not start.startswith(_MARKED[codec]):
        codec += "-le" if sys.byteorder == "little" else "-be"
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    before = 0  # bytes before those that the decoder looks at
    # Codecs that are none for text, such as rot13 and hex, raise errors of their own.
    no_text = (ValueError, LookupError, TypeError, AttributeError, OSError)
    try:
        " ".encode(codec)
        decoder = codecs.getincrementaldecoder(codec)("surrogateescape" if unicode else "strict")
    except no_text as error:
        raise BadLogError(f"encoding must be one for text, got {encoding!r}: {error}") from None
    for piece in chain([start] if start else [], pieces, [b""]):
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            # It counts from what the decoder still had of the piece before.
            place = before - (len(error.object) - len(piece)) + error.start
            byte = f"byte 0x{error.object[error.start]:02x} in position {place}"
            raise BadLogError(f"the log is not {encoding}: {byte}: {error.reason}") from None
        except no_text as error:
            raise BadLogError(f"encoding must be one for text, got {encoding!r}: {error}") from None
        before += len(piece)
        yield newlines.decode(text, final=not piece)


def whole_lines(texts: Iterable[str]) -> Iterator[str | LongLine]:
    r"""Whole lines of a text that comes in pieces; blank lines at its end are left out.

    Args:
        texts: pieces of at most ``LONGEST_LINE`` characters, cut anywhere.

    Yields:
        Many lines with ``\n`` between them, or one that is too long. Lines of blanks alone are
        never that.
    """
    blank = 0  # lines that wait for one that is not
    line = _OpenLine()
    for text in chain(texts, ["\n"]):
        first, newline, rest = text.partition("\n")
        line.add(first)
        if not newline:
            continue
        ended = line.end()
        whole, newline, begun = rest.rpartition("\n")
        line.add(begun)
        for lines in (ended, whole) if newline else (ended,):
            if isinstance(lines, LongLine):
                yield from _blank_lines(blank)
                yield lines
                blank = 0
            elif filled := len(lines.rstrip()):
                yield from _blank_lines(blank)
                end = lines.find("\n", filled)
                yield lines if end < 0 else lines[:end]
                blank = 0 if end < 0 else lines.count("\n", end)
            else:
                blank += lines.count("\n") + 1


def _blank_lines(count: int) -> Iterator[str]:
    for first in range(0, count, _PIECE):
        yield "\n" * (min(_PIECE, count - first) - 1)


class _OpenLine:
    """A line that has begun and not ended; of one that is too long the beginning is kept."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length, self._blank = 0, True

    def add(self, text: str) -> None:
        """More of it."""
        if self._length <= LONGEST_LINE:
            self._parts.append(text)
        self._length += len(text)
        self._blank = self._blank and not text.strip()

    def end(self) -> str | LongLine:
        """The line, and begin anew."""
        parts, length, blank = self._parts, self._length, self._blank
        self._parts, self._length, self._blank = [], 0, True
        if blank:
            return ""
        line = "".join(parts)
        return line if length <= LONGEST_LINE else LongLine(line[:LONGEST_LINE], length)
