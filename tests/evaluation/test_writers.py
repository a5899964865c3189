"""Files written by threads: all of them, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from matchenv.evaluation.writers import Writers


def test_all_are_written_at_the_end(tmp_path: Path) -> None:
    with Writers() as writers:
        for number in range(200):
            writers.write(tmp_path / str(number), bytes([number]))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        str(number): bytes([number]) for number in range(200)
    }


def written(folder: Path, count: int, error: BaseException) -> None:
    with Writers() as writers:
        for number in range(count):
            writers.write(folder / str(number), b"x" * 100_000)
        raise error


def all_written(folder: Path, count: int) -> None:
    with Writers() as writers:
        for number in range(count):
            writers.write(folder / str(number), b"")


@pytest.mark.parametrize("count", [1, 1000])
def test_one_that_cannot_be_written_is_an_error(count: int, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        all_written(tmp_path / "missing", count)


def test_the_error_comes_before_the_work_is_over(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        written(tmp_path / "missing", 1000, AssertionError("nobody was told"))


def test_what_was_begun_is_whole_after_an_exception(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path, 50, KeyboardInterrupt())
    assert {file.stat().st_size for file in tmp_path.iterdir()} <= {100_000}
