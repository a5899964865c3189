"""How vector environments are reset: seeds, masks and modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv.runtime.checks import as_integer


def reseeded(
    generators: Sequence[np.random.Generator], seed: Any, mask: NDArray[np.bool_]
) -> list[np.random.Generator]:
    """The generators of all environments after a reset.

    Args:
        generators: before it, one for each; empty before the first reset.
        seed: as ``reset`` takes it: an integer s for s + i, a list, or None.
        mask: which environments are reset, shape (num_envs,); seeds of others have no effect.

    Raises:
        ValueError: for a seed that is negative or no integer, or a list of another length.
    """
    return [
        generators[i]
        if generators and (value is None or not mask[i])
        else seeding.np_random(value if mask[i] else None)[0]
        for i, value in enumerate(_checked_seeds(seed, mask.size))
    ]


def taken_reset_mask(options: Any, num_envs: int) -> NDArray[np.bool_]:
    """Which environments are reset: takes ``"reset_mask"`` out of the options; all without it.

    Args:
        options: of the reset, changed.
        num_envs: environments.

    Raises:
        ValueError: for a mask of another shape or type, or one without any True.
    """
    if not isinstance(options, dict) or options.get("reset_mask") is None:
        if isinstance(options, dict):
            options.pop("reset_mask", None)
        return np.ones(num_envs, dtype=np.bool_)
    mask = np.asarray(options.pop("reset_mask"))
    if mask.shape != (num_envs,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(
            f"options['reset_mask'] must be bool of shape ({num_envs},) with at least "
            f"one True, got {mask!r}"
        )
    return mask


def as_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """A mode from its name or itself.

    Raises:
        ValueError: for an unknown one.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(f"{each} ({each.value!r})" for each in AutoresetMode)
        raise ValueError(f"autoreset_mode must be one of {known}, got {mode!r}") from None


def _checked_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """A seed for each environment, None for those that go on with their generators."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, list | tuple) or (isinstance(seed, np.ndarray) and seed.ndim):
        if len(seed) != num_envs:
            raise ValueError(f"seed must hold num_envs={num_envs} seeds, got {len(seed)}")
        return [
            None if each is None else as_integer(f"seed[{i}]", each, 0)
            for i, each in enumerate(seed)
        ]
    first = as_integer("seed", seed, 0)
    return [first + i for i in range(num_envs)]
