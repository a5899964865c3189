"""Many environments over any simulator, stepped together: the native vector environment."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from matchenv.envs.core.rendering import PICTURE_MODES, Frame
from matchenv.envs.core.scalar import Masks, SimulatorEnv
from matchenv.envs.core.simulator import plain, restored_array
from matchenv.runtime.checks import as_actions, as_choice, as_flag, as_integer
from matchenv.runtime.random import drawn_key

Infos = dict[str, Any]
Stepped = tuple[NDArray[np.float32], NDArray[np.float64], Masks, Masks, Infos]


class NativeVectorEnv(
    SimulatorEnv, VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]
):
    """``num_envs`` copies of an environment, stepped together.

    Args:
        num_envs: copies, >= 1.
        render_mode: as the single environment's.
        render_true_skill: as the single environment's.
        autoreset_mode: ``AutoresetMode.NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``, as Gymnasium
            defines them; also their values as text.
        max_episode_steps: steps after which an episode is truncated, >= 1; None for never.
        copy: return new arrays of observations; False: views that the next step changes.
        options: as the single environment's.

    Attributes:
        generators: one random generator for each environment, empty before the first reset.

    Raises:
        ValueError: for a bad argument; it names the argument and what is allowed.
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
        self.num_envs = as_integer("num_envs", num_envs, 1)
        self._set_up(self.num_envs, render_mode, render_true_skill, options)
        if max_episode_steps is not None:
            max_episode_steps = as_integer("max_episode_steps", max_episode_steps, 1)
        self.max_episode_steps = max_episode_steps
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        self.autoreset_mode = AutoresetMode(
            as_choice("autoreset_mode", mode, [each.value for each in AutoresetMode])
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
            seed: an integer s seeds environment i with s + i; a list seeds each (None goes
                on with that one's generator); None goes on with all. With a mask, seeds
                of environments that are not reset have no effect.
            options: as the single environment's, each array for all or with one row for each;
                ``"reset_mask"``, shape (num_envs,), bool, names the environments to reset.

        Returns:
            Observations, shape (num_envs, K), and the information that is there after a reset.

        Raises:
            ValueError: for bad seeds or options; nothing is changed then.
        """
        options = dict(options) if isinstance(options, dict) else options
        mask = _taken_reset_mask(options, self._everywhere)
        given = self.simulator.given(options, self.num_envs)
        self.generators = _reseeded(self.generators, seed, mask)
        self._begin_drawn(np.flatnonzero(mask), given)
        self._show()
        return self._observations(), self._infos(mask)

    def step(self, actions: NDArray[np.int64]) -> Stepped:
        """Carry out an action in every environment.

        Args:
            actions: shape (num_envs,), integers, as the single environment's. With NEXT_STEP the
                action of an environment that has just ended is ignored: it is reset.

        Returns:
            Observations, rewards, whether each episode terminated, whether it was truncated, and
            the information that the single environment describes, an array of num_envs rows each
            with a mask ``_name``. With SAME_STEP also ``final_obs`` and ``final_info`` of
            episodes that ended.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or refused; nothing is
                changed then.
            gymnasium.error.ResetNeeded: before the first reset, or with DISABLED where no
                episode runs.
        """
        self._check_started("step")
        running = self._running
        if not self._all_run and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                "Call reset(options={'reset_mask': ...}) before step(): no episode runs in "
                f"environments {np.flatnonzero(~running).tolist()}."
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

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the actions that are allowed now, shape (num_envs, A)."""
        return self._masks()

    def get_state(self) -> dict[str, Any]:
        """Return all that the next steps depend on: arrays, and the states of the generators."""
        arrays = {**self._state._asdict(), "running": self._running, "steps": self._steps}
        generators = [each.bit_generator.state for each in self.generators]
        return {**{name: plain(each) for name, each in arrays.items()}, "generators": generators}

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the environment to a state of one with the same settings and size.

        Raises:
            ValueError: for a state of other sizes or types; nothing is changed then.
        """
        names = [*self._state._fields, "running", "steps", "generators"]
        if not isinstance(state, dict) or set(state) != set(names):
            got = [*state] if isinstance(state, dict) else state
            raise ValueError(f"state must hold {', '.join(names)}, got {got!r}")
        given = state["generators"]
        try:
            if len(given) not in (0, self.num_envs):
                raise ValueError(given)
            generators = [np.random.Generator(np.random.PCG64()) for _ in given]
            for generator, bits in zip(generators, given, strict=True):
                generator.bit_generator.state = bits
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            allowed = f"states of PCG64, {self.num_envs} or none"
            raise ValueError(f"generators must be {allowed}, got {given!r}") from error
        arrays = {name: np.asarray(state[name]) for name in names[:-1]}
        new = self.simulator.restored(self._state, arrays)
        steps = restored_array("steps", arrays["steps"], self._steps)
        self._running = restored_array("running", arrays["running"], self._running)
        self._state, self._steps, self.generators = new, steps, generators
        self._all_run = bool(self._running.all())

    def render(self) -> tuple[Frame, ...] | None:
        """Return one picture or text for each environment, as ``render_mode`` says.

        Returns:
            With ``"rgb_array"`` arrays, uint8 of shape (height, width, 3), with ``"ansi"``
            texts; None with ``"human"``, which shows a grid of the first environments by
            itself, and without a render mode.
        """
        if self._renderer is None or self.render_mode == "human":
            return None
        self._check_started("render")
        return tuple(self._renderer.frame(self._state, row) for row in range(self.num_envs))

    def render_grid(self) -> NDArray[np.uint8]:
        """Return the pictures of the first environments in rows, uint8, (height, width, 3).

        Raises:
            ValueError: if ``render_mode`` is not ``"rgb_array"`` or ``"human"``.
        """
        if self._renderer is None or self.render_mode not in PICTURE_MODES:
            raise ValueError(
                "render_mode must be 'rgb_array' or 'human' for a grid of pictures, "
                f"got {self.render_mode!r}"
            )
        self._check_started("render")
        return self._renderer.grid(self._state)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if one is open."""
        if self._renderer is not None:
            self._renderer.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self, num_envs=self.num_envs)

    def _begin_drawn(self, rows: NDArray[np.int64], given: Any = None) -> None:
        """Start episodes of keys that are drawn from their generators."""
        if rows.size > 0:
            keys = np.array([drawn_key(self.generators[row]) for row in rows.tolist()], np.uint64)
            self._begin(rows, keys, given)
            self._running[rows] = True
            self._steps[rows] = 0
        self._all_run = bool(self._running.all())

    def _begin_where_over(self, over: Masks) -> Infos:
        """Begin episodes as the autoreset mode asks; return what SAME_STEP adds to the infos."""
        final: Infos = {}
        if self._all_run and not over.any():
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
        """Return facts and action masks, 0 outside ``mask``, each with that mask."""
        facts = self.simulator.facts(self._state)
        if self._masked:
            masks = self.simulator.masks(self._state).astype(np.int8)
            facts = {**facts, "action_mask": masks, "invalid_action": self._invalid}
        infos: Infos = {}
        for name, values in facts.items():
            infos[name], infos[f"_{name}"] = values.copy(), mask
            if mask is not self._everywhere:
                infos[name][~mask] = 0
        return infos

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
            None if each is None else as_integer(f"seed[{i}]", each, 0)
            for i, each in enumerate(seed)
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
    """Take ``"reset_mask"`` out of the options; without it all environments are reset."""
    mask = options.pop("reset_mask", None) if isinstance(options, dict) else None
    if mask is None:
        return everywhere
    mask = np.asarray(mask)
    if mask.shape != everywhere.shape or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(
            f"options['reset_mask'] must be bool of shape {everywhere.shape} with at least "
            f"one True, got {mask!r}"
        )
    return mask
