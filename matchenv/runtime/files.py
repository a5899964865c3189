"""Files that are whole or not there, checked when they are read; one format for each kind of data.

A file is written beside its place, synced, and moved into its place: a kill, a full disk or
Ctrl-C leaves the older file as it was. Arrays are .npz without pickle and with a checksum, plain
data is JSON, tables are CSV. A folder of results belongs to one process at a time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import platform
import re
import stat
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import printable
from matchenv.runtime.signals import temporary_files

# Arrays by name.
Arrays = dict[str, NDArray[Any]]

LOCK = ".lock"

# Name of a temporary file: its number, process and host.
UNFINISHED = re.compile(r"\.\d+\.(\d+)@(.*)\.unfinished")

# In a file of arrays and in checked JSON: the checksum of all other entries.
CHECKSUM = "checksum"

# Bytes of an unpacked .npz that is read: a small file can claim to unpack to terabytes.
LARGEST_NPZ = 1 << 30

# Nesting of a JSON text that is read.
DEEPEST_JSON = 50

# First characters of a cell that a spreadsheet takes for a formula.
FORMULA = tuple("=+-@")

# Of the temporary files of this process.
_numbers = count()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step, as ``write_together``."""
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write several files: all of them or, where one cannot be written, none.

    Everything that can fail, a full disk above all, comes before the first file is replaced. The
    mode of an older file is kept, and a link stays a link: the file that it points to is replaced.
    A special file, such as ``/dev/null``, is written to.

    Args:
        files: paths, in folders that exist, and all bytes of each.

    Raises:
        OSError: if one cannot be written; names it. Nothing has changed then.
        ValueError: for one path twice.
    """
    begun: dict[Path, Path] = {}
    try:
        for path, content in files:
            place = Path(os.path.realpath(path))
            if place in begun:
                raise ValueError(f"files that are written together must differ, got {path} twice")
            with errors_name(path):
                mode = place.stat().st_mode if place.exists() else stat.S_IFREG
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    place.write_bytes(content)
                    continue
                _remove_left_behind(place.parent, os.getpid())
                name = f".{next(_numbers)}.{os.getpid()}@{platform.node()}.unfinished"
                begun[place] = place.with_name(name)
                # Before the file is there, so that no moment is left to leave it behind.
                temporary_files.add(begun[place])
                with open(begun[place], "wb") as file:
                    if stat.S_IMODE(mode):
                        begun[place].chmod(stat.S_IMODE(mode))
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        for place, beside in begun.items():
            with errors_name(place):
                os.replace(beside, place)
    finally:
        for beside in begun.values():
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            temporary_files.discard(beside)


@contextmanager
def errors_name(path: Path) -> Iterator[None]:
    """Name a file in errors, in place of its temporary file or of none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


@cache
def _remove_left_behind(folder: Path, process: int) -> None:
    """Remove what processes that were killed left in a folder, once in each process."""
    del process
    with suppress(OSError):
        for name in filter(_is_left_behind, os.listdir(folder)):
            (folder / name).unlink()


