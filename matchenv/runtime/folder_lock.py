"""One process at a time in a folder of results."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from matchenv.runtime.files import remove_unfinished_below

LOCK = ".lock"

# The files of the locks that this process holds.
_held: set[Path] = set()


@contextmanager
def folder_lock(folder: Path, *, make: bool = True, new: bool = False) -> Iterator[None]:
    """Keep other processes out of a folder for the time of a block.

    The operating system frees the lock when its process ends, however it ends: what a killed
    process left behind is taken over.

    Args:
        folder: where.
        make: make the folder if it does not exist, and remove it again if nothing was written
            to it.
        new: only a folder that does not exist yet.

    Raises:
        FileExistsError: if the folder is to be new and is not.
        ValueError: if another process works in the folder; the message names it. If there is
            no folder.
        OSError: if the folder cannot be made or written.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=not new)
    except (FileExistsError, NotADirectoryError):
        if new:
            raise
        make = False
    if not make and not folder.is_dir():
        raise ValueError(f"folder must be a folder that exists, got {str(folder)!r}")
    file = folder / LOCK
    lock = FileLock(file, timeout=0)
    try:
        _acquire(lock, folder, make)
        _held.add(file)
        holder = {"pid": os.getpid(), "host": platform.node(), "command": sys.argv}
        file.write_text(json.dumps(holder), encoding="utf-8")
        yield
    finally:
        if lock.is_locked:
            # Removed while it is held: who opened it meanwhile sees that it has gone, and tries
            # anew.
            file.unlink(missing_ok=True)
            _held.discard(file)
            lock.release()
        for each in missing:
            with suppress(OSError):
                each.rmdir()


def held_folders() -> tuple[Path, ...]:
    """The folders that this process has locked."""
    return tuple(file.parent for file in tuple(_held))


def free_folders() -> None:
    """Tidy up the folders that this process holds, which ends without leaving their blocks."""
    for file in tuple(_held):
        with suppress(OSError):
            remove_unfinished_below(file.parent)
            file.unlink()


def _acquire(lock: FileLock, folder: Path, make: bool) -> None:
    while True:
        try:
            lock.acquire()
            return
        except Timeout:
            raise ValueError(
                f"one process at a time may work in a folder, and {folder} is in use by "
                f"{_holder(folder / LOCK)}"
            ) from None
        except FileNotFoundError:
            # Another process made the folder too, wrote nothing, and has just removed it.
            if not make:
                raise
            folder.mkdir(parents=True, exist_ok=True)


def _holder(file: Path) -> str:
    """Who holds a lock, in words."""
    try:
        holder = json.loads(file.read_text(encoding="utf-8"))
        return f"process {holder['pid']} on {holder['host']} ({' '.join(holder['command'])})"
    except (OSError, ValueError, KeyError, TypeError):
        # Between taking the lock and writing its name.
        return "a process that has just begun"
