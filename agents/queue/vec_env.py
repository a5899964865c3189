"""Queues of several arrival rates as a stable-baselines3 ``VecEnv``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.queue.several_loads import SeveralLoads
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.envs.queue.settings import QueueSettings

Floats = NDArray[np.float64]

# Steps over which the reward of a tick is averaged.
MEMORY = 2000


class MatchmakingQueueVecEnv(MatchmakingVecEnv):
    """``MatchmakingQueue-v0`` for stable-baselines3, at one or several arrival rates.

    As ``MatchmakingVecEnv``. Every end is a truncation: the queue goes on.

    The rewards are less what a tick has brought on average under the same load, for each tick
    that went by. Over a run that is the same for every policy, since a run has its number of ticks.
    But an algorithm discounts by choices, and a player who waits is asked about once more: without
    it, it would learn what pays in a choice and not in a tick, and would let nobody wait. The
    returns in the information are of the rewards themselves.

    Args:
        num_envs: environments in all, at least one for each rate.
        settings: of the environments, for each rate; equal but for that.

    Raises:
        ValueError: for fewer environments than rates.

    Source: relative rewards of a continuing task, Schwartz (1993), R-learning.
    """

    matchmaking: SeveralLoads

    def __init__(self, num_envs: int, settings: list[QueueSettings]) -> None:
        super().__init__(num_envs, settings=settings)
        self._rewards_and_ticks: Floats = np.zeros((2, len(settings)))

    @staticmethod
    def native(num_envs: int, **env_kwargs: Any) -> SeveralLoads:
        """The queues of all rates; arguments as the class."""
        return SeveralLoads(num_envs, **env_kwargs)

    def _paid(self, rewards: Floats, native: dict[str, Any]) -> Floats:
        sums, turn = self._rewards_and_ticks, self._rewards_and_ticks.shape[1]
        load = np.arange(self.num_envs) % turn
        sums *= 1.0 - 1.0 / MEMORY
        sums += [np.bincount(load, each, turn) for each in (rewards, native["ticks"])]
        usual = sums[0] / np.maximum(sums[1], 1.0)
        relative: Floats = rewards - usual[load] * native["ticks"]
        return relative

    def _episodes(self) -> dict[str, Any]:
        return {**self.matchmaking.state(), "usual": self._rewards_and_ticks.copy()}

    def _restore_episodes(self, state: dict[str, Any]) -> None:
        self.matchmaking.restore(state)
        self._rewards_and_ticks[...] = state["usual"]
