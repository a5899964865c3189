"""How far a smoothing has come, in a file, so that one that was stopped goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.replay.smoothing.sweeps import Games
from matchenv.runtime.files import Arrays, checksum, npz_bytes, read_npz, write_bytes

Floats = NDArray[np.float64]

CHECKPOINT = "smoothing.npz"
# The file of a long log is large, and a walk over it is short.
SECONDS_BETWEEN = 20.0


class State(NamedTuple):
    """What a walk over the log goes on from.

    Attributes:
        messages: (entries, 2) as in ``sweep``.
        mu: (entries,) as there.
        sigma: (entries,) as there.
        iterations: walks forwards and backwards so far.
        change: the largest move of a posterior in the last one.
    """

    messages: Floats
    mu: Floats
    sigma: Floats
    iterations: int
    change: float


def new_state(entries: int) -> State:
    """The state before the first walk."""
    return State(np.zeros((entries, 2)), np.zeros(entries), np.full(entries, np.inf), 0, np.inf)


def _state_of(arrays: Arrays) -> State:
    return State(
        arrays["messages"],
        arrays["mu"],
        arrays["sigma"],
        int(arrays["iterations"]),
        float(arrays["change"]),
    )


class Checkpoint:
    """The file of a smoothing.

    Args:
        path: of the file; None for none.
        games: what is smoothed: a file of other games or numbers is not read.
        said: all else that the state depends on, as JSON can say it.
    """

    def __init__(self, path: Path | None, games: Games, said: Sequence[Any]) -> None:
        self._path = path
        self._written = time.monotonic()
        self._key = ""
        if path is not None:
            numbers = {name: value for name, value in games._asdict().items() if np.ndim(value)}
            others = [value for value in games if not np.ndim(value)]
            self._key = checksum([*others, *said], numbers)

    def read(self, games: Games, max_iterations: int) -> State:
        """The state of the file, or a new one where it has none for these games."""
        if self._path is not None:
            # Where there is none, or a damaged one, the work begins anew.
            with suppress(OSError, ValueError):
                state = _state_of(read_npz(self._path, self._key))
                if state.iterations <= max_iterations:
                    return state
        return new_state(len(games.player))

    def keep(self, state: State) -> None:
        """Write the state, if the last time is long enough ago.

        Raises:
            OSError: if it cannot be written.
        """
        if self._path is None or time.monotonic() - self._written < SECONDS_BETWEEN:
            return
        arrays = {name: np.asarray(value) for name, value in state._asdict().items()}
        write_bytes(self._path, npz_bytes(arrays, self._key, compressed=False))
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the work is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
