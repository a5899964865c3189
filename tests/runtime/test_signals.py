"""Signals end a process soon, even where Python cannot raise an exception."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="not on this system")

SCRIPT = """
import hashlib, os, pathlib, signal, sys, time
from matchenv.runtime.files import folder_lock
from matchenv.runtime import signals
from matchenv.runtime.signals import Stopping, stops_at_a_safe_point

signals.GRACE = float(sys.argv[2])

def work():
    print("at work", flush=True)
    exec(sys.argv[1])
    return 0

if __name__ == "__main__":
    stopping = Stopping()
    stopping.note = lambda: "go on"
    sys.exit(stopping.run(work))
"""

TIDIES = """
try:
    time.sleep(600.0)
finally:
    pathlib.Path("tidy").write_text("yes")
"""
LOSES = """
while True:
    try:
        time.sleep(600.0)
    except BaseException:
        pass
"""
COMPILED = """
with folder_lock(pathlib.Path("locked")):
    hashlib.pbkdf2_hmac('sha512', b'', b'', 10**9)
"""
OTHER_WORDS = """
try:
    time.sleep(600.0)
except BaseException:
    print("a traceback", file=sys.stderr)
    raise SystemError("no import")
"""
# As if Numba compiled.
COMPILES = """
compiler = {"__name__": "numba.core", "time": time, "file": pathlib.Path("tidy")}
exec("for _ in range(5): time.sleep(0.1)\\nfile.touch()", compiler)
time.sleep(600.0)
"""
SAFE_POINT = """
with stops_at_a_safe_point() as came:
    for number in range(100):
        time.sleep(0.1)
        if number > 18:
            pathlib.Path("tidy").write_text("yes" if came else "no")
            raise signals.Stopped
"""
NEVER_SAFE = SAFE_POINT.replace("range(100)", "range(6000)").replace("18", "5900")
INT, TERM = signal.SIGINT, signal.SIGTERM

# Seconds of grace: short, to save time; or so many that only something else ends the process
# before the test gives up.
SHORT, LONG, GIVEN_UP = 1.5, 600.0, 120.0


def stopped(
    folder: Path, work: str, signals: list[signal.Signals], pause: float, grace: float, stderr: int
) -> tuple[subprocess.Popen[str], str]:
    """A process that got signals, and what it said."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), work, str(grace)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    time.sleep(0.2)
    for number in signals:
        process.send_signal(number)
        time.sleep(pause)
    try:
        _, said = process.communicate(timeout=GIVEN_UP)
    finally:
        process.kill()
    return process, said


@pytest.mark.parametrize(
    ("work", "signals", "pause", "tidy", "grace"),
    [
        # What tidies up does; what cannot is ended.
        (TIDIES, [INT], 0.05, True, LONG),
        (TIDIES, [TERM], 0.05, True, LONG),
        (COMPILES, [INT], 0.05, True, SHORT),
        (COMPILED, [INT], 0.05, False, SHORT),
        (LOSES, [TERM], 0.05, False, SHORT),
        (OTHER_WORDS, [INT], 0.05, False, LONG),
        # Signals within a moment are one; a later one ends it, before the grace is over.
        (TIDIES, [INT, TERM, INT], 0.05, True, LONG),
        (LOSES, [INT, INT], 0.5, False, LONG),
        (COMPILED, [INT, INT], 0.5, False, LONG),
        # A safe point comes after the grace, but not if there is a second signal.
        (SAFE_POINT, [TERM], 0.5, True, SHORT),
        (NEVER_SAFE, [TERM, INT], 0.5, False, LONG),
    ],
)
def test_one_line_and_gone(
    tmp_path: Path, work: str, signals: list[signal.Signals], pause: float, tidy: bool,
    grace: float,
) -> None:  # fmt: skip
    process, said = stopped(tmp_path, work, signals, pause, grace, subprocess.PIPE)
    assert process.returncode == 128 + signals[0]
    word = "terminated" if signals[0] == TERM else "interrupted"
    assert said == f"{word}; go on\n"
    assert (tmp_path / "tidy").exists() == tidy
    assert [*tmp_path.rglob(".lock")] == []


def test_a_terminal_that_has_gone_changes_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process, _ = stopped(tmp_path, TIDIES, [INT], 0.05, LONG, writing)
    os.close(writing)
    assert process.returncode == 130


def test_work_that_ends_keeps_its_status_and_ignored_signals_stay_ignored() -> None:
    code = (
        "import os, signal, sys; from matchenv.runtime.signals import Stopping\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.exit(Stopping().run(lambda: os.kill(os.getpid(), signal.SIGINT) or 7))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 7


@pytest.mark.parametrize("words", [("-m", "matchenv", "compare"), ("-c", "import matchenv")])
def test_while_it_loads_a_command_ends_and_a_users_program_gets_the_exception(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    slow = "import time\nprint('loads', flush=True)\ntime.sleep(60.0)\n"
    (tmp_path / "gymnasium.py").write_text(slow)  # in place of our first dependency
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "loads\n"
    process.send_signal(INT)
    _, said = process.communicate(timeout=GIVEN_UP)
    assert process.returncode == -INT
    assert said == "" if words[0] == "-m" else said.endswith("\nKeyboardInterrupt\n")
