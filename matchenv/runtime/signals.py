"""Ctrl-C and SIGTERM: the exception ``KeyboardInterrupt``, so that ``finally`` blocks run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

STOPS = (signal.SIGINT, signal.SIGTERM)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_received: signal.Signals | None = None


def received_signal() -> signal.Signals | None:
    """Return the signal that stops this command; None if there was none."""
    return _received


def stop_at_signals() -> None:
    """Raise ``KeyboardInterrupt`` at the first SIGINT or SIGTERM; a second one ends the process."""
    _handle_stops(_stop)


def end_at_signals() -> None:
    """Let signals end the process without a word while the command ``matchenv`` loads.

    An exception in a half imported library would print a traceback.
    """
    _handle_stops(signal.SIG_DFL)


def ignore_signals() -> None:
    """Ignore signals once the work of a command is done: Python itself ends in a moment."""
    _handle_stops(signal.SIG_IGN)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    global _received
    _received = signal.Signals(number)
    _handle_stops(signal.SIG_DFL)
    raise KeyboardInterrupt


def _handle_stops(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # set by nohup
            signal.signal(number, handler)


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
