"""Files that come faster than one disk operation after the other could write them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from matchenv.runtime.files import write_bytes

# Nearly all of writing is waiting for the disk.
THREADS = 16
# Files that may wait, so that a slow disk slows down the work and does not fill the memory.
WAITING = 64


class Writers:
    """Threads that write files for the time of a ``with`` block, each whole or not at all.

    At the end of the block all are written; after an exception, those that were begun.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS)
        self._begun: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        """The writers."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what is being written."""
        self._threads.shutdown(cancel_futures=kind is not None)
        while kind is None and self._begun:
            self._begun.popleft().result()

    def write(self, path: Path, content: bytes) -> None:
        """Write a file soon.

        Raises:
            OSError: if one that was given before could not be written.
        """
        self._begun.append(self._threads.submit(write_bytes, path, content))
        while self._begun[0].done() or len(self._begun) > WAITING:
            self._begun.popleft().result()
            if not self._begun:
                return
