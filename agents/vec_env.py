"""The native vector environment as a stable-baselines3 ``VecEnv``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices

from matchenv import MatchmakingVectorEnv
from matchenv.rendering.modes import PICTURE_MODES

# One row of these belongs to each environment; every other attribute is shared by all.
ROW_ATTRIBUTES = ("true_skill", "games_left", "knowledge_state")

# Methods that give something for each environment, in one call for all.
ROW_METHODS = ("render", "action_masks")


class MatchmakingVecEnv(VecEnv):
    """``Matchmaking-v0`` for stable-baselines3: all environments in one compiled call.

    It behaves as stable-baselines3's ``DummyVecEnv`` over as many ``gym.make`` environments
    with a ``Monitor`` each: the same observations, rewards and ends from the same seeds. The
    information of a game is left out, except where an episode ends: there it holds
    ``terminal_observation``, ``TimeLimit.truncated`` (True only where ``max_episode_steps`` cut
    the episode short: the horizon is part of the problem) and ``episode`` with the return ``r``,
    the length ``l`` and the seconds ``t`` since this object was made.

    Args:
        num_envs: environments, >= 1.
        env_kwargs: keyword arguments of ``MatchmakingEnv``, and ``max_episode_steps``.

    Raises:
        ValueError: for a bad argument; it names the argument and what is allowed.
    """

    def __init__(self, num_envs: int = 1, **env_kwargs: Any) -> None:
        self.matchmaking = self.native(num_envs, **env_kwargs)
        self._returns = np.zeros(self.matchmaking.num_envs)
        self._lengths = np.zeros(self.matchmaking.num_envs, dtype=np.int64)
        self._made_at = time.monotonic()
        self._actions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        super().__init__(
            self.matchmaking.num_envs,
            self.matchmaking.single_observation_space,
            self.matchmaking.single_action_space,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.matchmaking!r})"

    @staticmethod
    def native(num_envs: int, **env_kwargs: Any) -> Any:
        """The vector environment that is adapted; arguments as the class."""
        return MatchmakingVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **env_kwargs)

    def reset(self) -> NDArray[np.float32]:
        """Start an episode everywhere, with the seeds and options set before.

        Returns:
            Observations, shape (num_envs, K).
        """
        observations, _ = self.matchmaking.reset(
            seed=list(self._seeds), options=_stacked_options(self._options)
        )
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return observations

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the actions, shape (num_envs,), for ``step_wait``."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the games that ``step_async`` asked for.

        Returns:
            Observations (of the next episode where one has ended), rewards, ends, and a fresh
            dict for each environment.
        """
        observations, rewards, terminated, truncated, native = self.matchmaking.step(self._actions)
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if "final_obs" in native:
            seconds = time.monotonic() - self._made_at
            for row in np.flatnonzero(ended).tolist():
                infos[row]["terminal_observation"] = native["final_obs"][row]
                infos[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
                infos[row]["episode"] = {
                    "r": round(float(self._returns[row]), 6),
                    "l": int(self._lengths[row]),
                    "t": round(seconds, 6),
                }
            self._returns[ended] = 0.0
            self._lengths[ended] = 0
        return observations, self._paid(rewards, native).astype(np.float32), ended, infos

    def close(self) -> None:
        """Close the environment."""
        self.matchmaking.close()

    def state(self) -> dict[str, Any]:
        """All that the next games depend on, as plain data and arrays."""
        return {
            "episodes": self._episodes(),
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
            "seeds": list(self._seeds),
            "options": list(self._options),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another object of the same settings was when it gave its state.

        Raises:
            ValueError: for a state of other sizes.
        """
        self._restore_episodes(state["episodes"])
        self._returns[:], self._lengths[:] = state["returns"], state["lengths"]
        self._seeds, self._options = list(state["seeds"]), list(state["options"])

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute for each of the environments ``indices`` (all by default).

        Raises:
            AttributeError: if there is none of this name.
        """
        rows = self._rows(indices)
        value = getattr(self.matchmaking, attr_name)
        if attr_name in ROW_ATTRIBUTES:
            return [value[row] for row in rows]
        return [value] * len(rows)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute that all environments share.

        Raises:
            ValueError: for fewer than all environments, or one that belongs to each.
        """
        if len(set(self._rows(indices))) != self.num_envs:
            raise ValueError(
                f"indices must name all {self.num_envs} environments: they share their "
                f"attributes, so {attr_name!r} cannot be set for {indices!r} only"
            )
        if attr_name in ROW_ATTRIBUTES:
            raise ValueError(
                f"attr_name must not be {attr_name!r}: fix an instance with "
                "set_options() and reset()"
            )
        setattr(self.matchmaking, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """What a method gives for each of the environments ``indices`` (all by default).

        Raises:
            AttributeError: if the vector environment has no such method.
            ValueError: for a method that cannot be called for one environment on its own.
        """
        method = getattr(self.matchmaking, method_name)
        if method_name not in ROW_METHODS:
            raise ValueError(
                f"method_name must be {' or '.join(map(repr, ROW_METHODS))}, got "
                f"{method_name!r}: the environments are stepped and reset together"
            )
        found = method(*method_args, **method_kwargs)
        return [None if found is None else found[row] for row in self._rows(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """True for ``Monitor``, whose ``episode`` entries this class writes; else False."""
        return [issubclass(wrapper_class, Monitor)] * len(self._rows(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """One picture, a grid of the first environments; none where the mode has no pictures."""
        if self.render_mode not in PICTURE_MODES:
            return [None] * self.num_envs
        return [self.matchmaking.render_grid()]

    def _paid(self, rewards: NDArray[np.float64], native: dict[str, Any]) -> NDArray[np.float64]:
        """What an algorithm learns from, of the rewards and the native information."""
        del native
        return rewards

    def _episodes(self) -> dict[str, Any]:
        """The state of the native environment, as ``state`` keeps it."""
        return dict(self.matchmaking.get_state())

    def _restore_episodes(self, state: dict[str, Any]) -> None:
        """Set the native environment to such a state."""
        self.matchmaking.set_state(state)

    def _rows(self, indices: VecEnvIndices) -> list[int]:
        rows = [int(index) for index in self._get_indices(indices)]
        for row in rows:
            if not -self.num_envs <= row < self.num_envs:
                raise ValueError(
                    f"indices must be in [{-self.num_envs}, {self.num_envs - 1}], got {row}"
                )
        return [row % self.num_envs for row in rows]


def _stacked_options(options: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One dict of arrays from a dict for each environment."""
    if not any(options):
        return None
    names = set(options[0])
    if any(set(each) != names for each in options):
        raise ValueError(
            "options must fix the same parts of the instance in every environment, got "
            f"{[sorted(each) for each in options]}"
        )
    return {name: np.stack([np.asarray(each[name]) for each in options]) for name in names}
