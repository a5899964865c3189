"""The observation space of an environment, which also tells what its numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.envs.core.registration import environment_named
from matchenv.envs.core.settings import Options

NO_NUMBERS: Mapping[int, float] = MappingProxyType({})


class ObservationBox(spaces.Box):
    """Box of float32 observations that carries the options of their environment.

    Bounds do not tell which environment an observation is from, nor the ``beta`` of its games.
    Networks are built from an observation space, and find both here. The space equals every
    ``Box`` with the same bounds; copies, pickles and saved models keep the options.

    Args:
        low: lower bounds, shape (K,).
        high: upper bounds, shape (K,).
        settings: of the environment.

    Attributes:
        env_id: name of the environment in Gymnasium.
        options: its ``plain_options``.
    """

    def __init__(
        self, low: NDArray[np.float32], high: NDArray[np.float32], settings: Options
    ) -> None:
        super().__init__(low, high, dtype=np.float32)
        self.env_id = settings.env_id
        self.options = settings.plain_options()

    @property
    def settings(self) -> Any:
        """Settings with the options of this space; all others have their defaults.

        Raises:
            ValueError: if the environment is not registered.
        """
        settings_type = environment_named(self.env_id).part("settings")
        known = {declared.name for declared in fields(settings_type)}
        # A subclass of the settings can have further options.
        options = {name: value for name, value in self.options.items() if name in known}
        return settings_type.checked(**options)


def observation_box(
    settings: Any, unbounded: int, positive: int, largest: Mapping[int, float] = NO_NUMBERS
) -> ObservationBox:
    """Return the box of an observation of K = ``settings.observation_size`` numbers.

    Args:
        settings: of the environment.
        unbounded: number of means, which come first.
        positive: end of the deviations, which follow and are at least 0; the rest is in [0, 1].
        largest: upper bounds of single numbers of the rest, by index.
    """
    low = np.zeros(settings.observation_size, dtype=np.float32)
    high = np.ones(settings.observation_size, dtype=np.float32)
    low[:unbounded] = -np.inf
    high[:positive] = np.inf
    for index, bound in largest.items():
        high[index] = bound
    return ObservationBox(low, high, settings)
