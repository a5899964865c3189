"""Files that are complete or absent, and checked when they are read; one format for each use.

A file is written under a temporary name, synced and moved into place, so a kill, a full disk or
Ctrl-C leaves the previous version. Arrays are .npz with a checksum and without pickle, plain data
is JSON, tables are CSV. One process at a time works in a folder of results.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import math
import os
import platform
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import printable

# Arrays by name.
Arrays = dict[str, NDArray[Any]]

LOCK = ".lock"

# A temporary name: number, process id and host.
UNFINISHED = re.compile(r"\.\d+\.(\d{1,9})@(.*)\.unfinished")
_numbers = count()

# Key of the checksum in an .npz and in checked JSON.
CHECKSUM = "checksum"

# A spreadsheet evaluates cells that start with one of these.
FORMULA = tuple("=+-@")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically; see ``write_together``."""
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write several files, or none of them if one cannot be written.

    All content is on disk before the first file is replaced. A file keeps its mode. A symbolic link
    stays, and its target is replaced. A special file such as ``/dev/null`` is written to.

    Args:
        files: paths in existing folders, each with its content.

    Raises:
        OSError: if a file cannot be written; names it. Nothing has changed then.
        ValueError: for a path that is given twice.
    """
    begun: dict[Path, Path] = {}
    try:
        for path, content in files:
            target = Path(os.path.realpath(path))
            if target in begun:
                raise ValueError(f"files that are written together must differ, got {path} twice")
            with errors_name(path):
                mode = target.stat().st_mode if target.exists() else stat.S_IFREG
                if stat.S_ISDIR(mode):  # refused before anything is replaced
                    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
                if not stat.S_ISREG(mode):
                    target.write_bytes(content)
                    continue
                remove_unfinished(target.parent.glob(".*.unfinished"))
                name = f".{next(_numbers)}.{os.getpid()}@{platform.node()}.unfinished"
                begun[target] = target.with_name(name)
                with open(begun[target], "wb") as file:
                    if stat.S_IMODE(mode):
                        begun[target].chmod(stat.S_IMODE(mode))
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        for target, temporary in begun.items():
            with errors_name(target):
                os.replace(temporary, target)
    finally:
        for temporary in begun.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def errors_name(path: Path) -> Iterator[None]:
    """Name this file in an ``OSError``, instead of its temporary file or none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def remove_unfinished(paths: Iterable[Path]) -> None:
    """Remove those temporary files whose process ran on this machine and has ended."""
    if os.name == "nt":  # where signal 0 is Ctrl-C
        return
    for path in paths:
        name = UNFINISHED.fullmatch(path.name)
        if name is not None and name[2] == platform.node():
            with suppress(OSError):
                try:
                    os.kill(int(name[1]), 0)
                except ProcessLookupError:
                    path.unlink()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder, and remove temporary files that a kill left below it.

    The operating system releases the lock when the process ends, even if it is killed.

    Args:
        folder: created if it does not exist, and removed again if it stays empty.

    Raises:
        ValueError: if another process works in the folder (names that process), or for a file.
        OSError: if the folder cannot be created or written.
    """
    from filelock import FileLock, Timeout  # slow to import

    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"out must be no file, got {str(folder)!r}") from None
    file = folder / LOCK
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
        holder = f"process {os.getpid()} on {platform.node()} ({' '.join(sys.argv)})"
        if os.name != "nt":  # Windows writes to no locked file, and keeps an open one
            with errors_name(file):
                file.write_text(holder, encoding="utf-8", errors="backslashreplace")
        remove_unfinished(folder.rglob(".*.unfinished"))
        yield
    except Timeout:
        holder = ""
        with suppress(OSError, ValueError):
            holder = file.read_text(encoding="utf-8")
        raise ValueError(
            f"one process at a time may work in a folder, and {folder} is in use by "
            f"{holder or 'a process that has just begun'}"
        ) from None
    finally:
        if lock.is_locked:
            # Removed before the release: a process that has opened it notices, and tries again.
            with suppress(PermissionError):
                file.unlink(missing_ok=True)
            lock.release()
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def checksum(data: Any, arrays: Mapping[str, NDArray[Any]] | None = None) -> str:
    """Return the SHA-256 of JSON data and of named arrays, in hexadecimal.

    The order of a mapping does not matter; the types and shapes of arrays do.
    """
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def npz_bytes(
    arrays: Mapping[str, NDArray[Any]], belongs_to: Any = None, *, compressed: bool = True
) -> bytes:
    """Pack arrays as NumPy's .npz, with a checksum and without pickle.

    Args:
        arrays: arrays by name; ``"checksum"`` is reserved.
        belongs_to: plain data, for example settings, that ``read_npz`` must be given again.
        compressed: whether a small file matters more than speed.

    Raises:
        ValueError: for an array of objects, which needs pickle.
    """
    # NumPy 2.1 would take ``allow_pickle`` for the name of an array.
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or texts, got {array.dtype}")
    buffer = io.BytesIO()
    content: Any = {**arrays, CHECKSUM: np.array(checksum(belongs_to, arrays))}
    if compressed:
        np.savez_compressed(buffer, **content)
    else:
        np.savez(buffer, **content)
    return buffer.getvalue()


def read_npz(path: Path, belongs_to: Any = None) -> Arrays:
    """Read the arrays that ``npz_bytes`` packed with the same ``belongs_to``.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: for a file that is damaged, or belongs to something else; names it.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive raises almost any exception
        raise ValueError(f"{path} is damaged: {error}") from None
    if str(arrays.pop(CHECKSUM, "")) != checksum(belongs_to, arrays):
        raise ValueError(f"{path} is damaged, or of other settings or another job")
    return arrays