def _is_left_behind(name: str) -> bool:
    """Return whether it is a temporary file of a process of this machine that has ended."""
    found = UNFINISHED.fullmatch(name)
    if found is None or found[2] != platform.node():
        return False
    try:
        if os.name != "nt":  # where this would be Ctrl-C
            os.kill(int(found[1]), 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, PermissionError)  # another user's
    return False


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder for the time of a block.

    The operating system frees the lock when its process ends, however it ends: a killed process
    keeps nobody out, and the temporary files that it left below the folder are removed.

    Args:
        folder: it is made if it does not exist, and removed again if it stays empty.

    Raises:
        ValueError: if another process works in the folder; names that process. If a file is there.
        OSError: if the folder cannot be made or written.
    """
    from filelock import FileLock, Timeout  # it takes a while to load

    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"folder must be no file, got {str(folder)!r}") from None
    file = folder / LOCK
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
        temporary_files.add(file)
        holder = f"process {os.getpid()} on {platform.node()} ({' '.join(sys.argv)})"
        with errors_name(file):
            file.write_text(holder, encoding="utf-8", errors="backslashreplace")
        for path in folder.rglob(".*.unfinished"):
            if _is_left_behind(path.name):
                path.unlink(missing_ok=True)
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
            # Removed while it is held: a process that opened it meanwhile sees that it has gone,
            # and tries again.
            file.unlink(missing_ok=True)
            temporary_files.discard(file)
            lock.release()
        for each in missing:
            with suppress(OSError):
                each.rmdir()


def checksum(data: Any, arrays: Mapping[str, NDArray[Any]] | None = None) -> str:
    """Return the sha256 of plain data and arrays, in hexadecimal.

    Args:
        data: anything that JSON can hold. The order of a mapping does not count.
        arrays: by name; types, shapes and numbers count.
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
        arrays: by name, none of them ``"checksum"``.
        belongs_to: plain data that ``read_npz`` must be given again, such as settings.
        compressed: small rather than quick.

    Raises:
        ValueError: for an array of objects, which only pickle could write.
    """
    # NumPy 2.1 would take ``allow_pickle`` for the name of one more array.
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or texts, got {array.dtype}")
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, **{**arrays, CHECKSUM: np.array(checksum(belongs_to, arrays))})  # type: ignore[arg-type]
    return buffer.getvalue()


def read_npz(path: Path, belongs_to: Any = None) -> Arrays:
    """Read arrays that ``npz_bytes`` packed.

    Args:
        path: the file.
        belongs_to: as it was packed.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: for a file that is damaged, belongs to something else or unpacks to more than
            ``LARGEST_NPZ`` bytes; names it.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(each.file_size for each in packed.infolist())
        if size > LARGEST_NPZ:
            raise ValueError(f"it unpacks to {size:,} bytes, at most {LARGEST_NPZ:,} are read")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    # A damaged archive raises almost anything.
    except Exception as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if str(arrays.pop(CHECKSUM, "")) != checksum(belongs_to, arrays):
        raise ValueError(f"{path} is damaged, or of other settings or another job")
    return arrays


def json_bytes(data: Any, *, checked: bool = False) -> bytes:
    """Pack data as indented JSON: lists for arrays, null for NaN and infinity.

    Args:
        data: mappings, dataclasses, sequences, arrays, numbers and texts.
        checked: add the entry ``"checksum"`` to a mapping, which ``read_json`` verifies.
    """
    plain = _plain(data)
    if checked:
        plain[CHECKSUM] = checksum(plain)
    return f"{json.dumps(plain, indent=1, allow_nan=False)}\n".encode()


def read_json(path: Path) -> Any:
    """Read a file of JSON; a checksum in it is verified and left out.

    Raises:
        OSError: if it cannot be read.
        ValueError: as ``parsed_json``, and for a checksum that does not fit; names the file.
    """
    found = parsed_json(path.read_bytes(), str(path))
    expected = found.pop(CHECKSUM, None) if isinstance(found, dict) else None
    if expected is not None and expected != checksum(found):
        raise ValueError(f"{path} is damaged: its checksum does not fit")
    return found


def parsed_json(text: str | bytes, name: str = "it") -> Any:
    """Parse a JSON text.

    Args:
        text: the JSON, in UTF-8 if it is bytes.
        name: its name in messages.

    Raises:
        ValueError: if it is no JSON, nested deeper than ``DEEPEST_JSON`` levels, or has NaN or
            infinity.
    """
    try:
        found = json.loads(text, parse_constant=_refuse)
        _check_depth(found, DEEPEST_JSON)
    except RecursionError:
        levels = f"at most {DEEPEST_JSON} levels deep"
        raise ValueError(f"{name} must be JSON that is nested {levels}") from None
    except ValueError as error:  # a broken encoding too
        raise ValueError(f"{name} must be JSON: {error}") from None
    return found


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, dict | list):
        if left == 0:
            raise RecursionError
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, left - 1)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"numbers must be finite, got {constant}")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def csv_bytes(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """Pack a table as CSV.

    Floats have as few digits as are read back exactly; None, NaN and infinity are empty cells.
    In texts control characters are escaped, and what a spreadsheet would take for a formula gets
    an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(_cell, header))
    for row in rows:
        writer.writerow(map(_cell, row))
    return buffer.getvalue().encode()


def records_csv(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Pack rows with the same keys, at least one, as ``csv_bytes`` does."""
    return csv_bytes(list(records[0]), (record.values() for record in records))


def columns_csv(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack columns of equal length as ``csv_bytes`` does."""
    return csv_bytes(list(columns), zip(*columns.values(), strict=True))


def number(cell: float | str | None) -> float:
    """Return a number of a result file, where NaN is an empty cell or null."""
    return math.nan if cell is None or cell == "" else float(cell)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        text = printable(value, kept="\n")
        return f"'{text}" if text.startswith(FORMULA) else text
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return ""
    return repr(float(value)) if isinstance(value, float | np.floating) else value
