"""Every command that works long, stopped by real signals at random moments."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes as Linux shows them"
)

LIMIT = 5.0
# SIGTERM lets a training come to its next checkpoint.
PATIENT_LIMIT = 45.0
SMALL = ("--num-opponents", "5", "--horizon", "100")
COMMANDS = {
    "compare": ("--episodes", "20000", *SMALL, "--rank", "top"),
    "study": ("--episodes", "100000", *SMALL),
    "tune": ("--episodes", "20000", *SMALL),
    "limits": ("--episodes", "5000", *SMALL, "--rank", "top"),
    "train": ("--timesteps", "10000000"),
    "replay": ("LOG",),
}
WITH_WORKERS = ("compare", "study", "tune", "limits")
CASES = [
    (command, workers)
    for command in COMMANDS
    for workers in ((1, 2) if command in WITH_WORKERS else (None,))
]
QUICK = (("compare", 2), ("train", None), ("replay", None))
WAYS = ("one", "two", "group")
LONG_GAMES = 400_000

# torch keeps a folder for what it compiles, whether it is stopped or not.
NOT_OURS = "torchinductor"


@dataclass(frozen=True)
class Stop:
    """How a command is stopped.

    Attributes:
        number: of the signal.
        way: whether it comes once, twice, or to all processes of the group.
        delay: seconds from when the command listens.
    """

    number: signal.Signals
    way: str
    delay: float


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match log that takes seconds to read and to rate."""
    draw = random.Random(0)
    path = tmp_path_factory.mktemp("log") / "long.csv"
    with path.open("w") as file:
        file.write("game,player,score\n")
        for game in range(LONG_GAMES):
            for player in draw.sample(range(2000), 2):
                file.write(f"{game},p{player},{draw.randrange(5)}\n")
    return path


def listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM, which Python has not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def family(pid: int) -> Iterator[int]:
    """A process and all that came from it."""
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def shared_memory(pid: int) -> set[str]:
    """The files in shared memory that a process has."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {line.split()[5] for line in maps.splitlines() if " /dev/shm/" in line}


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def check_stop(command: str, workers: int | None, stop: Stop, folder: Path, log: Path) -> None:
    """Start a command, stop it, and see that it ends as it should."""
    temporary, out = folder / "tmp", folder / "out.safetensors"
    temporary.mkdir(parents=True)
    options = [str(log) if option == "LOG" else option for option in COMMANDS[command]]
    if workers is not None:
        options += ["--workers", str(workers)]
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", command, *options, "--out", str(out), "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60.0
        while not listens(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(stop.delay)
        assert process.poll() is None, f"it ended before it was stopped: {process.communicate()}"
        everyone = [*family(process.pid)]
        shared = {file for pid in everyone for file in shared_memory(pid)}
        asked = time.monotonic()
        if stop.way == "group":
            os.killpg(process.pid, stop.number)
        else:
            for _ in range(2 if stop.way == "two" else 1):
                process.send_signal(stop.number)
        patient = command == "train" and stop.number == signal.SIGTERM
        limit = PATIENT_LIMIT if patient else LIMIT
        _, said = process.communicate(timeout=limit + 30.0)
        while any(map(lives, everyone)) and time.monotonic() < asked + limit:
            time.sleep(0.01)
        assert time.monotonic() - asked < limit
        assert [pid for pid in everyone if lives(pid)] == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 128 + stop.number, said
    # On a machine that has not played yet, something is said of compiling.
    lines = [line for line in said.splitlines() if not line.startswith("matchenv: compiling")]
    if command == "replay":  # it says what it read
        lines = lines[-1:]
    word = "terminated" if stop.number == signal.SIGTERM else "interrupted"
    assert len(lines) == 1, said
    assert lines[0].partition(";")[0] == word
    assert [file for file in shared if Path(file).exists()] == []
    assert [file.name for file in temporary.iterdir() if not file.name.startswith(NOT_OURS)] == []
    left = [file.name for file in folder.rglob("*") if file.name.startswith(".")]
    assert left == []


@pytest.mark.parametrize(
    ("command", "workers"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES],
)
def test_command_ends_when_it_is_told_to(
    command: str, workers: int | None, tmp_path: Path, log: Path
) -> None:
    """All commands have one answer to signals: some of them run with the quick tests."""
    stop = Stop(
        random.choice((signal.SIGINT, signal.SIGTERM)),
        random.choice(WAYS),
        random.uniform(0.0, 4.0),
    )
    print(stop)  # of a failure, to see it again
    check_stop(command, workers, stop, tmp_path, log)
