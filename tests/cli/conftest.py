"""A command typed in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from matchenv.cli import run_command


class Ended(NamedTuple):
    """Exit status, and what was printed on both streams."""

    status: int
    out: str
    error: str


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Ended]:
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(words: str) -> Ended:
        status = run_command(words.split(" "))
        out, error = capsys.readouterr()
        # A new machine says first that it compiles.
        return Ended(status, out, re.sub("^matchenv: compiling.*\n", "", error))

    return run
