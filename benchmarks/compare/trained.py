"""A training run against the papers' policies, in the games that it was trained for."""

from __future__ import annotations

from pathlib import Path

from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.compare.comparison import (
    DEFAULT_EPISODES,
    DEFAULT_POLICIES,
    run_comparison,
)
from matchenv.benchmarks.compare.report import Comparison
from matchenv.evaluation.engines import Workers


def compare_run(
    path: Path,
    *,
    episodes: int = DEFAULT_EPISODES,
    workers: Workers = None,
    quiet: bool = False,
) -> Comparison:
    """Compare a run's policy; the result files go to ``comparison/`` in its folder.

    A comparison that is there already, of this run with fewer games, is replaced.

    Args:
        path: folder of the run.
        episodes: instances in each cell, >= 2.
        workers: processes (None: one for each core), or an engine.
        quiet: no progress bar.

    Raises:
        ValueError: if there is no run or no policy in the folder, or for a bad argument.
        OSError: if the files cannot be written.
    """
    folder = RunFolder(path)
    return run_comparison(
        [str(folder.path), *DEFAULT_POLICIES],
        **folder.read_config().comparison(),
        episodes=episodes,
        workers=workers,
        out=folder.comparison,
        replace_out=True,
        quiet=quiet,
    )
