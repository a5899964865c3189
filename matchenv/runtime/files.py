"""Files that are whole or not there: written beside their place, then moved into it.

What is written beside has a name that no other process takes, and is locked while it is written:
a file of that kind without a lock is of a process that was killed, and can go.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from matchenv.runtime.signals import signals_wait

try:
    import fcntl
except ImportError:  # on Windows, where a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".unfinished"
BESIDE = re.compile(r"\..*\.[0-9a-f]{16}\.unfinished", re.DOTALL)

# Bytes; longer names of files are cut, so that what is written beside them has a name too.
LONGEST_NAME = 200

# Where this process has looked for what killed ones left behind.
_looked: set[Path] = set()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; whatever interrupts it, an older file stays as it was.

    The mode of an older file is kept, and a link stays one: what it leads to is replaced. What
    is no regular file, such as ``/dev/null``, is written to.

    Args:
        path: the file, in a folder that exists.
        content: all of it.

    Raises:
        OSError: if it cannot be written, a full disk included; nothing has changed then.
    """
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write several files, all of them or, where one cannot be written, none.

    What can fail, a full disk above all, comes before the first old file is replaced.

    Args:
        files: paths and contents; for each as ``write_bytes``.

    Raises:
        OSError: if one cannot be written; nothing has changed then.
    """
    written: list[tuple[int, Path, Path]] = []
    try:
        for path, content in files:
            place = Path(os.path.realpath(path))
            mode = _mode_of(place)
            if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                place.write_bytes(content)
                continue
            if place.parent not in _looked:
                remove_unfinished(place.parent)
                _looked.add(place.parent)
            # Ctrl-C between the two would leave the new file behind.
            with signals_wait():
                descriptor, beside = _new_file(place)
                written.append((descriptor, beside, place))
            _write_all(descriptor, content)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(mode))
            os.fsync(descriptor)
        places = [place for _, _, place in written]
        while written:
            descriptor, beside, place = written[0]
            if fcntl is None:
                os.close(descriptor)
                written[0] = (-1, beside, place)
            os.replace(beside, place)
            if fcntl is not None:
                os.close(descriptor)
            del written[0]
    finally:
        for descriptor, beside, _ in written:
            if descriptor >= 0:
                os.close(descriptor)
            with suppress(OSError):
                beside.unlink()
    for folder in {place.parent for place in places}:
        sync_folder(folder)


def write_text(path: Path, content: str) -> None:
    """As ``write_bytes``, in UTF-8."""
    write_bytes(path, content.encode("utf-8"))


def remove_unfinished(folder: Path) -> None:
    """Remove the files that killed processes left in ``folder`` half written.

    Files that another process is writing stay.
    """
    try:
        names = os.listdir(folder)
    except OSError:  # it cannot be read, so there is nothing to be done
        return
    for name in filter(BESIDE.fullmatch, names):
        leftover = folder / name
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            _remove_if_left(leftover)


def remove_unfinished_below(folder: Path) -> None:
    """``remove_unfinished`` in a folder that this process has locked, and in all that are in it."""
    for place, _, _ in os.walk(folder):
        remove_unfinished(Path(place))


def is_unfinished(path: Path) -> bool:
    """Whether a file is one that was to be moved to its place, and was not."""
    return BESIDE.fullmatch(path.name) is not None


def sync_folder(folder: Path) -> None:
    """See that the names in a folder are on disk, where the system can say so.

    Raises:
        OSError: if the disk fails.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder may be writable and not readable
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _beside(path: Path) -> Path:
    """A name beside a path that nobody has."""
    name = os.fsencode(path.name)[:LONGEST_NAME].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(8)}{UNFINISHED}")


def _new_file(path: Path) -> tuple[int, Path]:
    """A new file beside a path, locked by this process."""
    while True:
        beside = _beside(path)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        if fcntl is None or _locked(descriptor, beside):
            return descriptor, beside
        os.close(descriptor)


_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def _locked(descriptor: int, path: Path) -> bool:
    """Whether a file that was just made was locked before somebody took it for a leftover."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks
        return True


def _remove_if_left(path: Path) -> None:
    """Remove a file, unless a process is writing it."""
    with suppress(OSError):
        if fcntl is None:
            path.unlink()
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # While it is locked: a process that made it just now sees that it has gone.
            path.unlink()
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
