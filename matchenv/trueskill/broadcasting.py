"""Arguments of any shape for compiled loops over flat arrays, and their results back in shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def flattened(*arrays: Floats) -> tuple[list[Floats], tuple[int, ...]]:
    """Broadcast arrays against each other and flatten them.

    Returns:
        ``(rows, shape)``: one contiguous row for each array, and the common shape.
    """
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    # NumPy warns of writing to what ``broadcast_arrays`` gives for one number: so copies.
    rows = [array if array.shape == shape else np.broadcast_to(array, shape).copy()
            for array in arrays]  # fmt: skip
    return [np.ascontiguousarray(row).ravel() for row in rows], shape


def shaped(row: Floats, shape: tuple[int, ...]) -> Any:
    """A row in the shape that ``flattened`` gave; a scalar where that is ``()``."""
    return row.reshape(shape)[()]
