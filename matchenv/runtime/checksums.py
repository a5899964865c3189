"""Checksums of plain data and arrays, by which files show that they are as they were written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def checksum(said: Any, arrays: Mapping[str, NDArray[Any]] | None = None) -> str:
    """A sha256 in hexadecimal.

    Args:
        said: what JSON can say. A mapping's order does not count, nor does how it was written.
        arrays: by name; their types, shapes and numbers count.
    """
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
