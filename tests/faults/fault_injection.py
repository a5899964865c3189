"""Faults in a process: killed, or out of disk, at its n-th operation on files below a folder.

The process is a fork of one that has imported everything and played once, so that a thousand of
them take minutes. What it does is what a user's process does: ``matchenv.cli.run_command``.
"""

import builtins
import errno
import io
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchenv.cli import run_command
from matchenv.runtime.signals import Stopping

SECONDS = 120
KILL, FULL = "kill", "full disk"

# Operations that need room on the disk.
NEED_ROOM = ("open", "write", "mkdir", "replace", "rename", "fsync")
OPERATIONS = (*NEED_ROOM, "unlink", "remove", "rmdir", "fchmod", "ftruncate")


class Fault:
    """What happens, and when.

    Args:
        kind: ``KILL``: SIGKILL, after half of the bytes if it is a write. ``FULL``: no room, then
            and from then on.
        at: number of the operation, from 1; 0 for none.

    Attributes:
        operations: counted so far, seen by the parent of the process too.
    """

    def __init__(self, kind: str = KILL, at: int = 0) -> None:
        self.kind, self._at = kind, at
        self.operations = multiprocessing.RawValue("q", 0)

    def comes(self, operation: str) -> bool:
        """Whether it is now; counts the operation."""
        if self.kind == FULL and operation not in NEED_ROOM:
            return False
        self.operations.value += 1
        past = self.operations.value - self._at
        return self._at > 0 and (past == 0 or (self.kind == FULL and past > 0))

    def strike(self, place: Any = None) -> None:
        """Let it happen at a path, which the error names, or at a descriptor, which has no name."""
        if self.kind == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        name = None if isinstance(place, int) else place
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: exit status; less than 0 for a signal.
        said: what it wrote to the standard error.
        seconds: how long it took.
    """

    status: int
    said: str
    seconds: float


def install(folder: Path, fault: Fault) -> None:
    """Let a fault happen in this process, for good."""
    top = str(folder)

    def below(place: Any, dir_fd: int | None = None) -> bool:
        try:
            if isinstance(place, int):
                path = os.readlink(f"/proc/self/fd/{place}")
            else:
                start = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
                path = os.path.join(start or os.getcwd(), os.fsdecode(place))
        except (OSError, TypeError):
            return False
        return path.startswith(top)

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(place: Any, *more: Any, **options: Any) -> Any:
            if name == "open" and not more[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real(place, *more, **options)
            if below(place, options.get("dir_fd")) and fault.comes(name):
                if name == "write":
                    real(place, more[0][: len(more[0]) // 2])
                fault.strike(place)
            return real(place, *more, **options)

        return call

    class File(io.FileIO):
        def write(self, data: Any) -> int:
            if fault.comes("write"):
                view = memoryview(data).cast("B")
                super().write(view[: len(view) // 2])
                fault.strike()
            return super().write(data)

    real_open = io.open

    def open_file(
        file: Any, mode: str = "r", buffering: int = -1, *more: Any, **options: Any
    ) -> Any:
        if not set(mode) & set("wxa+") or isinstance(file, int) or not below(file):
            return real_open(file, mode, buffering, *more, **options)
        if fault.comes("open"):
            fault.strike(file)
        raw = File(file, mode.replace("b", "").replace("t", ""))
        buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *more, **options)

    for name in OPERATIONS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    io.open = builtins.open = open_file  # type: ignore[assignment]


class Running:
    """A process that was started by ``child``."""

    def __init__(self, process: Any, output: Any) -> None:
        self.process, self._output = process, output
        self._begun = time.monotonic()

    def ended(self) -> Ended:
        """Wait for its end."""
        self.process.join()
        seconds = time.monotonic() - self._begun
        said = os.pread(self._output.fileno(), 1 << 20, 0)
        return Ended(self.process.exitcode, said.decode(errors="replace"), seconds)


@contextmanager
def child(work: Callable[[], int]) -> Iterator[Running]:
    """A fork of this process that does some work, which gives the exit status."""

    def run() -> None:
        status = 99
        try:
            signal.alarm(SECONDS)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for place, target in enumerate((nowhere, nowhere, output.fileno())):
                os.dup2(target, place)
            sys.stdout, sys.stderr = (os.fdopen(each, "w", closefd=False) for each in (1, 2))
            status = work()
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(status)

    with tempfile.TemporaryFile("w+b") as output:
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        running = Running(process, output)
        try:
            yield running
        finally:
            running.ended()


def with_fault(work: Callable[[], int], folder: Path, fault: Fault | None = None) -> Ended:
    """Do some work in a process of its own, with a fault in what it does below a folder."""

    def faulty() -> int:
        install(folder, fault or Fault())
        return work()

    with child(faulty) as running:
        return running.ended()


def killed_after(work: Callable[[], int], seconds: float, number: signal.Signals) -> Ended:
    """Do some work in a process of its own that gets a signal after some seconds."""
    with child(work) as running:
        running.process.join(seconds)
        if running.process.is_alive():
            os.kill(running.process.pid, number)
        return running.ended()


def as_a_process(words: list[str], folder: Path) -> Callable[[], int]:
    """A command in a folder with what handles its signals, as ``python -m matchenv`` has it."""

    def work() -> int:
        os.chdir(folder)
        stopping = Stopping()
        return stopping.run(lambda: run_command(words, stopping))

    return work


def content_of(folder: Path, left_out: tuple[str, ...] = ()) -> dict[str, bytes]:
    """All files below a folder with their bytes, those of temporary names too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(left_out)
    }
