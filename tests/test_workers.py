"""Pools of processes: they work, and leave nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pytest

from matchenv.runtime.parallel import LocalPool, checked_workers, work_through

ROOT = Path(__file__).resolve().parents[1]

# Workers that show that they live, and a parent that waits for them.
BEATING = """
import sys, time
from pathlib import Path
from matchenv.runtime.parallel import LocalPool, work_through

def beat(file):
    for number in range(2400):
        Path(file).write_text(str(number))
        time.sleep(0.05)

if __name__ == "__main__":
    with LocalPool(2) as pool:
        work_through(sys.argv[1:], beat, pool, print)
"""


def slow_first(number: int) -> int:
    """Later jobs are done before the first one."""
    time.sleep(0.5 if number == 0 else 0.0)
    return number


def test_results_are_in_the_order_of_the_jobs() -> None:
    done: list[tuple[int, int]] = []
    for workers in (1, 2):
        with LocalPool(workers) as pool:
            found = work_through([3, -1, 2], abs, pool, lambda *both: done.append(both))
        assert found == [3, 1, 2]
    assert sorted(done) == [(-1, 1), (-1, 1), (2, 2), (2, 2), (3, 3), (3, 3)]


def test_results_come_when_they_are_there() -> None:
    with LocalPool(2) as pool:
        numbers = [number for number, _ in pool.results(slow_first, [(0,), (1,), (2,)])]
        assert numbers == [1, 2, 0]
        assert [*pool.map(slow_first, [0, 1, 2])] == [0, 1, 2]


def test_pool_maps_as_the_library_does() -> None:
    with LocalPool(1) as one, LocalPool(2) as two, ThreadPoolExecutor(2) as threads:
        for pool in (one, two, threads):
            assert [*pool.map(pow, [2, 3], repeat(2))] == [4, 9]
            assert [*pool.map(pow, [2, 3, 4], repeat(3))] == [8, 27, 64]
            assert [*pool.map(pow, [], [])] == []


@pytest.mark.parametrize("workers", [1, 2])
def test_failed_work_says_where_it_failed(workers: int) -> None:
    with (
        LocalPool(workers) as pool,
        pytest.raises(ValueError, match="invalid literal for int") as failed,
    ):
        pool.map(int, ["1", "x", "2", "3"])
    if workers > 1:
        assert "in _answer_of" in failed.value.__notes__[0]


def test_pool_works_on_after_a_failure() -> None:
    with LocalPool(2) as pool:
        with pytest.raises(ZeroDivisionError):
            pool.map(divmod, [1, 2, 3, 4], [0, 1, 1, 1])
        assert [*pool.map(divmod, [7, 8], [2, 2])] == [(3, 1), (4, 0)]


def named_semaphores(_: int) -> list[str]:
    from tqdm import tqdm

    with tqdm(total=1, disable=True):
        maps = Path(f"/proc/{os.getpid()}/maps").read_text().splitlines()
    return [line for line in maps if "/dev/shm/sem." in line]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at Linux processes")
def test_progress_bars_in_processes_leave_no_semaphores() -> None:
    """Processes are killed when there is no work: what they share would stay behind."""
    with LocalPool(2) as pool:
        assert list(pool.map(named_semaphores, range(2))) == [[], []]


def test_process_that_ends_at_work_is_an_error() -> None:
    with (
        LocalPool(2) as pool,
        pytest.raises(OSError, match=r"ended with status 3 at job [12] of 2"),
    ):
        pool.map(os._exit, [3, 3])


def interrupted_at_work(folder: Path) -> None:
    with LocalPool(2) as pool:
        jobs = [(folder / str(number),) for number in range(100)]
        for _ in pool.results(Path.mkdir, jobs):
            raise KeyboardInterrupt


def test_an_exception_ends_the_processes_and_drops_the_work_that_waits(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_at_work(tmp_path)
    assert multiprocessing.active_children() == []
    assert len(list(tmp_path.iterdir())) < 10


def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script, files = tmp_path / "beating.py", [tmp_path / "one", tmp_path / "two"]
    script.write_text(BEATING)
    parent = subprocess.Popen([sys.executable, str(script), *map(str, files)], cwd=ROOT)
    deadline = time.monotonic() + 60.0
    while not all(file.exists() for file in files) and time.monotonic() < deadline:
        time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    time.sleep(1.0)
    before = [file.read_text() for file in files]
    time.sleep(1.0)
    assert [file.read_text() for file in files] == before


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_bad_number_of_workers(workers: object) -> None:
    with pytest.raises(ValueError, match="workers must be"):
        checked_workers(workers)  # type: ignore[arg-type]
