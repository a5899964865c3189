"""Pools of processes: they work, and leave nothing behind; names of engines."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from matchenv.cli import run_command
from matchenv.runtime import parallel
from matchenv.runtime.parallel import Engine, LocalPool, as_engine

ROOT = Path(__file__).resolve().parents[2]

# Workers that say who they are and wait, and a parent that waits for them.
WAITING = """
import os, signal
from matchenv.runtime.parallel import LocalPool

def wait(number):
    os.write(1, f"{os.getpid()}\\n".encode())
    signal.pause()

if __name__ == "__main__":
    with LocalPool(2) as pool:
        list(pool.results(wait, range(2)))
"""


def first_waits(job: tuple[int, Path]) -> int:
    """Later jobs are done before the first one."""
    number, folder = job
    while number == 0 and len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    (folder / str(number)).touch()
    return number


def test_results_come_when_they_are_there(tmp_path: Path) -> None:
    with LocalPool(2) as pool:
        jobs = [(number, tmp_path) for number in range(3)]
        assert [number for number, _ in pool.results(first_waits, jobs)] == [1, 2, 0]
        for one in (pool, LocalPool(1)):
            assert sorted(one.results(abs, [0, -1, 2])) == [(0, 0), (1, 1), (2, 2)]
            assert list(one.results(abs, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_failed_work_says_where_it_failed(workers: int) -> None:
    with (
        LocalPool(workers) as pool,
        pytest.raises(ValueError, match="invalid literal for int") as failed,
    ):
        list(pool.results(int, ["1", "x", "2", "3"]))
    if workers > 1:
        assert "in _answer_of" in failed.value.__notes__[0]


def test_pool_works_on_after_a_failure() -> None:
    with LocalPool(2) as pool:
        with pytest.raises(ZeroDivisionError):
            list(pool.results((1).__floordiv__, [0, 1, 1, 1]))
        assert sorted(pool.results(abs, [-7, 8])) == [(0, 7), (1, 8)]


def named_semaphores(_: int) -> list[str]:
    from tqdm import tqdm

    with tqdm(total=1, disable=True):
        maps = Path(f"/proc/{os.getpid()}/maps").read_text().splitlines()
    return [line for line in maps if "/dev/shm/sem." in line]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at Linux processes")
def test_progress_bars_in_processes_leave_no_semaphores() -> None:
    """Processes are killed when there is no work: what they share would stay behind."""
    with LocalPool(2) as pool:
        assert [found for _, found in pool.results(named_semaphores, range(2))] == [[], []]


def test_process_that_ends_at_work_is_an_error() -> None:
    with (
        LocalPool(2) as pool,
        pytest.raises(OSError, match=r"ended with status 3 at job [12] of 2"),
    ):
        list(pool.results(os._exit, [3, 3]))


def interrupted_at_work(folder: Path) -> None:
    with LocalPool(2) as pool:
        jobs = [folder / str(number) for number in range(100)]
        for _ in pool.results(Path.mkdir, jobs):
            raise KeyboardInterrupt


def test_an_exception_ends_the_processes_and_drops_the_work_that_waits(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_at_work(tmp_path)
    assert multiprocessing.active_children() == []
    assert len(list(tmp_path.iterdir())) < 10


@pytest.mark.skipif(not hasattr(signal, "pause"), reason="waits as Unix does")
def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    parent = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert {int(parent.stdout.readline()) for _ in range(2)}.isdisjoint({parent.pid})
    parent.kill()
    # The workers have the pipe too: it ends when the last of them has.
    assert parent.stdout.read() == b""
    parent.wait()


def test_numbers_are_processes_of_this_machine() -> None:
    assert as_engine(None) == Engine()
    assert as_engine(3) == Engine("local", 3)
    assert as_engine(Engine("local", 2)) == Engine("local", 2)
    assert isinstance(Engine("local", 2).pool(), LocalPool)


@pytest.mark.parametrize("name", ["", "dask", "local:2", "ray:", "Ray", ":auto", "rays"])
def test_a_bad_engine_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="engine must be local, ray or ray:ADDRESS, got"):
        Engine(name)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_bad_number_of_workers(workers: object) -> None:
    with pytest.raises(ValueError, match="workers must be"):
        Engine("local", workers)  # type: ignore[arg-type]


def test_without_ray_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_ray(name: str) -> ModuleSpec | None:
        assert name == "ray"
        return None

    monkeypatch.setattr(parallel, "find_spec", without_ray)
    out = tmp_path / "out"
    assert run_command(["compare", "--engine", "ray:auto", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said == 'error: engine ray needs the package ray: pip install "matchenv[ray]"\n'
    assert not out.exists()
