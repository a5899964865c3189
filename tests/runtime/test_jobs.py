"""Jobs that are stopped and resumed, folders that take more jobs, damaged results."""

import io
import platform
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.runtime import jobs
from matchenv.runtime.files import Arrays, folder_lock
from matchenv.runtime.jobs import CLOCK, EXTENDABLE, Job, RunOptions

SETTINGS = {"command": "test"}
# A temporary file of a killed process; no process has such an id.
LEFT = f".0.{2**22 + 1}@{platform.node()}.unfinished"
NUMBERS = range(7)
SQUARES = [number**2 for number in NUMBERS]


def squared(number: int) -> Arrays:
    return {"value": np.array([number**2]), CLOCK: np.array([1.0, 2.0])}


def results(folder: Path | None, played: list[Job], **options: Any) -> list[Arrays]:
    with RunOptions(folder, quiet=True, **options).store(SETTINGS) as store:
        return store.results(played)


def squares(
    folder: Path | None,
    work: Callable[[int], Arrays] = squared,
    numbers: Any = NUMBERS,
    key: Callable[[int], Mapping[str, Any] | None] = lambda number: {"number": number},
    **options: Any,
) -> list[int]:
    """Square numbers, one job for each."""
    played = [Job(key(number), 1, partial(work, number)) for number in numbers]
    return [int(arrays["value"][0]) for arrays in results(folder, played, **options)]


