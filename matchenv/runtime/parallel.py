"""Independent work on several processes of this machine, or on a Ray cluster.

Processes of this machine are spawned, never get signals that ask to stop, and never outlive the
process that asks. No number depends on where work is done.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import platform
import signal
import socket
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from matchenv.runtime.checks import as_integer
from matchenv.runtime.provenance import provenance
from matchenv.runtime.signals import STOPS, signals_wait

Result = TypeVar("Result")
Job = TypeVar("Job")

LOCAL, RAY = "local", "ray"

# Seconds between two looks at whether all processes live.
LOOK = 5.0
# Times that Ray does work again whose process or machine was killed, before it is an error.
RETRIES = 5
# Seconds until a cluster that does not answer is an error; Ray would try for minutes.
CONNECT = 10.0


class WorkerEnded(OSError):
    """A worker process was killed, or ended itself, before its work was done."""


def check_engine(engine: str, workers: int | None) -> None:
    """Refuse an engine that does not exist, or a bad number of workers; as ``results_of``.

    Raises:
        ValueError: for another name or number.
        ImportError: if Ray is asked for and not installed; says how to install it.
    """
    if workers is not None:
        as_integer("workers", workers, 1)
    kind, colon, address = str(engine).partition(":")
    if kind not in (LOCAL, RAY) or (colon and (kind == LOCAL or not address)):
        raise ValueError(f"engine must be local, ray or ray:ADDRESS, got {engine!r}")
    if kind == RAY and find_spec("ray") is None:
        raise ImportError('engine ray needs the package ray: pip install "matchenv[ray]"')


def results_of(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int | None, engine: str = LOCAL
) -> Generator[tuple[int, Result]]:
    """Yield the number of each job with its result, as results come.

    Closing the generator ends all work, whatever is going on: use ``contextlib.closing``.

    Args:
        work: a function at the top of a module.
        jobs: its argument in each call, which can be pickled; independent of each other.
        workers: jobs that are done at the same time, >= 1; None for as many as there are cores.
        engine: ``"local"`` for processes of this machine; ``"ray"`` for the Ray cluster that
            ``ray.init()`` finds (it starts one on this machine if there is none);
            ``"ray:ADDRESS"`` for one at an address: ``"ray:auto"``, ``"ray:10.0.0.1:6379"``,
            ``"ray:ray://head:10001"``.

    Raises:
        WorkerEnded: if a process ended before its work did; names the job.
    """
    check_engine(engine, workers)
    if engine != LOCAL:
        return _on_a_cluster(work, jobs, engine.partition(":")[2] or None, workers)
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return _on_this_machine(work, jobs, workers or len(usable))


def _on_this_machine(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int
) -> Generator[tuple[int, Result]]:
    """Yield results as ``results_of``; one worker, or one job, is done in this process."""
    workers = min(workers, len(jobs))
    if workers < 2:
        for number, job in enumerate(jobs):
            yield number, work(job)
        return
    # Spawned rather than forked: forks inherit the locks of libraries with threads.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    if hasattr(signal, "pthread_sigmask"):
        # Started by the library, this helper would let signals through again.
        resource_tracker.ensure_running()
    pool = ProcessPoolExecutor(workers, context, _begin_worker)
    asked: dict[Future[Result], int] = {}
    try:
        with signals_wait():
            for number, job in enumerate(jobs):
                asked[pool.submit(_done, work, job)] = number
        # This process's own end, so that half a result of a worker that was killed has an end.
        pool._result_queue._writer.close()  # type: ignore[attr-defined]
        processes = set(multiprocessing.active_children()) - others
        while asked:
            first = list(islice(asked, 2 * workers))  # jobs are begun in order
            for future in wait(first, LOOK, FIRST_COMPLETED).done:
                found = future.result()
                yield asked.pop(future), found
            # Who was killed in the middle of a result holds the lock of all others.
            if any(process.exitcode is not None for process in processes):
                raise BrokenProcessPool
    except BrokenProcessPool as error:
        names = " or ".join(_name_of(jobs, each) for each in list(asked.values())[:workers])
        raise WorkerEnded(
            f"a worker process was killed, or ended, at {names} (is there memory enough?)"
        ) from error
    finally:
        with signals_wait():
            # Who has nothing to do ends by itself, and tidies up.
            for process in set(multiprocessing.active_children()) - others if asked else ():
                process.kill()
            pool.shutdown()


def _begin_worker() -> None:
    """Warn in one line, and end when the parent was killed: who waits for work waits forever."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"

    def end() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _done(work: Callable[[Job], Result], job: Job) -> Result:
    """Do a job in another process; an error that cannot come back becomes one that can."""
    try:
        return work(job)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError("".join(traceback.format_exception(error))) from None
        raise


def _name_of(jobs: Sequence[Any], number: int) -> str:
    name = getattr(jobs[number], "name", None)
    return str(name) if name else f"job {number + 1} of {len(jobs)}"


def _on_a_cluster(
    work: Callable[[Job], Result], jobs: Sequence[Job], address: str | None, workers: int | None
) -> Generator[tuple[int, Result]]:
    """Yield results as ``results_of``; a process that is connected already stays connected.

    Ray finds the machines, sends the work, and does the work of a dead machine again.
    """
    if not jobs:
        return
    ray = import_module("ray")
    was_connected = ray.is_initialized()
    waiting = iter(range(len(jobs)))
    asked: dict[Any, int] = {}
    try:
        if not was_connected:
            _connect(ray, address)
        call = ray.remote(num_cpus=1, max_retries=RETRIES)(_work_there)
        there = ray.put((provenance(), os.getcwd(), work))
        while True:
            free = min(workers or len(jobs), len(jobs)) - len(asked)
            asked |= {call.remote(there, jobs[number]): number for number in islice(waiting, free)}
            if not asked:
                return
            (ready,), _ = ray.wait(list(asked), num_returns=1)
            number = asked.pop(ready)
            try:
                found = ray.get(ready)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                how = f"ended {RETRIES + 1} times at {_name_of(jobs, number)}: {_first_line(error)}"
                raise WorkerEnded(f"processes of the cluster {how}") from None
            yield number, found
    finally:
        with suppress(Exception):  # after a failure the rest is not wanted
            for ready in asked:
                ray.cancel(ready, force=True)
        if not was_connected:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    handlers = {number: signal.getsignal(number) for number in STOPS}
    try:
        host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
        if colon:
            socket.create_connection((host, int(port)), CONNECT).close()
        ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
    except (OSError, RuntimeError, ValueError) as error:
        where = f" at {address}" if address else ""
        raise OSError(f"no Ray cluster answers{where}: {_first_line(error)}") from None
    finally:
        # Ray replaces them; in another thread nobody can.
        with suppress(ValueError):
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _work_there(there: tuple[dict[str, str], str, Callable[[Any], Any]], job: Any) -> Any:
    """Do a job in a process of a cluster, if it has the same versions and code."""
    asked, folder, work = there
    here = provenance()
    differing = [f"{key} {here.get(key)!r} and not {asked[key]!r}"
                 for key in asked if here.get(key) != asked[key]]  # fmt: skip
    if differing:
        raise ValueError(
            f"all machines of a cluster must have the same versions and code, and "
            f"{platform.node()} has {', '.join(differing)}"
        )
    with suppress(OSError):  # paths mean the same where the machines share the folder
        os.chdir(folder)
    return _done(work, job)
