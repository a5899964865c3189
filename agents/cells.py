"""The cells of one training: set-ups that are all played with the same weights."""

from __future__ import annotations

from typing import Any

from matchenv.settings import Settings

# All cells must agree on these, so that their observations fit one batch.
SHARED = ("num_opponents", "horizon", "beta", "belief")


def check_cells(cells: Any, env_kwargs: Any) -> list[Settings]:
    """The settings of every cell.

    Args:
        cells: keyword arguments of an environment each.
        env_kwargs: those of all of them.

    Raises:
        ValueError: for no cell, an argument of no environment or a bad value, or cells that
            differ in what makes the size of an observation.
    """
    if not isinstance(env_kwargs, dict):
        raise ValueError(f"env_kwargs must be a mapping, got {env_kwargs!r}")
    if not isinstance(cells, list) or not cells:
        raise ValueError(f"cells must be a list of environments' arguments, got {cells!r}")
    for cell in cells:
        if not isinstance(cell, dict) or set(SHARED) & set(cell):
            raise ValueError(
                "cells must hold mappings of an environment's arguments, all but "
                f"{', '.join(SHARED)}, got {cell!r}"
            )
    try:
        return [Settings.checked(**{**env_kwargs, **cell}) for cell in cells]
    except TypeError as error:
        raise ValueError(f"env_kwargs or cells are of no environment: {error}") from None
