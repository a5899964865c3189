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

signals.GRACE = 1.2  # seconds, to save the tests some

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
    time.sleep(60.0)
finally:
    pathlib.Path("tidy").write_text("yes")
"""
LOSES = """
while True:
    try:
        time.sleep(60.0)
    except BaseException:
        pass
"""
COMPILED = """
with folder_lock(pathlib.Path("locked")):
    hashlib.pbkdf2_hmac('sha512', b'', b'', 10**9)
"""
OTHER_WORDS = """
try:
    time.sleep(60.0)
except BaseException:
    print("a traceback", file=sys.stderr)
    raise SystemError("no import")
"""
# As if Numba compiled.
COMPILES = """
compiler = {"__name__": "numba.core", "time": time, "file": pathlib.Path("tidy")}
exec("for _ in range(5): time.sleep(0.1)\\nfile.touch()", compiler)
time.sleep(60.0)
"""
SAFE_POINT = """
with stops_at_a_safe_point() as came:
    for number in range(100):
        time.sleep(0.1)
        if number > 18:
            pathlib.Path("tidy").write_text("yes" if came else "no")
            raise signals.Stopped
"""
INT, TERM = signal.SIGINT, signal.SIGTERM


def stopped(
    folder: Path, work: str, signals: list[signal.Signals], pause: float, stderr: int
) -> tuple[subprocess.Popen[str], str, float]:
    """A process that got signals, what it said, and the seconds from the last signal on."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), work],
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
        asked = time.monotonic()
        time.sleep(pause)
    _, said = process.communicate(timeout=30.0)
    return process, said, time.monotonic() - asked


@pytest.mark.parametrize(
    ("work", "signals", "pause", "tidy", "seconds"),
    [
        # What tidies up does; what cannot is ended.
        (TIDIES, [INT], 0.05, True, 2.0),
        (TIDIES, [TERM], 0.05, True, 2.0),
        (COMPILES, [INT], 0.05, True, 4.0),
        (COMPILED, [INT], 0.05, False, 4.0),
        (LOSES, [TERM], 0.05, False, 4.0),
        (OTHER_WORDS, [INT], 0.05, False, 2.0),
        # Signals within a moment are one; a later one ends it, before the grace is over.
        (TIDIES, [INT, TERM, INT], 0.05, True, 2.0),
        (LOSES, [INT, INT], 0.5, False, 0.8),
        (COMPILED, [INT, INT], 0.5, False, 0.8),
        # A safe point comes after the grace, but not if there is a second signal.
        (SAFE_POINT, [TERM], 0.5, True, 5.0),
        (SAFE_POINT, [TERM, INT], 0.5, False, 0.8),
    ],
)
def test_one_line_and_gone(
    tmp_path: Path, work: str, signals: list[signal.Signals], pause: float, tidy: bool,
    seconds: float,
) -> None:  # fmt: skip
    process, said, took = stopped(tmp_path, work, signals, pause, subprocess.PIPE)
    assert took < seconds
    assert process.returncode == 128 + signals[0]
    word = "terminated" if signals[0] == TERM else "interrupted"
    assert said == f"{word}; go on\n"
    assert (tmp_path / "tidy").exists() == tidy
    assert [*tmp_path.rglob(".lock")] == []


def test_a_terminal_that_has_gone_changes_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process, _, _ = stopped(tmp_path, TIDIES, [INT], 0.05, writing)
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
    _, said = process.communicate(timeout=10.0)
    assert process.returncode == -INT
    assert said == "" if words[0] == "-m" else said.endswith("\nKeyboardInterrupt\n")
