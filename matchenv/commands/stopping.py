"""Ctrl-C and SIGTERM: one line, status 130 or 143, and gone soon, whatever is going on.

A second signal ends the process at once. SIGTERM waits until work reaches a point from which it can
be resumed, such as a training's next checkpoint; Ctrl-C does not.

A signal raises ``Stopped`` in the main thread, so that ``with`` and ``finally`` tidy up. That can
fail: compiled code does not look for signals until it returns, and an exception that is raised
inside a callback of a library is lost. A second thread, woken by the signal itself, therefore
ends the process after a time of grace.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from matchenv.runtime.early_exit import WORDS
from matchenv.runtime.folder_lock import free_folders
from matchenv.runtime.signals import STOPS, waits_for_a_safe_point

# Seconds until the exception is raised again, and until the process ends in any case.
AGAIN, GRACE = 1.0, 2.5
PAUSE = 0.05
# Seconds until work must have come to its good place.
PATIENCE = 30.0
# Seconds in which several signals are one: some programs send theirs twice.
SAME = 0.3

# An exception in the middle of these can crash the process later; better to wait for their end.
UNSAFE = ("numba", "llvmlite")


class Stopped(KeyboardInterrupt):
    """The process was asked to stop."""


class Stopping:
    """What happens at a signal.

    Attributes:
        note: gives what the user should know, such as how to go on; said in the one line.
        number: of the signal, None before there was one.
    """

    def __init__(self) -> None:
        self.note: Callable[[], str] = str
        self.number: int | None = None
        self._lock = threading.RLock()
        self._raised = False

    def run(self, work: Callable[[], int]) -> int:
        """Do the work of a process.

        Args:
            work: gives the exit status.

        Returns:
            The exit status; does not return if there was a signal.
        """
        try:
            self._listen()
            status = work()
        except BaseException:
            # After a signal anything can come up, from an import that was cut short, say.
            if self.number is None:
                raise
        if self.number is not None:
            self._leave(self.number)
        return status

    def _listen(self) -> None:
        if hasattr(signal, "pthread_kill"):  # not on Windows
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            # Python writes to it at the moment of a signal, even if the main thread is busy.
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
        for number in STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks
                signal.signal(number, self._raise)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self._announce(number)
        if not self._raised and not _is_unsafe(frame):
            self._raised = True
            raise Stopped

    def _watch(self, reading: int) -> None:
        number = 0
        while number not in STOPS:  # a library may listen for others
            number = os.read(reading, 1)[0]
        patient = number == signal.SIGTERM and waits_for_a_safe_point()
        self._announce(number)
        later = _Later(reading)
        while patient and waits_for_a_safe_point() and not later.came(PAUSE):
            patient = later.seconds < PATIENCE
        begun = later.seconds
        again = False
        while not later.came(PAUSE) and later.seconds < begun + GRACE:
            if not again and later.seconds > begun + AGAIN:
                self._raised, again = False, True
            if not self._raised:
                later.own += 1
                signal.pthread_kill(threading.main_thread().ident or 0, number)
        for process in multiprocessing.active_children():
            process.kill()
        free_folders()
        os._exit(128 + number)

    def _announce(self, number: int) -> None:
        with self._lock:
            if self.number is not None:
                return
            self.number = number
        line = "; ".join(filter(None, (WORDS[signal.Signals(number)], self.note())))
        start = "\n" if _bar_is_shown() else ""
        with contextlib.suppress(OSError):  # nobody may be there to read it
            os.write(2, f"{start}{line}\n".encode())
        # What libraries say of exceptions in odd places would only hide that line.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def _leave(self, number: int) -> NoReturn:
        try:
            sys.stdout.flush()
            # Not the rest of Python's way out: extensions that were half imported may crash there.
            atexit._run_exitfuncs()
        finally:
            os._exit(128 + number)


class _Later:
    """Signals that come after the first one.

    Attributes:
        own: how many this process has sent to itself and not seen yet.
    """

    def __init__(self, reading: int) -> None:
        os.set_blocking(reading, False)
        self._reading, self._first = reading, time.monotonic()
        self.own = 0

    @property
    def seconds(self) -> float:
        """Seconds since the first signal."""
        return time.monotonic() - self._first

    def came(self, seconds: float) -> bool:
        """Whether a signal from outside came within this many seconds."""
        time.sleep(seconds)
        try:
            came = sum(number in STOPS for number in os.read(self._reading, 1024))
        except BlockingIOError:
            return False
        own = min(came, self.own)
        self.own -= own
        return came > own and self.seconds > SAME


def _is_unsafe(frame: FrameType | None) -> bool:
    """Whether the main thread is in the middle of what must not be cut short."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in UNSAFE:
            return True
        frame = frame.f_back
    return False


def _bar_is_shown() -> bool:
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    # The library keeps the bars that move; one that is being made has no such entry yet.
    return any(not getattr(bar, "disable", True) for bar in getattr(tqdm, "_instances", ()))
