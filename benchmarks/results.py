"""Result files: whole or not there, and equal bytes for equal results."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that at each moment its name holds all of the old or of the new.

    Args:
        path: the file, in a folder that exists.
        content: all of it.

    Raises:
        OSError: if it cannot be written, a full disk included; the old file is untouched.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp keeps others out; a result may be read by whom the user's umask allows.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def json_bytes(data: Any) -> bytes:
    """Data as indented JSON: lists for arrays, null for NaN and infinity."""
    return f"{json.dumps(_plain(data), indent=1, allow_nan=False)}\n".encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as CSV; floats as short as they can be read back, nothing for None and NaN."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return buffer.getvalue().encode()


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as NumPy's compressed .npz, which ``np.load`` reads without pickle."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return ""
    return repr(float(value)) if isinstance(value, float | np.floating) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
