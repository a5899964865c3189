"""Worker processes: order of results, errors, ends; names of engines."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.runtime import parallel
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import results_of

ROOT = Path(__file__).resolve().parents[2]

# A parent whose workers print their ids and wait.
WAITING = """
import os, signal
from matchenv.runtime.parallel import results_of

def wait(number):
    os.write(1, f"{os.getpid()}\\n".encode())
    signal.pause()

if __name__ == "__main__":
    list(results_of(wait, range(2), 2))
"""

# Work of a module in the working folder.
IMPORTING = """
from importlib import import_module
from matchenv.runtime.object_spec import search_working_folder
from matchenv.runtime.parallel import results_of

if __name__ == "__main__":
    search_working_folder()
    print(sorted(results_of(import_module("own").twice, [1, 2], 2)))
"""


@pytest.fixture(autouse=True)
def _no_process_stays_behind() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


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
    with pytest.raises(OSError, match=r"was killed, or ended, at .*job 3 of 3 \(is"):
        list(results_of(ends, [1, 2, "end"], 2))


def begin(folder: Path) -> None:
    """Make a folder; all but the first then wait."""
    folder.mkdir()
    if folder.name != "0":
        signal.pause()


def test_closing_ends_running_and_waiting_jobs(tmp_path: Path) -> None:
    jobs = [tmp_path / str(number) for number in range(100)]
    with closing(results_of(begin, jobs, 2)) as results:
        next(results)
    assert multiprocessing.active_children() == []
    assert len(list(tmp_path.iterdir())) <= 3


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    parent = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, stdout=subprocess.PIPE)
    assert {int(parent.stdout.readline()) for _ in range(2)}.isdisjoint({parent.pid})
    parent.kill()
    # The workers share the pipe, which ends with the last of them.
    assert parent.stdout.read() == b""
    parent.wait()


def test_workers_search_the_working_folder_last(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for name in ("selectors", "signal", "socket"):  # of workers and of the resource tracker
        (tmp_path / "here" / f"{name}.py").write_text("open('imported', 'w')")
    (tmp_path / "here" / "own.py").write_text("def twice(number):\n    return 2 * number")
    script = tmp_path / "main.py"
    script.write_text(IMPORTING)
    found = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path / "here", capture_output=True, text=True
    )
    assert (found.stdout, found.stderr) == ("[(0, 2), (1, 4)]\n", "")
    assert not (tmp_path / "here" / "imported").exists()


test_bad_options_of_a_run_are_refused = refusals(
    *(({"engine": name}, "engine must be local, ray or ray:ADDRESS, got")
      for name in ("", "dask", "local:2", "ray:", "Ray", ":auto", "rays", 5)),
    *(({"workers": workers}, "workers must be an integer of") for workers in (0, -1, 1.5, True)),
    ({"replace_out": "no"}, "replace_out must be True or False, got 'no'"),
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
