"""A sample of the faults that takes seconds: it runs with the quick tests."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from fault_injection import FULL, KILL, Fault, content_of, with_fault
from long_commands import LONG_COMMANDS
from undisturbed import differing, undisturbed

from matchenv.ratings.leaderboard import Leaderboard
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import RunOptions, open_store, run_jobs, write_results
from matchenv.runtime.provenance import provenance

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"
)

EVERY = 15


@dataclass(frozen=True)
class Square:
    """A job."""

    number: int
    count: int = 1
    lasting: bool = True

    @property
    def name(self) -> str:
        return f"square{self.number}"


def squared(job: Square) -> Arrays:
    return {"value": np.array(job.number**2)}


def store_in(folder: Path) -> Callable[[], int]:
    """Two jobs and a result, as every command with a store has them."""

    def work() -> int:
        try:
            with open_store(folder / "new" / "out", {"seed": 1}) as store:
                found = run_jobs(
                    [Square(number) for number in range(2)],
                    squared,
                    store,
                    RunOptions(workers=1, quiet=True),
                )
                content = b"".join(each["value"].tobytes() for each in found)
                write_results(store, [("curves/top.csv", content)])
        except OSError:
            return 1
        return 0

    return work


def operations_of(work: Callable[[Path], Callable[[], int]], folder: Path, kind: str) -> int:
    """How many there are where nobody disturbs them."""
    provenance()  # found once in a process, so that its forks have it
    folder.mkdir()
    counted = with_fault(work(folder), folder, Fault(kind))
    assert (counted.status, counted.said) == (0, "")
    return counted.operations


@pytest.mark.parametrize(("kind", "status"), [(KILL, -signal.SIGKILL), (FULL, 1)])
def test_a_store_stands_a_fault_at_every_operation(tmp_path: Path, kind: str, status: int) -> None:
    """From the first folder that is made on: what it has begun it knows for its own."""
    whole = tmp_path / "whole"
    operations = operations_of(store_in, whole, kind)
    assert operations > 20
    for at in range(1, operations + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert with_fault(store_in(folder), folder, Fault(kind, at)).status == status
        ended = with_fault(store_in(folder), folder)
        assert (ended.status, ended.said) == (0, ""), at
        assert content_of(folder) == content_of(whole), at
        shutil.rmtree(folder)


@pytest.mark.parametrize(("kind", "status"), [(KILL, -signal.SIGKILL), (FULL, 1)])
def test_a_leaderboard_is_the_old_one_or_the_new_one(
    tmp_path: Path, kind: str, status: int
) -> None:
    boards = [Leaderboard(mu=mu) for mu in (1.0, 2.0)]

    def save(folder: Path) -> Callable[[], int]:
        def work() -> int:
            try:
                boards[1].save(folder / "board.json")
            except OSError:
                return 1
            return 0

        return work

    for at in range(1, operations_of(save, tmp_path / "whole", kind) + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        boards[0].save(folder / "board.json")
        assert with_fault(save(folder), folder, Fault(kind, at)).status == status
        assert Leaderboard.load(folder / "board.json").newcomer.mu in (1.0, 2.0)
        assert with_fault(save(folder), folder).status == 0
        assert [path.name for path in folder.iterdir()] == ["board.json"]
        assert Leaderboard.load(folder / "board.json").newcomer.mu == 2.0


def test_a_command_goes_on(tmp_path: Path) -> None:
    """Some of the operations of a real one; ``make test-faults`` has all of all."""
    (compare,) = (each for each in LONG_COMMANDS if each.name == "compare")
    for at in range(1, undisturbed(compare).operations + 1, EVERY):
        folder = tmp_path / str(at)
        folder.mkdir()
        ended = with_fault(compare.work(folder), folder, Fault(KILL, at))
        assert ended.status == -signal.SIGKILL
        ended = with_fault(compare.work(folder), folder)
        assert (ended.status, ended.said) == (0, "")
        assert differing(compare, folder) == []
