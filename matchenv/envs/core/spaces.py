"""Action spaces whose samples are allowed actions, where a simulator has masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class AllowedActions:
    """The current masks of an environment, which its action spaces sample from.

    Attributes:
        masks: shape (B, A).
    """

    def __init__(self, masks: NDArray[np.bool_]) -> None:
        self.masks = masks


class MaskedDiscrete(spaces.Discrete):
    """The actions of one environment; samples without a mask are allowed now.

    Args:
        allowed: of the environment.
    """

    def __init__(self, allowed: AllowedActions) -> None:
        super().__init__(allowed.masks.shape[1])
        self._allowed = allowed

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Sample as Gymnasium does; the current mask applies where none is given."""
        if mask is None and probability is None:
            mask = self._allowed.masks[0].view(np.int8)
        # Gymnasium before 1.2 knows masks only.
        others = {} if probability is None else {"probability": probability}
        return super().sample(mask, **others)


class MaskedMultiDiscrete(spaces.MultiDiscrete):
    """The actions of all environments of a batch, as ``MaskedDiscrete``."""

    def __init__(self, allowed: AllowedActions) -> None:
        count, actions = allowed.masks.shape
        super().__init__(np.full(count, actions, dtype=np.int64))
        self._allowed = allowed

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Sample as Gymnasium does; the current masks apply where none are given."""
        if mask is None and probability is None:
            mask = tuple(self._allowed.masks.view(np.int8))
        others = {} if probability is None else {"probability": probability}
        return super().sample(mask, **others)
