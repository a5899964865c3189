"""Comparison of training runs, one or several that differ in their seed, with the baselines."""

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
from matchenv.evaluation.protocols import protocol_of
from matchenv.evaluation.registry import known_policies
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
    """Compare the policies of runs that differ only in their seed; files go to ``comparison/``.

    An existing comparison and summary of these runs are replaced.

    Args:
        folders: folders of the runs, at least one.
        out: folder of the run, or the parent of several, which also gets ``summary.txt``.
        episodes: episodes in each cell, >= 2.
        run: workers, and other options that change no result.

    Returns:
        The comparison, and for several runs the summary over the seeds, else "".

    Raises:
        ValueError: if a folder has no run or no policy, or for a bad argument.
        OSError: if the files cannot be written.
    """
    config = RunFolder(folders[0]).read_config()
    names = known_policies(config.environment)  # a folder can have one
    runs = [f"./{folder}" if str(folder) in names else str(folder) for folder in folders]
    problem, protocol = PROBLEMS[config.environment], protocol_of(config.environment)
    (out / "summary.txt").unlink(missing_ok=True)
    comparison = run_comparison(
        [*runs, *(problem.opponents or protocol.policies or names)],
        **config.comparison(),
        against=problem.rivals[0],
        episodes=episodes,
        run=replace(run or RunOptions(), out=RunFolder(out).comparison),
    )
    if len(runs) == 1:
        return comparison, ""
    summary = summary_over(comparison, runs, problem.rivals)
    write_bytes(out / "summary.txt", f"{summary}\n".encode())
    return comparison, summary


def summary_over(comparison: Comparison, runs: Sequence[str], rivals: Sequence[str]) -> str:
    """Return a table of the mean and standard deviation over at least two runs in each cell.

    ``rivals`` are labels of policies that they are compared with.
    """
    measure = comparison.protocol.measure
    rows = []
    for place, cell in enumerate(comparison.cells):
        values = [comparison.values(measure, place, run) for run in runs]
        means = [float(each.mean()) for each in values]
        row = {"cell": cell.title, "mean": f"{statistics.fmean(means):.2f}",
               "deviation": f"{statistics.stdev(means):.2f}"}  # fmt: skip
        for rival in rivals:
            theirs = comparison.values(measure, place, rival)
            differences = [paired_difference(each, theirs) for each in values]
            mean, least, most = (of([each.mean for each in differences])
                                 for of in (statistics.fmean, min, max))  # fmt: skip
            row[rival] = f"{mean:+.2f} ({least:+.2f} to {most:+.2f})"
            row["not behind"] = f"{sum(each.high >= 0.0 for each in differences)} of {len(runs)}"
        rows.append(row)
    columns = [
        Column("cell", "{cell}"),
        Column(comparison.shown[measure].heading, "{mean}"),
        Column("deviation", "{deviation}"),
        *(Column(f"minus {rival}", itemgetter(rival)) for rival in rivals),
        Column(f"not behind {rivals[-1]}", "{not behind}"),
    ]
    title = (
        f"over {len(runs)} seeds, {comparison.episodes} episodes each: mean and standard "
        "deviation; differences as mean (least to most)"
    )
    return "\n".join([title, *text_table(columns, rows)])
