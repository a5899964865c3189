"""The native vector environments as a stable-baselines3 ``VecEnv``."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices

from matchenv.agents.environments import check_sizes, combinations
from matchenv.agents.network import reader_of
from matchenv.envs import ENVIRONMENTS
from matchenv.envs.core.rendering import PICTURE_MODES
from matchenv.envs.core.simulator import restored_array
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.runtime.checks import as_choice, as_integer, refusal

# Attributes with a row for each environment; all others are shared.
ROW_ATTRIBUTES = ("true_skill", "games_left", "knowledge_state")

# Attributes that a vector environment has under another name.
SPACES = ("observation_space", "action_space")

# Methods of the vector environment that return a value for each environment.
ROW_METHODS = ("render", "action_masks")


class MatchmakingVecEnv(VecEnv):
    """Batch of environments for stable-baselines3, stepped in one compiled call.

    It behaves as ``DummyVecEnv`` over ``gym.make`` environments with a ``Monitor`` each: equal
    seeds give the same observations, rewards and ends. The info of a step is empty, except where
    an episode ends: there it holds ``terminal_observation``, ``TimeLimit.truncated`` and
    ``episode`` with the return ``r``, the length ``l`` and the seconds ``t`` since construction.

    A list, for example ``prior=["informative", "equal"]`` or ``arrival_rate=[0.2, 1]``, is dealt
    out: the numbers of environments with each value differ by at most one. Several lists give all
    combinations. A value that is a list itself stands in a list, as ``barred_pairs=[[[0, 3]]]``.

    Args:
        num_envs: number of environments, at least one for each combination.
        environment: its name in Gymnasium.
        env_kwargs: options of the environment, and ``max_episode_steps``.

    Attributes:
        natives: vector environments, one for each combination. A shared network reads observations
            at the scale of the first.

    Raises:
        ValueError: for a bad argument; the message names it and what is allowed.
    """

    def __init__(
        self, num_envs: int = 1, *, environment: str = ONE_PLAYER, **env_kwargs: Any
    ) -> None:
        as_choice("environment", environment, ENVIRONMENTS)
        if "autoreset_mode" in env_kwargs:
            rule = "autoreset_mode must be left out, since stable-baselines3 requires SAME_STEP"
            raise refusal(rule, env_kwargs["autoreset_mode"])
        cells = combinations(env_kwargs)
        if as_integer("num_envs", num_envs, 1) < len(cells):
            least = f"{len(cells)}, one for each combination of the options that are lists"
            raise refusal(f"num_envs must be at least {least}", num_envs)
        self._slices = [slice(int(part[0]), int(part[-1]) + 1)
                        for part in np.array_split(np.arange(num_envs), len(cells))]  # fmt: skip
        self.natives: list[Any] = [
            gym.make_vec(environment, rows.stop - rows.start,
                         autoreset_mode=AutoresetMode.SAME_STEP, **cell)
            for rows, cell in zip(self._slices, cells, strict=True)
        ]  # fmt: skip
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        self._made_at = time.monotonic()
        self._actions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        first = self.natives[0]
        sizes = {native.single_observation_space.shape[0] for native in self.natives}
        check_sizes(sizes, env_kwargs)
        # The shared network finds its reader here, and a saved model keeps the reader's constants.
        space = copy.copy(first.single_observation_space)
        vars(space).update(reader_of(first.settings))
        super().__init__(num_envs, space, first.single_action_space)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.natives))})"

    def reset(self) -> NDArray[np.float32]:
        """Start an episode in all environments, with the seeds and options set before.

        Returns:
            Observations, shape (num_envs, K).

        Raises:
            ValueError: for options with other names in some environments than in others.
        """
        observations = [
            native.reset(seed=list(self._seeds[rows]), options=_stacked(self._options[rows]))[0]
            for native, rows in zip(self.natives, self._slices, strict=True)
        ]
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0.0, 0
        return np.concatenate(observations)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions of the next ``step_wait``, shape (num_envs,)."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Carry out the actions of ``step_async``.

        Returns:
            Observations (of the next episode where one has ended), rewards, ends and infos.
        """
        actions = np.asarray(self._actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions must have shape ({self.num_envs},), got {actions.shape}")
        steps = [
            native.step(actions[rows])
            for native, rows in zip(self.natives, self._slices, strict=True)
        ]
        observations, rewards, terminated, truncated = (
            np.concatenate([step[part] for step in steps]) for part in range(4)
        )
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for rows, (*_, facts) in zip(self._slices, steps, strict=True):
            for row in np.flatnonzero(ended[rows]).tolist():
                at = rows.start + row
                infos[at] = {
                    "terminal_observation": facts["final_obs"][row],
                    "TimeLimit.truncated": bool(truncated[at] and not terminated[at]),
                    "episode": {
                        "r": round(float(self._returns[at]), 6),
                        "l": int(self._lengths[at]),
                        "t": round(time.monotonic() - self._made_at, 6),
                    },
                }
        self._returns[ended], self._lengths[ended] = 0.0, 0
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Close the environments."""
        for native in self.natives:
            native.close()

    def get_state(self) -> dict[str, Any]:
        """Return the state of all environments as plain data and arrays."""
        return {
            "natives": [native.get_state() for native in self.natives],
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state that ``get_state`` returned.

        Raises:
            ValueError: for a state of other sizes or types. The environments are unchanged then.
        """
        before = self.get_state()
        try:
            self._restore(state)
        except (KeyError, TypeError, ValueError) as error:
            self._restore(before)
            raise ValueError(f"state must be one of get_state, which it is not: {error}") from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        arrays = ((name, np.asarray(state[name])) for name in ("returns", "lengths"))
        self._returns, self._lengths = (
            restored_array(name, array, getattr(self, f"_{name}")) for name, array in arrays
        )
        for native, native_state in zip(self.natives, state["natives"], strict=True):
            native.set_state(native_state)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the environments ``indices`` (all by default).

        Raises:
            AttributeError: if there is none of this name.
        """
        single = f"single_{attr_name}" if attr_name in SPACES else attr_name
        values = [getattr(native, single) for native in self.natives]
        return self._for_rows(values, indices, own=attr_name in ROW_ATTRIBUTES)

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
        values = [getattr(native, method_name)(*method_args, **method_kwargs)
                  for native in self.natives]  # fmt: skip
        return self._for_rows(values, indices, own=values[0] is not None)

    def _for_rows(self, values: list[Any], indices: VecEnvIndices, *, own: bool) -> list[Any]:
        """Return the value of each row, from a value of each native environment."""
        rows = [value[row] if own else value
                for native, value in zip(self.natives, values, strict=True)
                for row in range(native.num_envs)]  # fmt: skip
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
    if any(set(each) != names for each in options):
        found = [sorted(each) for each in options]
        raise refusal("options must have the same names in every environment", found)
    return {name: np.stack([np.asarray(each[name]) for each in options]) for name in names}
