"""Pictures cost no time, and files lie in memory."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from long_commands import MEMORY


@pytest.fixture(autouse=True)
def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a picture be what it shows: drawing takes seconds, and none of what faults meet."""
    from matchenv.benchmarks.report import replay
    from matchenv.benchmarks.study import figures

    def of_a_study(results: Any) -> list[tuple[str, bytes]]:
        return [("figures/all.png", b"".join(results[0].rows.files().values()))]

    monkeypatch.setattr(figures, "pictures", of_a_study)
    monkeypatch.setattr(replay, "replay_page", lambda found, name: name)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, if there is one: on a disk most of the time would go into its syncs."""
    folder = Path(tempfile.mkdtemp(prefix="matchenv-faults-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
