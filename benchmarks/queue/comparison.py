"""The comparison in the queue as a function: who plays what, then the statistics and the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from matchenv.benchmarks.queue.front import front_files
from matchenv.benchmarks.queue.plan import described, queue_plan
from matchenv.benchmarks.queue.report import QueueComparison, result_files
from matchenv.evaluation.queue_table import LOADS, play_queue
from matchenv.evaluation.seeds import REPORT
from matchenv.runtime.jobs import open_store, write_results
from matchenv.runtime.parallel import Workers, as_engine

DEFAULT_POLICIES = (
    "fcfs",
    "window",
    "drawchance",
    "matching",
    "kg",
    "kg:both=true",
    "kg_matching",
    "reservation:policy=thompson",
    "random",
    "oracle",
)
DEFAULT_AGAINST = "kg"
DEFAULT_EPISODES = 200


def run_queue_comparison(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    against: str = DEFAULT_AGAINST,
    loads: Sequence[str] = tuple(LOADS),
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers = None,
    out: str | Path | None = None,
    replace_out: bool = False,
    timing: bool = False,
    quiet: bool = False,
    report: Callable[[QueueComparison], object] | None = None,
) -> QueueComparison:
    """Play the same players and the same noise with every policy of the queue, and compare.

    With more than one worker the call must stand under ``if __name__ == "__main__":`` in a
    script. A comparison that was stopped goes on when it is called again with the same folder.

    Args:
        policies: texts as ``matchenv.agents.policy_named`` takes them, or objects with
            ``choose`` or ``predict`` and a ``name``.
        against: the policy that differences are taken to; it plays even if not in the list.
        loads: ``"thin"``, ``"middle"``, ``"thick"`` or arrival rates.
        episodes: runs of each policy under each load, >= 2.
        seed: decides who logs on when, all noise and random choices, >= 0.
        env_kwargs: options of ``MatchmakingQueue-v0``, but for ``arrival_rate`` and ``reward``.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished runs and the result files; None to write none.
        replace_out: a folder with another comparison loses it; otherwise it is refused.
        timing: write decisions per second into the files too, of the runs played now.
        quiet: no progress bar.
        report: told what was found, even where the files cannot be written.

    Returns:
        The comparison; ``table()`` gives it as text.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            comparison, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    as_engine(workers)
    plan = queue_plan(policies, against, loads, episodes, seed, env_kwargs, REPORT)
    asked = {"command": "compare", **described(plan)}
    with open_store(out, asked, replace=replace_out) as store:
        rows = play_queue(plan, store, workers=workers, quiet=quiet)
        found = QueueComparison(rows, against, plan.settings, seed, described(plan))
        files = chain(result_files(found, timing=timing).items(), front_files(rows))
        try:
            write_results(store, files)
        finally:  # what was found is reported even where the files cannot be written
            if report is not None:
                report(found)
    return found
