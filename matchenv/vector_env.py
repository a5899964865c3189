"""``Matchmaking-v0`` as a native vector environment: many episodes, one compiled call."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.instance import GivenInstance
from matchenv.knowledge import KnowledgeState
from matchenv.play import REPORT_ROWS
from matchenv.rendering import RenderedEpisodes
from matchenv.settings import EnvironmentOptions, Settings, shows_options
from matchenv.spaces import OnlineOpponentsOfAll, action_space, observation_space
from matchenv.threads import as_num_threads
from matchenv.vector_base import Infos, Masks, NativeVectorEnv

INFO_MASKS = tuple(f"_{name}" for name in (*REPORT_ROWS, "won", "outcome"))


class MatchmakingVectorEnv(NativeVectorEnv):
    """``num_envs`` copies of ``MatchmakingEnv``, stepped together.

    The description, spaces, rewards and arguments are those of ``MatchmakingEnv``. Copy i of
    a vector environment that is reset with seed s plays the same games as a scalar
    environment reset with seed s + i.

    Args:
        num_envs: copies, >= 1.
        autoreset_mode: ``AutoresetMode.NEXT_STEP`` (default), ``SAME_STEP`` or ``DISABLED``,
            as Gymnasium defines them; also their values as text.
        max_episode_steps: games after which an episode is truncated, >= 1; None for never.
        num_threads: threads that share a step, >= 1, or ``"auto"``: as many as there are cores,
            where ``num_envs`` times opponents pays them. The same numbers for any of them.
        options: as ``MatchmakingEnv``, all of them.

    Attributes:
        num_threads: threads that share a step, as asked for or as ``"auto"`` chose.
        generators: one random generator for each environment, empty before the first reset.

    Raises:
        ValueError: for a bad argument; it names the argument and what is allowed.
    """

    settings: Settings
    _rendered: RenderedEpisodes

    @shows_options
    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        render_true_skill: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        num_threads: int | str = 1,
        **options: Unpack[EnvironmentOptions],
    ) -> None:
        super().__init__(num_envs, render_mode, autoreset_mode, max_episode_steps)
        self.settings = Settings(**options)
        self.num_threads = as_num_threads(num_threads, num_envs, self.settings.num_opponents)
        self._episodes = Episodes(self.settings, self.num_envs, self.num_threads)
        self._set_spaces(observation_space(self.settings), action_space(self.settings))
        if self._episodes.pool is not None:
            self.action_space = OnlineOpponentsOfAll(self._episodes.pool)
        self._rendered = RenderedEpisodes(render_mode, render_true_skill, self._episodes)
        self._reward = self.settings.reward_type
        # Where threads copy the observations of their own rows during a step.
        self._copied: NDArray[np.float32] | None = None

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if one is open, and end the threads."""
        super().close_extras(**kwargs)
        self._episodes.threads.end()

    def action_masks(self) -> NDArray[np.bool_]:
        """Who can be chosen now, shape (num_envs, M): True for opponents who are online."""
        return self._episodes.action_masks()

    @property
    def knowledge_state(self) -> KnowledgeState:
        """A copy of the present beliefs, float64, shape (num_envs, M + 1)."""
        return self._episodes.knowledge_state()

    @property
    def true_skill(self) -> NDArray[np.float64]:
        """A copy of the true skills, shape (num_envs, M + 1); for judging and the oracle."""
        return self._episodes.true_skill.copy()

    @property
    def games_left(self) -> NDArray[np.int64]:
        """Games left in each episode, shape (num_envs,)."""
        return self.settings.horizon - self._episodes.games_played

    @property
    def _num_actions(self) -> int:
        return self.settings.num_opponents

    @property
    def _seen(self) -> NDArray[np.float32]:
        return self._episodes.observation

    def _given(self, options: dict[str, Any] | None) -> GivenInstance | None:
        return GivenInstance.from_options(options, self.settings, self.num_envs)

    def _begin_rows(self, rows: NDArray[np.int64], given: GivenInstance | None) -> None:
        self._episodes.begin(rows, self.generators, given)
        if self._copied is not None:
            self._copied[rows] = self._episodes.observation[rows]

    def _play(
        self, chosen: NDArray[np.int64], waiting: Masks
    ) -> tuple[NDArray[np.float64], Masks, Masks, Infos]:
        episodes = self._episodes
        episodes.check_online(chosen, waiting)
        episodes.draw_more_noise(self.generators)
        if self.num_threads > 1:
            self._copied = np.empty_like(episodes.observation)
        played = episodes.play(chosen, waiting, self._copied)
        rewards = self._reward.checked(played, waiting)
        self._rendered.add(chosen, played, waiting)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        return rewards, played.terminated, truncated, _infos(played, ~waiting)

    def _steps_taken(self) -> NDArray[np.int64]:
        return self._episodes.games_played

    def _observations(self) -> NDArray[np.float32]:
        copied, self._copied = self._copied, None
        return super()._observations() if copied is None else copied

    def _infos_now(self, mask: Masks | None) -> Infos:
        pool = self._episodes.pool
        if pool is None:
            return {}
        mask = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask
        return {"action_mask": pool.online.astype(np.int8), "_action_mask": mask.copy()}


def _infos(played: GamesPlayed, has_played: NDArray[np.bool_]) -> Infos:
    infos: Infos = dict(zip(REPORT_ROWS, played.report, strict=True))
    infos["won"] = played.outcomes > 0
    infos["outcome"] = played.outcomes
    for mask in INFO_MASKS:
        infos[mask] = has_played
    return infos
