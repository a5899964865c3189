"""Training runs against the baselines: one run, or runs that differ in their seed alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matchenv.agents.environments import QUEUE
from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.compare.comparison import DEFAULT_EPISODES, run_comparison
from matchenv.benchmarks.compare.report import Comparison
from matchenv.evaluation.cells import AnyCell
from matchenv.evaluation.estimates import Estimate, paired_difference
from matchenv.evaluation.protocols import LOW_END, ONE_PLAYER
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import write_text
from matchenv.runtime.jobs import RunOptions

TRUE_Q = "true_draw_density"

# Policies that a run of the queue is compared with, the last as what differences are taken to.
QUEUE_RIVALS = ("fcfs", "drawchance", "matching")


def compare_run(
    path: Path, *, episodes: int = DEFAULT_EPISODES, run: RunOptions | None = None
) -> Comparison:
    """Compare a run's policy; the result files go to ``comparison/`` in its folder.

    A comparison that is there already, of this run with fewer games, is replaced.

    Args:
        path: folder of the run.
        episodes: instances in each cell, >= 2.
        run: workers and the like; the folder is the run's.

    Raises:
        ValueError: if there is no run or no policy in the folder, or for a bad argument.
        OSError: if the files cannot be written.
    """
    folder = RunFolder(path)
    config = folder.read_config()
    in_queue = config.environment == QUEUE
    return run_comparison(
        [str(folder.path), *(QUEUE_RIVALS if in_queue else ONE_PLAYER.policies)],
        **config.comparison(),
        against=QUEUE_RIVALS[-1] if in_queue else None,
        episodes=episodes,
        run=replace(run or RunOptions(), out=folder.comparison, replace_out=True),
    )


@dataclass(frozen=True)
class Spread:
    """What the runs reached in one cell.

    Attributes:
        cell: the cell.
        true_q: of each run, the mean sum of true draw densities.
        less_against: of each run, the paired difference to the policy compared against.
        less_low_end: of each run, the paired difference to DrawChance.
    """

    cell: AnyCell
    true_q: tuple[float, ...]
    less_against: tuple[Estimate, ...]
    less_low_end: tuple[Estimate, ...]


@dataclass(frozen=True)
class SeedComparison:
    """Runs of several seeds, compared in the same games.

    Attributes:
        comparison: every run beside the baselines.
        runs: labels of the runs in it, one for each seed.
    """

    comparison: Comparison
    runs: tuple[str, ...]

    def spread(self, cell: int) -> Spread:
        """Return what the runs reached in the cell of this number."""
        found = self.comparison

        def differences(other: str) -> tuple[Estimate, ...]:
            theirs = found.values(TRUE_Q, cell, other)
            return tuple(
                paired_difference(found.values(TRUE_Q, cell, run), theirs) for run in self.runs
            )

        return Spread(
            cell=found.cells[cell],
            true_q=tuple(float(found.values(TRUE_Q, cell, run).mean()) for run in self.runs),
            less_against=differences(found.against),
            less_low_end=differences(LOW_END),
        )

    def summary(self) -> str:
        """Return a line for each cell: mean, standard deviation and range over the seeds."""
        spreads = [self.spread(cell) for cell in range(len(self.comparison.cells))]
        columns = [
            Column("cell", lambda s: s.cell.title),
            Column("true q", lambda s: f"{statistics.fmean(s.true_q):.2f}"),
            Column("deviation", lambda s: f"{_deviation(s.true_q):.2f}"),
            Column(f"minus {self.comparison.against}", lambda s: _range_text(s.less_against)),
            Column(f"minus {LOW_END}", lambda s: _range_text(s.less_low_end)),
            Column(f"not behind {LOW_END}", lambda s: _not_behind_text(s.less_low_end)),
        ]
        return "\n".join(
            [
                f"over {len(self.runs)} seeds, {self.comparison.episodes} episodes each: mean and "
                "standard deviation; differences as mean (least to most)",
                *text_table(columns, spreads),
            ]
        )


def compare_seeds(
    folders: Sequence[Path],
    out: Path,
    *,
    episodes: int = DEFAULT_EPISODES,
    run: RunOptions | None = None,
) -> SeedComparison:
    """Compare runs that differ in their seed alone; the files go to ``comparison/`` in ``out``.

    Args:
        folders: of the runs, at least one.
        out: the folder that they share.
        episodes: instances in each cell, >= 2.
        run: workers and the like.

    Raises:
        ValueError: if there is no run or no policy in a folder, or for a bad argument.
        OSError: if the files cannot be written.
    """
    runs = tuple(str(folder) for folder in folders)
    comparison = run_comparison(
        [*runs, *ONE_PLAYER.policies],
        **RunFolder(folders[0]).read_config().comparison(),
        episodes=episodes,
        run=replace(run or RunOptions(), out=RunFolder(out).comparison, replace_out=True),
    )
    found = SeedComparison(comparison, runs)
    write_text(out / "summary.txt", f"{found.summary()}\n")
    return found


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _range_text(differences: Sequence[Estimate]) -> str:
    means = [each.mean for each in differences]
    return f"{statistics.fmean(means):+.2f} ({min(means):+.2f} to {max(means):+.2f})"


def _not_behind_text(differences: Sequence[Estimate]) -> str:
    level = sum(each.high >= 0.0 for each in differences)
    return f"{level} of {len(differences)}"
