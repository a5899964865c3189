"""The native vector environment over any simulator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from matchenv.envs.core.environment import SimulatorEnv
from matchenv.envs.core.rendering import PICTURE_MODES, Frame
from matchenv.envs.core.scalar import ScalarArguments
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import as_actions, as_array, as_choice, as_flag, as_integer, refusal
from matchenv.runtime.random import drawn_key

# Limit that keeps shapes within the integers of NumPy.
MOST_ENVS = 1_000_000_000

Infos = dict[str, Any]
Stepped = tuple[NDArray[np.float32], Floats, Masks, Masks, Infos]


class VectorArguments(ScalarArguments, total=False):
    """The arguments of every vector environment, beside its options, for type checkers."""

    autoreset_mode: AutoresetMode | str
    max_episode_steps: int | None
    copy: bool


class NativeVectorEnv(SimulatorEnv, VectorEnv[NDArray[np.float32], Integers, NDArray[Any]]):
    """``num_envs`` copies of an environment, stepped together.

    Args:
        num_envs: copies, >= 1.
        render_mode: see ``ScalarEnv``.
        render_true_skill: see ``ScalarEnv``.
        autoreset_mode: one of Gymnasium's ``AutoresetMode``, or its value as a string.
        max_episode_steps: steps after which an episode is truncated, >= 1; None for no limit.
        copy: whether observations are new arrays, or else views that the next step changes.
        options: see ``ScalarEnv``.

    Attributes:
        generators: a random generator for each environment, empty before the first reset.

    Raises:
        ValueError: for a bad argument; it names the argument and the allowed values.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        **SimulatorEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        render_true_skill: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        copy: bool = True,
        **options: Any,
    ) -> None:
        self.num_envs = as_integer("num_envs", num_envs, 1, MOST_ENVS)
        self._set_up(self.num_envs, render_mode, render_true_skill, options)
        if max_episode_steps is not None:
            max_episode_steps = as_integer("max_episode_steps", max_episode_steps, 1)
        self.max_episode_steps = max_episode_steps
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        self.autoreset_mode = AutoresetMode(
            as_choice("autoreset_mode", mode, [known.value for known in AutoresetMode])
        )
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self.single_observation_space = self.simulator.observation_space
        self.single_action_space: spaces.Discrete = spaces.Discrete(self.simulator.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.generators: list[np.random.Generator] = []
        self._copy = as_flag("copy", copy)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)  # since the last reset
        self._everywhere = np.ones(self.num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], Infos]:
        """Start an episode in every environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: an integer s seeds environment i with s + i; a list seeds each environment. None,
                also in the list, continues with the generator. Seeds of environments that are not
                reset have no effect.
            options: see the single environment; arrays are for all environments or have a row for
                each. ``"reset_mask"``, shape (num_envs,), bool, selects the environments to reset.

        Returns:
            Observations, shape (num_envs, K), and the information.

        Raises:
            ValueError: for bad seeds or options. The environments are unchanged then.
        """
        options = dict(options) if isinstance(options, dict) else options
        mask = _taken_reset_mask(options, self._everywhere)
        fixed = self.simulator.reset_options(options, self.num_envs)
        self.generators = _reseeded(self.generators, seed, mask)
        self._begin(np.flatnonzero(mask), fixed)
        self._show()
        return self._observations(), self._infos(mask)

    def step(self, actions: Integers) -> Stepped:
        """Carry out an action in every environment.

        Args:
            actions: integers in [0, A), shape (num_envs,); see the single environment. With
                NEXT_STEP, an environment whose episode has ended ignores its action and is reset.

        Returns:
            Observations, rewards, terminations, truncations and the single environment's
            information, as arrays of num_envs rows with a mask ``_name`` each. With SAME_STEP it
            includes ``final_obs`` and ``final_info`` of episodes that ended.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or refused. The
                environments are unchanged then.
            gymnasium.error.ResetNeeded: before the first reset, or with DISABLED if an episode has
                ended.
        """
        self._check_started("step")
        running = self.episodes.running
        if not self.episodes.all_running and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                "Call reset(options={'reset_mask': ...}) before step(): the episodes of "
                f"environments {np.flatnonzero(~running).tolist()} have ended."
            )
        chosen = as_actions(actions, self.num_envs, self.simulator.num_actions)
        _, rewards, terminated, truncated = self.episodes.step(chosen, strict=self._strict)
        if self.max_episode_steps is not None:
            self._steps += running
            truncated |= (self._steps >= self.max_episode_steps) & running
            if truncated.any():
                self.episodes.end(truncated)
        final = self._restart(running)
        self._show()
        infos = {**self._infos(self._everywhere), **final}
        return self._observations(), rewards, terminated, truncated, infos

    def action_masks(self) -> Masks:
        """Return the allowed actions, shape (num_envs, A)."""
        return self.episodes.masks()

    def render(self) -> tuple[Frame, ...] | None:
        """Return a picture or a text for each environment.

        Returns:
            Arrays, uint8 of shape (height, width, 3), with ``"rgb_array"``, strings with
            ``"ansi"``; None with ``"human"``, which shows a grid of the first environments, and
            without a render mode.
        """
        if self._renderer is None or self.render_mode == "human":
            return None
        self._check_started("render")
        return tuple(self._renderer.frame(self._state, row) for row in range(self.num_envs))

    def render_grid(self) -> NDArray[np.uint8]:
        """Return a grid of the first environments' pictures, uint8, shape (height, width, 3).

        Raises:
            ValueError: if ``render_mode`` is not ``"rgb_array"`` or ``"human"``.
        """
        if self._renderer is None or self.render_mode not in PICTURE_MODES:
            rule = "render_mode must be 'rgb_array' or 'human' for a grid of pictures"
            raise refusal(rule, self.render_mode)
        self._check_started("render")
        return self._renderer.grid(self._state)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if one is open."""
        if self._renderer is not None:
            self._renderer.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self, num_envs=self.num_envs)

    def _begin(self, rows: Integers, fixed: Any = None) -> None:
        """Start episodes with keys drawn from their generators."""
        if rows.size > 0:
            keys = np.array([drawn_key(self.generators[row]) for row in rows.tolist()], np.uint64)
            self.episodes.begin(rows, keys, fixed)
            self._steps[rows] = 0

    def _restart(self, were_running: Masks) -> Infos:
        """Apply the autoreset mode to ended episodes; return SAME_STEP's additions to the infos.

        Args:
            were_running: episodes that took the last step, shape (num_envs,).
        """
        if self.episodes.all_running or self.autoreset_mode == AutoresetMode.DISABLED:
            return {}
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            self._begin(np.flatnonzero(~were_running))
            return {}
        over = were_running & ~self.episodes.running
        rows = np.flatnonzero(over)
        observations = np.full(self.num_envs, None, dtype=object)
        observations[rows] = list(self.simulator.observe(self._state)[rows])
        final = {"final_obs": observations, "final_info": self._infos(over)}
        self._begin(rows)
        return {**final, "_final_obs": over, "_final_info": over}

    def _infos(self, mask: Masks) -> Infos:
        """Return the infos and action masks, which are 0 outside ``mask``, each with that mask."""
        infos = self.simulator.infos(self._state)
        if self.episodes.has_masks:
            infos["action_mask"] = self.episodes.masks().astype(np.int8)
            infos["invalid_action"] = self.episodes.invalid_action.copy()
        if mask is not self._everywhere:
            for values in infos.values():
                values[~mask] = 0
        # A copy, since callers may edit it.
        present = mask.copy()
        return infos | {f"_{name}": present for name in infos}

    def _observations(self) -> NDArray[np.float32]:
        observations = self.simulator.observe(self._state)
        return observations.copy() if self._copy else observations

    def _check_started(self, call: str) -> None:
        if not self.generators:
            raise ResetNeeded(f"Call reset() before {call}(): this environment was never reset.")


def _reseeded(
    generators: list[np.random.Generator], seed: Any, mask: Masks
) -> list[np.random.Generator]:
    """Return the generators of all environments after a reset with these seeds."""
    count = mask.size
    seeds: list[int | None] = [None] * count
    if isinstance(seed, list | tuple) or (isinstance(seed, np.ndarray) and seed.ndim):
        if len(seed) != count:
            raise ValueError(f"seed must hold num_envs={count} seeds, got {len(seed)}")
        for i, value in enumerate(seed):
            if value is not None:
                seeds[i] = as_integer(f"seed[{i}]", value, 0)
    elif seed is not None:
        first = as_integer("seed", seed, 0)
        seeds = [first + i for i in range(count)]
    reseeded = []
    for i in range(count):
        new_seed = seeds[i] if mask[i] else None
        if generators and new_seed is None:
            reseeded.append(generators[i])
        else:
            reseeded.append(seeding.np_random(new_seed)[0])
    return reseeded


def _taken_reset_mask(options: Any, everywhere: Masks) -> Masks:
    """Remove ``"reset_mask"`` from the options and return it, by default all environments."""
    mask = None
    if isinstance(options, dict):
        mask = options.pop("reset_mask", None)
    if mask is None:
        return everywhere
    mask = as_array("options['reset_mask']", mask)
    if mask.shape != everywhere.shape or mask.dtype != np.bool_ or not mask.any():
        needed = f"bool of shape {everywhere.shape} with at least one True"
        raise refusal(f"options['reset_mask'] must be {needed}", mask)
    return mask