def json_bytes(data: Any, *, checked: bool = False) -> bytes:
    """Pack data as indented JSON: arrays become lists, NaN and infinity become null.

    Args:
        data: mappings, dataclasses, sequences, arrays, numbers and texts.
        checked: whether to add the entry ``"checksum"`` to a mapping, which ``read_json`` verifies.
    """
    plain = _plain(data)
    if checked:
        plain[CHECKSUM] = checksum(plain)
    return f"{json.dumps(plain, indent=1, allow_nan=False)}\n".encode()


def read_json(path: Path) -> Any:
    """Read a JSON file; verify and drop its checksum, if it has one.

    Raises:
        OSError: if the file cannot be read.
        ValueError: for bad JSON (see ``parsed_json``) or a wrong checksum; names the file.
    """
    data = parsed_json(path.read_bytes(), str(path))
    if isinstance(data, dict) and CHECKSUM in data:
        expected = data.pop(CHECKSUM)
        if expected != checksum(data):
            raise ValueError(f"{path} is damaged: its checksum does not fit")
    return data


def parsed_json(text: str | bytes, name: str = "it") -> Any:
    """Parse JSON, in UTF-8 if it is bytes.

    Raises:
        ValueError: for invalid or too deeply nested JSON, NaN and infinity; begins with ``name``.
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"{name} must be JSON, and is nested too deeply") from None
    except ValueError as error:  # a broken encoding too
        raise ValueError(f"{name} must be JSON: {error}") from None


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"numbers must be finite, got {text}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def csv_bytes(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """Pack a table as CSV.

    Floats have the fewest digits that are read back exactly; None, NaN and infinity are empty
    cells. Texts have control characters escaped, and an apostrophe before what a spreadsheet would
    evaluate as a formula.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow(map(_cell, row))
    return buffer.getvalue().encode()


def records_csv(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Pack one or more records with the same keys; see ``csv_bytes``."""
    return csv_bytes(list(records[0]), (record.values() for record in records))


def columns_csv(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack columns of equal length; see ``csv_bytes``."""
    return csv_bytes(list(columns), zip(*columns.values(), strict=True))


def number(cell: float | str | None) -> float:
    """Return a number of a result file, where an empty cell or null is NaN."""
    if cell is None or cell == "":
        return math.nan
    return float(cell)


def without_apostrophe(cell: str) -> str:
    """Return a text of a result file without the apostrophe that ``csv_bytes`` adds."""
    if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA):
        return cell[1:]
    return cell


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        cell = printable(value, kept="\n")
        if cell.lstrip("'").startswith(FORMULA):
            cell = f"'{cell}"
        return cell
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            return ""
        return repr(float(value))
    return value
