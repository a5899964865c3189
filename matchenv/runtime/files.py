"""Files that are whole or not there, checked when they are read; one format for each kind of data.

A file is written beside its place, synced, and moved into its place: a kill, a full disk or
Ctrl-C leaves the older file as it was. Arrays are .npz without pickle and with a checksum, plain
data is JSON, tables are CSV. A folder of results belongs to one process at a time.
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
import shutil
import stat
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import printable
from matchenv.runtime.signals import at_forced_exit, signals_wait

try:
    import fcntl
except ImportError:  # on Windows, where a file that is open cannot be replaced anyway
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from filelock import FileLock

# Arrays by name.
Arrays = dict[str, NDArray[Any]]

CLOSED = -1  # in place of a descriptor
UNFINISHED, LOCK = ".unfinished", ".lock"

# Bytes; a longer name of a file is cut, so that its temporary file has a name too.
LONGEST_NAME = 200

# In a file of arrays and in checked JSON: the checksum of all other entries.
CHECKSUM = "checksum"

# Bytes of an unpacked .npz that is read: a small file can claim to unpack to terabytes.
LARGEST_NPZ = 1 << 30

# Nesting of a JSON text that is read.
DEEPEST_JSON = 50

# Rows of a long table that are texts at a time.
ROWS_AT_A_TIME = 20_000

# First characters of a cell that a spreadsheet takes for a formula.
FORMULA = tuple("=+-@")

# Temporary files that this process writes, and files of the locks that it holds.
_writing: set[Path] = set()
_held: set[Path] = set()

_WRITE = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; whatever interrupts it, an older file stays as it was.

    The mode of an older file is kept, and a link stays a link: the file that it points to is
    replaced. A special file, such as ``/dev/null``, is written to.

    Args:
        path: the file, in a folder that exists.
        content: all of its bytes.

    Raises:
        OSError: if it cannot be written, a full disk included; names the file. Nothing has
            changed then.
    """
    write_together([(path, content)])


def write_text(path: Path, content: str) -> None:
    """Write a UTF-8 text like ``write_bytes``."""
    write_bytes(path, content.encode("utf-8"))


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write several files: all of them or, where one cannot be written, none.

    Everything that can fail, a full disk above all, comes before the first file is replaced.

    Args:
        files: paths and contents, as for ``write_bytes``.

    Raises:
        OSError: if one cannot be written; names it. Nothing has changed then.
        ValueError: for one path twice.
    """
    written: list[tuple[int, Path, Path]] = []
    try:
        for path, content in files:
            with errors_name(path):
                _write_beside(path, content, written)
        folders = {place.parent for _, _, place in written}
        while written:
            descriptor, beside, path = written[0]
            with errors_name(path):
                os.replace(beside, path)
            _close(descriptor)
            _writing.discard(beside)
            del written[0]
        for folder in folders:
            with errors_name(folder):
                _sync_folder(folder)
    finally:
        for descriptor, beside, _ in written:
            with suppress(OSError):
                beside.unlink()
            _close(descriptor)
            _writing.discard(beside)


@contextmanager
def errors_name(path: Path) -> Iterator[None]:
    """Add the name of a file to errors of descriptors, which do not know it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _write_beside(path: Path, content: bytes, written: list[tuple[int, Path, Path]]) -> None:
    """Write and sync the temporary file of a path, and note it."""
    place = Path(os.path.realpath(path))
    mode = place.stat().st_mode if place.exists() else stat.S_IFREG
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        place.write_bytes(content)
        return
    if any(place == other for _, _, other in written):
        raise ValueError(f"files that are written together must differ, got {path} twice")
    descriptor = _open_beside(place, written)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    if stat.S_IMODE(mode) and hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(mode))
    os.fsync(descriptor)
    if fcntl is None:
        os.close(descriptor)
        written[-1] = (CLOSED, *written[-1][1:])


def _close(descriptor: int) -> None:
    if descriptor != CLOSED:
        os.close(descriptor)


def _open_beside(place: Path, written: list[tuple[int, Path, Path]]) -> int:
    """Open the temporary file of a path, which one process at a time writes, and note it.

    What a killed process left there is overwritten.
    """
    name = os.fsencode(place.name)[:LONGEST_NAME].decode(errors="ignore")
    beside = place.with_name(f".{name}{UNFINISHED}")
    while True:
        # Ctrl-C between the two would leave the new file behind.
        with signals_wait():
            descriptor = os.open(beside, _WRITE, 0o666)
            if _is_ours(descriptor, beside, wait=False):
                _writing.add(beside)
                written.append((descriptor, beside, place))
                os.ftruncate(descriptor, 0)
                return descriptor
        try:
            _is_ours(descriptor, beside, wait=True)
        finally:
            os.close(descriptor)


