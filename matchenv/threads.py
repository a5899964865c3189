"""Threads that share the rows of a batch: the same numbers for any number of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any

import numpy as np

from matchenv.runtime.checks import as_integer
from matchenv.runtime.signals import signals_wait
from matchenv.sharing import END, LOOKS, new_board

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

AUTO = "auto"

# Rows times opponents that pay a thread: with fewer, waking it may take as long as its work.
WORTH_A_THREAD = 50_000

# Parts begin at multiples of this, so that no two threads write into one line of the cache.
ROWS_TOGETHER = 64


def as_num_threads(value: Any, count: int, num_opponents: int) -> int:
    """The number of threads for a batch.

    Args:
        value: a whole number of at least 1, or ``"auto"``: one for each core that may be used,
            but only as many as make work of this size faster.
        count: rows of the batch.
        num_opponents: M.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, str) and value == AUTO:
        paid = count * num_opponents // WORTH_A_THREAD
        if paid <= 1 or parent_process() is not None:
            return 1
        from matchenv.runtime.parallel import checked_workers  # slow to load

        return min(paid, checked_workers(None), _asked_of_all_libraries())
    try:
        return as_integer("num_threads", value, 1)
    except ValueError:
        raise ValueError(
            f"num_threads must be {AUTO!r} or an integer of at least 1, got {value!r}"
        ) from None


def _asked_of_all_libraries() -> int:
    """The limit for threads that the user or an engine sets; without one, no limit."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else sys.maxsize


# Whose round was the last in this process, as ``matchenv.sharing`` says.
STAGE = np.zeros(1, dtype=np.int64)


class RowThreads:
    """Threads for the rows of a batch; they start with the first work and end with the object.

    A process that was forked, and a copy of the object, start threads of their own.

    Args:
        threads: at most so many, >= 1; the one that asks is among them.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._executor: ThreadPoolExecutor | None = None
        self._process = 0
        self._board = new_board()
        self._looks = 0
        self._following: list[Future[None]] = []

    def __reduce__(self) -> tuple[type[RowThreads], tuple[int]]:
        """Copies have threads of their own."""
        return type(self), (self.threads,)

    def parts(self, count: int) -> list[slice]:
        """Slices of about one size that cover ``range(count)``, no more than there are threads."""
        size = -(-count // self.threads)
        size = max(1, -(-size // ROWS_TOGETHER)) * ROWS_TOGETHER
        return [slice(first, min(first + size, count)) for first in range(0, count, size)]

    def each(self, work: Callable[[slice], object], count: int) -> None:
        """Work on every part of ``range(count)`` at the same time, and wait until all is done.

        Args:
            work: is called with each part; it touches no rows but those.
            count: rows, >= 1.
        """
        if self.threads == 1:
            work(slice(0, count))
            return
        first, *others = self.parts(count)
        if not others:
            work(first)
            return
        executor = self._started()
        # Nobody may change what a thread still works on, whatever goes wrong or asks to stop.
        with signals_wait():
            self._board[END] = 1  # who follows has something else to do
            futures = [executor.submit(work, part) for part in others]
            try:
                work(first)
            finally:
                errors = [future.exception() for future in futures]
                self._board[END] = 0
        for error in errors:
            if error is not None:
                raise error

    def share(
        self,
        lead: Callable[..., bool],
        follow: Callable[..., None],
        common: tuple[Any, ...],
        own: tuple[Any, ...],
    ) -> None:
        """Lead a round that the other threads follow, without Python (``matchenv.sharing``).

        Args:
            lead: compiled, called with a board, the stage, how often to look, then what is
                ``common`` and what is the leader's ``own``; it returns when all is done, and
                says whether there was memory enough.
            follow: compiled, called with the same but for what is ``own``.
            common: the same in every round of this object.
            own: of this round.

        Raises:
            MemoryError: where there was too little for somebody's part.
        """
        executor = self._started()
        place = self._board, STAGE, self._looks
        following = [each for each in self._following if not each.done()]
        missing = self.threads - 1 - len(following)
        following += [executor.submit(follow, *place, *common) for _ in range(missing)]
        self._following = following
        if not lead(*place, *common, *own):
            raise MemoryError("no memory left for a round of games")

    def end(self) -> None:
        """End the threads; the next work starts new ones."""
        if self._executor is not None and self._process == os.getpid():
            self._board[END] = 1
            self._executor.shutdown()
        self._executor = None

    def _started(self) -> ThreadPoolExecutor:
        if self._executor is None or self._process != os.getpid():
            from concurrent.futures import ThreadPoolExecutor  # slow to load

            from matchenv.runtime.parallel import checked_workers

            self._executor = ThreadPoolExecutor(self.threads - 1, "matchenv-rows")
            self._process = os.getpid()
            self._board, self._following = new_board(), []
            # Who looks without rest keeps others from their work where there are too few cores.
            self._looks = LOOKS if self.threads <= checked_workers(None) else 0
        return self._executor
