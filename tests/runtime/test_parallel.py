"""Worker processes: order of results, errors, ends; names of engines."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.runtime import parallel
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import RETRIES, WorkerEnded, results_of

ROOT = Path(__file__).resolve().parents[2]

# A parent whose workers print their ids and wait.
WAITING = """
import os, signal
from matchenv.runtime.parallel import results_of

def wait(number):
    os.write(1, f"{os.getpid()}\\n".encode())
    signal.pause()

list(results_of(wait, range(2), 2))
"""

# A script without a main guard, with a class of its own.
SCRIPT = """
from matchenv.runtime.parallel import results_of

class Number:
    def __init__(self, value):
        self.value = value

def doubled(number):
    return Number(2 * number.value)

results = dict(results_of(doubled, [Number(1), Number(2), Number(3)], 2))
print([results[index].value for index in range(3)])
"""


def first_waits(job: tuple[int, Path]) -> None:
    """Finish the first job once the results of the two others have arrived."""
    number, folder = job
    while number == 0 and len(list(folder.iterdir())) < 2:
        time.sleep(0.01)


def test_results_come_as_jobs_complete(tmp_path: Path) -> None:
    jobs = [(number, tmp_path) for number in range(3)]
    order = []
    for index, _ in results_of(first_waits, jobs, 2):
        order.append(index)
        (tmp_path / str(index)).touch()
    assert order == [1, 2, 0]
    assert list(results_of(abs, [0, -1, 2], 1)) == [(0, 0), (1, 1), (2, 2)]
    assert list(results_of(abs, [], 2)) == []
    large = [np.full(1_000_000, float(number)) for number in range(5)]  # for the buffer of a pipe
    results = dict(results_of(np.negative, large, 2))
    assert [results[index][-1] for index in range(5)] == [0.0, -1.0, -2.0, -3.0, -4.0]


class OddError(Exception):
    """An error that pickle cannot restore."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def ends(job: Any) -> int:
    if job == "end":
        os._exit(3)
    if job == "odd":
        raise OddError("this", "that")
    return int(job)


def test_errors_say_where_they_come_from() -> None:
    for workers in (1, 2):
        with pytest.raises(ValueError, match="invalid literal for int") as failed:
            list(results_of(ends, ["1", "x", "2", "3"], workers))
    assert "return int(job)" in failed.value.__notes__[0]
    with pytest.raises(RuntimeError, match="OddError: this and that"):
        list(results_of(ends, [1, "odd"], 2))


def killed_at_first(job: tuple[int, Path]) -> int:
    """Return a number; kill this process at the first call for each odd one."""
    number, folder = job
    file = folder / str(number)
    if number % 2 and not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_jobs_of_killed_workers_are_repeated(tmp_path: Path) -> None:
    jobs = [(number, tmp_path) for number in range(4)]
    assert sorted(results_of(killed_at_first, jobs, 2)) == [(n, n) for n in range(4)]


def test_jobs_that_always_end_their_worker_are_named() -> None:
    with pytest.raises(
        WorkerEnded, match=rf"ended, {RETRIES + 1} times at job 1 of 2 or job 2 of 2 \(is"
    ):
        list(results_of(ends, ["end", "end"], 2))


def begin(folder: Path) -> None:
    """Make a folder; all but the first then wait."""
    folder.mkdir()
    if folder.name != "0":
        signal.pause()


def test_closing_ends_running_and_waiting_jobs(tmp_path: Path) -> None:
    jobs = [tmp_path / str(number) for number in range(100)]
    with closing(results_of(begin, jobs, 2)) as results:
        next(results)
    begun = len(list(tmp_path.iterdir()))
    assert begun <= 3
    # New workers take the next jobs.
    assert sorted(results_of(abs, [-1, -2], 2)) == [(0, 1), (1, 2)]
    assert len(list(tmp_path.iterdir())) == begun


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    parent = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, stdout=subprocess.PIPE)
    assert {int(parent.stdout.readline()) for _ in range(2)}.isdisjoint({parent.pid})
    parent.kill()
    # The workers share the pipe, which ends with the last of them.
    assert parent.stdout.read() == b""
    parent.wait()


@pytest.mark.parametrize("way", ["script", "notebook"])
def test_scripts_and_notebooks_need_no_main_guard(way: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = [str(script)] if way == "script" else ["-c", SCRIPT]
    found = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (found.stdout, found.stderr) == ("[2, 4, 6]\n", "")


def threads_of_libraries(_: int) -> list[str | None]:
    return [os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS", "MKL")]


def test_libraries_use_one_thread_in_each_worker() -> None:
    assert dict(results_of(threads_of_libraries, [0, 1], 2)) == {0: ["1"] * 3, 1: ["1"] * 3}


test_bad_options_of_a_run_are_refused = refusals(
    *(({"engine": name}, "engine must be local, ray or ray:ADDRESS, got")
      for name in ("", "dask", "local:2", "ray:", "Ray", ":auto", "rays", 5)),
    *(({"workers": workers}, "workers must be an integer of") for workers in (0, -1, 1.5, True)),
    ({"overwrite": "no"}, "overwrite must be True or False, got 'no'"),
    call=lambda options: RunOptions(**options),
)  # fmt: skip


def test_without_ray_nothing_starts(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ray(name: str) -> ModuleSpec | None:
        assert name == "ray"
        return None

    monkeypatch.setattr(parallel, "find_spec", without_ray)
    error = 'error: engine ray needs the package ray: pip install "matchenv[ray]"\n'
    assert typed("compare --engine ray:auto --out out") == (2, "", error)
    assert not Path("out").exists()
