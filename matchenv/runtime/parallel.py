"""Independent jobs in several processes of this machine, or on a Ray cluster.

Local workers are spawned, ignore Ctrl-C and SIGTERM, and never outlive the process that started
them. Results do not depend on where jobs run.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import platform
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, TypeVar

from matchenv.runtime.checks import as_integer
from matchenv.runtime.provenance import provenance
from matchenv.runtime.signals import STOPS, signals_wait

Result = TypeVar("Result")
Job = TypeVar("Job")

LOCAL, RAY = "local", "ray"

ELSEWHERE = "give workers=1, or define its classes and functions at the top level of a module"

# Seconds between checks that all worker processes are alive.
POLL = 5.0
# Times that Ray repeats a job whose process or machine was killed, before it is an error.
RETRIES = 5
# Seconds to wait for a cluster; Ray itself would try for minutes.
CONNECT = 10.0


class WorkerEnded(OSError):
    """A worker process was killed, or exited, before its job was done."""


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
        work: function at the top level of a module.
        jobs: its argument for each call; independent of each other, and can be pickled.
        workers: number of jobs at the same time, >= 1; None for one on each core.
        engine: ``"local"`` for processes of this machine; ``"ray"`` for the cluster that
            ``ray.init()`` finds, or starts on this machine; ``"ray:ADDRESS"`` for one at an
            address: ``"ray:auto"``, ``"ray:10.0.0.1:6379"``, ``"ray:ray://head:10001"``.

    Raises:
        WorkerEnded: if a process ended before its job was done; names the job.
    """
    check_engine(engine, workers)
    if engine != LOCAL:
        return _on_a_cluster(work, jobs, engine.partition(":")[2] or None, workers)
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return _on_this_machine(work, jobs, workers or len(cores))


def _on_this_machine(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int
) -> Generator[tuple[int, Result]]:
    """Yield results as ``results_of``; a single worker or job runs in this process."""
    # Windows can wait for so many processes at once.
    workers = min(workers, len(jobs), *((61,) if sys.platform == "win32" else ()))
    if workers < 2:
        for index, job in enumerate(jobs):
            yield index, work(job)
        return
    if hasattr(signal, "pthread_sigmask"):
        # Starting this helper process resets the signal mask.
        with _safe_path():
            resource_tracker.ensure_running()
    # Spawned, since a fork inherits locks that threads of libraries hold.
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_worker)
    pending: dict[Future[Result], int] = {}
    try:
        with signals_wait(), _main_module_for_workers(jobs), _safe_path():
            pending |= {pool.submit(_run, work, job): index for index, job in enumerate(jobs)}
        # Close this process's end, so that half a result of a killed worker is not waited for.
        pool._result_queue._writer.close()  # type: ignore[attr-defined]
        processes = set(multiprocessing.active_children()) - others
        while pending:
            first = list(islice(pending, 2 * workers))  # jobs start in order
            done = wait(first, POLL, FIRST_COMPLETED).done
            for future in filter(done.__contains__, first):
                result = future.result()
                yield pending.pop(future), result
            # A worker killed while it sends a result holds the lock of the others.
            if any(process.exitcode is not None for process in processes):
                raise BrokenProcessPool
    except BrokenProcessPool as error:
        names = " or ".join(_name_of(jobs, index) for index in list(pending.values())[:workers])
        raise WorkerEnded(
            f"a worker process was killed, or ended, at {names} (is there memory enough? does a "
            'script start its work below if __name__ == "__main__":?)'
        ) from error
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        if "pickle" not in str(error) or hasattr(error, "__notes__"):  # of a job
            raise
        raise ValueError(f"{error}; {ELSEWHERE}") from error
    finally:
        with signals_wait():
            # Idle workers exit by themselves.
            for process in set(multiprocessing.active_children()) - others if pending else ():
                process.kill()
            pool.shutdown()


@contextmanager
def _main_module_for_workers(jobs: Sequence[Any]) -> Iterator[None]:
    """Let workers start without the main module if it is no file, as in a notebook.

    Raises:
        ValueError: if a job needs that module.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is not None and Path(file).is_file():
        yield
        return
    for index, job in enumerate(jobs):
        if b"__main__" in pickle.dumps(job):
            raise ValueError(
                f"{_name_of(jobs, index)} needs what only this session has; {ELSEWHERE}"
            )
    vars(main).pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            main.__file__ = file


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let Python start without the working folder, where a socket.py would be imported first.

    Workers get the path of this process as soon as they have started.
    """
    before = os.environ.get("PYTHONSAFEPATH", "")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ["PYTHONSAFEPATH"] = before  # "" is unset


def _begin_worker() -> None:
    """Print warnings in one line, and end when the parent process was killed."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


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
        call = ray.remote(num_cpus=1, max_retries=RETRIES)(_run_remotely)
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
                why = f"ended {RETRIES + 1} times at {_name_of(jobs, index)}: {_first_line(error)}"
                raise WorkerEnded(f"processes of the cluster {why}") from None
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
        where = f" at {address}" if address else ""
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
