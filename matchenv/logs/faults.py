"""What makes a match log, or one of its rows, unreadable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Reasons of bad rows that have a meaning elsewhere.
UNREADABLE = "unreadable"  # before the role
NO_GAME = "no game"  # a bye, or a game that was not played


class BadRow(NamedTuple):
    """A row that is set aside, with its first fault and the value.

    ``line`` is counted from 1 with the header; in JSON it is the number of the game.
    """

    line: int
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        if self.detail:
            return f"line {self.line}: {self.reason} ({self.detail})"
        return f"line {self.line}: {self.reason}"


class BadLogError(ValueError):
    """A match log that cannot be read.

    Args:
        message: what is wrong.
        bad_rows: the rows that were set aside.
    """

    def __init__(self, message: str, bad_rows: Sequence[BadRow] = ()) -> None:
        super().__init__(message)
        self.bad_rows = list(bad_rows)


# Bad rows by line; a line keeps its first fault.
BadRows = dict[int, BadRow]