def _is_ours(descriptor: int, path: Path, *, wait: bool) -> bool:
    """Lock an open temporary file; False if another process has it, or has moved it meanwhile."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return True  # a file system without locks
        raise


def _sync_folder(folder: Path) -> None:
    """Sync the names in a folder, where the system supports that."""
    if fcntl is None or not os.access(folder, os.R_OK):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def is_unfinished(path: Path) -> bool:
    """Return whether a path is the temporary file, or folder, of one that is being written."""
    return path.name.startswith(".") and path.name.endswith(UNFINISHED)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder that this process has locked."""
    for place, folders, names in os.walk(folder):
        for path in filter(is_unfinished, (Path(place, name) for name in (*folders, *names))):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


@contextmanager
def folder_lock(folder: Path, *, make: bool = True, new: bool = False) -> Iterator[None]:
    """Keep other processes out of a folder for the time of a block.

    The operating system frees the lock when its process ends, however it ends: a killed process
    keeps nobody out.

    Args:
        folder: the folder.
        make: make the folder if it does not exist, and remove it again if it stays empty.
        new: only a folder that does not exist yet.

    Raises:
        FileExistsError: if the folder is to be new and is not.
        ValueError: if another process works in the folder; names that process. If there is no
            folder.
        OSError: if the folder cannot be made or written.
    """
    from filelock import FileLock  # it takes a while to load

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
        with errors_name(file):
            file.write_text(json.dumps(holder), encoding="utf-8")
        yield
    finally:
        if lock.is_locked:
            # Removed while it is held: a process that opened it meanwhile sees that it has gone,
            # and tries again.
            file.unlink(missing_ok=True)
            _held.discard(file)
            lock.release()
        for each in missing:
            with suppress(OSError):
                each.rmdir()


def held_folders() -> tuple[Path, ...]:
    """Return the folders that this process has locked."""
    return tuple(file.parent for file in tuple(_held))


@at_forced_exit
def _remove_temporary_files() -> None:
    """Remove the locks and temporary files of a process that ends without ``finally``."""
    for file in (*_held, *_writing):
        with suppress(OSError):
            file.unlink()


def _acquire(lock: FileLock, folder: Path, make: bool) -> None:
    from filelock import Timeout

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
    """Describe the process that holds a lock."""
    try:
        holder = json.loads(file.read_text(encoding="utf-8"))
        return f"process {holder['pid']} on {holder['host']} ({' '.join(holder['command'])})"
    except (OSError, ValueError, KeyError, TypeError):
        # Between taking the lock and writing its name.
        return "a process that has just begun"


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


def read_npz(path: Path, belongs_to: Any = None, *, checked: bool = True) -> Arrays:
    """Read arrays that ``npz_bytes`` packed.

    Args:
        path: the file.
        belongs_to: as it was packed.
        checked: False for a file from elsewhere, which may have no checksum.

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
    found = str(arrays.pop(CHECKSUM, "")) if checked or CHECKSUM in arrays else None
    if found is not None and found != checksum(belongs_to, arrays):
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
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:  # a broken encoding too
        raise ValueError(f"{name} must be JSON: {error}") from None
    level = [found]
    for _ in range(DEEPEST_JSON):
        level = [each for outer in level if isinstance(outer, dict | list)
                 for each in (outer.values() if isinstance(outer, dict) else outer)]  # fmt: skip
    if level:
        raise _too_deep(name)
    return found


def _too_deep(name: str) -> ValueError:
    return ValueError(f"{name} must be JSON that is nested at most {DEEPEST_JSON} levels deep")


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


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
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
    return csv_bytes(list(records[0]), (record.values() for record in records))  # type: ignore[misc]


def columns_csv(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack columns of equal length as ``csv_bytes`` does."""
    length = max(column.size for column in columns.values())
    parts = (slice(first, first + ROWS_AT_A_TIME) for first in range(0, length, ROWS_AT_A_TIME))
    return csv_bytes(
        list(columns),
        (row for part in parts
         for row in zip(*(column[part].tolist() for column in columns.values()), strict=True)),
    )  # fmt: skip


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
