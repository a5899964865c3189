"""Queues of several arrival rates side by side, as one vector environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv import MatchmakingQueueVectorEnv
from matchenv.envs.queue.settings import QueueSettings


class SeveralLoads:
    """One ``MatchmakingQueueVectorEnv`` for each arrival rate, stepped as one.

    Environments are dealt out in turn: with three rates, environments 0, 3, 6 and so on have the
    first. An episode that ends begins anew at once.

    Args:
        num_envs: environments in all, at least one for each rate.
        settings: of the environments, one for each rate.

    Attributes:
        num_envs: as given.
        loads: one vector environment for each rate.
        settings: of the first.

    Raises:
        ValueError: for fewer environments than rates.
    """

    render_mode = None

    def __init__(self, num_envs: int, settings: list[QueueSettings]) -> None:
        if num_envs < len(settings):
            raise ValueError(
                f"n_envs must be at least {len(settings)}, one for each arrival_rate, "
                f"got {num_envs}"
            )
        self.num_envs, self.settings = num_envs, settings[0]
        turn = len(settings)
        self._rows = [np.arange(first, num_envs, turn) for first in range(turn)]
        self.loads = [
            MatchmakingQueueVectorEnv(
                rows.size, autoreset_mode=AutoresetMode.SAME_STEP, **each.changed()
            )
            for rows, each in zip(self._rows, settings, strict=True)
        ]
        self.single_observation_space: spaces.Box = self.loads[0].single_observation_space  # type: ignore[assignment]
        self.single_action_space = spaces.Discrete(self.settings.capacity)

    def reset(
        self, *, seed: list[int | None], options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a run everywhere; ``seed`` holds one for each environment.

        Raises:
            ValueError: for options, which every rate would need others of.
        """
        if options is not None:
            raise ValueError(f"options must be left out in a training, got {sorted(options)}")
        found = [
            env.reset(seed=[seed[row] for row in rows.tolist()])[0]
            for env, rows in zip(self.loads, self._rows, strict=True)
        ]
        return self._joined(found), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_],
        dict[str, Any],
    ]:  # fmt: skip
        """As ``MatchmakingQueueVectorEnv.step``.

        The information holds ``final_obs``, and ``ticks``, how many went by in each environment.
        """
        before = self._ticks()
        found = [env.step(actions[rows]) for env, rows in zip(self.loads, self._rows, strict=True)]
        observations = self._joined([each[0] for each in found])
        rewards = self._joined([each[1] for each in found])
        terminated = self._joined([each[2] for each in found])
        truncated = self._joined([each[3] for each in found])
        final = np.full(self.num_envs, None, dtype=object)
        for each, rows in zip(found, self._rows, strict=True):
            if "final_obs" in each[4]:
                final[rows] = each[4]["final_obs"]
        after = np.where(truncated, self.settings.horizon, self._ticks())
        infos: dict[str, Any] = {"ticks": after - before}
        if truncated.any():
            infos["final_obs"] = final
        return observations, rewards, terminated, truncated, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, shape (num_envs, capacity)."""
        return self._joined([env.action_masks() for env in self.loads])

    def state(self) -> dict[str, Any]:
        """All that the next choices depend on, as plain data and arrays."""
        return {str(number): env.get_state() for number, env in enumerate(self.loads)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another object of the same settings was when it gave its state.

        Raises:
            ValueError: for a state of other sizes.
        """
        for number, env in enumerate(self.loads):
            env.set_state(state[str(number)])

    def close(self) -> None:
        """Close all."""
        for env in self.loads:
            env.close()

    def _ticks(self) -> NDArray[np.int64]:
        return self._joined([env._state.queue["tick"] for env in self.loads])

    def _joined(self, parts: list[NDArray[Any]]) -> NDArray[Any]:
        whole = np.empty((self.num_envs, *parts[0].shape[1:]), dtype=parts[0].dtype)
        for part, rows in zip(parts, self._rows, strict=True):
            whole[rows] = part
        return whole
