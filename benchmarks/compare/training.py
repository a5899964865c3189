"""Training runs against the baselines: one run, or runs that differ in their seed alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from matchenv.agents.environments import PROBLEMS
from matchenv.agents.run_config import RunFolder
from matchenv.benchmarks.compare.comparison import DEFAULT_EPISODES, Comparison, run_comparison
from matchenv.evaluation.estimates import paired_difference
from matchenv.evaluation.protocols import ONE_PLAYER
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import write_bytes
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
    write_bytes(out / "summary.txt", f"{summary}\n".encode())
    return found, summary


def summary_over(found: Comparison, runs: Sequence[str], rivals: Sequence[str]) -> str:
    """Return a line for each cell: mean, standard deviation and range over the seeds.

    Of at least two runs, by label, and minus the policies that are their rivals.
    """
    measure = found.protocol.measure
    heading = next(each.heading for each in found.shown if each.measure == measure)
    rows = []
    for place, cell in enumerate(found.cells):
        values = [found.values(measure, place, run) for run in runs]
        means = [float(each.mean()) for each in values]
        row = {"cell": cell.title, "mean": f"{statistics.fmean(means):.2f}",
               "deviation": f"{statistics.stdev(means):.2f}"}  # fmt: skip
        for rival in rivals:
            theirs = found.values(measure, place, rival)
            less = [paired_difference(each, theirs) for each in values]
            mean, least, most = (of([each.mean for each in less])
                                 for of in (statistics.fmean, min, max))  # fmt: skip
            row[rival] = f"{mean:+.2f} ({least:+.2f} to {most:+.2f})"
            row["not behind"] = f"{sum(each.high >= 0.0 for each in less)} of {len(runs)}"
        rows.append(row)
    columns = [
        Column("cell", "{cell}"),
        Column(heading, "{mean}"),
        Column("deviation", "{deviation}"),
        *(Column(f"minus {rival}", itemgetter(rival)) for rival in rivals),
        Column(f"not behind {rivals[-1]}", "{not behind}"),
    ]
    title = (
        f"over {len(runs)} seeds, {found.episodes} episodes each: mean and standard deviation; "
        "differences as mean (least to most)"
    )
    return "\n".join([title, *text_table(columns, rows)])
