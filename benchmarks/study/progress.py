"""Work through the blocks of a study that are not finished yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

from tqdm import tqdm

from matchenv.benchmarks.study.blocks import Job, jobs_of, play_block
from matchenv.benchmarks.study.estimates import CellResult
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.benchmarks.study.store import Store, save_block
from matchenv.workers import checked_workers, work_through


@dataclass(frozen=True)
class Task:
    """A block, and the folder that it is to be written to."""

    job: Job
    folder: Path


def finish_blocks(
    store: Store, settings: StudySettings, workers: int | None, *, quiet: bool
) -> None:
    """Play what is missing; each block is on disk before the next one is begun.

    Args:
        store: where blocks lie.
        settings: of the study.
        workers: processes; None for one on each core.
        quiet: no progress bar.

    Raises:
        OSError: if a block cannot be written; the finished ones stay.
    """
    processes = checked_workers(workers)
    jobs = jobs_of(settings)
    missing = [Task(job, store.folder) for job in jobs if not store.has(job)]
    with tqdm(
        total=len(jobs), initial=len(jobs) - len(missing), unit="block", disable=quiet
    ) as bar:

        def count(_: Task) -> None:
            bar.update()

        work_through(missing, _play_and_save, processes, count)


def gather(store: Store, settings: StudySettings) -> list[CellResult]:
    """Add the blocks up, always in the same order, whoever has played them."""
    results = []
    for cell in settings.chosen_cells:
        sums = []
        for prior in range(settings.priors):
            jobs = [job for job in jobs_of(settings) if (job.cell, job.prior) == (cell, prior)]
            sums.append(reduce(add, (store.load(job) for job in jobs)))
        results.append(CellResult(cell, settings.policies, settings.paths, tuple(sums)))
    return results


def _play_and_save(task: Task) -> None:
    save_block(task.folder, task.job, play_block(task.job))
