"""No pictures are drawn, and files are in memory, to save time."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from long_commands import MEMORY


@pytest.fixture(autouse=True)
def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace pictures by their data: drawing takes seconds, and no fault can meet it."""
    from matchenv.benchmarks.report import replay
    from matchenv.benchmarks.study import figures

    def of_a_study(results: Any) -> list[tuple[str, bytes]]:
        return [("figures/all.png", b"".join(results[0].rows.files().values()))]

    monkeypatch.setattr(figures, "pictures", of_a_study)
    monkeypatch.setattr(replay, "replay_page", lambda found, name: name)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, if possible: on a disk, syncs would take most of the time."""
    folder = Path(tempfile.mkdtemp(prefix="matchenv-faults-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
