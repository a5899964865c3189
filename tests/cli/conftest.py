"""A command typed in a folder."""

from __future__ import annotations

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
        return Ended(status, out, error)

    return run
