"""Views: read-only records of what a policy may know before it chooses."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.arrays import Masks


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def truth() -> Any:
    """Declare a field of a ``View`` with true skills, which is None for other policies."""
    return field(default_factory=lambda: None, kw_only=True, repr=False)


@dataclass(frozen=True, eq=False)
class View:
    """Base of the views of B episodes.

    Arrays are read-only views of the simulator's state: they show the present state until the next
    step. A policy that needs a number later must copy it.

    A field declared by ``truth`` exists only for policies whose class sets ``needs_truth = True``.
    For all others it raises ``AttributeError``.

    Attributes:
        action_mask: allowed actions, shape (B, A), at least one for each running episode.
    """

    action_mask: Masks = field(kw_only=True)

    def __post_init__(self) -> None:
        for declared in fields(self):
            value = getattr(self, declared.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, declared.name, read_only(value))
            elif value is None:
                object.__delattr__(self, declared.name)

    def __getattr__(self, name: str) -> Any:
        if name == "true_skill":
            rule = "true skills are for policies whose class sets needs_truth = True"
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}: {rule}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
