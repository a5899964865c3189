"""Files of compiled code with checksums, so that damaged code is never run.

Numba keeps pickled files without a checksum, and lets whatever is wrong with one end the
program. Its hooks are wrapped here: what cannot be read is compiled anew, and what cannot be
written is left.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable
from typing import Any

# Stands behind the pickled object, where Python does not look, before the sha256 of it.
SEAL = b"matchenv sha256 "
LENGTH = len(SEAL) + hashlib.sha256().digest_size


def guard(cache: Any, trouble: Callable[[Exception], None]) -> None:
    """Let no file of a cache, nor a folder that cannot be written, end the program.

    Args:
        cache: of one function, Numba's.
        trouble: told what was wrong.
    """
    files = cache._cache_file
    dump, load_index = files._dump, files._load_index
    load, save = cache.load_overload, cache.save_overload

    def load_data(name: str) -> Any:
        with open(files._data_path(name), "rb") as file:
            return unsealed(file.read())

    def load_sealed_index() -> Any:
        if os.path.exists(files._index_path):
            with open(files._index_path, "rb") as file:
                pickle.load(file)  # the version
                unsealed(file.read())
        return load_index()

    def load_or_nothing(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception as error:
            trouble(error)
            return None

    def save_or_leave(signature: Any, data: Any) -> None:
        try:
            try:
                save(signature, data)
            except (OSError, MemoryError):
                raise
            except Exception:  # a damaged index: it is begun anew
                cache.flush()
                save(signature, data)
        except Exception as error:
            trouble(error)

    files._dump = lambda data: sealed(dump(data))
    files._load_data, files._load_index = load_data, load_sealed_index
    cache.load_overload, cache.save_overload = load_or_nothing, save_or_leave


def sealed(data: bytes) -> bytes:
    """A pickled object with its checksum behind it."""
    return data + SEAL + hashlib.sha256(data).digest()


def unsealed(data: bytes) -> Any:
    """The object in ``sealed`` bytes, or in those that Numba alone wrote, which end with it.

    Raises:
        Exception: of any kind, if they are damaged.
    """
    content = data[:-LENGTH]
    if data == sealed(content):
        return pickle.loads(content)
    file = io.BytesIO(data)
    found = pickle.load(file)
    if file.read():
        raise ValueError("its checksum does not fit")
    return found
