"""Faults in what SQLite does with its files: it calls the system itself, past Python's ``os``."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any

from fault_injection import KILL, Fault

# Operations of SQLite that can find the disk full; the others of ``OPERATIONS`` cannot.
NEED_ROOM = {"open": "open", "write": "write", "pwrite": "write", "pwrite64": "write"}
OPERATIONS = {**NEED_ROOM, "ftruncate": "ftruncate", "unlink": "unlink"}

_POINTER, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
_TYPES = {
    "open": (_INT, ctypes.c_char_p, _INT, _INT),
    "write": (_LONG, _INT, _POINTER, _LONG),
    "pwrite": (_LONG, _INT, _POINTER, _LONG, _LONG),
    "pwrite64": (_LONG, _INT, _POINTER, _LONG, _LONG),
    "ftruncate": (_INT, _INT, _LONG),
    "unlink": (_INT, ctypes.c_char_p),
}


class _FileSystem(ctypes.Structure):
    """``sqlite3_vfs``: https://www.sqlite.org/c3ref/vfs.html."""

    _fields_ = [
        ("version", _INT), ("file_size", _INT), ("longest_path", _INT), ("next", _POINTER),
        ("name", ctypes.c_char_p), ("data", _POINTER),
        *((name, _POINTER) for name in
          ("open", "delete", "access", "full_path", "load", "load_error", "symbol", "unload",
           "random", "sleep", "time", "last_error", "time_64", "set_call", "get_call")),
    ]  # fmt: skip


def _file_system() -> Any:
    import _sqlite3

    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_FileSystem)
    return library.sqlite3_vfs_find(None)


def can_install() -> bool:
    """Whether this SQLite lets its calls of the system be replaced."""
    try:
        found = _file_system()
        return bool(found) and found.contents.version >= 3 and found.contents.name == b"unix"
    except (ImportError, OSError, AttributeError):
        return False


_kept: list[Any] = []  # SQLite calls them, and does not own them


def install(fault: Fault) -> None:
    """Let a fault happen in SQLite's files, in this process for good."""
    system = _file_system()
    get_call = ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_char_p)(system.contents.get_call)
    set_call = ctypes.CFUNCTYPE(_INT, _POINTER, ctypes.c_char_p, _POINTER)(system.contents.set_call)
    for name, operation in OPERATIONS.items():
        real = get_call(system, name.encode())
        if real is None:
            continue
        kind = ctypes.CFUNCTYPE(*_TYPES[name], use_errno=True)
        faulty = kind(_faulty(kind(real), name, operation, fault))
        _kept.append(faulty)
        set_call(system, name.encode(), ctypes.cast(faulty, _POINTER))


def _faulty(real: Any, name: str, operation: str, fault: Fault) -> Any:
    def call(*given: Any) -> int:
        if name == "open" and not given[1] & (os.O_RDWR | os.O_CREAT):
            return int(real(*given))
        if not fault.comes(operation):
            return int(real(*given))
        if fault.kind == KILL:
            if operation == "write":
                real(*given[:2], given[2] // 2, *given[3:])
            fault.strike()
        ctypes.set_errno(errno.ENOSPC)
        return -1

    return call
