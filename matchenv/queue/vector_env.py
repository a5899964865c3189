"""``MatchmakingQueue-v0`` as a native vector environment: many queues, one compiled call."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode
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
from matchenv.runtime.checks import as_integer
from matchenv.spaces import OnlineOpponents, OnlineOpponentsOfAll
from matchenv.vector_base import Infos, Masks, NativeVectorEnv

INFO_MASKS = tuple(f"_{name}" for name in INFO_NAMES)


class MatchmakingQueueVectorEnv(NativeVectorEnv):
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

    settings: QueueSettings
    _rendered: RenderedQueues

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
        super().__init__(num_envs, render_mode, autoreset_mode, max_episode_steps)
        self.settings = QueueSettings(**options)
        self._queues = Queues(self.settings, self.num_envs)
        self._set_spaces(queue_observation_space(self.settings), OnlineOpponents(self._queues))
        self.action_space = OnlineOpponentsOfAll(self._queues)
        self._rendered = RenderedQueues(render_mode, self._queues)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)

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

    @property
    def _num_actions(self) -> int:
        return self.settings.capacity

    @property
    def _seen(self) -> NDArray[np.float32]:
        return self._queues.batch.observation

    def _given(self, options: dict[str, Any] | None) -> GivenQueue:
        return GivenQueue.from_options(options, self.num_envs)

    def _begin_rows(self, rows: NDArray[np.int64], given: GivenQueue | None) -> None:
        self._queues.begin(rows, self.generators, given)
        self._steps[rows] = 0

    def _play(
        self, chosen: NDArray[np.int64], waiting: Masks
    ) -> tuple[NDArray[np.float64], Masks, Masks, Infos]:
        self._queues.check_actions(chosen, waiting)
        rewards, truncated = self._queues.step(chosen, waiting)
        self._steps += ~waiting
        self._rendered.add(waiting)
        return rewards, np.zeros(self.num_envs, dtype=np.bool_), truncated, {}

    def _steps_taken(self) -> NDArray[np.int64]:
        return self._steps

    def _infos_now(self, mask: Masks | None) -> Infos:
        infos: Infos = dict(self._queues.infos())
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        elif not mask.all():
            for value in infos.values():
                value[~mask] = 0
        for name in INFO_MASKS:
            infos[name] = mask
        return infos
