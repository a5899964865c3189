"""The order of numbers of any size, without rounding.

A float64 holds whole numbers up to 2^53. Beyond it, neighbours become the same float: times in
nanoseconds would be draws. So ranks and scores are put in order as they are, and only their
places in that order become arrays.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def dense_rank(name: str, values: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
    """Return the place of each number among the distinct ones: 0 for the least, equal for equals.

    Args:
        name: the argument's name, for the message.
        values: a row of finite real numbers: an array, or any mixture of Python's integers,
            floats and fractions and NumPy's numbers. All are compared exactly.

    Raises:
        ValueError: if it is no row, or holds something else, NaN or an infinity.
    """
    try:
        given = values.tolist() if isinstance(values, np.ndarray) else list(values)  # type: ignore[arg-type]
        items = [_as_real(name, value) for value in given]
    except TypeError:
        raise ValueError(f"{name} must be a row of real numbers, got {values!r}") from None
    place = {value: index for index, value in enumerate(sorted(set(items)))}
    return np.fromiter((place[value] for value in items), np.int64, len(items))


def _as_real(name: str, value: Any) -> Any:
    # The usual kinds first: checking against the abstract ones is slow.
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    number = value
    if isinstance(value, np.number | np.bool_ | np.ndarray) and value.ndim == 0:
        number = value.item()
    if not isinstance(number, numbers.Real):
        raise ValueError(f"{name} must hold real numbers, got {value!r}")
    real: Any = number  # the abstract type knows no comparison with a float
    if not -math.inf < real < math.inf:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return real
