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


class GoodPlace:
    """Where work can be stopped; made by ``stops_at_a_good_place``.

    Attributes:
        asked: whether SIGTERM came.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = signal.SIG_DFL

    def stop(self) -> None:
        """Do now what SIGTERM would have done; the process does not expect to go on."""
        global _waited_for
        _waited_for = None
        signal.signal(signal.SIGTERM, self._before)
        _handle(signal.SIGTERM, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True


# The good place that this process would go to first if it got SIGTERM now.
_waited_for: GoodPlace | None = None


@contextmanager
def stops_at_a_good_place() -> Iterator[GoodPlace]:
    """Let SIGTERM wait in a block until the work says that it can be stopped, or has ended.

    Ctrl-C does not wait.

    Yields:
        What the work asks, and tells.
    """
    global _waited_for
    place = GoodPlace()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    ):
        yield place
        return
    place._before = signal.signal(signal.SIGTERM, place._remember)
    _waited_for = place
    try:
        yield place
    finally:
        if _waited_for is place:
            _waited_for = None
            signal.signal(signal.SIGTERM, place._before)
    if place.asked:
        place.stop()


def is_on_the_way_to_a_good_place() -> bool:
    """Whether this process would not stop at once if it got SIGTERM."""
    return _waited_for is not None


def _handle(number: int, handler: Callable[[int, FrameType | None], Any] | int | None) -> None:
    """What a signal does; not sent again, since it would count as one more."""
    if callable(handler):
        handler(number, sys._getframe())
    else:
        signal.raise_signal(signal.Signals(number))
