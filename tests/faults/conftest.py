"""No pictures are drawn, and files are in memory, to save time."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from long_commands import MEMORY

from matchenv.benchmarks.report import replay
from matchenv.benchmarks.study import figures


@pytest.fixture(autouse=True)
def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace pictures by their data: drawing takes seconds, and no fault can meet it."""
    monkeypatch.setattr(
        figures,
        "pictures",
        lambda found: [("figures/all.png", b"".join(found[0].rows.files().values()))],
    )
    monkeypatch.setattr(replay, "replay_page", lambda found, name, ratings: name)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, if possible: on a disk, syncs would take most of the time."""
    folder = Path(tempfile.mkdtemp(prefix="matchenv-faults-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
