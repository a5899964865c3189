"""Comparison of training runs, one or several that differ in their seed, with the baselines."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from matchenv.agents.environments import training_of
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
    problem = training_of(config.environment)
    protocol = protocol_of(config.environment)
    names = known_policies(config.environment)
    policies = []
    for folder in folders:
        policy = str(folder)
        if policy in names:  # a folder can have the name of a policy
            policy = f"./{folder}"
        policies.append(policy)
    (out / "summary.txt").unlink(missing_ok=True)
    comparison = run_comparison(
        [*policies, *(problem.opponents or protocol.policies or names)],
        **config.comparison(),
        against=problem.rivals[0],
        episodes=episodes,
        run=replace(run or RunOptions(), out=RunFolder(out).comparison),
    )
    if len(policies) == 1:
        return comparison, ""
    summary = summary_over(comparison, policies, problem.rivals)
    write_bytes(out / "summary.txt", f"{summary}\n".encode())
    return comparison, summary


def summary_over(comparison: Comparison, runs: Sequence[str], rivals: Sequence[str]) -> str:
    """Return a table of the mean and standard deviation over at least two runs in each cell.

    Args:
        comparison: comparison of the runs and the rivals.
        runs: labels of the runs' policies.
        rivals: labels of policies that they are compared with.
    """
    rows = [_summary_row(comparison, cell, runs, rivals) for cell in range(len(comparison.cells))]
    columns = [
        Column("cell", "{cell}"),
        Column(comparison.measures[comparison.protocol.measure].heading, "{mean}"),
        Column("deviation", "{deviation}"),
    ]
    for rival in rivals:
        columns.append(Column(f"minus {rival}", itemgetter(rival)))
    columns.append(Column(f"not behind {rivals[-1]}", "{not behind}"))
    title = (
        f"over {len(runs)} seeds, {comparison.episodes} episodes each: mean and standard "
        "deviation; differences as mean (least to most)"
    )
    return "\n".join([title, *text_table(columns, rows)])


def _summary_row(
    comparison: Comparison, cell: int, runs: Sequence[str], rivals: Sequence[str]
) -> dict[str, str]:
    """Return the texts of a cell by column; those to a rival are under its label."""
    measure = comparison.protocol.measure
    values = [comparison.values(measure, cell, run) for run in runs]
    means = [float(totals.mean()) for totals in values]
    row = {
        "cell": comparison.cells[cell].title,
        "mean": f"{statistics.fmean(means):.2f}",
        "deviation": f"{statistics.stdev(means):.2f}",
    }
    for rival in rivals:
        theirs = comparison.values(measure, cell, rival)
        differences = [paired_difference(ours, theirs) for ours in values]
        means = [difference.mean for difference in differences]
        row[rival] = f"{statistics.fmean(means):+.2f} ({min(means):+.2f} to {max(means):+.2f})"
        not_behind = sum(difference.high >= 0.0 for difference in differences)
        row["not behind"] = f"{not_behind} of {len(runs)}"  # the last rival's
    return row
