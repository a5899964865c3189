"""What the faults did is counted over all tests and printed at the end, for docs/reliability.md."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from undisturbed import MEMORY

FAULTS = "faults"


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


@pytest.fixture
def faults(record_property: Callable[[str, object], None]) -> Callable[[str, str, int, int], None]:
    """Takes down a kind of fault, what met it, how many there were and how many held."""

    def count(kind: str, what: str, tried: int, held: int) -> None:
        record_property(FAULTS, [kind, what, tried, held])

    return count


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each kind of fault and each thing that met it."""
    totals: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for report in [*terminalreporter.stats.get("passed", []),
                   *terminalreporter.stats.get("failed", [])]:  # fmt: skip
        for name, value in getattr(report, "user_properties", []):
            if name == FAULTS and report.when == "call":
                kind, what, count, good = value
                totals[kind, what] += count
                held[kind, what] += good
    if totals:
        terminalreporter.section("faults")
        terminalreporter.write_line("| fault | of | tried | held |\n| --- | --- | ---: | ---: |")
        for kind, what in sorted(totals):
            numbers = f"{totals[kind, what]:,} | {held[kind, what]:,}"
            terminalreporter.write_line(f"| {kind} | {what} | {numbers} |")
        terminalreporter.write_line(f"| all | | {totals.total():,} | {held.total():,} |")
