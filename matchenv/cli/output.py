"""Output of commands: to a terminal, a closed pipe or a full disk."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from matchenv.runtime.checks import printable

# Characters of an error message; a header with 10,000 columns would fill the screen.
LONGEST_MESSAGE = 2000


class ReaderGoneError(Exception):
    """Nobody reads the output any more."""


def prepare_output() -> None:
    """See that a character that the screen does not know costs no result."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show(text: str, *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print text in which control characters, of names out of files, are escaped.

    Raises:
        ReaderGoneError: if the reader of a pipe has ended.
        OSError: if it cannot be written.
    """
    try:
        print(printable(text, kept="\n\t"), end=end, file=file or sys.stdout, flush=flush)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:  # of a descriptor, which has no name
        raise OSError(error.errno, error.strerror, "standard output") from None


def finish_output() -> None:
    """Write what is still to be written; after an error nothing more is.

    Raises:
        ReaderGoneError: as ``show``.
        OSError: as ``show``.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would try again at its end, and complain over several lines.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError from None
        raise


def one_line(message: str) -> str:
    """A message in one line, cut where it is very long."""
    # torch complains over several lines.
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."
