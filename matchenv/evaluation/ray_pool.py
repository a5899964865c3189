"""A Ray cluster as a pool: the same blocks, on any number of machines.

Ray finds the machines, sends the work, notices a machine that is gone and does its work again.
What is done here: enough work in each call that sending it costs little, the same versions and
code on every machine, and errors and ends as with processes of this machine.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from matchenv.evaluation.made_with import made_with
from matchenv.runtime.parallel import Pool, WorkerEnded, answer_of, name_of, result_of
from matchenv.runtime.signals import STOPS

Result = TypeVar("Result")
Job = tuple[Any, ...]

# Seconds of work in one call: what Ray needs for a call is a few thousandths of a second.
AIM = 0.5
# Calls that are asked for at a time, for each core: one works, one waits. What waits is also what
# tells a cluster that grows by itself that it should.
AHEAD = 2
# Calls that a killed process or machine may cost the same work, before it is an error.
RETRIES = 5
# Seconds until who does not answer is not there.
CONNECT = 10.0
# Seconds until the cores of the cluster are counted again: machines come and go.
COUNT_AGAIN = 5.0


class RayPool(Pool):
    """Cores of a Ray cluster for the time of a ``with`` block.

    A process that has connected to a cluster itself is left connected.

    Args:
        address: as ``ray.init`` takes it.
        workers: calls at the same time, >= 1; None for as many as the cluster has cores.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        # Only here, so that the module can be read where Ray is not installed.
        self._ray = import_module("ray")
        self._call = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
        self._address, self._workers = address, workers
        self._ours = False
        self._asked: dict[Any, list[int]] = {}
        # Seconds of a job, as the last call had it.
        self._seconds = AIM
        self._counted, self._cores = -COUNT_AGAIN, 1

    def __exit__(self, *_: object) -> None:
        """Stop what is going on, and leave the cluster."""
        self._stop()
        if self._ours:
            self._ours = False
            self._ray.shutdown()

    def _stop(self) -> None:
        with suppress(Exception):
            for call in self._asked:
                self._ray.cancel(call, force=True)
        self._asked.clear()

    def results(
        self, work: Callable[..., Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        """As ``Pool.results``; what a dead machine was doing is done again."""
        if not jobs:
            return
        self._connect()
        try:
            yield from self._on_the_cluster(work, jobs)
        finally:
            # After a failure nobody asks for the rest.
            self._stop()

    def _on_the_cluster(
        self, work: Callable[..., Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        there = self._ray.put((made_with(), os.getcwd(), work))
        waiting = deque(range(len(jobs)))
        while waiting or self._asked:
            self._ask(there, jobs, waiting)
            ready, _ = self._ray.wait(list(self._asked), num_returns=1)
            for call in ready:
                numbers = self._asked.pop(call)
                seconds, answers = self._received(call, name_of(jobs, numbers[0]))
                self._seconds = seconds / len(numbers)
                self._ask(there, jobs, waiting)
                for number, answer in zip(numbers, answers, strict=True):
                    yield number, result_of(answer)

    def _ask(self, there: Any, jobs: Sequence[Job], waiting: deque[int]) -> None:
        """Ask for calls until every core has one and one that waits."""
        at_once = self._at_once()
        calls = at_once * (1 if self._workers else AHEAD)
        while waiting and len(self._asked) < calls:
            # Towards the end fewer jobs a call, so that all cores end at about the same time.
            most = -(-len(waiting) // (2 * at_once))
            count = max(1, min(int(AIM / max(self._seconds, 1e-6)), most))
            numbers = [waiting.popleft() for _ in range(min(count, len(waiting)))]
            call = self._call.remote(there, [jobs[number] for number in numbers])
            self._asked[call] = numbers

    def _at_once(self) -> int:
        if self._workers is not None:
            return self._workers
        if time.monotonic() - self._counted > COUNT_AGAIN:
            self._counted = time.monotonic()
            self._cores = max(1, int(self._ray.cluster_resources().get("CPU", 1.0)))
        return self._cores

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ours = True
        with _own_signals():
            try:
                _check_reachable(self._address or "")
                self._ray.init(address=self._address, log_to_driver=False, logging_level="CRITICAL")
            except (OSError, RuntimeError, ValueError) as error:
                where = f" at {self._address}" if self._address else ""
                raise OSError(f"no Ray cluster answers{where}: {_first_line(error)}") from None

    def _received(self, call: Any, work: str) -> tuple[float, list[bytes]]:
        try:
            answer: tuple[float, list[bytes]] = self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            # Of the check before the work; what the work itself raises is an answer.
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            how = f"ended {RETRIES + 1} times at {work}: {_first_line(error)}"
            raise WorkerEnded(f"processes of the cluster {how}") from None
        return answer


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _check_reachable(address: str) -> None:
    """See that somebody listens; Ray would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), CONNECT).close()


def _work(
    there: tuple[dict[str, str], str, Callable[..., Any]], jobs: Sequence[Job]
) -> tuple[float, list[bytes]]:
    """What a process of the cluster does: some jobs, and how many seconds they took."""
    asked, folder, work = there
    _check_same(asked)
    with suppress(OSError):  # paths mean the same where the machines share the folder
        os.chdir(folder)
    begun = time.perf_counter()
    answers = [answer_of(work, job) for job in jobs]
    return time.perf_counter() - begun, answers


def _check_same(asked: dict[str, str]) -> None:
    """See that this machine gives the same numbers as the one that asks."""
    here = made_with()
    differing = [f"{key} {here.get(key)!r} and not {asked[key]!r}"
                 for key in asked if here.get(key) != asked[key]]  # fmt: skip
    if differing:
        raise ValueError(
            f"all machines of a cluster must have the same versions and code, and "
            f"{platform.node()} has {', '.join(differing)}"
        )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's answer to signals, which Ray would replace."""
    try:
        before = {number: signal.getsignal(number) for number in STOPS}
        yield
    finally:
        with suppress(ValueError):  # in another thread nobody has replaced it
            for number, handler in before.items():
                signal.signal(number, handler)
