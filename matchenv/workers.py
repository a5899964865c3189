"""Work on several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

from matchenv.validation import as_integer

JobType = TypeVar("JobType")
Result = TypeVar("Result")


def checked_workers(workers: int | None) -> int:
    """The number of processes: as asked for, or one for each core that may be used.

    Raises:
        ValueError: for anything but None or an integer of at least 1.
    """
    if workers is not None:
        return as_integer("workers", workers, 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int) -> Iterator[Executor]:
    """Processes for the time of a block; an exception in it drops the work that waits.

    They end with this process, even if it is killed.

    Args:
        workers: processes.

    Yields:
        Their executor.
    """
    # Spawned rather than forked: forks inherit the locks of libraries with threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def work_through(
    jobs: Sequence[JobType],
    work: Callable[[JobType], Result],
    workers: int,
    done: Callable[[JobType], None],
) -> list[Result]:
    """Do every job.

    Args:
        jobs: independent of each other; picklable if there is more than one worker.
        work: a function at module level.
        workers: processes; with one, everything happens in this process.
        done: called here after each job.

    Returns:
        One result for each job, in the jobs' order.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        return [_and_then(done, job, work(job)) for job in jobs]
    results: dict[int, Result] = {}
    with worker_pool(workers) as pool:
        numbers = {pool.submit(work, job): i for i, job in enumerate(jobs)}
        for future in as_completed(numbers):
            i = numbers[future]
            results[i] = _and_then(done, jobs[i], future.result())
    return [results[i] for i in range(len(jobs))]


def _and_then(done: Callable[[JobType], None], job: JobType, result: Result) -> Result:
    done(job)
    return result


def _begin_worker() -> None:
    """What every process of a pool does first."""
    # Ctrl-C reaches all processes; only the first one is to speak.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """A parent that was killed tells nobody: its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
