"""What the native vector environments share: resets, ends, modes, masks and pictures."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, RENDER_MODES, Frame
from matchenv.options import Options
from matchenv.queue.rendered_batch import RenderedBatch
from matchenv.runtime.checks import as_actions, as_integer
from matchenv.vector_reset import as_autoreset_mode, reseeded, taken_reset_mask

Infos = dict[str, Any]
Masks = NDArray[np.bool_]
Stepped = tuple[NDArray[np.float32], NDArray[np.float64], Masks, Masks, Infos]


class NativeVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` copies of an environment, stepped together.

    A subclass says how all of them begin and play (``_begin_rows``, ``_play``), what is seen
    (``_seen``) and what ``info`` holds.

    Args:
        num_envs: copies, >= 1.
        render_mode: as the single environment's.
        autoreset_mode: one of Gymnasium's, or its value as text.
        max_episode_steps: steps after which an episode is truncated, >= 1; None for never.

    Attributes:
        generators: one random generator for each environment, empty before the first reset.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    settings: Options
    _rendered: RenderedBatch

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None,
        autoreset_mode: AutoresetMode | str,
        max_episode_steps: int | None,
    ) -> None:
        self.num_envs = as_integer("num_envs", num_envs, 1)
        self.max_episode_steps = (
            None
            if max_episode_steps is None
            else as_integer("max_episode_steps", max_episode_steps, 1)
        )
        self.autoreset_mode = as_autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self.render_mode = render_mode
        self.generators: list[np.random.Generator] = []
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._started = np.zeros(self.num_envs, dtype=np.bool_)
        self.know_who_waits()

    def know_who_waits(self) -> None:
        """Look again at which environments have begun, and which are over."""
        self._some_over = bool(self._over.any())
        self._all_started = bool(self._started.all())

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
        mask = taken_reset_mask(options, self.num_envs)
        given = self._given(options)
        self.generators = reseeded(self.generators, seed, mask)
        self._begin(np.flatnonzero(mask), given)
        self._over &= ~mask
        self._started |= mask
        self.know_who_waits()
        self._rendered.show()
        return self._observations(), self._infos_now(mask)

    def step(self, actions: NDArray[np.int64]) -> Stepped:
        """Carry out an action in every environment.

        Args:
            actions: shape (num_envs,), integers that the single environment allows. With
                NEXT_STEP the action of an environment that has just ended is ignored: it is
                reset.

        Returns:
            Observations, rewards, whether each episode terminated, whether it was truncated, and
            the information that the single environment describes, an array of num_envs rows each
            with a mask ``_name``. With SAME_STEP also ``final_obs`` and ``final_info`` of
            episodes that ended.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or not allowed;
                nothing is changed then.
            gymnasium.error.ResetNeeded: before the first reset, or with DISABLED where an
                episode is over.
        """
        if not self._all_started:
            raise ResetNeeded("Call reset() before step(): this environment was never reset.")
        chosen = as_actions(actions, self.num_envs, self._num_actions)
        waiting, some_wait = self._over, self._some_over
        if some_wait and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"Call reset(options={{'reset_mask': ...}}) before step(): "
                f"environments {np.flatnonzero(waiting).tolist()} were played to their end."
            )
        rewards, terminated, truncated, infos = self._play(chosen, waiting)
        if self.max_episode_steps is not None:
            truncated |= (self._steps_taken() >= self.max_episode_steps) & ~waiting
        over = terminated | truncated
        some_over = bool(np.count_nonzero(over))  # quicker than any()
        final: Infos = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if some_over:
                final = self._finish(over, infos)
        else:
            if some_wait:
                self._begin(np.flatnonzero(waiting))
            self._over, self._some_over = over, some_over
        self._rendered.show()
        infos.update(self._infos_now(None))
        infos.update(final)
        return self._observations(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Frame, ...] | None:
        """One picture or text for each environment, as ``render_mode`` says.

        Returns:
            With ``"rgb_array"`` arrays, uint8 of shape (height, width, 3), with ``"ansi"``
            texts; None with ``"human"``, which shows a grid of the first environments by
            itself, and without a render mode.
        """
        if self.render_mode in (None, "human"):
            return None
        self._check_started()
        return tuple(self._rendered.frame(row) for row in range(self.num_envs))

    def render_grid(self) -> NDArray[np.uint8]:
        """The pictures of the first environments in rows, uint8, shape (height, width, 3).

        Raises:
            ValueError: if ``render_mode`` is not ``"rgb_array"`` or ``"human"``.
        """
        if self.render_mode not in ("rgb_array", "human"):
            raise ValueError(
                "render_mode must be 'rgb_array' or 'human' for a grid of pictures, "
                f"got {self.render_mode!r}"
            )
        self._check_started()
        return self._rendered.grid()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if one is open."""
        self._rendered.close()

    def __repr__(self) -> str:
        return self.settings.text_for(self, num_envs=self.num_envs)

    @property
    @abstractmethod
    def _num_actions(self) -> int:
        """Actions of each environment."""

    @abstractmethod
    def _given(self, options: dict[str, Any] | None) -> Any:
        """The checked options of a reset."""

    @abstractmethod
    def _begin_rows(self, rows: NDArray[np.int64], given: Any) -> None:
        """Start episodes in these environments, with what ``_given`` gave or None."""

    @abstractmethod
    def _play(
        self, chosen: NDArray[np.int64], waiting: Masks
    ) -> tuple[NDArray[np.float64], Masks, Masks, Infos]:
        """Check the actions further, and carry them out wherever no episode is waiting.

        Returns:
            New arrays of shape (num_envs,), 0 and False where waiting: rewards, terminated,
            truncated; and what there is to say of the step alone, with its masks.
        """

    @abstractmethod
    def _steps_taken(self) -> NDArray[np.int64]:
        """Steps of each episode, shape (num_envs,)."""

    @abstractmethod
    def _infos_now(self, mask: Masks | None) -> Infos:
        """What there is to say of the present states.

        Args:
            mask: the environments that it counts for; None for all.
        """

    @property
    @abstractmethod
    def _seen(self) -> NDArray[np.float32]:
        """The present observations, shape (num_envs, K); a view."""

    def _observations(self) -> NDArray[np.float32]:
        """A new array of the present observations."""
        return self._seen.copy()

    def _set_spaces(self, single: spaces.Box, actions: spaces.Discrete) -> None:
        self.single_observation_space, self.single_action_space = single, actions
        self.observation_space = batch_space(single, self.num_envs)
        self.action_space = batch_space(actions, self.num_envs)

    def _begin(self, rows: NDArray[np.int64], given: Any = None) -> None:
        self._begin_rows(rows, given)
        self._rendered.begin(rows)

    def _check_started(self) -> None:
        if not self._all_started:
            raise ResetNeeded("Call reset() before render().")

    def _finish(self, over: Masks, infos: Infos) -> Infos:
        """Begin anew where episodes are over.

        Args:
            over: shape (num_envs,).
            infos: of the step; what they say of these environments is taken out.

        Returns:
            ``final_obs`` and ``final_info``, with their masks.
        """
        rows = np.flatnonzero(over)
        final_observations = np.full(self.num_envs, None, dtype=object)
        for row, observation in zip(rows, self._seen[rows], strict=True):
            final_observations[row] = observation
        final_info: Infos = {}
        for name, value in {**infos, **self._infos_now(over)}.items():
            if not name.startswith("_"):
                final_info[name] = value.copy()
                final_info[name][~over] = 0
                final_info[f"_{name}"] = over
        for name, value in infos.items():
            if name.startswith("_"):
                infos[name] = value & ~over
            else:
                value[over] = 0
        self._begin(rows)
        return {
            "final_obs": final_observations,
            "_final_obs": over,
            "final_info": final_info,
            "_final_info": over,
        }
