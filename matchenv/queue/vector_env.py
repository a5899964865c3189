"""``MatchmakingQueue-v0`` as a native vector environment: many queues, one compiled call."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from matchenv.queue.env import queue_observation_space
from matchenv.queue.given import GivenQueue
from matchenv.queue.queues import INFO_NAMES, Queues
from matchenv.queue.rendered import RenderedQueues
from matchenv.queue.settings import (
    QueueEnvironmentOptions,
    QueueSettings,
    shows_queue_options,
)
from matchenv.queue.waiting import WaitingPlayers
from matchenv.rendering.modes import RENDER_FPS, RENDER_MODES
from matchenv.spaces import OnlineOpponents, OnlineOpponentsOfAll
from matchenv.validation import as_actions, as_integer
from matchenv.vector_reset import as_autoreset_mode, reseeded, taken_reset_mask

Infos = dict[str, Any]
INFO_MASKS = tuple(f"_{name}" for name in INFO_NAMES)


class MatchmakingQueueVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` copies of ``MatchmakingQueueEnv``, stepped together.

    The description, spaces, rewards and arguments are those of ``MatchmakingQueueEnv``. Copy i of a
    vector environment that is reset with seed s is the run of a scalar environment reset with seed
    s + i.

    Args:
        num_envs: copies, >= 1.
        autoreset_mode: ``AutoresetMode.NEXT_STEP`` (default), ``SAME_STEP`` or ``DISABLED``, as
            Gymnasium defines them; also their values as text.
        max_episode_steps: choices after which an episode is truncated, >= 1; None for the horizon
            alone.
        options: as ``MatchmakingQueueEnv``, all of them.

    Attributes:
        generators: one random generator for each environment, empty before the first reset.

    Raises:
        ValueError: for a bad argument; it names the argument and what is allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    @shows_queue_options
    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **options: Unpack[QueueEnvironmentOptions],
    ) -> None:
        self.num_envs = as_integer("num_envs", num_envs, 1)
        self.settings = QueueSettings(**options)
        self.max_episode_steps = (
            None
            if max_episode_steps is None
            else as_integer("max_episode_steps", max_episode_steps, 1)
        )
        self.autoreset_mode = as_autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self.render_mode = render_mode
        self._queues = Queues(self.settings, self.num_envs)
        self.single_observation_space = queue_observation_space(self.settings)
        self.single_action_space = OnlineOpponents(self._queues)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = OnlineOpponentsOfAll(self._queues)
        self._rendered = RenderedQueues(render_mode, self._queues)
        self.generators: list[np.random.Generator] = []
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._started = np.zeros(self.num_envs, dtype=np.bool_)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], Infos]:
        """Start a run in every environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: an integer s seeds environment i with s + i; a list seeds each (None goes on with
                that one's generator); None goes on with all.
            options: as ``MatchmakingQueueEnv.reset``, each of shape (n,) or (num_envs, n);
                ``"reset_mask"``, shape (num_envs,), bool, names the environments to reset.

        Returns:
            Observations of shape (num_envs, 4 capacity + 3), and the information that
            ``MatchmakingQueueEnv`` describes.

        Raises:
            ValueError: for bad seeds or options; nothing is changed then.
        """
        options = dict(options) if isinstance(options, dict) else options
        mask = taken_reset_mask(options, self.num_envs)
        given = GivenQueue.from_options(options, self.num_envs)
        self.generators = reseeded(self.generators, seed, mask)
        self._begin(np.flatnonzero(mask), given)
        self._over &= ~mask
        self._started |= mask
        self._rendered.show()
        return self._queues.batch.observation.copy(), self._infos(mask)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
    ]:
        """Let every focal player wait or play, and go to the next choices.

        Args:
            actions: shape (num_envs,), integers in [0, capacity), allowed by ``action_masks``. With
                NEXT_STEP the action of an environment that has just ended is ignored: it is reset.

        Returns:
            Observations, rewards, False everywhere, where the horizon is reached, and the
            information that ``MatchmakingQueueEnv`` describes, an array of num_envs rows each with
            a mask ``_name``. With SAME_STEP also ``final_obs`` and ``final_info`` of episodes that
            ended.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or not allowed; nothing
                is changed then.
            gymnasium.error.ResetNeeded: before the first reset, or with DISABLED where an episode
                is over.
        """
        if not self._started.all():
            raise ResetNeeded("Call reset() before step(): this environment was never reset.")
        chosen = as_actions(actions, self.num_envs, self.settings.capacity)
        idle = self._over
        if self.autoreset_mode == AutoresetMode.DISABLED and idle.any():
            raise ResetNeeded(
                f"Call reset(options={{'reset_mask': ...}}) before step(): "
                f"environments {np.flatnonzero(idle).tolist()} were played to their end."
            )
        self._queues.check_actions(chosen, idle)
        rewards, truncated = self._queues.step(chosen, idle)
        self._steps += ~idle
        if self.max_episode_steps is not None:
            truncated |= (self._steps >= self.max_episode_steps) & ~idle
        self._rendered.add(idle)
        everywhere = np.ones(self.num_envs, dtype=np.bool_)
        final: Infos = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if truncated.any():
                final = self._finish(truncated.copy())
        else:
            if idle.any():
                self._begin(np.flatnonzero(idle))
            self._over = truncated.copy()
        self._rendered.show()
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        infos = {**self._infos(everywhere), **final}
        return self._queues.batch.observation.copy(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """One picture or text for each environment, as ``render_mode`` says.

        Returns:
            With ``"rgb_array"`` arrays, uint8 of shape (height, width, 3), with ``"ansi"`` texts;
            None with ``"human"``, which shows a grid of the first environments by itself, and
            without a render mode.
        """
        if self.render_mode in (None, "human"):
            return None
        if not self._started.all():
            raise ResetNeeded("Call reset() before render().")
        return tuple(self._rendered.frame(row) for row in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if one is open."""
        self._rendered.close()

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, shape (num_envs, capacity)."""
        return self._queues.batch.mask.copy()

    def waiting_players(self, index: int) -> WaitingPlayers:
        """What a policy is asked about in one environment; copies.

        Args:
            index: of the environment.

        Raises:
            ValueError: for an index that is out of range.
        """
        return self._queues.waiting_players(as_integer("index", index, 0, self.num_envs - 1))

    def keep_visits(self) -> None:
        """From now on write down every visit to a queue that ends; see ``taken_visits``."""
        self._queues.keep_visits()

    def taken_visits(self) -> dict[str, NDArray[np.float64]]:
        """The visits that ended since the last call, in order, and forget them.

        Returns:
            A column for each of ``matchenv.queue.state.VISIT_COLUMNS``, float64: ``waited`` counts
            ticks, ``served`` is 1 for a game and 0 for one who gave up, ``mu`` and ``sigma`` are
            the belief at the end of the visit, and so after ``games_played`` games; the qualities
            are 0 without a game.
        """
        return self._queues.taken_visits()

    def __repr__(self) -> str:
        return self.settings.text_for(self, num_envs=self.num_envs)

    def _begin(self, rows: NDArray[np.int64], given: GivenQueue | None = None) -> None:
        self._queues.begin(rows, self.generators, given)
        self._steps[rows] = 0
        self._rendered.begin(rows)

    def _infos(self, mask: NDArray[np.bool_]) -> Infos:
        infos: Infos = dict(self._queues.infos())
        if not mask.all():
            for value in infos.values():
                value[~mask] = 0
        for name in INFO_MASKS:
            infos[name] = mask
        return infos

    def _finish(self, over: NDArray[np.bool_]) -> Infos:
        rows = np.flatnonzero(over)
        final_observations = np.full(self.num_envs, None, dtype=object)
        for row in rows:
            final_observations[row] = self._queues.batch.observation[row].copy()
        final_info = self._infos(over)
        self._begin(rows)
        return {
            "final_obs": final_observations,
            "_final_obs": over,
            "final_info": final_info,
            "_final_info": over,
        }
