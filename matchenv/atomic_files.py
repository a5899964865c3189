"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".unfinished"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; whatever interrupts it, an older file stays as it was."""
    beside = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_text(path: Path, content: str) -> None:
    """As ``write_bytes``, in UTF-8."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name only when the block has ended well.

    Args:
        path: a folder that does not exist.

    Yields:
        The folder to write in.
    """
    beside = path.with_name(f".{path.name}{UNFINISHED}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    yield beside
    for file in beside.iterdir():
        with file.open("rb") as written:
            os.fsync(written.fileno())
    os.rename(beside, path)


def remove_unfinished(folder: Path) -> None:
    """Remove what an interrupted ``new_folder`` left in ``folder``."""
    for leftover in folder.glob(f".*{UNFINISHED}"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