class Counted:
    """Squares numbers, and keeps the list of them."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, number: int) -> Arrays:
        self.numbers.append(number)
        return squared(number)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("done", [0, 3, 6])
def test_stopped_work_is_resumed(tmp_path: Path, stop: Any, done: int) -> None:
    worked: list[int] = []

    def until_stopped(number: int) -> Arrays:
        if len(worked) == done:
            raise stop
        worked.append(number)
        return squared(number)

    with pytest.raises(stop):
        squares(tmp_path, until_stopped)
    assert len(list((tmp_path / "blocks").iterdir())) == done
    (tmp_path / "blocks" / LEFT).write_bytes(b"half")
    resumed = Counted()
    assert squares(tmp_path, resumed) == SQUARES
    assert resumed.numbers == list(NUMBERS)[done:]
    assert len(list((tmp_path / "blocks").iterdir())) == 7
    assert not (tmp_path / ".lock").exists()


def test_a_folder_takes_more_jobs(tmp_path: Path) -> None:
    counted = Counted()
    assert squares(tmp_path, counted, [1, 2]) == [1, 4]
    assert squares(tmp_path, counted, [3, 2]) == [9, 4]
    assert squares(tmp_path, counted, [1]) == [1]
    assert counted.numbers == [1, 2, 3]
    assert squares(tmp_path, counted, [1, 3], overwrite=True) == [1, 9]
    assert counted.numbers == [1, 2, 3, 1, 3]


def test_jobs_without_a_key_are_played_anew(tmp_path: Path) -> None:
    counted = Counted()
    for _ in range(2):
        assert squares(tmp_path, counted, [1], key=lambda _: None) == [1]
    assert counted.numbers == [1, 1]
    assert list((tmp_path / "blocks").iterdir()) == []


def test_times_are_not_kept(tmp_path: Path) -> None:
    played = [Job({"number": 2}, 1, partial(squared, 2))]
    assert CLOCK in results(tmp_path, played)[0]
    assert CLOCK not in results(tmp_path, played)[0]


def test_results_of_other_versions_are_used_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted()
    monkeypatch.setattr(jobs, "provenance", lambda: {"numpy": "1.0", "scipy": "1.0"})
    squares(tmp_path, counted, [1, 2])
    monkeypatch.setattr(jobs, "provenance", lambda: {"numpy": "2.0", "scipy": "1.0"})
    with pytest.warns(UserWarning, match=r"^2 of 3 blocks in .* made with numpy 1.0; ") as caught:
        squares(tmp_path, counted, [1, 2, 3])
    assert len(caught) == 1
    assert counted.numbers == [1, 2, 3]
    squares(tmp_path, counted, [1, 2, 3], overwrite=True)
    assert counted.numbers == [1, 2, 3, 1, 2, 3]


def rows(count: int, extendable: bool, played: list[tuple[int, int]]) -> Job:
    """Return a job whose rows are its indices; it records which of them it plays."""

    def call(start: int = 0) -> Arrays:
        played.append((start, count))
        values = np.arange(start, count, dtype=float)
        return {"value": values, EXTENDABLE: np.array(extendable), CLOCK: np.ones(2)}

    return Job({"rows": 1}, count, call, call)


@pytest.mark.parametrize("extendable", [True, False])
def test_a_job_of_more_episodes_plays_only_the_new_ones(tmp_path: Path, extendable: bool) -> None:
    """Unless they depend on the others; in any case with the bytes of a fresh run."""
    played: list[tuple[int, int]] = []
    for count in (3, 5, 5, 4):
        (arrays,) = results(tmp_path / "more", [rows(count, extendable, played)])
        assert arrays["value"].tolist() == list(range(count))
    if extendable:
        assert played == [(0, 3), (3, 5)]
    else:
        assert played == [(0, 3), (0, 5), (0, 4)]
    results(tmp_path / "more", [rows(5, extendable, played)])
    results(tmp_path / "fresh", [rows(5, extendable, played)])
    (fresh,) = (tmp_path / "fresh" / "blocks").iterdir()
    assert (tmp_path / "more" / "blocks" / fresh.name).read_bytes() == fresh.read_bytes()


def test_new_episodes_with_random_choices_play_the_whole_job(tmp_path: Path) -> None:
    """A policy may draw random numbers only in the new episodes."""
    played: list[tuple[int, int]] = []
    results(tmp_path, [rows(3, True, played)])
    (arrays,) = results(tmp_path, [rows(5, False, played)])
    assert arrays["value"].tolist() == list(range(5))
    assert played == [(0, 3), (3, 5), (0, 5)]


def test_a_damaged_or_foreign_block_is_named_and_played_again(tmp_path: Path) -> None:
    squares(tmp_path, numbers=[3])
    (block,) = (tmp_path / "blocks").iterdir()
    whole = block.read_bytes()
    with np.load(block) as file:
        kept = {name: file[name] for name in file.files}
    bad = [b"", b"not a block", b"PK\x03\x04 half a file"]
    for value in (np.array(np.nan), np.array([], np.int64)):
        changed = io.BytesIO()
        np.savez_compressed(changed, **{**kept, "value": value})
        bad.append(changed.getvalue())
    for content in bad:
        block.write_bytes(content)
        with pytest.warns(UserWarning, match=r"npz is damaged.*; it is played again"):
            assert squares(tmp_path, numbers=[3]) == [9]
        assert block.read_bytes() == whole
    squares(tmp_path / "other", numbers=[4])
    (other,) = (tmp_path / "other" / "blocks").iterdir()
    block.write_bytes(other.read_bytes())
    assert squares(tmp_path, numbers=[3]) == [9]


def test_workers_give_the_same_bytes(tmp_path: Path) -> None:
    assert squares(tmp_path / "one") == squares(tmp_path / "two", workers=2) == SQUARES
    for block in (tmp_path / "one" / "blocks").iterdir():
        assert (tmp_path / "two" / "blocks" / block.name).read_bytes() == block.read_bytes()


def test_results_are_reported_even_if_they_cannot_be_written(tmp_path: Path) -> None:
    reported: list[str] = []
    options = RunOptions(tmp_path / "out", report=reported.append)
    with options.store(SETTINGS) as store:
        for word in ("old", "new"):
            store.finish(word, [("below/a.txt", word.encode())])
        assert (tmp_path / "out" / "below" / "a.txt").read_text() == "new"
        with pytest.raises(IsADirectoryError):
            store.finish("lost", [("below", b"a folder is none")])
    assert reported == ["old", "new", "lost"]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="other files in it"):
        squares(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with folder_lock(tmp_path), pytest.raises(ValueError, match="one process at a time"):
        squares(tmp_path)
