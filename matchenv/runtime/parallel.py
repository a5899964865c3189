"""Independent jobs in several processes of this machine (joblib), or on a Ray cluster.

Results do not depend on where jobs run.
"""

from __future__ import annotations

import os
import pickle
import platform
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
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

# Times in a row that workers may be killed before any job is done, for example for lack of memory.
RETRIES = 3
# Seconds between checks of a worker that the process which started it still lives.
POLL = 0.5
# Times that Ray repeats a job whose process or machine was killed, before it is an error.
RAY_RETRIES = 5
# Seconds to wait for a cluster; Ray itself would try for minutes.
CONNECT = 10.0


class WorkerEnded(OSError):
    """Worker processes were killed, or exited, before their jobs were done."""


def check_engine(engine: str, workers: int | None) -> None:
    """Check the arguments ``engine`` and ``workers`` of ``results_of``.

    Raises:
        ValueError: for an unknown engine, or a number of workers below 1.
        ImportError: if the engine needs Ray and it is not installed; says how to install it.
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
    """Yield the index and the result of each job as it completes.

    Closing the generator ends all work at once: use ``contextlib.closing``.

    Args:
        work: function of one job.
        jobs: its argument for each call, independent of each other. Jobs, functions and classes of
            a script or notebook are sent to the workers by value.
        workers: number of jobs at the same time, >= 1; None for one on each core.
        engine: ``"local"`` for processes of this machine; ``"ray"`` for the cluster that
            ``ray.init()`` finds, or starts on this machine; ``"ray:ADDRESS"`` for one at an
            address: ``"ray:auto"``, ``"ray:10.0.0.1:6379"``, ``"ray:ray://head:10001"``.

    Raises:
        WorkerEnded: if processes were killed, or exited, again and again before their jobs were
            done; names the jobs.
    """
    check_engine(engine, workers)
    if engine != LOCAL:
        return _on_a_cluster(work, jobs, engine.partition(":")[2] or None, workers)
    if workers is None:
        from joblib import cpu_count  # slow to import

        workers = cpu_count()
    return _on_this_machine(work, jobs, workers)


def _on_this_machine(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int
) -> Generator[tuple[int, Result]]:
    """Yield results as ``results_of``; a single worker or job runs in this process."""
    workers = min(workers, len(jobs))
    if workers < 2:
        for index, job in enumerate(jobs):
            yield index, work(job)
        return
    missing = dict(enumerate(jobs))
    failures = 0
    while missing:
        try:
            with _cancelling(_start_workers(work, missing, workers)) as results:
                for index, result in results:
                    del missing[index]
                    failures = 0
                    yield index, result
        except BrokenProcessPool as error:
            failures += 1
            if failures > RETRIES:
                running = islice(missing, workers)
                names = " or ".join(_name_of(jobs, index) for index in running)
                raise WorkerEnded(
                    f"worker processes were killed, or ended, {failures} times at {names} (is "
                    "there memory enough?)"
                ) from error


def _start_workers(
    work: Callable[[Job], Result], jobs: Mapping[int, Job], workers: int
) -> Generator[tuple[int, Result]]:
    """Start jobs in worker processes, and return a generator of indices and results."""
    from joblib import Parallel, delayed, parallel_config

    calls = [delayed(_run_numbered)(index, work, job) for index, job in jobs.items()]
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # its start would reset the mask of signals
    with (
        signals_wait(),
        parallel_config(
            "loky",
            inner_max_num_threads=1,
            initializer=_begin_worker,
            initargs=(os.getpid(),),
        ),
    ):
        pool = Parallel(workers, return_as="generator_unordered", batch_size=1, max_nbytes=None)
        return pool(calls)


@contextmanager
def _cancelling(results: Generator[Result]) -> Iterator[Generator[Result]]:
    """Cancel the jobs of a generator at the end of the block."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of each cancelled job
            results.close()


def _begin_worker(parent: int) -> None:
    """Print warnings in one line, and end when the parent process was killed."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL)
    os._exit(1)


def _run_numbered(index: int, work: Callable[[Job], Result], job: Job) -> tuple[int, Result]:
    return index, _run(work, job)


def _run(work: Callable[[Job], Result], job: Job) -> Result:
    """Run a job in another process; its errors can be pickled, and have the traceback as a note."""
    try:
        return work(job)
    except Exception as error:
        portable = error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            portable = RuntimeError(f"{type(error).__name__}: {error}")
        portable.add_note(traceback.format_exc())
        raise portable from None


def _name_of(jobs: Sequence[Any], index: int) -> str:
    return str(getattr(jobs[index], "name", None) or f"job {index + 1} of {len(jobs)}")


def _on_a_cluster(
    work: Callable[[Job], Result], jobs: Sequence[Job], address: str | None, workers: int | None
) -> Generator[tuple[int, Result]]:
    """Yield results as ``results_of``; Ray repeats the jobs of a machine that fails.

    A process that is already connected stays connected.
    """
    if not jobs:
        return
    ray = import_module("ray")
    was_connected = ray.is_initialized()
    waiting = iter(range(len(jobs)))
    pending: dict[Any, int] = {}
    try:
        if not was_connected:
            _connect(ray, address)
        call = ray.remote(num_cpus=1, max_retries=RAY_RETRIES)(_run_remotely)
        shared = ray.put((provenance(), os.getcwd(), work))
        while True:
            free = (workers or len(jobs)) - len(pending)
            pending |= {call.remote(shared, jobs[index]): index for index in islice(waiting, free)}
            if not pending:
                return
            (ready,), _ = ray.wait(list(pending), num_returns=1)
            index = pending.pop(ready)
            try:
                result = ray.get(ready)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                raise WorkerEnded(
                    f"processes of the cluster ended {RAY_RETRIES + 1} times at "
                    f"{_name_of(jobs, index)}: {_first_line(error)}"
                ) from None
            yield index, result
    finally:
        with suppress(Exception):  # the first error matters
            for ready in pending:
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
        where = ""
        if address:
            where = f" at {address}"
        raise OSError(f"no Ray cluster answers{where}: {_first_line(error)}") from None
    finally:
        # Ray replaces the handlers; only the main thread can restore them.
        with suppress(ValueError):
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _run_remotely(shared: tuple[dict[str, str], str, Callable[[Any], Any]], job: Any) -> Any:
    """Run a job on a machine of the cluster that has the same versions and code."""
    wanted, folder, work = shared
    here = provenance()
    differing = [f"{name} {here.get(name)!r} and not {wanted[name]!r}"
                 for name in wanted if here.get(name) != wanted[name]]  # fmt: skip
    if differing:
        raise ValueError(
            f"all machines of a cluster must have the same versions and code, and "
            f"{platform.node()} has {', '.join(differing)}"
        )
    with suppress(OSError):  # paths are the same where the machines share the folder
        os.chdir(folder)
    return _run(work, job)
