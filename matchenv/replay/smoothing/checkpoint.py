"""How far a smoothing has come, in a file, so that one that was stopped goes on."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.atomic_files import write_bytes
from matchenv.checksums import checksum
from matchenv.replay.smoothing.sweeps import Games

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


class Checkpoint:
    """The file of a smoothing.

    Args:
        path: of the file; None for none.
        games: what is smoothed: a file of other games or numbers is not read.
        tolerance: as in ``smooth``.
    """

    def __init__(self, path: Path | None, games: Games, tolerance: float) -> None:
        self._path = path
        self._written = time.monotonic()
        self._key = ""
        if path is not None:
            numbers = {name: value for name, value in games._asdict().items() if np.ndim(value)}
            said = [value for value in games if not np.ndim(value)]
            self._key = checksum([*said, tolerance], numbers)

    def read(self, games: Games, max_iterations: int) -> State:
        """The state of the file, or a new one where it has none for these games."""
        entries = len(games.player)
        if self._path is not None:
            try:
                with np.load(self._path, allow_pickle=False) as file:
                    found = {name: file[name] for name in file.files}
                state = State(
                    found["messages"], found["mu"], found["sigma"],
                    int(found["iterations"]), float(found["change"]),
                )  # fmt: skip
                fits = state.messages.shape == (entries, 2) and state.mu.shape == (entries,)
                fits &= state.sigma.shape == (entries,) and state.iterations <= max_iterations
                if fits and str(found["key"]) == self._key:
                    return state
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                pass  # There is none, or a damaged one.
        return new_state(entries)

    def keep(self, state: State) -> None:
        """Write the state, if the last time is long enough ago.

        Raises:
            OSError: if it cannot be written.
        """
        if self._path is None or time.monotonic() - self._written < SECONDS_BETWEEN:
            return
        buffer = io.BytesIO()
        np.savez(
            buffer,
            key=np.array(self._key),
            messages=state.messages,
            mu=state.mu,
            sigma=state.sigma,
            iterations=np.array(state.iterations),
            change=np.array(state.change),
        )
        write_bytes(self._path, buffer.getvalue())
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the work is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
