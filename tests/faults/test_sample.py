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
from matchenv.runtime.jobs import RunOptions, run_jobs
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


def store(folder: Path) -> None:
    """Two jobs and a result, as every command with a store has them."""
    options = RunOptions(folder / "new" / "out", workers=1, quiet=True)
    with options.store({"seed": 1}) as opened:
        found = run_jobs([Square(0), Square(1)], squared, opened, options)
        content = b"".join(each["value"].tobytes() for each in found)
        options.finish(opened, None, [("curves/top.csv", content)])


def leaderboard(folder: Path) -> None:
    """One file over an older one, which is there at any time."""
    path = folder / "board.json"
    assert not path.exists() or Leaderboard.load(path).newcomer.mu in (1.0, 2.0)
    if not path.exists():
        Leaderboard(mu=1.0).save(path)
    Leaderboard(mu=2.0).save(path)


@pytest.mark.parametrize(("kind", "status"), [(KILL, -signal.SIGKILL), (FULL, 1)])
@pytest.mark.parametrize("write", [store, leaderboard])
def test_a_fault_at_every_operation(
    tmp_path: Path, write: Callable[[Path], None], kind: str, status: int
) -> None:
    """Done again, it ends as if nobody had disturbed it; nothing else stays."""

    def in_folder(folder: Path) -> Callable[[], int]:
        def work() -> int:
            try:
                write(folder)
            except OSError:
                return 1
            return 0

        return work

    provenance()  # found once in a process, so that its forks have it
    whole = tmp_path / "whole"
    whole.mkdir()
    counted = with_fault(in_folder(whole), whole, Fault(kind))
    assert (counted.status, counted.said) == (0, "")
    assert counted.operations > 8
    for at in range(1, counted.operations + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert with_fault(in_folder(folder), folder, Fault(kind, at)).status == status
        ended = with_fault(in_folder(folder), folder)
        assert (ended.status, ended.said) == (0, ""), at
        assert content_of(folder) == content_of(whole), at
        shutil.rmtree(folder)


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
