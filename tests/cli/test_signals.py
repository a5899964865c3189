"""Every command that works long, stopped by real signals at random moments."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes as Linux shows them"
)

# Seconds after which a process hangs, whatever else the machine does.
LIMIT = 120.0
SMALL = ("--num-opponents", "5", "--horizon", "100")
CASES = {
    "compare": ("--episodes", "20000", *SMALL, "--rank", "top", "--workers", "2"),
    "compare alone": ("--episodes", "20000", *SMALL, "--rank", "top", "--workers", "1"),
    "study": ("--episodes", "100000", *SMALL, "--workers", "2"),
    "tune": ("--episodes", "20000", *SMALL, "--workers", "2"),
    "limits": ("--episodes", "5000", *SMALL, "--rank", "top", "--workers", "2"),
    "train": ("--timesteps", "10000000"),
    "replay": ("long.csv",),
}
LONG_GAMES = 400_000

# torch keeps a folder for what it compiles, whether it is stopped or not.
NOT_OURS = "torchinductor"


def write_log(path: Path) -> None:
    """Write a match log that takes seconds to read and to rate."""
    draw = random.Random(0)
    with path.open("w") as file:
        file.write("game,player,score\n")
        for game in range(LONG_GAMES):
            for player in draw.sample(range(2000), 2):
                file.write(f"{game},p{player},{draw.randrange(5)}\n")


def listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM, which Python has not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def lives(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case == "compare" else pytest.mark.slow) for case in CASES],
)
def test_command_ends_when_it_is_told_to(case: str, tmp_path: Path) -> None:
    """All commands have one answer to signals: one of them runs with the quick tests."""
    number = random.choice((signal.SIGINT, signal.SIGTERM))
    way, delay = random.choice(("one", "two", "group")), random.uniform(0.0, 4.0)
    print(number, way, delay)  # of a failure, to see it again
    if case == "replay":
        write_log(tmp_path / "long.csv")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [case.split()[0], *CASES[case], "--out", "out", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60.0
        while not listens(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(delay)
        assert process.poll() is None, f"it ended before it was stopped: {process.communicate()}"
        if way == "group":
            os.killpg(process.pid, number)
        else:
            for _ in range(2 if way == "two" else 1):
                process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT)
        deadline = time.monotonic() + LIMIT
        while lives(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not lives(process.pid)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 128 + number, said
    # On a new machine something is said of compiling; replay says what it read.
    lines = [line for line in said.splitlines() if not line.startswith("matchenv: compiling")]
    assert len(lines) == 1 or case == "replay", said
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    assert lines[-1].partition(";")[0] == word
    assert [file.name for file in temporary.iterdir() if not file.name.startswith(NOT_OURS)] == []
    assert [file.name for file in tmp_path.rglob("*") if file.name.startswith(".")] == []
