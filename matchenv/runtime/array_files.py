"""Files of NumPy arrays: written to equal bytes, read without pickle, known when damaged."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checksums import checksum

# What is kept, by name.
Arrays = dict[str, NDArray[Any]]

# In a checked file: the checksum of all else.
KEY = "key"


def npz_bytes(arrays: Mapping[str, NDArray[Any]], *, compressed: bool = True) -> bytes:
    """Arrays as NumPy's .npz, which ``np.load`` reads without pickle.

    Args:
        arrays: by name.
        compressed: whether it is to be small rather than quick.

    Raises:
        ValueError: for an array of objects, which only pickle could write.
    """
    # NumPy 2.1 would take ``allow_pickle`` for the name of one more array.
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or texts, got {array.dtype}")
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def checked_npz_bytes(
    said: Any, arrays: Mapping[str, NDArray[Any]], *, compressed: bool = True
) -> bytes:
    """Arrays as a file that ``read_checked_npz`` reads.

    Args:
        said: what the arrays belong to, as plain data; only who says the same can read them.
        arrays: by name, none of them ``KEY``.
        compressed: as in ``npz_bytes``.

    Raises:
        ValueError: as ``npz_bytes``.
    """
    return npz_bytes({**arrays, KEY: np.array(checksum(said, arrays))}, compressed=compressed)


def read_checked_npz(path: Path, said: Any) -> Arrays:
    """The arrays that ``checked_npz_bytes`` packed.

    Args:
        path: of the file.
        said: as there.

    Raises:
        FileNotFoundError: where there is none.
        ValueError: for a file that is damaged or belongs to something else; names it.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    # A damaged archive raises almost anything.
    except Exception as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if str(arrays.pop(KEY, "")) != checksum(said, arrays):
        raise ValueError(f"{path} is damaged, or of other settings or another job")
    return arrays
