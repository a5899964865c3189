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

WORKS = {
    "it waits": "time.sleep(60.0)",
    "it tidies up": """
try:
    time.sleep(60.0)
finally:
    pathlib.Path("tidy").write_text("yes")
""",
    "compiled code does not return": "hashlib.pbkdf2_hmac('sha512', b'', b'', 10**9)",
    "the exception is lost": """
while True:
    try:
        time.sleep(60.0)
    except BaseException:
        pass
""",
    "a library says it in its own words": """
try:
    time.sleep(60.0)
except BaseException:
    print("a traceback", file=sys.stderr)
    raise SystemError("no import")
""",
    "it compiles": """
compiler = {"__name__": "numba.core", "time": time, "file": pathlib.Path("tidy")}
exec("for _ in range(10): time.sleep(0.1)\\nfile.touch()", compiler)
time.sleep(60.0)
""",
    "its folder is locked and compiled code does not return": """
from matchenv.runtime.files import folder_lock
with folder_lock(pathlib.Path("locked")):
    hashlib.pbkdf2_hmac('sha512', b'', b'', 10**9)
""",
}

SCRIPT = """
import hashlib, pathlib, sys, time
from matchenv.runtime.signals import Stopping

def work():
    print("at work", flush=True)
    exec(sys.argv[1])
    return 0

if __name__ == "__main__":
    stopping = Stopping()
    stopping.note = lambda: "go on"
    sys.exit(stopping.run(work))
"""


def at_work(folder: Path, work: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """A process that has begun its work."""
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
    return process


@pytest.mark.parametrize(
    ("work", "signals"),
    [
        *((work, [signal.SIGINT]) for work in WORKS),
        ("it tidies up", [signal.SIGTERM]),
        ("it tidies up", [signal.SIGINT, signal.SIGTERM, signal.SIGINT]),
        ("the exception is lost", [signal.SIGTERM]),
        ("the exception is lost", [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]),
    ],
)
def test_one_line_and_gone(tmp_path: Path, work: str, signals: list[signal.Signals]) -> None:
    process = at_work(tmp_path, WORKS[work])
    asked = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.05)
    _, said = process.communicate(timeout=30.0)
    assert time.monotonic() - asked < 5.0
    assert process.returncode == 128 + signals[0]
    word = "terminated" if signals[0] == signal.SIGTERM else "interrupted"
    assert said == f"{word}; go on\n"
    assert (tmp_path / "tidy").exists() == ("tidy" in WORKS[work])
    assert [*tmp_path.rglob(".lock")] == []


@pytest.mark.parametrize("work", ["the exception is lost", "compiled code does not return"])
def test_a_second_signal_ends_it_at_once(tmp_path: Path, work: str) -> None:
    process = at_work(tmp_path, WORKS[work])
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30.0)
    # Less than what is left of the time of grace.
    assert time.monotonic() - asked < 1.5
    assert process.returncode == 130
    assert said == "interrupted; go on\n"


SAFE_POINT = """
from matchenv.runtime.signals import stops_at_a_safe_point
with stops_at_a_safe_point() as point:
    for number in range(100):
        time.sleep(0.1)
        if number > 35:
            pathlib.Path("tidy").write_text("yes" if point.asked else "no")
            point.stop()
"""


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGTERM, signal.SIGINT]])
def test_sigterm_waits_for_a_safe_point(tmp_path: Path, signals: list[signal.Signals]) -> None:
    """Longer than the time of grace, but not if there is a second signal."""
    process = at_work(tmp_path, SAFE_POINT)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.5)
    _, said = process.communicate(timeout=30.0)
    assert process.returncode == 143
    assert said == "terminated; go on\n"
    assert (tmp_path / "tidy").exists() == (len(signals) < 2)


def test_work_that_ends_keeps_its_status() -> None:
    code = (
        "import sys; from matchenv.runtime.signals import Stopping; "
        "sys.exit(Stopping().run(lambda: 7))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 7


def test_a_signal_that_was_ignored_before_stays_ignored() -> None:
    code = (
        "import os, signal, sys; from matchenv.runtime.signals import Stopping\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.exit(Stopping().run(lambda: os.kill(os.getpid(), signal.SIGINT) or 0))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_terminal_that_has_gone_changes_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = at_work(tmp_path, WORKS["it waits"], writing)
    os.close(writing)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10.0)
    assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_still_loads_ends_with_one_line(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = while_loading(tmp_path, "-m", "matchenv", "compare")
    process.send_signal(number)
    _, said = process.communicate(timeout=10.0)
    assert process.returncode == 128 + number
    assert said == ("interrupted\n" if number == signal.SIGINT else "terminated\n")


def test_a_users_own_program_gets_the_exception(tmp_path: Path) -> None:
    process = while_loading(tmp_path, "-c", "import matchenv")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10.0)[1].endswith("\nKeyboardInterrupt\n")


def while_loading(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A process of Python in the middle of the import of our first dependency."""
    slow = "import time\nprint('loads', flush=True)\ntime.sleep(60.0)\n"
    (folder / "gymnasium.py").write_text(slow)
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loads\n"
    return process
