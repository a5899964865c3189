"""One round of games of a batch by several threads, none of which waits for Python meanwhile.

Each plays chunks of rows, copies of the observations included, and takes the next chunk that is
left (``matchenv.sharing``). The numbers are those of one thread: no game reads another's row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import Belief, FactorisedBelief
from matchenv.belief.factorised_kernels import play_factorised
from matchenv.games_played import GamesPlayed
from matchenv.instructions import carray, load, memory_at, store
from matchenv.play import REPORT_ROWS
from matchenv.runtime.compile import COMPILES, compiled
from matchenv.sharing import (
    BYTES,
    CHUNK,
    MOST_CHUNKS,
    TOLD,
    all_done,
    chunk_done,
    next_round,
    open_round,
    taken_chunk,
)
from matchenv.threads import RowThreads

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]
REPORTED = len(REPORT_ROWS)


class Rows(NamedTuple):
    """What games of some episodes read and change, a row for each; as ``Episodes`` says."""

    players: Floats
    noise: Floats
    games_played: Integers
    memory: Floats
    shown: NDArray[np.float32]

    def part(self, rows: slice) -> Rows:
        """Views of some of the rows."""
        return Rows(
            self.players[rows],
            self.noise[rows],
            self.games_played[rows],
            self.memory[rows],
            self.shown[rows],
        )


class Constants(NamedTuple):
    """The constants of all games, as ``play_factorised`` says."""

    horizon: int
    beta: float
    draw_margin: float
    tau: float


class Round(NamedTuple):
    """What is said about one round and what it gives; shape (B,) if not said.

    Attributes:
        opponents: 0 to M - 1.
        waiting: episodes to leave alone.
        terminated: written, and so are all others.
        report: shape (5, B).
        outcomes: int8.
        handed_out: a copy of what is shown, shape (B, K); of no row where nobody wants one.
    """

    opponents: Integers
    waiting: Masks
    terminated: Masks
    report: Floats
    outcomes: NDArray[np.int8]
    handed_out: NDArray[np.float32]


@compiled(nogil=True)
def play_chunk(chunk: int, state: Rows, constants: Constants, played: Round) -> None:
    """Play the games of one chunk of rows."""
    first = chunk * CHUNK
    end = min(first + CHUNK, state.games_played.size)
    players, shown = state.players[first:end], state.shown[first:end]
    noise, games_played = state.noise[first:end], state.games_played[first:end]
    opponents, waiting = played.opponents[first:end], played.waiting[first:end]
    # Side by side, as the kernels want it; in the report these rows lie apart.
    report = np.empty((REPORTED, end - first))
    play_factorised(
        players,
        noise,
        games_played,
        opponents,
        waiting,
        constants.horizon,
        constants.beta,
        constants.draw_margin,
        constants.tau,
        shown,
        played.terminated[first:end],
        report,
        played.outcomes[first:end],
    )
    for row in range(REPORTED):
        for k in range(first, end):
            played.report[row, k] = report[row, k - first]
    if played.handed_out.size > 0:
        copied, original = played.handed_out[first:end].ravel(), shown.ravel()
        for k in range(original.size):
            copied[k] = original[k]


@compiled(inline=True)
def could_play(chunk: int, state: Rows, constants: Constants, played: Round) -> bool:
    """Play a chunk; False where there was no memory: then nobody must wait for it either."""
    try:
        play_chunk(chunk, state, constants, played)
    except Exception:
        return False
    return True


@compiled(nogil=True)
def lead(
    board: Integers,
    stage: Integers,
    looks: int,
    state: Rows,
    constants: Constants,
    played: Round,
) -> bool:
    """Play a round with whoever follows, and wait until all of it is done.

    Args:
        board: where followers look; written.
        stage: as ``matchenv.sharing.open_round``.
        looks: as ``matchenv.sharing.all_done``.
        state: of the games.
        constants: of the games.
        played: what is said about the round and what it gives.

    Returns:
        Whether there was memory enough for all of it.
    """
    address = board.ctypes.data
    chunks = chunks_of(state.games_played.size)
    place = address + TOLD * BYTES
    store(place, played.opponents.ctypes.data)
    store(place + BYTES, played.waiting.ctypes.data)
    store(place + 2 * BYTES, played.terminated.ctypes.data)
    store(place + 3 * BYTES, played.report.ctypes.data)
    store(place + 4 * BYTES, played.outcomes.ctypes.data)
    store(place + 5 * BYTES, played.handed_out.ctypes.data)
    store(place + 6 * BYTES, played.handed_out.shape[0])
    number = open_round(address, stage.ctypes.data, chunks)
    while True:
        chunk = taken_chunk(address, number, False)
        if chunk < 0:
            break
        chunk_done(address, could_play(chunk, state, constants, played))
    return all_done(address, chunks, looks)


@compiled(nogil=True)
def follow(board: Integers, stage: Integers, looks: int, state: Rows, constants: Constants) -> None:
    """Help with the round that is open and all after it, until none comes for a while.

    Args:
        board: where rounds are opened.
        stage: as ``matchenv.sharing.open_round``.
        looks: as ``matchenv.sharing.next_round``.
        state: of the games, the same as the leader's.
        constants: of the games.
    """
    address, count, number = board.ctypes.data, state.games_played.size, -1
    place = address + TOLD * BYTES
    while True:
        number = next_round(address, stage.ctypes.data, number, looks)
        if number < 0:
            return
        # These may be of a round that is over by now: then no chunk is left, and none is read.
        wanted, width = load(place + 6 * BYTES), state.shown.shape[1]
        played = Round(
            carray(memory_at(load(place)), count, np.int64),
            carray(memory_at(load(place + BYTES)), count, np.bool_),
            carray(memory_at(load(place + 2 * BYTES)), count, np.bool_),
            carray(memory_at(load(place + 3 * BYTES)), (REPORTED, count), np.float64),
            carray(memory_at(load(place + 4 * BYTES)), count, np.int8),
            carray(memory_at(load(place + 5 * BYTES)), (wanted, width), np.float32),
        )
        while True:
            chunk = taken_chunk(address, number, True)
            if chunk < 0:
                break
            chunk_done(address, could_play(chunk, state, constants, played))


@compiled(inline=True)
def chunks_of(count: int) -> int:
    """Chunks of so many rows."""
    return -(-count // CHUNK)


def can_be_shared(belief: Belief, count: int) -> bool:
    """Whether rounds of so many episodes under a belief are worth sharing, and can be shared here.

    Other beliefs learn in functions of their own, which are called from Python.
    """
    known = COMPILES and type(belief) is FactorisedBelief
    return known and CHUNK < count <= CHUNK * MOST_CHUNKS


def play_shared(
    threads: RowThreads,
    state: Rows,
    constants: Constants,
    played: GamesPlayed,
    waiting: Masks,
    handed_out: NDArray[np.float32] | None,
) -> None:
    """Play a round with all threads.

    Args:
        threads: those.
        state: of the games, changed.
        constants: of the games.
        played: names the opponents; all else in it is written.
        waiting: shape (B,), episodes to leave alone.
        handed_out: shape (B, K), becomes a copy of what is shown, if it is wanted.
    """
    opponents = played.opponents
    copies = state.shown[:0] if handed_out is None else handed_out
    round_ = Round(opponents, waiting, played.terminated, played.report, played.outcomes, copies)
    threads.share(lead, follow, (state, constants), (round_,))
