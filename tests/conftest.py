"""Settings and fixtures of the whole test suite."""

import os

# Before NumPy and torch are imported. Each worker of pytest has one core, on which further threads
# of OpenBLAS and torch wait for each other: LAPACK's dpotri of a 6 x 6 matrix takes 0.9 ms of
# processor time with two threads on two busy cores, 0.002 ms with one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from matchenv.cli import run_command
from matchenv.runtime.compile import _Notice

# Windows without a screen.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Tables are cached in the build folder, not in the user's home.
os.environ.setdefault("MATCHENV_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))

# In continuous integration, a change must not fail by a new example of Hypothesis.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# The output of a command must not depend on which test compiles first.
_Notice.due = False


class Ended(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    error: str

    @property
    def refusal(self) -> str:
        """Last line on the standard error of a command that refused its input."""
        line = self.error.rpartition("error: ")[2]
        assert (self.status, line.count("\n")) == (2, 1), self
        return line


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str | list[str]], Ended]:
    """Run commands in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(words: str | list[str]) -> Ended:
        status = run_command(words.split(" ") if isinstance(words, str) else words)
        out, error = capsys.readouterr()
        return Ended(status, out, error)

    return run
