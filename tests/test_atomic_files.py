"""Files appear whole or not at all, whoever else writes them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from matchenv.ratings.leaderboard import Leaderboard
from matchenv.runtime.files import (
    remove_unfinished,
    write_bytes,
    write_text,
    write_together,
)

SECONDS = 1.0
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444, 0o755])
def test_the_mode_of_an_older_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "board.json"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link, second = tmp_path / "far" / "real", tmp_path / "link", tmp_path / "second"
    link.symlink_to(real)
    second.symlink_to("link")
    for content in ("made through the link", "written again"):
        write_text(second, content)
        assert link.is_symlink()
        assert second.is_symlink()
        assert real.read_text() == content
    assert {path.name for path in tmp_path.rglob("*")} == {"far", "real", "link", "second"}


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    write_text(Path(os.devnull), "nobody reads it")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "a folder is none")
    assert list(tmp_path.iterdir()) == []
    assert [each.name for each in tmp_path.parent.iterdir() if "unfinished" in each.name] == []


def test_long_names_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        write_text(tmp_path / name, name)
        assert (tmp_path / name).read_text() == name


@pytest.mark.parametrize("fault", ["write", "fsync", "replace"])
def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, fault, full)
        with pytest.raises(OSError, match=r"No space left on device: .*file'"):
            write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_overwritten_or_removed(tmp_path: Path) -> None:
    (tmp_path / ".new.unfinished").write_text("half of a longer file")
    write_text(tmp_path / "new", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new").read_text() == "whole"
    others = [".hidden", "work.unfinished", "new"]
    (tmp_path / "below" / ".folder.unfinished" / "deep").mkdir(parents=True)
    for name in (".old.json.unfinished", "below/.old.unfinished", *others):
        (tmp_path / name).write_text("half")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["below", *others])


@pytest.mark.skipif(FORK is None, reason="locks files as Unix does")
def test_two_processes_write_the_same_files(tmp_path: Path) -> None:
    """Each file is one process's whole content, and none of the temporary files stays."""
    assert FORK is not None

    def write(word: str) -> None:
        for number in range(100):
            files = [(tmp_path / name, f"{word} {number}".encode() * 1000) for name in "ab"]
            write_together(files)

    writers = [FORK.Process(target=write, args=(word,)) for word in ("one", "two")]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0, 0]
    contents = {f"{word} 99" * 1000 for word in ("one", "two")}
    assert {path.read_text() for path in tmp_path.iterdir()} <= contents
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def board_of(side: str, players: int) -> Leaderboard:
    board = Leaderboard()
    for number in range(players):
        board.update([[f"{side}{number}"], [f"{side}other"]], [0, 1])
    return board


@pytest.mark.skipif(FORK is None, reason="forks")
def test_two_processes_save_one_leaderboard(tmp_path: Path) -> None:
    """No save fails, and whoever reads sees one of the two, whole."""
    assert FORK is not None
    path = tmp_path / "board.json"
    boards = [board_of("one", 20), board_of("two", 60)]
    contents = []
    for board in boards:
        board.save(path)
        contents.append(path.read_bytes())
    end = time.monotonic() + SECONDS

    def save(board: Leaderboard) -> None:
        while time.monotonic() < end:
            board.save(path)

    savers = [FORK.Process(target=save, args=(board,)) for board in boards]
    for each in savers:
        each.start()
    while time.monotonic() < end:
        assert path.read_bytes() in contents
        assert len(Leaderboard.load(path)) in (21, 61)
    for each in savers:
        each.join()
    assert [each.exitcode for each in savers] == [0, 0]
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_come_back(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    write_bytes(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == content


def test_ctrl_c_just_after_a_new_file_was_made_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.open

    def make_and_interrupt(*arguments: Any) -> int:
        made = make(*arguments)
        signal.raise_signal(signal.SIGINT)
        return made

    (tmp_path / "result").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", make_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_bytes(tmp_path / "result", b"new")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("result", b"old")]
