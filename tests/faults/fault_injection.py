"""Faults in a process: killed, or out of disk space, at its n-th file operation below a folder.

The process is a fork that has imported everything and played once, so that a thousand of them take
minutes.
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

from matchenv.__main__ import main

SECONDS = 120
KILL, FULL = "kill", "full disk"

# Operations that need space on the disk.
NEED_SPACE = ("open", "write", "mkdir", "replace", "rename", "fsync")
OPERATIONS = (*NEED_SPACE, "unlink", "remove", "rmdir", "fchmod", "ftruncate")


class Fault:
    """A fault and its time.

    Args:
        kind: ``KILL``, after half of the bytes of a write, or ``FULL``, no space from then on.
        at: number of the operation, from 1; 0 for none.

    Attributes:
        operations: number of operations so far, shared with the parent process.
    """

    def __init__(self, kind: str = KILL, at: int = 0) -> None:
        self.kind, self._at = kind, at
        self.operations = multiprocessing.RawValue("q", 0)

    def is_due(self, operation: str) -> bool:
        """Count an operation, and return whether it fails."""
        if self.kind == FULL and operation not in NEED_SPACE:
            return False
        self.operations.value += 1
        past = self.operations.value - self._at
        return self._at > 0 and (past == 0 or (self.kind == FULL and past > 0))

    def strike(self, place: Any = None) -> None:
        """Let the operation fail at a path, which the error names, or at a descriptor."""
        if self.kind == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        name = None if isinstance(place, int) else place
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


@dataclass(frozen=True)
class Ended:
    """A process that has ended.

    Attributes:
        status: exit status; negative for a signal.
        error: its standard error.
        seconds: its duration.
    """

    status: int
    error: str
    seconds: float


def install(folder: Path, fault: Fault) -> None:
    """Install a fault in this process for good."""
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
            if below(place, options.get("dir_fd")) and fault.is_due(name):
                if name == "write":
                    real(place, more[0][: len(more[0]) // 2])
                fault.strike(place)
            return real(place, *more, **options)

        return call

    class File(io.FileIO):
        def write(self, data: Any) -> int:
            if fault.is_due("write"):
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
        if fault.is_due("open"):
            fault.strike(file)
        raw = File(file, mode.replace("b", "").replace("t", ""))
        buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *more, **options)

    for name in OPERATIONS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    io.open = builtins.open = open_file  # type: ignore[assignment]


class Running:
    """A process started by ``child``."""

    def __init__(self, process: Any, output: Any) -> None:
        self.process, self._output = process, output
        self._begun = time.monotonic()

    def ended(self) -> Ended:
        """Wait for its end."""
        self.process.join()
        seconds = time.monotonic() - self._begun
        error = os.pread(self._output.fileno(), 1 << 20, 0)
        return Ended(self.process.exitcode, error.decode(errors="replace"), seconds)


@contextmanager
def child(work: Callable[[], int]) -> Iterator[Running]:
    """Run work in a fork of this process; it returns the exit status."""

    def run() -> None:
        status = 99
        try:
            signal.alarm(SECONDS)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for place, target in enumerate((nowhere, nowhere, output.fileno())):
                os.dup2(target, place)
            sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
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
    """Run work in a child process with a fault below a folder."""

    def faulty() -> int:
        install(folder, fault or Fault())
        return work()

    with child(faulty) as running:
        return running.ended()


def as_a_process(words: list[str], folder: Path) -> Callable[[], int]:
    """Return the work of ``python -m matchenv`` in a folder, with its handling of signals."""

    def work() -> int:
        os.chdir(folder)
        return main(words)

    return work


def content_of(folder: Path, left_out: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return the bytes of all files below a folder, temporary ones included."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(left_out)
    }
