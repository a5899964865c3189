"""Settings of the whole test suite."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from matchenv.cli import run_command
from matchenv.runtime.compile import _Notice

# Windows are opened without a screen.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Tables of the tests are kept beside the build, not in the home of whoever runs them.
os.environ.setdefault("MATCHENV_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))

# A change must not fail for an example that another change would have met just as well; the
# search for new examples goes on wherever people run the tests.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# What a test reads from a command must not depend on who was the first to compile a function.
_Notice.due = False


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
