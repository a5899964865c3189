"""How threads share the rows of a round without a lock: compiled, and no thread waits for Python.

One thread leads: it opens a round on a board, which all can see, works on chunks of rows itself
and waits until all are done. Others follow: they look at the board for a new round, and take chunks
too. A chunk is taken by exchanging the word with the number of the round and the chunks that are
left, so nobody can take one of a round that is over. The leader takes them from the front and the
others from the back, so that most rows stay with one thread, and its core's memory, from round to
round.

A follower that has seen no new round for a while returns: an idle program burns no core. Nobody
waits for followers who have not come: the leader then does all by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.instructions import add, exchange, let_others_run, load, store
from matchenv.runtime.compile import compiled

Words = NDArray[np.int64]

# Rows of a chunk.
CHUNK = 256

# Words of a board, each in a line of the cache of its own, so that who writes to one takes none of
# the others away; from the last one on stands what followers must know.
CLAIMS, DONE, FAILED, END, TOLD = 0, 8, 16, 24, 32
BOARD_WORDS = 64
BYTES = 8

# In the word of claims: the round, the first chunk that is left, and the one after the last.
ROUND, FIRST, LAST = 32, 16, 0
MOST_CHUNKS = (1 << FIRST) - 1
MOST_ROUNDS = (1 << 31) - 1

# A follower looks so many times for a new round: some 100 microseconds.
LOOKS = 100_000


def new_board() -> Words:
    """A board without a round."""
    return np.zeros(BOARD_WORDS, dtype=np.int64)


@compiled(inline=True)
def open_round(board: int, stage: int, chunks: int) -> int:
    """Begin a round; what followers must know stands on the board already.

    Args:
        board: its address.
        stage: address of a word that all boards of a process share: whose round was the last.
            Followers of others stop looking, and leave the cores to this one.
        chunks: at most ``MOST_CHUNKS``.

    Returns:
        The number of the round.
    """
    number = (load(board + CLAIMS * BYTES) >> ROUND) % MOST_ROUNDS + 1
    store(stage, board)
    store(board + DONE * BYTES, 0)
    store(board + FAILED * BYTES, 0)
    store(board + CLAIMS * BYTES, (number << ROUND) | chunks)
    return number


@compiled(inline=True)
def taken_chunk(board: int, number: int, follows: bool) -> int:
    """Take a chunk of a round; -1 if none is left."""
    while True:
        word = load(board + CLAIMS * BYTES)
        first, last = (word >> FIRST) & MOST_CHUNKS, word & MOST_CHUNKS
        if word >> ROUND != number or first >= last:
            return -1
        left = word - 1 if follows else word + (1 << FIRST)
        if exchange(board + CLAIMS * BYTES, word, left):
            return last - 1 if follows else first


@compiled(inline=True)
def chunk_done(board: int, well: bool) -> None:
    """A chunk that was taken is done, or there was no memory to do it."""
    if not well:
        store(board + FAILED * BYTES, 1)
    add(board + DONE * BYTES, 1)


@compiled(inline=True)
def all_done(board: int, chunks: int, looks: int) -> bool:
    """Wait until all chunks of the round are done; whether all were done well.

    Args:
        board: its address.
        chunks: of the round.
        looks: after so many the core is left to other threads between looks.
    """
    seen = 0
    while load(board + DONE * BYTES) < chunks:
        seen += 1
        if seen > looks:
            let_others_run()
    return load(board + FAILED * BYTES) == 0


@compiled(inline=True)
def next_round(board: int, stage: int, number: int, looks: int) -> int:
    """Look for a round after one.

    Args:
        board: its address.
        stage: as ``open_round``.
        number: of the last round that was seen, -1 for none.
        looks: at most so many, and one more.

    Returns:
        Its number; -1 where there was none, another board is in use, or ``END`` is set.
    """
    for _ in range(looks + 1):
        found = load(board + CLAIMS * BYTES) >> ROUND
        if found != number:
            return found
        if load(stage) != board or load(board + END * BYTES) != 0:
            return -1
    return -1
