"""Reading observations that may end with the mask of a pool that changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.belief import Belief, belief_named
from matchenv.runtime.checks import as_float_array

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]


def without_mask(
    observation: ArrayLike, belief: str, num_opponents: int | None = None
) -> tuple[Floats, Masks | None]:
    """Observations without the mask at their end, and the mask.

    Where the number of opponents is not known and the size fits with a mask and without one, the
    numbers decide: the last ones are all 0 or 1, which the deviations of a belief are not. Only
    at the start of an episode in which all deviations are 1 and everybody is online the two look
    alike; they are read as having no mask.

    Args:
        observation: shape (..., K).
        belief: the name of the belief that they are of.
        num_opponents: M, where it is known.

    Returns:
        Numbers of the belief and the share of games left, and masks of shape (..., M); None where
        there are none. Sizes that no environment gives come back as they are.

    Raises:
        ValueError: for what holds no finite numbers, or an unknown belief.
    """
    array = as_float_array("observation", observation)
    count = mask_size(array, belief, num_opponents)
    return (array[..., :-count], array[..., -count:] != 0.0) if count > 0 else (array, None)


def mask_size(array: NDArray[Any], belief: str, num_opponents: int | None = None) -> int:
    """How many numbers at the end of observations are a mask, 0 where there is none.

    Args:
        array: observations, shape (..., K), numbers.
        belief: as ``without_mask``.
        num_opponents: as there.

    Raises:
        ValueError: for an unknown belief.
    """
    kind = belief_named(belief)
    size = array.shape[-1] if array.ndim else 0
    plain = kind.num_opponents_of(size)
    count, rest = divmod(size - 3, 3 + kind.extra_rows)
    if rest != 0 or count < 1 or array.size == 0 or (plain is not None and plain == num_opponents):
        return 0
    rows = array.reshape(-1, size)
    if not _may_be_masks(rows, count):
        return 0
    if count != num_opponents and not _are_rather_masks(rows, kind, count, plain):
        return 0
    return count


def _may_be_masks(rows: NDArray[Any], count: int) -> bool:
    """Whether the last ``count`` numbers of each row, shape (B, K), can be a mask."""
    masks = rows[:, -count:]
    return bool(((masks == 0.0) | (masks == 1.0)).all() and masks.any(axis=1).all())


def _are_rather_masks(rows: NDArray[Any], kind: Belief, count: int, plain: int | None) -> bool:
    """Whether they are more likely a mask of ``count`` than deviations of ``plain`` opponents.

    Where no number of opponents gives the size without a mask, ``plain`` is None.
    """
    if plain is None:
        return not bool((rows == 1.0).all())
    share, deviations = rows[:, -count - 1], rows[:, count + 1 : -count - 1]
    if not (((share >= 0.0) & (share <= 1.0)).all() and (deviations > 0.0).all()):
        return False
    # Without a mask: the last numbers of the last kind and the share of games left.
    last = plain if kind.extra_rows > 0 else plain + 1
    return not bool((rows[:, -last - 1 :] == 1.0).all())


def with_mask(observation: Any, masks: Masks) -> NDArray[np.float32]:
    """Observations of a belief, shape (..., K), with masks of shape (..., M) at their end."""
    array = np.asarray(observation, dtype=np.float32)
    return np.concatenate((array, masks.astype(np.float32)), axis=-1)
