"""Ctrl-C and SIGTERM: one line, status 130 or 143, and nothing lost.

In the process of a command a signal raises ``Stopped`` in the main thread, so that ``with`` and
``finally`` tidy up. That can fail: compiled code does not look for signals until it returns, and
an exception inside a callback of a library is lost. A second thread, woken by the signal itself,
therefore ends the process after a grace period. A second signal ends it at once.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

# Seconds: until the process ends in any case; the most that a safe point is waited for; in which
# several signals are one, since some programs send theirs twice; between two looks.
GRACE, PATIENCE, SAME, PAUSE = 2.5, 30.0, 0.3, 0.05

# An exception in the middle of these can crash the process later: the second thread ends it.
UNSAFE = ("numba", "llvmlite")

# Files that are removed where the process ends without ``finally``.
temporary_files: set[Path] = set()

# Whether SIGTERM waits for a safe point of the work.
_at_work = False


class Stopped(KeyboardInterrupt):
    """The process was asked to stop."""


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay signals that ask to stop until the end of a short block.

    Processes that are started in the block never get these signals: Ctrl-C reaches all processes
    of a terminal, and only the first one is to act on it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread alone
        return
    with _delayed(STOPS):
        masks = hasattr(signal, "pthread_sigmask")  # not on Windows
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS) if masks else set()
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def stops_at_a_safe_point() -> Iterator[list[int]]:
    """Delay SIGTERM during a block until the work reaches a safe point, or ends.

    Ctrl-C is not delayed.

    Yields:
        The signals that came: the work looks at it in each safe point, and raises ``Stopped``
        there where it is not empty.
    """
    global _at_work
    ignored = signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield []
        return
    with _delayed([signal.SIGTERM]) as came:
        _at_work = True
        try:
            yield came
        finally:
            _at_work = False


@contextmanager
def _delayed(numbers: Iterable[signal.Signals]) -> Iterator[list[int]]:
    """Remember the signals that come during a block, and handle the first one at its end."""
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            # The signal is not sent again, which would count as one more.
            handler, first = before[signal.Signals(came[0])], came[0]
            if callable(handler):
                handler(first, sys._getframe())
            else:
                signal.raise_signal(signal.Signals(first))


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
        number: of the signal, None before there was one.
    """

    def __init__(self) -> None:
        self.note: Callable[[], str] = str
        self.number: int | None = None
        self._lock, self._said = threading.RLock(), threading.Event()
        self._main, self._screen = threading.get_ident(), 2
        with suppress(OSError):  # of a process without a standard error
            self._screen = os.dup(2)

    def run(self, work: Callable[[], int]) -> int:
        """Do the work of a process.

        Args:
            work: returns the exit status.

        Returns:
            The exit status; does not return if there was a signal.
        """
        try:
            if hasattr(signal, "pthread_sigmask"):  # not on Windows
                reading, writing = os.pipe()
                os.set_blocking(writing, False)
                # Python writes to it at the moment of a signal, even if the main thread is busy.
                signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
                threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
            _listen(self._raise)
            status = work()
        except BaseException:
            # After a signal anything can come up, for example from an import that was cut short.
            if self.number is None:
                raise
        if self.number is None:
            return status
        try:
            self._said.wait(GRACE)
            sys.stdout.flush()
            # Not the rest of Python's way out: extensions that were half imported may crash there.
            atexit._run_exitfuncs()
        finally:
            os._exit(128 + self.number)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        # The second thread answers to further signals; here they would interrupt this function.
        _listen(lambda *_: None)
        self._announce(number)
        while frame is not None:
            if str(frame.f_globals.get("__name__")).partition(".")[0] in UNSAFE:
                _listen(self._raise)
                return
            frame = frame.f_back
        raise Stopped

    def _watch(self, reading: int) -> None:
        """Wait for a signal, then end the process when it has had time to end itself."""
        number = 0
        while number not in STOPS:  # a library may listen for others
            number = os.read(reading, 1)[0]
        self._announce(number)
        begun = time.monotonic()
        time.sleep(SAME)
        # Another thread may have been given it, or the main thread just before it began to wait.
        signal.pthread_kill(self._main, number)
        time.sleep(PAUSE)
        _another_came(reading, 0.0)
        patience = PATIENCE if number == signal.SIGTERM and _at_work else 0.0
        end = begun + GRACE
        while time.monotonic() < end and not _another_came(reading, PAUSE):
            if _at_work and time.monotonic() < begun + patience:
                end = time.monotonic() + GRACE
        for file in tuple(temporary_files):
            with suppress(OSError):
                file.unlink()
        # They end without their parent too, but not before their imports have.
        for worker in multiprocessing.active_children():
            worker.kill()
        os._exit(128 + number)

    def _announce(self, number: int) -> None:
        with self._lock:
            first, self.number = self.number is None, self.number or number
        # What libraries print of exceptions in odd places would only hide the line.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if first:
            line = "; ".join(filter(None, (WORDS[signal.Signals(number)], self.note())))
            start = "\n" if _bar_is_shown() else ""
            with suppress(OSError):  # nobody may be there to read it
                os.write(self._screen, f"{start}{line}\n".encode())
            self._said.set()


def _another_came(reading: int, seconds: float) -> bool:
    """Return whether another signal that asks to stop came within this time."""
    if not select.select([reading], [], [], seconds)[0]:
        return False
    return any(number in STOPS for number in os.read(reading, 1024))


def _bar_is_shown() -> bool:
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    # The library keeps the bars that move; one that is being made has no such entry yet.
    return any(not getattr(bar, "disable", True) for bar in getattr(tqdm, "_instances", ()))
