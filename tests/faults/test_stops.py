"""Signals to a command with workers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at Linux processes"
)

WORKERS = 2
STUDY = (
    "study --policy kg pe --rank top --prior equal --num-opponents 20 --horizon 400 "
    f"--episodes 12500 --out out --workers {WORKERS} --quiet"
)


@pytest.mark.parametrize(
    ("number", "way"),
    [(signal.SIGINT, "group"),
     *(pytest.param(*case, marks=pytest.mark.faults)
       for case in ((signal.SIGTERM, "group"), (signal.SIGINT, "twice"), (signal.SIGTERM, "one")))],
)  # fmt: skip
def test_a_signal_stops_a_study_of_100_blocks(
    number: signal.Signals, way: str, tmp_path: Path
) -> None:
    """One line, at most the running blocks are finished, and no process or file is left."""
    temporary, blocks = tmp_path / "tmp", tmp_path / "out" / "blocks"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *STUDY.split()],
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    end = time.monotonic() + 240.0
    while (before := len([*blocks.glob("*.npz")])) < 2 and process.poll() is None:
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.01)
    if way == "group":
        os.killpg(process.pid, number)
    for _ in range(("group", "one", "twice").index(way)):
        process.send_signal(number)
    _, error = process.communicate(timeout=120.0)
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.killpg(process.pid, 0)
            time.sleep(0.01)
        pytest.fail("a process is left")
    lines = [line for line in error.splitlines() if not line.startswith("matchenv: compiling")]
    assert (process.returncode, len(lines)) == (128 + number, 1), lines
    assert lines[0].endswith("; finished work is kept: run the same command to resume")
    assert 2 <= before <= len([*blocks.glob("*.npz")]) <= before + WORKERS < 100
    # torch always keeps a folder of compiled code.
    assert [name for name in os.listdir(temporary) if not name.startswith("torchinductor")] == []
    assert list(tmp_path.rglob(".*")) == []
