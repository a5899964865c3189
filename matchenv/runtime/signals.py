"""Ctrl-C and SIGTERM: one line, status 130 or 143, and nothing lost.

What a command writes stands a kill at any moment. So a signal ends its process where it stands,
once the line is said and what was half written is removed: no exception is raised that a library,
or code that is half done, could lose. The main thread does that; where compiled code keeps it from
looking, a second thread, woken by the signal itself, does it after a grace period.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

STOPS = (signal.SIGINT, signal.SIGTERM)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

# Seconds: until a main thread that has not seen the signal is sent it; then until the process ends
# in any case.
UNSEEN, GRACE = 0.3, 2.2

# Files that are removed where the process ends without ``finally``.
temporary_files: set[Path] = set()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay signals that ask to stop until the end of a short block.

    Processes and threads that are started in the block never get these signals: Ctrl-C reaches all
    processes of a terminal, and only the first one is to act on it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _listen(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks
            signal.signal(number, handler)


def exit_at_signals_during_import() -> None:
    """Let Ctrl-C and SIGTERM end the process of the command ``matchenv`` at once while it loads.

    Nothing has begun yet that would need tidying up. An exception would be raised inside a half
    imported library, with a traceback. ``Stopping`` replaces this later.
    """
    _listen(signal.SIG_DFL)


class Stopping:
    """The answer of a command's process to signals.

    Attributes:
        note: returns what the user should know, for example how to go on; printed in the one line.
    """

    def __init__(self) -> None:
        self.note: Callable[[], str] = str
        self._number = 0
        self._lock, self._main, self._screen = threading.RLock(), threading.get_ident(), 2
        with suppress(OSError):  # of a process without a standard error
            self._screen = os.dup(2)

    def run(self, work: Callable[[], int]) -> int:
        """Return the exit status that ``work`` returns; a signal ends the process before."""
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            # Python writes to it at the moment of a signal, even if the main thread is busy.
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
            with signals_wait():
                threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
        _listen(self._end)
        return work()

    def _watch(self, reading: int) -> None:
        """Wait for a signal, then end the process when it has had time to end itself."""
        number = 0
        while number not in STOPS:  # a library may listen for others
            number = os.read(reading, 1)[0]
        self._announce(number)
        time.sleep(UNSEEN)
        # Another thread may have been given it, or the main thread just before it began to wait.
        signal.pthread_kill(self._main, number)
        time.sleep(GRACE)
        self._end(number)

    def _end(self, number: int, _: FrameType | None = None) -> NoReturn:
        """End the process where it stands."""
        self._announce(number)
        try:
            # They end without their parent too, but not before their imports have.
            for worker in multiprocessing.active_children():
                worker.kill()
            for file in tuple(temporary_files):
                with suppress(OSError):
                    file.unlink()
            if threading.get_ident() == self._main:
                # The rest of Python's way out may crash where extensions are half imported.
                atexit._run_exitfuncs()
                sys.stdout.flush()
        finally:
            os._exit(128 + self._number)

    def _announce(self, number: int) -> None:
        with self._lock:
            first, self._number = self._number == 0, self._number or number
            # What libraries print of exceptions in odd places would only hide the line.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            if first:
                line = "; ".join(filter(None, (WORDS[signal.Signals(number)], self.note())))
                start = "\n" if _bar_is_shown() else ""
                with suppress(OSError):  # nobody may be there to read it
                    os.write(self._screen, f"{start}{line}\n".encode())


def _bar_is_shown() -> bool:
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    # The library keeps the bars that move; one that is being made has no such entry yet.
    return any(not getattr(bar, "disable", True) for bar in getattr(tqdm, "_instances", ()))
