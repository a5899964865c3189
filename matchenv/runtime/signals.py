"""Ctrl-C and SIGTERM: one line, status 130 or 143, and nothing lost.

Everything a command writes survives a kill, so a signal ends the process where it stands, after
one line and the removal of temporary files. No exception is raised that a library could swallow.
The handler runs in the main thread. If compiled code keeps that thread busy, a second thread, woken
by the signal itself, ends the process after a grace period.
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

# Seconds until the signal is sent to the main thread again; then until the process ends anyway.
UNSEEN, GRACE = 0.3, 2.2

# Files to remove when the process ends without running ``finally`` blocks.
temporary_files: set[Path] = set()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the end of a short block.

    Processes and threads that are started in the block never receive these signals: Ctrl-C reaches
    every process of a terminal, and only the command itself should react.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _handle_stops(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # set by nohup
            signal.signal(number, handler)


def exit_at_signals_during_import() -> None:
    """Let signals end the process without a word while the command ``matchenv`` loads.

    An exception in a half imported library would print a traceback. ``Stopping`` replaces this.
    """
    _handle_stops(signal.SIG_DFL)


class Stopping:
    """Reaction of a command's process to signals.

    Attributes:
        note: returns what the user should know, for example how to resume; printed in the line.
    """

    def __init__(self) -> None:
        self.note: Callable[[], str] = str
        self._number, self._main = 0, threading.get_ident()

    def run(self, work: Callable[[], int]) -> int:
        """Return the exit status of ``work``, unless a signal ends the process first."""
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            # Python writes here as soon as a signal arrives, even if the main thread is busy.
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
            with signals_wait():
                threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
        _handle_stops(self._end)
        return work()

    def _watch(self, reading: int) -> None:
        number = 0
        while number not in STOPS:  # a library may handle other signals
            number = os.read(reading, 1)[0]
        time.sleep(UNSEEN)
        # The first one may have come just before the main thread began to wait. A server of its own
        # handlers would end at the second one without finishing its requests.
        if signal.getsignal(number) == self._end:
            signal.pthread_kill(self._main, number)
        time.sleep(GRACE)
        self._end(number)

    def _end(self, number: int, _: FrameType | None = None) -> NoReturn:
        try:
            if not self._number:
                self._number = number
                self._print_line()
            # Workers end with their parent, but not while they import.
            for worker in multiprocessing.active_children():
                worker.kill()
            for file in tuple(temporary_files):
                with suppress(OSError):
                    file.unlink()
            if threading.get_ident() == self._main:
                # No full shutdown, which can crash in half imported extensions.
                atexit._run_exitfuncs()
                sys.stdout.flush()
        finally:
            os._exit(128 + self._number)

    def _print_line(self) -> None:
        line = "; ".join(filter(None, (WORDS[signal.Signals(self._number)], self.note())))
        # A progress bar leaves the cursor in its line.
        bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", ())
        start = "" if all(getattr(bar, "disable", True) for bar in bars) else "\n"
        with suppress(OSError):  # the terminal may be gone
            os.write(2, f"{start}{line}\n".encode())
            # Hide what libraries print about errors during the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
