"""Files appear whole or not at all, whoever else writes them; what is damaged is refused."""

from __future__ import annotations

import csv
import io
import math
import multiprocessing
import os
import platform
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.runtime.files import (
    LARGEST_NPZ,
    LOCK,
    columns_csv,
    folder_lock,
    json_bytes,
    npz_bytes,
    parsed_json,
    read_json,
    read_npz,
    records_csv,
    remove_unfinished,
    write_bytes,
    write_text,
    write_together,
)

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
    write("one")
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers):
        contents = [(tmp_path / name).read_text() for name in "ab"]
        for text in contents:
            assert text == text[: len(text) // 1000] * 1000, "whole at any time"
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0, 0]
    final = {f"{word} 99" * 1000 for word in ("one", "two")}
    assert {path.read_text() for path in tmp_path.iterdir()} <= final
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_one_path_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must differ, got .*file twice"):
        write_together([(tmp_path / "file", b"one"), (tmp_path / "." / "file", b"two")])
    assert list(tmp_path.iterdir()) == []


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


def test_arrays_come_back_and_nothing_else(tmp_path: Path) -> None:
    arrays = {"numbers": np.arange(6.0).reshape(2, 3), "texts": np.array(["pe", "kg"])}
    (tmp_path / "file.npz").write_bytes(npz_bytes(arrays, {"seed": 1}))
    read = read_npz(tmp_path / "file.npz", {"seed": 1})
    assert set(read) == set(arrays)
    with pytest.raises(ValueError, match=r"file.npz is damaged, or of other settings"):
        read_npz(tmp_path / "file.npz", {"seed": 2})
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="things must hold numbers or texts, got object"):
        npz_bytes({"things": np.array([{}])})


@pytest.mark.parametrize("length", [0, 1, 20_001])
def test_columns_are_what_a_csv_reader_reads(length: int) -> None:
    draw = np.random.default_rng(3)
    texts = np.array(["PE", "KG, 0.99", 'a "good" one', "two\nlines", ""])
    numbers = draw.normal(size=length) * 10.0 ** draw.integers(-300, 300, length)
    numbers[:1] = np.nan
    columns = {
        "policy, by name": draw.choice(texts, length),
        "seed": draw.integers(0, 2**64, length, dtype=np.uint64),
        "q": numbers,
    }
    header, *rows = csv.reader(io.StringIO(columns_csv(columns).decode(), newline=""))
    assert header == list(columns)
    assert [row[0] for row in rows] == columns["policy, by name"].tolist()
    assert [int(row[1]) for row in rows] == columns["seed"].tolist()
    read = np.array([float(row[2] or "nan") for row in rows])
    np.testing.assert_array_equal(read, numbers)


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    path.write_bytes(npz_bytes({"zeros": np.zeros(LARGEST_NPZ // 8, np.int64)}))
    assert path.stat().st_size < LARGEST_NPZ / 100
    with pytest.raises(ValueError, match=r"bomb.npz is damaged: it unpacks to 1,07.* bytes"):
        read_npz(path)


def test_arrays_from_elsewhere_need_no_checksum(tmp_path: Path) -> None:
    np.savez(tmp_path / "theirs.npz", numbers=np.arange(3))
    np.testing.assert_array_equal(
        read_npz(tmp_path / "theirs.npz", checked=False)["numbers"], np.arange(3)
    )
    with pytest.raises(ValueError, match=r"theirs.npz is damaged"):
        read_npz(tmp_path / "theirs.npz")


def test_a_digit_that_was_changed_in_checked_json_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    content = json_bytes({"rows": [{"q": np.float64(1.25), "lost": math.nan}]}, checked=True)
    path.write_bytes(content)
    assert read_json(path) == {"rows": [{"q": 1.25, "lost": None}]}
    path.write_bytes(content.replace(b"1.25", b"1.35"))
    with pytest.raises(ValueError, match=r"comparison.json is damaged"):
        read_json(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[" * 100_000, "at most 50 levels"), ("[" * 60 + "]" * 60, "at most 50 levels"),
     ("{", "must be JSON"), (b"\xff", "must be JSON"), ("[NaN]", "finite"),
     ("9" * 5000, "must be JSON")],
)  # fmt: skip
def test_bad_json_names_its_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=f"bad.json .*{message}"):
        read_json(path)
    assert parsed_json("[" * 50 + "]" * 50)


def test_a_table_is_safe_to_look_at() -> None:
    """In a spreadsheet, which runs formulas, and in a terminal, which obeys escapes."""
    records = [{"player": name, "mu": -1.5} for name in ("=cmd|'/c calc'!A1", "a\x1b[31m", "-1")]
    assert records_csv(records).decode().splitlines() == [
        "player,mu", "'=cmd|'/c calc'!A1,-1.5", "a\\x1b[31m,-1.5", "'-1,-1.5"
    ]  # fmt: skip


HOLDING = """
import sys, time
from pathlib import Path
from matchenv.runtime.files import folder_lock

with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60.0)
"""


def holding(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLDING, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_process_is_told_who_the_first_is(tmp_path: Path) -> None:
    with holding(tmp_path) as first:
        expected = rf"in use by process {first.pid} on {platform.node()} \(-c {tmp_path}\)"
        for _ in range(2):  # being refused changes nothing
            with pytest.raises(ValueError, match=expected), folder_lock(tmp_path):
                pass
        first.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_lock_of_a_process_that_ended_is_taken_over(tmp_path: Path, number: int) -> None:
    with holding(tmp_path) as first:
        first.send_signal(number)
    assert (tmp_path / LOCK).exists()
    with folder_lock(tmp_path):
        assert str(os.getpid()) in (tmp_path / LOCK).read_text()


def test_nothing_stays_behind(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        with folder_lock(folder):
            assert folder.is_dir()
        assert list(tmp_path.iterdir()) == []
    with folder_lock(folder):
        (folder / "results").write_text("")
    assert [file.name for file in folder.iterdir()] == ["results"]


def test_failed_work_frees_the_folder(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), folder_lock(tmp_path):
            raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_one_process_cannot_work_twice_in_a_folder(tmp_path: Path) -> None:
    with folder_lock(tmp_path):
        with (
            pytest.raises(ValueError, match=f"in use by process {os.getpid()}"),
            folder_lock(tmp_path),
        ):
            pass
        assert (tmp_path / LOCK).exists()


@pytest.mark.parametrize("below", [".", "below"])
def test_a_file_is_no_folder(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    with (
        pytest.raises(ValueError, match="folder must be a folder that exists, got"),
        folder_lock(file / below),
    ):
        pass
    assert file.read_text() == "kept"


def test_missing_folder_is_only_made_if_asked_for(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="folder must be a folder that exists, got"),
        folder_lock(tmp_path / "missing", make=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
