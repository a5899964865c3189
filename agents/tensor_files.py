"""Safetensors files with a checksum: arrays, and plain data in the header; reading runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from matchenv.runtime.files import checksum, parsed_json, write_bytes

CHECKSUM = "sha256"


class ForeignFileError(ValueError):
    """Raised for a safetensors file of something else."""


class TensorFile(NamedTuple):
    """Content of a file.

    Attributes:
        header: the plain data.
        arrays: by name.
        checked: False for a file of an earlier version, which has no checksum.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    checked: bool


def write_tensor_file(
    path: Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file in one step; equal content gives equal bytes.

    Args:
        path: the file.
        kind: what it is; only as that it is read again.
        header: plain data that JSON can say.
        arrays: by name; what they hold is copied.

    Raises:
        OSError: if it cannot be written.
    """
    own = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    # As it will be read: keys are texts then.
    plain = json.loads(json.dumps(header, allow_nan=False))
    said = json.dumps({**plain, CHECKSUM: checksum([kind, plain], own)}, sort_keys=True)
    # A single entry: the library writes several in any order.
    write_bytes(path, save(own, metadata={kind: said}))


def read_tensor_file(path: Path, kind: str) -> TensorFile:
    """Read a file that ``write_tensor_file`` wrote.

    Args:
        path: the file.
        kind: what it must be.

    Raises:
        ForeignFileError: for a sound file of another kind.
        ValueError: if it is damaged; not with the file's name.
    """
    try:
        with safe_open(path, framework="numpy") as content:
            said = (content.metadata() or {}).get(kind)
            arrays = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    if said is None:
        raise ForeignFileError(f"its header says nothing of {kind}")
    header = parsed_json(said, "its header")
    if not isinstance(header, dict):
        raise ValueError("its header must be a mapping")
    found = header.pop(CHECKSUM, None)
    if found not in (None, checksum([kind, header], arrays)):
        raise ValueError("its checksum does not fit")
    return TensorFile(header, arrays, found is not None)
