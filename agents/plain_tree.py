"""Nested values as JSON and arrays, and back, with their types: what pickle does, without code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from matchenv.runtime.files import Arrays

# What stands in the JSON for what JSON does not know; every other mapping is written as pairs.
ARRAY, TENSOR, TUPLE, MAPPING = "array", "tensor", "tuple", "mapping"


def flattened(value: Any, arrays: Arrays, place: str = "") -> Any:
    """A value as JSON can say it, with its arrays put aside.

    Args:
        value: numbers, texts, None, arrays, tensors, and lists, tuples and mappings of these.
        arrays: takes the arrays; the names are the places in the value.
        place: where the value stands.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        arrays[place] = value.detach().cpu().numpy()
        return {TENSOR: place}
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {ARRAY: place}
    if isinstance(value, Mapping):
        return {
            MAPPING: [
                [flattened(key, arrays), flattened(each, arrays, f"{place}/{key}")]
                for key, each in value.items()
            ]
        }
    if isinstance(value, list | tuple):
        parts = [flattened(each, arrays, f"{place}/{i}") for i, each in enumerate(value)]
        return {TUPLE: parts} if isinstance(value, tuple) else parts
    raise TypeError(f"{place} must be plain data or arrays, got {type(value).__name__}")


def restored(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that ``flattened`` took apart; a named tuple comes back as a tuple.

    Raises:
        ValueError: for what ``flattened`` does not write.
        KeyError: for an array that is missing.
    """
    if isinstance(value, list):
        return [restored(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"a mapping must be written as pairs, got {sorted(value)}")
    ((kind, content),) = value.items()
    if kind == ARRAY:
        return arrays[content].copy()
    if kind == TENSOR:
        return torch.from_numpy(arrays[content].copy())
    if kind == TUPLE:
        return tuple(restored(each, arrays) for each in content)
    if kind == MAPPING:
        return {restored(key, arrays): restored(each, arrays) for key, each in content}
    raise ValueError(f"a kind must be array, tensor, tuple or mapping, got {kind!r}")
