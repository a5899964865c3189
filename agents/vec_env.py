"""The native vector environments as a stable-baselines3 ``VecEnv``."""

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

from matchenv.agents.environments import DEFAULT_ENVIRONMENT, check_sizes, combinations
from matchenv.envs import environment_named
from matchenv.envs.core.rendering import PICTURE_MODES
from matchenv.runtime.checks import as_choice, as_integer, refusal

# Attributes with a row for each environment; all others are shared.
ROW_ATTRIBUTES = ("true_skill", "games_left", "knowledge_state")

# Attributes that a vector environment has under another name.
SPACES = ("observation_space", "action_space")

# Methods of the vector environment that return a value for each environment.
ROW_METHODS = ("render", "action_masks")

Info = dict[str, Any]


class MatchmakingVecEnv(VecEnv):
    """Batch of environments for stable-baselines3, stepped in one compiled call.

    It behaves as ``DummyVecEnv`` over ``gym.make`` environments with a ``Monitor`` each: equal
    seeds give the same observations, rewards and ends. The info of a step has the
    ``info_keywords``, and is empty without them. Where an episode ends, it also has
    ``terminal_observation``, ``TimeLimit.truncated`` and ``episode`` with the return ``r``, the
    length ``l``, the seconds ``t`` since construction, and the last ``info_keywords``.

    A list, for example ``prior=["informative", "equal"]`` or ``arrival_rate=[0.2, 1]``, is dealt
    out: the numbers of environments with each value differ by at most one. Several lists give all
    combinations. A value that is a list itself stands in a list, as ``barred_pairs=[[[0, 3]]]``, or
    ``arrival_rate=[[0.5, 0.5, 2]]`` for a day of three ticks.

    Args:
        num_envs: number of environments, at least one for each combination.
        environment: its name in Gymnasium.
        info_keywords: names of the environment's ``info`` that callbacks and ``VecMonitor`` read,
            for example ``("true_draw_density",)``. Each step takes longer with them.
        env_kwargs: options of the environment, and ``max_episode_steps``.

    Attributes:
        natives: vector environments, one for each combination. A shared network reads observations
            at the scale of the first.

    Raises:
        ValueError: for a bad argument; the message names it and what is allowed.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        environment: str = DEFAULT_ENVIRONMENT,
        info_keywords: Sequence[str] = (),
        **env_kwargs: Any,
    ) -> None:
        environment_named(environment)
        if "autoreset_mode" in env_kwargs:
            rule = "autoreset_mode must be left out, since stable-baselines3 requires SAME_STEP"
            raise refusal(rule, env_kwargs["autoreset_mode"])
        cells = combinations(env_kwargs)
        if as_integer("num_envs", num_envs, 1) < len(cells):
            least = f"{len(cells)}, one for each combination of the options that are lists"
            raise refusal(f"num_envs must be at least {least}", num_envs)
        self._slices: list[slice] = []
        self.natives: list[Any] = []
        for cell, rows in zip(cells, np.array_split(np.arange(num_envs), len(cells)), strict=True):
            native = gym.make_vec(
                environment, rows.size, autoreset_mode=AutoresetMode.SAME_STEP, **cell
            )
            self._slices.append(slice(int(rows[0]), int(rows[-1]) + 1))
            self.natives.append(native)
        first = self.natives[0]
        check_sizes({native.settings.observation_size for native in self.natives}, env_kwargs)
        known = first.simulator.infos(first.episodes.state)
        self.info_keywords = tuple(
            as_choice("info_keywords", name, known) for name in info_keywords
        )
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        self._made_at = time.monotonic()
        self._actions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        super().__init__(num_envs, first.single_observation_space, first.single_action_space)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.natives))})"

    def reset(self) -> NDArray[np.float32]:
        """Start an episode in all environments, with the seeds and options set before.

        Returns:
            Observations, shape (num_envs, K).

        Raises:
            ValueError: for options with other names in some environments than in others.
        """
        observations = []
        for native, rows in zip(self.natives, self._slices, strict=True):
            options = _stacked(self._options[rows])
            observations.append(native.reset(seed=list(self._seeds[rows]), options=options)[0])
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return np.concatenate(observations)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions of the next ``step_wait``, shape (num_envs,)."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[Info]]:
        """Carry out the actions of ``step_async``.

        Returns:
            Observations (of the next episode where one has ended), rewards, ends and infos.
        """
        actions = np.asarray(self._actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions must have shape ({self.num_envs},), got {actions.shape}")
        observations = np.empty((self.num_envs, *(self.observation_space.shape or ())), np.float32)
        rewards = np.empty(self.num_envs)
        terminated = np.empty(self.num_envs, dtype=np.bool_)
        truncated = np.empty(self.num_envs, dtype=np.bool_)
        native_infos = []
        for native, rows in zip(self.natives, self._slices, strict=True):
            step = native.step(actions[rows])
            observations[rows], rewards[rows], terminated[rows], truncated[rows], info = step
            native_infos.append(info)
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[Info] = [{} for _ in range(self.num_envs)]
        for rows, native_info in zip(self._slices, native_infos, strict=True):
            self._fill_infos(infos[rows], native_info, ended[rows])
            for row in np.flatnonzero(ended[rows]).tolist():
                index = rows.start + row
                info = infos[index]
                info["terminal_observation"] = native_info["final_obs"][row]
                info["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
                info["episode"] = self._episode(index, info)
        self._returns[ended] = 0.0
        self._lengths[ended] = 0
        return observations, rewards.astype(np.float32), ended, infos

    def _fill_infos(self, infos: list[Info], native_info: Info, ended: NDArray[np.bool_]) -> None:
        """Copy the keywords of a native environment's step into the info of each environment."""
        for name in self.info_keywords:
            for row, info in enumerate(infos):
                # Where an episode has ended, the native info is that of the next one.
                source = native_info
                if ended[row]:
                    source = native_info["final_info"]
                info[name] = source[name][row]

    def _episode(self, index: int, info: Info) -> Info:
        """Return what ``Monitor`` reports of an episode that has ended."""
        episode = {
            "r": round(float(self._returns[index]), 6),
            "l": int(self._lengths[index]),
            "t": round(time.monotonic() - self._made_at, 6),
        }
        for name in self.info_keywords:
            episode[name] = info[name]
        return episode

    def close(self) -> None:
        """Close the environments."""
        for native in self.natives:
            native.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the environments ``indices`` (all by default).

        Raises:
            AttributeError: if there is none of this name.
        """
        name = attr_name
        if attr_name in SPACES:
            name = f"single_{attr_name}"
        values = [getattr(native, name) for native in self.natives]
        return self._for_rows(values, indices, has_rows=attr_name in ROW_ATTRIBUTES)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all environments.

        Raises:
            ValueError: if ``indices`` are given.
        """
        if indices is not None:
            raise ValueError(f"indices must be None: {attr_name} is set in all environments")
        for native in self.natives:
            setattr(native, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Return the values of a method for the environments ``indices`` (all by default).

        Raises:
            ValueError: for a method other than ``ROW_METHODS``.
        """
        if method_name not in ROW_METHODS:
            raise ValueError(
                f"method_name must be {' or '.join(map(repr, ROW_METHODS))}, got "
                f"{method_name!r}: the environments are stepped and reset together"
            )
        values = []
        for native in self.natives:
            values.append(getattr(native, method_name)(*method_args, **method_kwargs))
        return self._for_rows(values, indices, has_rows=values[0] is not None)

    def _for_rows(self, values: list[Any], indices: VecEnvIndices, *, has_rows: bool) -> list[Any]:
        """Return the value of each environment, from a value of each native environment.

        Args:
            values: of the native environments.
            indices: environments; None for all.
            has_rows: whether a value has a row for each environment, or else is shared by all.
        """
        rows: list[Any] = []
        for native, value in zip(self.natives, values, strict=True):
            if has_rows:
                rows += [value[row] for row in range(native.num_envs)]
            else:
                rows += [value] * native.num_envs
        return [rows[row] for row in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return True for ``Monitor``, whose ``episode`` entries this class writes, else False."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return one picture, a grid of the first environments, or None without a picture mode."""
        if self.render_mode not in PICTURE_MODES:
            return [None] * self.num_envs
        return [self.natives[0].render_grid()]


def _stacked(options: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Stack the options of all environments into one dict of arrays."""
    if not any(options):
        return None
    names = set(options[0])
    if any(set(other) != names for other in options):
        sorted_names = [sorted(other) for other in options]
        raise refusal("options must have the same names in every environment", sorted_names)
    stacked = {}
    for name in names:
        stacked[name] = np.stack([np.asarray(row_options[name]) for row_options in options])
    return stacked
