"""Training runs against the baselines: one run, or runs that differ in their seed alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from matchenv.agents.environments import PROBLEMS
from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.compare.comparison import DEFAULT_EPISODES, Comparison, run_comparison
from matchenv.evaluation.estimates import Estimate, paired_difference
from matchenv.evaluation.protocols import ONE_PLAYER
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import write_text
from matchenv.runtime.jobs import RunOptions


def compare_runs(
    folders: Sequence[Path],
    out: Path,
    *,
    episodes: int = DEFAULT_EPISODES,
    run: RunOptions | None = None,
) -> tuple[Comparison, str]:
    """Compare the policies of runs that differ in their seed alone; files go to ``comparison/``.

    A comparison of these runs with fewer games that is there already is replaced.

    Args:
        folders: of the runs, at least one.
        out: the folder of one run, or that several share; it also gets their ``summary.txt``.
        episodes: instances in each cell, >= 2.
        run: workers and the like.

    Returns:
        The comparison, and of several runs the summary over the seeds.

    Raises:
        ValueError: if there is no run or no policy in a folder, or for a bad argument.
        OSError: if the files cannot be written.
    """
    config, runs = RunFolder(folders[0]).read_config(), [str(folder) for folder in folders]
    problem = PROBLEMS[config.environment]
    found = run_comparison(
        [*runs, *(problem.opponents or ONE_PLAYER.policies)],
        **config.comparison(),
        against=problem.rivals[0],
        episodes=episodes,
        run=replace(run or RunOptions(), out=RunFolder(out).comparison, replace_out=True),
    )
    if len(runs) == 1:
        return found, ""
    summary = summary_over(found, runs, problem.rivals)
    write_text(out / "summary.txt", f"{summary}\n")
    return found, summary


def summary_over(found: Comparison, runs: Sequence[str], rivals: Sequence[str]) -> str:
    """Return a line for each cell: mean, standard deviation and range over the seeds.

    Args:
        found: every run beside the baselines.
        runs: labels of the runs in it, at least two.
        rivals: policies that differences are taken to.
    """
    measure = found.protocol.measure
    heading = next(each.heading for each in found.shown if each.measure == measure)

    def means(cell: int) -> list[float]:
        return [float(found.values(measure, cell, run).mean()) for run in runs]

    def differences(cell: int, other: str) -> list[Estimate]:
        theirs = found.values(measure, cell, other)
        return [paired_difference(found.values(measure, cell, run), theirs) for run in runs]

    def spread(other: str, cell: int) -> str:
        less = [each.mean for each in differences(cell, other)]
        return f"{statistics.fmean(less):+.2f} ({min(less):+.2f} to {max(less):+.2f})"

    def not_behind(cell: int) -> str:
        return f"{sum(each.high >= 0.0 for each in differences(cell, rivals[-1]))} of {len(runs)}"

    columns = [
        Column("cell", lambda cell: found.cells[cell].title),
        Column(heading, lambda cell: f"{statistics.fmean(means(cell)):.2f}"),
        Column("deviation", lambda cell: f"{statistics.stdev(means(cell)):.2f}"),
        *(Column(f"minus {rival}", partial(spread, rival)) for rival in rivals),
        Column(f"not behind {rivals[-1]}", not_behind),
    ]
    title = (
        f"over {len(runs)} seeds, {found.episodes} episodes each: mean and standard deviation; "
        "differences as mean (least to most)"
    )
    return "\n".join([title, *text_table(columns, list(range(len(found.cells))))])
