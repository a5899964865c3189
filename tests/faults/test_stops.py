"""Signals and kills with workers, trainings side by side."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at Linux processes"
)

WORKERS = 2
STUDY = ("study", "--policy", "kg", "pe", "--rank", "top", "--prior", "equal", "--num-opponents",
         "20", "--horizon", "400", "--episodes", "12500", "--out", "out", "--workers",
         str(WORKERS), "--quiet")  # fmt: skip
# torch keeps a folder for what it compiles, whether it is stopped or not.
NOT_OURS = "torchinductor"


def blocks(folder: Path) -> int:
    return len(list((folder / "out" / "blocks").glob("*.npz")))


def working(folder: Path, count: int) -> subprocess.Popen[str]:
    """A study that has finished so many blocks."""
    (folder / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *STUDY],
        cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, env={**os.environ, "TMPDIR": str(folder / "tmp")},
    )  # fmt: skip
    end = time.monotonic() + 120.0
    while blocks(folder) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return process


def ended(process: subprocess.Popen[str], folder: Path) -> tuple[int, list[str]]:
    """The status and the lines on the standard error, but for what a new machine says.

    Nothing is left of it: no process and no temporary file.
    """
    _, said = process.communicate(timeout=120.0)
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    assert time.monotonic() < end, "a process is left"
    assert [each for each in os.listdir(folder / "tmp") if not each.startswith(NOT_OURS)] == []
    assert list(folder.rglob(".*")) == []
    lines = said.splitlines()
    return process.returncode, [x for x in lines if not x.startswith("matchenv: compiling")]


@pytest.mark.parametrize(
    ("number", "way"),
    [(signal.SIGINT, "group"),
     *(pytest.param(*each, marks=pytest.mark.faults)
       for each in ((signal.SIGTERM, "group"), (signal.SIGINT, "twice"), (signal.SIGTERM, "one")))],
)  # fmt: skip
def test_a_signal_stops_a_study_of_100_blocks(
    number: signal.Signals, way: str, tmp_path: Path
) -> None:
    """After the signal no more blocks are finished than were being played."""
    process = working(tmp_path, 2)
    before = blocks(tmp_path)
    if way == "group":
        os.killpg(process.pid, number)
    for _ in range(("group", "one", "twice").index(way)):
        process.send_signal(number)
    status, lines = ended(process, tmp_path)
    after = blocks(tmp_path)
    assert (status, len(lines)) == (128 + number, 1), lines
    assert 2 <= before <= after <= before + WORKERS < 100
