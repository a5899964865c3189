"""Augmented random search with the right count of timesteps."""

from __future__ import annotations

from typing import Any

from sb3_contrib import ARS
from stable_baselines3.common.callbacks import BaseCallback


class CountedARS(ARS):
    """sb3-contrib's ``ARS``, whose count of timesteps is too large by a factor of ``n_envs``.

    That class adds the number of environments at every step of each of them.
    """

    def _trigger_callback(
        self,
        _locals: dict[str, Any],
        _globals: dict[str, Any],
        callback: BaseCallback,
        n_envs: int,
    ) -> None:
        del n_envs
        super()._trigger_callback(_locals, _globals, callback, n_envs=1)
