"""Arrays of unfinished work in a file, from which a stopped fit goes on."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.logs.match_log import MatchLog
from matchenv.runtime.files import Arrays, checksum, npz_bytes, read_npz, write_bytes
from matchenv.runtime.provenance import provenance

SECONDS_BETWEEN = 5.0


def log_key(log: MatchLog, settings: Any = None) -> str:
    """Return a checksum of a log's games and of settings as JSON takes them.

    The players' names do not count.
    """
    names = ("player", "rank", "team_start", "game_start", "time", "weight", "neutral")
    arrays = {name: getattr(log, name) for name in names if getattr(log, name) is not None}
    return checksum(settings, arrays)


class Checkpoint:
    """The file of unfinished work, or of none where the path is None.

    The file of another log, other settings (as in ``log_key``) or other versions of the code is not
    read.
    """

    def __init__(self, path: Path | None, log: MatchLog, settings: Any) -> None:
        self._path, self._written = path, time.monotonic()
        self._key = "" if path is None else log_key(log, [settings, provenance()])

    def read(self) -> Arrays:
        """Return the arrays of the file; none if it is missing, damaged or of other work."""
        if self._path is not None:
            with suppress(OSError, ValueError):
                return read_npz(self._path, self._key)
        return {}

    def keep(self, arrays: Arrays, *, at_once: bool = False) -> None:
        """Write all that the work needs to go on, unless it was written a few seconds ago.

        Raises:
            OSError: if it cannot be written.
        """
        due = at_once or time.monotonic() - self._written >= SECONDS_BETWEEN
        if self._path is not None and due:
            arrays = {name: np.asarray(value) for name, value in arrays.items()}
            write_bytes(self._path, npz_bytes(arrays, self._key, compressed=False))
            self._written = time.monotonic()
