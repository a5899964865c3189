"""Work on several processes that never outlive the one that asks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from matchenv.runtime.checks import as_integer
from matchenv.runtime.progress import use_own_lock
from matchenv.runtime.signals import signals_wait

JobType = TypeVar("JobType")
Result = TypeVar("Result")


class Mapper(Protocol):
    """What calls a function with many arguments: a pool, or an executor of the library's."""

    def map(self, work: Callable[..., Result], /, *arguments: Iterable[Any]) -> Iterator[Result]:
        """Results in the order of the arguments, which are taken as ``zip`` takes them."""
        ...


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


class Pool(ABC):
    """What does independent jobs side by side for the time of a ``with`` block."""

    def __enter__(self) -> Self:
        """The pool; processes are started when there is work for them."""
        return self

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all work, whatever is going on."""

    def map(self, work: Callable[..., Result], /, *arguments: Iterable[Any]) -> Iterator[Result]:
        """As ``Mapper.map``; the function stands at the top of a module."""
        jobs = list(zip(*arguments, strict=False))
        found = dict(self.results(work, jobs))
        return (found[number] for number in range(len(jobs)))

    @abstractmethod
    def results(
        self, work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Result]]:
        """Results as they come.

        Args:
            work: a function at the top of a module.
            jobs: the arguments of each call; picklable if there is more than one worker.

        Yields:
            Number of a job, and what it gave.

        Raises:
            WorkerEnded: if a process ended before its work did; says which work.
        """


class WorkerPool(Pool):
    """Processes of this machine; at the end of the block they are gone, however it ends.

    A process gets its next job when it has done the one before, through a pipe of its own. No
    threads, locks or shared memory are needed, so that nothing can hang or stay behind when the
    work is interrupted. Signals that ask to stop reach the first process alone.

    Args:
        workers: processes, >= 1; one stands for this process.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._processes: list[tuple[BaseProcess, Connection]] = []

    def __exit__(self, *_: object) -> None:
        """End the processes, whatever they do."""
        self._end()

    def _end(self) -> None:
        with signals_wait():
            for process, connection in self._processes:
                process.kill()
                connection.close()
            for process, _connection in self._processes:
                process.join()
                process.close()
            self._processes.clear()

    def results(
        self, work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Result]]:
        """As ``Pool.results``; one worker, or one job, is done in this process."""
        if self._workers == 1 or len(jobs) < 2:
            for number, job in enumerate(jobs):
                yield number, work(*job)
            return
        try:
            yield from self._side_by_side(work, jobs)
        except BaseException:
            # Whoever is still at work would answer to the wrong question.
            self._end()
            raise

    def _side_by_side(
        self, work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Result]]:
        self._start(min(self._workers, len(jobs)))
        waiting = iter(enumerate(jobs))
        busy: dict[Connection, tuple[int, BaseProcess]] = {}

        def give(process: BaseProcess, connection: Connection) -> None:
            given = next(waiting, None)
            if given is not None:
                number, job = given
                connection.send((work, job))
                busy[connection] = number, process

        for process, connection in self._processes:
            give(process, connection)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                number, process = busy.pop(ready)
                result = _received(ready, process, name_of(jobs, number))
                give(process, ready)
                yield number, result

    def _start(self, count: int) -> None:
        # Spawned rather than forked: forks inherit the locks of libraries with threads.
        context = multiprocessing.get_context("spawn")
        if self._processes == [] and hasattr(signal, "pthread_sigmask"):
            # When the library starts this helper it lets signals through again.
            resource_tracker.ensure_running()
        while len(self._processes) < count:
            with signals_wait():
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self._processes.append((process, ours))


def work_through(
    jobs: Sequence[JobType],
    work: Callable[[JobType], Result],
    pool: Pool,
    done: Callable[[JobType, Result], object],
) -> list[Result]:
    """Do every job.

    Args:
        jobs: independent of each other; picklable if there is more than one worker.
        work: a function at the top of a module.
        pool: does them.
        done: called here after each job with what it gave.

    Returns:
        One result for each job, in the jobs' order.
    """
    results: dict[int, Result] = {}
    for number, result in pool.results(work, [(job,) for job in jobs]):
        results[number] = result
        done(jobs[number], result)
    return [results[number] for number in range(len(jobs))]


class WorkerEnded(OSError):
    """A worker process was killed, or ended itself, before its work was done."""


def name_of(jobs: Sequence[tuple[Any, ...]], number: int) -> str:
    """A job in words."""
    name = getattr(jobs[number][0], "name", None) if jobs[number] else None
    return str(name) if name else f"job {number + 1} of {len(jobs)}"


def _received(connection: Connection, process: BaseProcess, work: str) -> Any:
    try:
        answer = connection.recv_bytes()
    except (EOFError, ConnectionError):
        process.join()
        status = process.exitcode or 0
        how = f"ended with status {status}"
        if status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
            how += " (is there memory enough?)" if status == -signal.SIGKILL else ""
        raise WorkerEnded(f"a worker process {how} at {work}") from None
    return result_of(answer)


def _serve(connection: Connection) -> None:
    """What a process of a pool does: one job after another, until nobody asks any more."""
    use_own_lock()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    while True:
        try:
            work, job = connection.recv()
        except EOFError:
            return
        connection.send_bytes(answer_of(work, job))


def answer_of(work: Callable[..., Any], job: tuple[Any, ...]) -> bytes:
    """What a call gave or raised, for the process that asked."""
    try:
        return pickle.dumps((True, work(*job)))
    except Exception as error:
        # With the lines that it came from.
        lines = "".join(traceback.format_exception(error))
        error.add_note(lines)
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)
        except Exception:
            answer = pickle.dumps((False, RuntimeError(lines)))
        return answer


def result_of(answer: bytes) -> Any:
    """What a call gave, from ``answer_of``; raises what the call raised."""
    good, found = pickle.loads(answer)
    if not good:
        raise found
    return found


def _end_with_the_parent() -> None:
    """A parent that was killed tells nobody: its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
