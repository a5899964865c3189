"""The study as a function: what is missing is played, then everything is written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from matchenv.benchmarks.study.claims import claims_on
from matchenv.benchmarks.study.estimates import CellResult
from matchenv.benchmarks.study.players import check_equations
from matchenv.benchmarks.study.progress import finish_blocks, gather
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.benchmarks.study.store import Store
from matchenv.benchmarks.study.tables import (
    curve_files,
    paired_csv,
    summary_text,
    verdict_text,
    windows_csv,
)
from matchenv.evaluation.result_files import json_bytes


def run_study(
    settings: StudySettings, folder: Path, *, workers: int | None = None, quiet: bool = False
) -> list[CellResult]:
    """Play a study, or go on with one, and write its results.

    Args:
        settings: of the study.
        folder: for blocks and results; the same folder goes on with the same study.
        workers: processes; None for one on each core. The results do not depend on it.
        quiet: no progress bar.

    Returns:
        One result for each cell.

    Raises:
        ValueError: for a folder of another study, or policies that cannot play.
        OSError: if something cannot be written; finished blocks stay.
    """
    if settings.equations == "printed":
        check_equations(settings.contestants, settings.game)
    store = Store(folder, settings)
    finish_blocks(store, settings, workers, quiet=quiet)
    results = gather(store, settings)
    for name, content in result_files(settings, results):
        store.write(name, content)
    return results


def result_files(
    settings: StudySettings, results: Sequence[CellResult]
) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of all result files."""
    # Plotting is slow to load, and the workers need none of it.
    from matchenv.benchmarks.study.figures import pictures

    yield from curve_files(results)
    yield "windows.csv", windows_csv(results)
    yield "paired.csv", paired_csv(results)
    yield "summary.md", summary_text(settings, results).encode()
    yield "verdict.md", verdict_text(claims_on(results)).encode()
    yield "versions.json", json_bytes(versions())
    yield from pictures(results)


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    packages = ("matchenv", "numpy", "numba", "gymnasium", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
