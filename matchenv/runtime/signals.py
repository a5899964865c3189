"""Signals that ask to stop, while work must not be cut short where it is."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Let signals that ask to stop wait for the end of a short block.

    Processes that are started in the block never get these signals: Ctrl-C reaches all processes
    of a terminal, and only the first one is to act and to speak.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread alone
        return
    came: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, remember) for number in STOPS}
    masks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS) if masks else set()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            _handle(came[0], before[signal.Signals(came[0])])


class SafePoint:
    """Where work can be stopped without loss; made by ``stops_at_a_safe_point``.

    Attributes:
        asked: whether SIGTERM came.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = signal.SIG_DFL

    def stop(self) -> None:
        """Do what SIGTERM would have done; usually this ends the process."""
        global _waited_for
        _waited_for = None
        signal.signal(signal.SIGTERM, self._before)
        _handle(signal.SIGTERM, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True


# The safe point that this process would reach first if it got SIGTERM now.
_waited_for: SafePoint | None = None


@contextmanager
def stops_at_a_safe_point() -> Iterator[SafePoint]:
    """Delay SIGTERM during a block until the work reaches a safe point, or ends.

    Ctrl-C is not delayed.

    Yields:
        The point: the work asks it whether SIGTERM came, and stops there.
    """
    global _waited_for
    point = SafePoint()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    ):
        yield point
        return
    point._before = signal.signal(signal.SIGTERM, point._remember)
    _waited_for = point
    try:
        yield point
    finally:
        if _waited_for is point:
            _waited_for = None
            signal.signal(signal.SIGTERM, point._before)
    if point.asked:
        point.stop()


def waits_for_a_safe_point() -> bool:
    """Whether this process would not stop at once if it got SIGTERM."""
    return _waited_for is not None


def _handle(number: int, handler: Callable[[int, FrameType | None], Any] | int | None) -> None:
    """What a signal does; not sent again, since it would count as one more."""
    if callable(handler):
        handler(number, sys._getframe())
    else:
        signal.raise_signal(signal.Signals(number))
