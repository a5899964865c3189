"""Jobs that are stopped at any moment, and folders that are damaged or another's."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.runtime.files import Arrays, folder_lock
from matchenv.runtime.jobs import CLOCK, RunOptions, Store, open_store, run_jobs, write_results

SETTINGS = {"command": "test", "seed": 3, "names": ["a", "b"]}


@dataclass(frozen=True)
class Square:
    """A job."""

    number: int
    count: int = 2
    lasting: bool = True

    @property
    def name(self) -> str:
        return f"square{self.number}"


JOBS = [Square(number) for number in range(7)]


def squared(job: Square) -> Arrays:
    return {"value": np.array(job.number**2), CLOCK: np.array([1.0, 2.0])}


def values(found: list[Arrays]) -> list[int]:
    return [int(arrays["value"]) for arrays in found]


def run(folder: Path | None, work: Any = squared, jobs: Any = JOBS, **settings: Any) -> list[int]:
    with open_store(folder, {**SETTINGS, **settings}) as store:
        return values(run_jobs(jobs, work, store, RunOptions(workers=1, quiet=True)))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left")])
@pytest.mark.parametrize("done", [0, 1, 3, 6])
def test_work_goes_on_where_it_was_stopped(tmp_path: Path, stop: Any, done: int) -> None:
    worked: list[int] = []

    def until_stopped(job: Square) -> Arrays:
        if len(worked) == done:
            raise stop
        worked.append(job.number)
        return squared(job)

    with pytest.raises(type(stop) if isinstance(stop, OSError) else stop):
        run(tmp_path, until_stopped)
    assert len(list((tmp_path / "blocks").iterdir())) == done
    (tmp_path / "blocks" / ".square9.npz.unfinished").write_bytes(b"half")

    def the_rest(job: Square) -> Arrays:
        assert job.number not in worked
        return squared(job)

    assert run(tmp_path, the_rest) == [number**2 for number in range(7)]
    assert len(list((tmp_path / "blocks").iterdir())) == 7
    assert not (tmp_path / ".lock").exists()


def test_a_full_disk_leaves_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = Store.save, []

    def save_until_full(store: Store, name: str, arrays: Arrays) -> None:
        if len(saved) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(store, name, arrays)
        saved.append(name)

    monkeypatch.setattr(Store, "save", save_until_full)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path)
    monkeypatch.setattr(Store, "save", save)
    assert len(list((tmp_path / "blocks").iterdir())) == 4
    assert run(tmp_path) == [number**2 for number in range(7)]


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    """A stop ends the processes of a pool wherever they are, also within a write."""
    left = tmp_path / "blocks" / ".square0.npz.unfinished"

    def killed_within_a_write(job: Square) -> Arrays:
        del job
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, killed_within_a_write)
    assert not left.exists()


def test_without_a_folder_nothing_is_kept() -> None:
    assert run(None) == [number**2 for number in range(7)]


def test_what_cannot_last_is_done_each_time(tmp_path: Path) -> None:
    worked: list[int] = []

    def counted(job: Square) -> Arrays:
        worked.append(job.number)
        return squared(job)

    jobs = [replace(JOBS[1], lasting=False), JOBS[2]]
    for _ in range(2):
        assert run(tmp_path, counted, jobs) == [1, 4]
    assert worked == [1, 2, 1]


def test_clocks_are_never_written(tmp_path: Path) -> None:
    with open_store(tmp_path, SETTINGS) as store:
        fresh = run_jobs(JOBS[:1], squared, store, RunOptions(workers=1, quiet=True))
        again = run_jobs(JOBS[:1], squared, store, RunOptions(workers=1, quiet=True))
    assert CLOCK in fresh[0]
    assert CLOCK not in again[0]


@pytest.mark.parametrize("content", [b"", b"not a block", b"PK\x03\x04 half a file"])
def test_a_damaged_job_is_named_and_done_again(tmp_path: Path, content: bytes) -> None:
    run(tmp_path)
    block = tmp_path / "blocks" / "square3.npz"
    whole = block.read_bytes()
    block.write_bytes(content)
    with pytest.warns(UserWarning, match=r"square3.npz is damaged.*; it is done again"):
        assert run(tmp_path) == [number**2 for number in range(7)]
    assert block.read_bytes() == whole


@pytest.mark.parametrize(
    "arrays", [{"value": np.array(np.nan)}, {"value": np.array([], np.int64)}, {}]
)
def test_a_sound_file_with_other_numbers_is_done_again(tmp_path: Path, arrays: Arrays) -> None:
    run(tmp_path)
    block = tmp_path / "blocks" / "square3.npz"
    with np.load(block) as file:
        kept = {name: file[name] for name in file.files if name != "value"}
    with block.open("wb") as other:
        np.savez_compressed(other, **{**kept, **arrays})
    with pytest.warns(UserWarning, match=r"square3.npz is damaged, or of other settings"):
        assert run(tmp_path)[3] == 9


@pytest.mark.filterwarnings("ignore:.*done again")
def test_a_flipped_byte_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path)
    block = tmp_path / "blocks" / "square3.npz"
    whole = bytearray(block.read_bytes())
    for place in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        block.write_bytes(broken)
        assert run(tmp_path)[3] == 9
        block.write_bytes(whole)


def test_a_job_of_another_folder_is_not_taken(tmp_path: Path) -> None:
    run(tmp_path / "a")
    run(tmp_path / "b", seed=4)
    theirs = (tmp_path / "b" / "blocks" / "square3.npz").read_bytes()
    (tmp_path / "a" / "blocks" / "square3.npz").write_bytes(theirs)
    with pytest.warns(UserWarning, match=r"of other settings or another job; it is done again"):
        assert run(tmp_path / "a")[3] == 9


def test_results_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_all(store: Store | None, word: str) -> None:
        write_results(store, [(f"{name}/{name}.txt", word.encode()) for name in "abc"])

    with open_store(tmp_path, SETTINGS) as store:
        write_all(store, "old")
        real, calls = os.fsync, []

        def full(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                write_all(store, "new")
        texts = [path.read_text() for path in sorted(tmp_path.rglob("?.txt"))]
        assert texts == ["old"] * 3
        assert not list(tmp_path.rglob("*.unfinished"))
        write_all(store, "new")
    assert [path.read_text() for path in sorted(tmp_path.rglob("?.txt"))] == ["new"] * 3


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(ValueError, match="seed was 3 and is 4") as error:
        run(tmp_path, seed=4, names=["a"])
    assert "names was ['a', 'b'] and is ['a']" in str(error.value)
    assert "command" not in str(error.value)
    assert len(list((tmp_path / "blocks").iterdir())) == 7


def test_other_settings_can_be_replaced(tmp_path: Path) -> None:
    run(tmp_path)
    with open_store(tmp_path, {**SETTINGS, "seed": 4}, replace=True) as store:
        assert store is not None
        assert store.load("square0") is None
    assert run(tmp_path, seed=4) == [number**2 for number in range(7)]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="other files in it"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_damaged_settings_are_refused(tmp_path: Path, content: bytes) -> None:
    run(tmp_path)
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"settings.json is damaged"):
        run(tmp_path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with folder_lock(tmp_path), pytest.raises(ValueError, match="one process at a time"):
        run(tmp_path)


def test_results_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    with open_store(tmp_path, SETTINGS) as store:
        found = run_jobs(JOBS, squared, store, RunOptions(workers=3, quiet=True))
    assert values(found) == [number**2 for number in range(7)]
