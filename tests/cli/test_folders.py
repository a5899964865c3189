"""Two processes never work in one folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matchenv.cli import run_command
from matchenv.runtime.files import LOCK, folder_lock

SMALL = ["--num-opponents", "2", "--horizon", "2"]


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--episodes", "2", *SMALL],
        ["study", "--episodes", "2", *SMALL],
        ["tune", "--episodes", "2", *SMALL],
        ["train", "--timesteps", "10", *SMALL],
    ],
    ids=lambda words: words[0],
)
def test_the_second_process_is_told_who_the_first_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with folder_lock(tmp_path):
        assert run_command([*words, "--out", str(tmp_path), "--quiet"]) == 2
        assert [file.name for file in tmp_path.iterdir()] == [LOCK]
    said = capsys.readouterr().err.splitlines()[-1]  # a new machine says first that it compiles
    assert said.startswith("error: ")
    assert f"{tmp_path} is in use by process {os.getpid()} on " in said


def test_a_run_that_is_being_trained_is_not_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with folder_lock(tmp_path):
        assert run_command(["train", "--resume", str(tmp_path), "--quiet"]) == 2
    assert f"in use by process {os.getpid()}" in capsys.readouterr().err
