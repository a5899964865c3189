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

from matchenv.envs.core.scalar import PICTURE_MODES, Frame, SimulatorEnv
from matchenv.envs.core.simulator import plain, restored_array
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import as_actions, as_array, as_choice, as_flag, as_integer, refusal
from matchenv.runtime.random import drawn_key

# Limit that keeps shapes within the integers of NumPy.
MOST_ENVS = 1_000_000_000

Infos = dict[str, Any]
Stepped = tuple[NDArray[np.float32], Floats, Masks, Masks, Infos]


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
        self._running = np.zeros(self.num_envs, dtype=np.bool_)
        self._all_run = False
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
        given = self.simulator.given(options, self.num_envs)
        self.generators = _reseeded(self.generators, seed, mask)
        self._begin_drawn(np.flatnonzero(mask), given)
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
        running = self._running
        if not self._all_run and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                "Call reset(options={'reset_mask': ...}) before step(): the episodes of "
                f"environments {np.flatnonzero(~running).tolist()} have ended."
            )
        chosen = as_actions(actions, self.num_envs, self.simulator.num_actions)
        rewards, terminated, truncated = self._carry_out(chosen, running)
        if self.max_episode_steps is not None:
            self._steps += running
            truncated |= (self._steps >= self.max_episode_steps) & running
        final = self._begin_where_over(terminated | truncated)
        self._show()
        infos = {**self._infos(self._everywhere), **final}
        return self._observations(), rewards, terminated, truncated, infos

    def action_masks(self) -> Masks:
        """Return the allowed actions, shape (num_envs, A)."""
        return self._masks()

    def get_state(self) -> dict[str, Any]:
        """Return the complete state: arrays and the states of the generators."""
        arrays = {**self._state._asdict(), "running": self._running, "steps": self._steps}
        generators = [generator.bit_generator.state for generator in self.generators]
        return {**{name: plain(array) for name, array in arrays.items()}, "generators": generators}

    def set_state(self, state: dict[str, Any]) -> None:
        """Set a state that ``get_state`` returned with the same settings and ``num_envs``.

        Pictures show what happens from here on.

        Raises:
            ValueError: for a state with other sizes or types. The environment is unchanged then.
        """
        names = [*self._state._fields, "running", "steps", "generators"]
        if not isinstance(state, dict) or set(state) != set(names):
            got = [*state] if isinstance(state, dict) else state
            raise refusal(f"state must hold {', '.join(names)}", got)
        saved = state["generators"]
        generators = [np.random.default_rng(0) for _ in range(self.num_envs)] if saved else []
        try:
            for generator, bits in zip(generators, saved, strict=True):
                generator.bit_generator.state = bits
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            allowed = f"states of PCG64, {self.num_envs} or none"
            raise refusal(f"generators must be {allowed}", saved) from error
        arrays = {name: as_array(name, state[name]) for name in names[:-1]}
        new = self.simulator.restored(self._state, arrays)
        steps = restored_array("steps", arrays["steps"], self._steps)
        self._running = restored_array("running", arrays["running"], self._running)
        self._state, self._steps, self.generators = new, steps, generators
        self._all_run = bool(self._running.all())
        if self._renderer is not None and generators:
            self._renderer.begin(new, np.arange(self.num_envs))

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

    def _begin_drawn(self, rows: Integers, given: Any = None) -> None:
        """Start episodes with keys drawn from their generators."""
        if rows.size > 0:
            keys = np.array([drawn_key(self.generators[row]) for row in rows.tolist()], np.uint64)
            self._begin(rows, keys, given)
            self._running[rows] = True
            self._steps[rows] = 0
        self._all_run = bool(self._running.all())

    def _begin_where_over(self, over: Masks) -> Infos:
        """Apply the autoreset mode to ended episodes; return SAME_STEP's additions to the infos."""
        final: Infos = {}
        if self._all_run and not np.count_nonzero(over):  # faster than any()
            return final
        if self.autoreset_mode == AutoresetMode.DISABLED:
            self._running, self._all_run = ~over, False
            return final
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            rows = np.flatnonzero(over)
            observations = np.full(self.num_envs, None, dtype=object)
            observations[rows] = [*self.simulator.observe(self._state)[rows]]
            final = {"final_obs": observations, "final_info": self._infos(over)}
            final |= {"_final_obs": over, "_final_info": over}
        else:
            rows = np.flatnonzero(~self._running)
            self._running = ~over
        self._begin_drawn(rows)
        return final

    def _infos(self, mask: Masks) -> Infos:
        """Return facts and action masks, which are 0 outside ``mask``, each with that mask."""
        facts = self.simulator.facts(self._state)
        if self._masked:
            masks = self.simulator.masks(self._state).astype(np.int8)
            facts = {**facts, "action_mask": masks, "invalid_action": self._invalid.copy()}
        if mask is not self._everywhere:
            for values in facts.values():
                values[~mask] = 0
        # A copy, since callers may edit it.
        return {**facts, **dict.fromkeys([f"_{name}" for name in facts], mask.copy())}

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
        seeds = [
            None if value is None else as_integer(f"seed[{i}]", value, 0)
            for i, value in enumerate(seed)
        ]
    elif seed is not None:
        seeds = [as_integer("seed", seed, 0) + i for i in range(count)]
    return [
        generators[i]
        if generators and (value is None or not mask[i])
        else seeding.np_random(value if mask[i] else None)[0]
        for i, value in enumerate(seeds)
    ]


def _taken_reset_mask(options: Any, everywhere: Masks) -> Masks:
    """Remove ``"reset_mask"`` from the options and return it, by default all environments."""
    mask = options.pop("reset_mask", None) if isinstance(options, dict) else None
    if mask is None:
        return everywhere
    mask = as_array("options['reset_mask']", mask)
    if mask.shape != everywhere.shape or mask.dtype != np.bool_ or not mask.any():
        needed = f"bool of shape {everywhere.shape} with at least one True"
        raise refusal(f"options['reset_mask'] must be {needed}", mask)
    return mask
