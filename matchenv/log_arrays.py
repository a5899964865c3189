"""Checks of the flat arrays that a match log is made of."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]
Array = TypeVar("Array", bound=NDArray[Any])


def as_integers(name: str, value: ArrayLike, dtype: type) -> NDArray[Any]:
    """A row of integers in another type that holds them all, as a copy.

    Raises:
        ValueError: for anything else.
    """
    array = np.asarray(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a row of integers, got {value!r}")
    converted: NDArray[Any] = array.astype(dtype)
    if (converted != array).any():
        raise ValueError(f"{name} must fit into {np.dtype(dtype)}")
    return converted


def as_flags(name: str, value: ArrayLike) -> NDArray[np.bool_]:
    """A row of booleans, as a copy.

    Raises:
        ValueError: for anything else.
    """
    array = np.array(value)
    if array.ndim != 1 or (array.size and array.dtype != np.bool_):
        raise ValueError(f"{name} must be a row of booleans, got {value!r}")
    return array.astype(np.bool_)


def read_only(array: Array) -> Array:
    """The same array, in which nobody can write any more."""
    array.setflags(write=False)
    return array


def check_starts(name: str, starts: Integers, count: int, least: int) -> None:
    """See that starts cut ``count`` things into parts of at least ``least``.

    Raises:
        ValueError: if not.
    """
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != count:
        raise ValueError(f"{name} must begin with 0 and end with {count}, got {starts!r}")
    sizes = np.diff(starts)
    if (sizes < least).any():
        index = int(np.argmax(sizes < least))
        raise ValueError(
            f"{name} must leave each part at least {least} long, got {sizes[index]} at {index}"
        )


def check_shape(name: str, array: NDArray[np.generic], count: int) -> None:
    """See that an array has one entry for each of ``count`` things.

    Raises:
        ValueError: if not.
    """
    if array.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {array.shape}")
