"""A folder of results belongs to one process at a time."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from matchenv.runtime.files import LOCK, folder_lock

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
