"""Signals while the command ``matchenv`` loads its libraries: one line, and gone."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from matchenv.runtime.signals import STOPS

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def leave_at_signals_if_command() -> None:
    """In the process of the command, end at once at Ctrl-C and SIGTERM; elsewhere do nothing.

    Nothing has begun yet that would need tidying up. An exception would be raised inside a half
    imported library, with a traceback. Later the command handles signals itself.
    """
    if _is_command():
        for number in STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks
                signal.signal(number, _leave)


def _is_command() -> bool:
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":  # as long as Python looks for the module
        return "matchenv" in sys.orig_argv
    return os.path.basename(called) in ("matchenv", "matchenv.exe")


def _leave(number: int, _: FrameType | None) -> None:
    try:
        os.write(2, f"{WORDS[signal.Signals(number)]}\n".encode())
    finally:
        os._exit(128 + number)
