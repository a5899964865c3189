"""Pools of processes: they work, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from matchenv.workers import checked_workers, work_through, worker_pool

ROOT = Path(__file__).resolve().parents[1]

# A worker that shows that it lives, and a parent that waits for it.
BEATING = """
import sys, time
from pathlib import Path
from matchenv.workers import worker_pool

def beat(file):
    for number in range(2400):
        Path(file).write_text(str(number))
        time.sleep(0.05)

if __name__ == "__main__":
    with worker_pool(1) as pool:
        pool.submit(beat, sys.argv[1]).result()
"""


def test_results_are_in_the_order_of_the_jobs():
    done = []
    for workers in (1, 2):
        assert work_through([3, -1, 2], abs, workers, done.append) == [3, 1, 2]
    assert sorted(done) == [-1, -1, 2, 2, 3, 3]


def interrupted_after_submitting(folder):
    with worker_pool(1) as pool:
        pool.submit(time.sleep, 1.0)
        for number in range(100):
            pool.submit(Path.mkdir, folder / str(number))
        raise KeyboardInterrupt


def test_an_exception_drops_the_work_that_waits(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        interrupted_after_submitting(tmp_path)
    # A pool hands its workers a few jobs ahead.
    assert len(list(tmp_path.iterdir())) < 10


def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    script, file = tmp_path / "beating.py", tmp_path / "beat"
    script.write_text(BEATING)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(file)], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    deadline = time.monotonic() + 60.0
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 30.0
    before, now = None, file.read_text()
    while now != before and time.monotonic() < deadline:
        before = now
        time.sleep(1.0)
        now = file.read_text()
    assert now == before


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_bad_number_of_workers(workers):
    with pytest.raises(ValueError, match="workers must be"):
        checked_workers(workers)
