"""What a user fixes of a run through ``reset(options=...)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.reset_options import as_given, checked_options
from matchenv.runtime.checks import as_float_array

Floats = NDArray[np.float64]

KNOWN = ("mu", "sigma", "true_skill", "noise")


@dataclass(frozen=True)
class GivenQueue:
    """Who waits at tick 0, and the noise of the first games.

    Attributes:
        mu: means of the beliefs, shape (n,) or (num_envs, n), the longest waiting first; they are
            the players 0 to n - 1.
        sigma: their standard deviations, the same shape.
        true_skill: true skills, the same shape; None to draw them from the beliefs.
        noise: standard normals, shape (N,) or (num_envs, N): the noise of the first N games in the
            order of their beginning, as seen by the player who was asked about; None to draw it.
    """

    mu: Floats | None = None
    sigma: Floats | None = None
    true_skill: Floats | None = None
    noise: Floats | None = None

    @classmethod
    def from_options(
        cls, options: dict[str, Any] | None, num_envs: int | None = None
    ) -> GivenQueue:
        """Check the options of a reset.

        Args:
            options: may hold ``"mu"`` and ``"sigma"`` together, ``"true_skill"`` with them, and
                ``"noise"``.
            num_envs: the size of a vector environment, which also takes one row for each of its
                environments; None for the scalar environment.

        Raises:
            ValueError: for an unknown key, one that misses another, a wrong shape, NaN, infinity,
                sigma <= 0 or numbers beyond what an observation can hold.
        """
        given = checked_options(options, KNOWN)
        for name, needed in (("mu", "sigma"), ("sigma", "mu"), ("true_skill", "mu")):
            if name in given and needed not in given:
                raise ValueError(f"options must hold {needed!r} where they hold {name!r}")
        found: dict[str, Floats] = {}
        for name in given:
            shape = np.shape(given["mu" if name != "noise" else "noise"])
            if not 1 <= len(shape) <= 2 or (len(shape) == 2 and shape[0] != num_envs):
                allowed = "(n,)" if num_envs is None else f"(n,) or ({num_envs}, n)"
                raise ValueError(f"options[{name!r}] must have shape {allowed}, got {shape}")
            if name == "noise":
                found[name] = as_float_array("options['noise']", given[name])
            else:
                found[name] = as_given(name, given[name], [shape])
        return cls(**found)

    @property
    def num_players(self) -> int:
        """Players who wait at tick 0."""
        return 0 if self.mu is None else self.mu.shape[-1]
