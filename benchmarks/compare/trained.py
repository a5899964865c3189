"""A training run against the papers' policies, or the queue's, where it was trained."""

from __future__ import annotations

from pathlib import Path

from matchenv.agents.environments import QUEUE
from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.compare.comparison import (
    DEFAULT_EPISODES,
    DEFAULT_POLICIES,
    run_comparison,
)
from matchenv.benchmarks.compare.report import Comparison
from matchenv.benchmarks.queue.comparison import run_queue_comparison
from matchenv.benchmarks.queue.report import QueueComparison
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.queue_table import LOADS
from matchenv.runtime.parallel import Workers

# Whom a run of the queue is compared with, the last as what differences are taken to.
QUEUE_RIVALS = ("fcfs", "drawchance", "matching")


def compare_run(
    path: Path,
    *,
    episodes: int = DEFAULT_EPISODES,
    workers: Workers = None,
    quiet: bool = False,
) -> Comparison | QueueComparison:
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
    config = folder.read_config()
    if config.environment == QUEUE:
        others = dict(config.env_kwargs)
        others.pop("reward", None)
        rates = others.pop("arrival_rate", QueueSettings().arrival_rate)
        names = {rate: name for name, rate in LOADS.items()}
        listed = rates if isinstance(rates, list) else [rates]
        return run_queue_comparison(
            [str(folder.path), *QUEUE_RIVALS],
            against=QUEUE_RIVALS[-1],
            loads=[names.get(float(rate), f"{rate:g}") for rate in listed],
            env_kwargs=others,
            episodes=episodes,
            workers=workers,
            out=folder.comparison,
            replace_out=True,
            quiet=quiet,
        )
    return run_comparison(
        [str(folder.path), *DEFAULT_POLICIES],
        **config.comparison(),
        episodes=episodes,
        workers=workers,
        out=folder.comparison,
        replace_out=True,
        quiet=quiet,
    )
