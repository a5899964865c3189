"""Checks of ``reset(options=...)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_float_array, as_positive_array

Floats = NDArray[np.float64]

# An observation is float32: larger numbers would reach a policy as infinity.
LARGEST_OBSERVED = 1e30


def checked_options(options: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of a reset that are given, without those that are None.

    Raises:
        ValueError: for anything but a dict or None, and for an unknown key.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"options must be a dict or None, got {options!r}")
    for key in options:
        if key not in known:
            raise ValueError(
                f"options may hold {', '.join(repr(name) for name in known)}, got {key!r}"
            )
    return {name: value for name, value in options.items() if value is not None}


def as_given(name: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Floats:
    """Return means, deviations or skills of a reset's options as an array.

    Args:
        name: the option, ``"sigma"`` for deviations.
        value: its value.
        shapes: the allowed ones.

    Raises:
        ValueError: for another shape, or numbers that no observation can hold.
    """
    label = f"options[{name!r}]"
    check = as_positive_array if name == "sigma" else as_float_array
    array = check(label, value)
    if array.shape not in shapes:
        allowed = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{label} must have shape {allowed}, got {array.shape}")
    if (np.abs(array) > LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at most {LARGEST_OBSERVED:g} in size")
    if name == "sigma" and (array < 1.0 / LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at least {1.0 / LARGEST_OBSERVED:g}")
    return array
