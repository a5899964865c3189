"""Atomic writes, locked folders, and formats that detect damage."""

import csv
import io
import math
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.runtime import files


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o755, None])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int | None) -> None:
    path, usual = tmp_path / "board.json", tmp_path / "usual"
    usual.write_text("old")
    if mode is not None:
        path.write_text("old")
        path.chmod(mode)
        usual.chmod(mode)
    files.write_bytes(path, b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode == usual.stat().st_mode


def test_links_special_files_and_long_names(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real", tmp_path / "link"
    link.symlink_to(real)
    for content in ("new", "written again"):
        files.write_bytes(link, content.encode())
        assert link.is_symlink()
        assert real.read_text() == content
    for name in ("x" * 255, "é" * 127):
        files.write_bytes(tmp_path / name, name.encode())
        assert (tmp_path / name).read_text() == name
    files.write_bytes(Path(os.devnull), b"lost")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError, match="far"):
        files.write_together([(tmp_path / "unwritten", b"new"), (tmp_path / "far", b"")])
    with pytest.raises(ValueError, match=r"must differ, got .*real twice"):
        files.write_together([(real, b"one"), (tmp_path / "far" / ".." / "far" / "real", b"two")])
    assert len(list(tmp_path.rglob("*"))) == 5


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize(("fault", "call"), [("os.fsync", 2), ("os.replace", 1), ("io.open", 2)])
def test_a_failed_write_of_two_files_changes_neither(
    tmp_path: Path, fault: str, call: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "file", tmp_path / "second"]
    for path in paths:
        path.write_text("old")
    real = {"os.fsync": os.fsync, "os.replace": os.replace, "io.open": open}[fault]
    happens = iter([False] * (call - 1) + [True])

    def strike(*arguments: Any) -> Any:
        if next(happens):
            raise error
        return real(*arguments)

    monkeypatch.setattr(fault.replace("io.", "builtins."), strike)
    with pytest.raises(type(error)) as raised:
        files.write_together([(path, b"new") for path in paths])
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert f"No space left on device: '{paths[call - 1]}'" in str(raised.value)
    assert sorted(tmp_path.iterdir()) == paths
    assert [path.read_text() for path in paths] == ["old", "old"]


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """Those of living processes and other machines stay, and so do a user's own files."""
    dead, host = 2**22 + 1, platform.node()  # above all process ids of Linux
    left, below = f".0.{dead}@{host}.unfinished", tmp_path / "below"
    others = [".hidden", "work.unfinished", ".mine.unfinished", f".0.{dead}@not-{host}.unfinished",
              f".7.{os.getpid()}@{host}.unfinished"]  # fmt: skip
    below.mkdir()
    for folder in (tmp_path, below):
        for name in (left, *others):
            (folder / name).write_text("")
    files.write_bytes(tmp_path / "new", b"")
    assert sorted(os.listdir(tmp_path)) == sorted(["below", "new", *others])
    with files.folder_lock(tmp_path):
        assert sorted(os.listdir(below)) == sorted(others)


def test_two_processes_write_the_same_files(tmp_path: Path) -> None:
    """Each file always holds the whole content of one process."""

    def write(word: str) -> None:
        for number in range(60):
            content = f"{word} {number}".encode() * 1000
            files.write_together([(tmp_path / name, content) for name in "ab"])

    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write, args=(word,)) for word in ("one", "two")]
    for name in "ab":
        (tmp_path / name).write_text("old" * 1000)
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        for name in "ab":
            text = (tmp_path / name).read_text()
            assert text == text[: len(text) // 1000] * 1000
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_arrays_are_read_back_and_checked(tmp_path: Path) -> None:
    arrays = {"numbers": np.arange(6.0).reshape(2, 3), "texts": np.array(["pe", "kg"])}
    path = tmp_path / "file.npz"
    path.write_bytes(files.npz_bytes(arrays, {"seed": 1}))
    read = files.read_npz(path, {"seed": 1})
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
    with pytest.raises(ValueError, match=r"file.npz is damaged, or of other settings"):
        files.read_npz(path, {"seed": 2})
    with pytest.raises(ValueError, match="things must hold numbers or texts, got object"):
        files.npz_bytes({"things": np.array([{}])})


def test_a_csv_reader_reads_tables_back() -> None:
    draw = np.random.default_rng(3)
    numbers = draw.normal(size=1000) * 10.0 ** draw.integers(-300, 300, 1000)
    numbers[0] = np.nan
    texts = draw.choice(["PE", "KG, 0.99", 'a "good" one', "two\nlines", ""], 1000)
    seeds = draw.integers(0, 2**64, 1000, dtype=np.uint64)
    columns = {"policy, by name": texts, "seed": seeds, "q": numbers}
    header, *rows = csv.reader(io.StringIO(files.columns_csv(columns).decode(), newline=""))
    assert header == list(columns)
    assert [(row[0], int(row[1])) for row in rows] == list(zip(texts, seeds.tolist(), strict=True))
    np.testing.assert_array_equal([files.number(row[2]) for row in rows], numbers)


def test_tables_are_safe_in_spreadsheets_and_terminals() -> None:
    records = [{"player": name, "mu": -1.5} for name in ("=cmd|'/c calc'!A1", "a\x1b[31m", "-1")]
    assert files.records_csv(records).decode().splitlines() == [
        "player,mu", "'=cmd|'/c calc'!A1,-1.5", "a\\x1b[31m,-1.5", "'-1,-1.5"
    ]  # fmt: skip
    names = ["=both", "'=both", "''@x", "'ann", "", "'"]
    cells = files.records_csv([{"player": name} for name in names]).decode().splitlines()[1:]
    read = [files.without_apostrophe(next(csv.reader([cell]), [""])[0]) for cell in cells]
    assert read == names


def test_a_changed_digit_in_checked_json_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    content = files.json_bytes({"rows": [{"q": np.float64(1.25), "lost": math.nan}]}, checked=True)
    path.write_bytes(content)
    assert files.read_json(path) == {"rows": [{"q": 1.25, "lost": None}]}
    path.write_bytes(content.replace(b"1.25", b"1.35"))
    with pytest.raises(ValueError, match=r"comparison.json is damaged"):
        files.read_json(path)


test_bad_json_names_its_file = refusals(
    (b"[" * 100_000, "bad.json .*nested too deeply"),
    (b"[NaN]", "bad.json .*finite"),
    (b"[-1e999]", "bad.json .*finite, got -1e999"),
    *((content, "bad.json .*must be JSON") for content in (b"{", b"\xff", b"9" * 5000)),
    call=files.read_json,
    file="bad.json",
)


HOLDING = """
import sys, time
from pathlib import Path
from matchenv.runtime.files import folder_lock

with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60.0)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        expected = rf"in use by process {first.pid} on {platform.node()} \(-c {tmp_path}\)"
        for _ in range(2):  # a refusal changes nothing
            with pytest.raises(ValueError, match=expected), files.folder_lock(tmp_path):
                pass
        first.send_signal(number)
    assert (tmp_path / files.LOCK).exists()
    with files.folder_lock(tmp_path):
        expected = f"in use by process {os.getpid()}"
        with pytest.raises(ValueError, match=expected), files.folder_lock(tmp_path):
            pass
        assert str(os.getpid()) in (tmp_path / files.LOCK).read_text()


def test_a_lock_leaves_nothing_behind_and_needs_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with pytest.raises(FileNotFoundError), files.folder_lock(folder):
        (folder / "missing").read_text()
    assert list(tmp_path.iterdir()) == []  # no empty folders either
    with files.folder_lock(folder):
        (folder / "results").write_text("")
    for path in (folder / "results", folder / "results" / "below"):
        with pytest.raises(ValueError, match="must be no file, got"), files.folder_lock(path):
            pass
    assert os.listdir(folder) == ["results"]
