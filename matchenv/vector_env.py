"""``Matchmaking-v0`` as a native vector environment: many episodes, one compiled call."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.instance import GivenInstance
from matchenv.knowledge import KnowledgeState
from matchenv.play import REPORT_ROWS
from matchenv.rendering import RENDER_FPS, RENDER_MODES, Frame, RenderedEpisodes
from matchenv.settings import EnvironmentOptions, Settings, shows_options
from matchenv.spaces import OnlineOpponentsOfAll, action_space, observation_space
from matchenv.threads import as_num_threads
from matchenv.validation import as_actions, as_integer
from matchenv.vector_reset import as_autoreset_mode, reseeded, taken_reset_mask

Infos = dict[str, Any]
INFO_MASKS = tuple(f"_{name}" for name in (*REPORT_ROWS, "won", "outcome"))


class MatchmakingVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
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

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

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
        self.num_envs = as_integer("num_envs", num_envs, 1)
        self.settings = Settings(**options)
        self.max_episode_steps = (
            None
            if max_episode_steps is None
            else as_integer("max_episode_steps", max_episode_steps, 1)
        )
        self.autoreset_mode = as_autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self.render_mode = render_mode
        self.single_observation_space = observation_space(self.settings)
        self.single_action_space = action_space(self.settings)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.num_threads = as_num_threads(num_threads, num_envs, self.settings.num_opponents)
        self._episodes = Episodes(self.settings, self.num_envs, self.num_threads)
        if self._episodes.pool is not None:
            self.action_space = OnlineOpponentsOfAll(self._episodes.pool)
        self._rendered = RenderedEpisodes(render_mode, render_true_skill, self._episodes)
        self._reward = self.settings.reward_type
        self.generators: list[np.random.Generator] = []
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._some_over = False
        self._started = np.zeros(self.num_envs, dtype=np.bool_)
        self._all_started = False

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
            options: ``"mu"``, ``"sigma"``, ``"true_skill"`` of shape (M + 1,) or (num_envs,
                M + 1) fix instances; ``"reset_mask"``, shape (num_envs,), bool, names the
                environments to reset.

        Returns:
            Observations of shape (num_envs, 2 (M + 1) + 1), with the full belief (num_envs,
            3 M + 3), and a dict, which holds the ``action_mask`` of a pool that changes.

        Raises:
            ValueError: for bad seeds or options; nothing is changed then.
        """
        options = dict(options) if isinstance(options, dict) else options
        mask = taken_reset_mask(options, self.num_envs)
        given = GivenInstance.from_options(options, self.settings, self.num_envs)
        self.generators = reseeded(self.generators, seed, mask)
        self._episodes.begin(np.flatnonzero(mask), self.generators, given)
        self._over[mask] = False
        self._some_over = bool(self._over.any())
        self._started |= mask
        self._all_started = bool(self._started.all())
        self._rendered.begin(np.flatnonzero(mask))
        self._rendered.show()
        return self._episodes.observation.copy(), self._mask_infos(mask)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
    ]:
        """Play a game in every environment, against opponents ``actions + 1``.

        Args:
            actions: shape (num_envs,), integers in [0, num_opponents). With NEXT_STEP the
                action of an environment that has just ended is ignored: it is reset.

        Returns:
            Observations, rewards, whether each episode ended, whether ``max_episode_steps`` cut it
            short, and the information
            that ``MatchmakingEnv`` describes, an array of shape (num_envs,) each with a mask
            ``_name``. With SAME_STEP also ``final_obs`` and ``final_info`` of episodes that
            ended.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or of opponents who are
                offline; nothing is changed then.
            gymnasium.error.ResetNeeded: before the first reset, or with DISABLED where an
                episode is over.
        """
        if not self._all_started:
            raise ResetNeeded("Call reset() before step(): this environment was never reset.")
        opponents = as_actions(actions, self.num_envs, self.settings.num_opponents)
        waiting, some_wait = self._over, self._some_over
        if self.autoreset_mode == AutoresetMode.DISABLED and some_wait:
            ended = np.flatnonzero(waiting).tolist()
            raise ResetNeeded(
                f"Call reset(options={{'reset_mask': ...}}) before step(): "
                f"environments {ended} were played to their end."
            )
        self._episodes.check_online(opponents, waiting)
        self._episodes.draw_more_noise(self.generators)
        # Threads copy their own rows; rows that begin anew are copied again.
        shown = np.empty_like(self._episodes.observation) if self.num_threads > 1 else None
        played = self._episodes.play(opponents, waiting, shown)
        rewards = self._reward.checked(played, waiting)
        truncated = self._truncated(waiting)
        over = played.terminated | truncated if self.max_episode_steps else played.terminated
        infos = _infos(played, ~waiting)
        self._rendered.add(opponents, played, waiting)
        some_over = bool(over.any())
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if some_over:
                infos = self._finish(over.copy(), {**infos, **self._mask_infos(~waiting)})
                if shown is not None:
                    shown[over] = self._episodes.observation[over]
        else:
            if some_wait:
                begun = np.flatnonzero(waiting)
                self._episodes.begin(begun, self.generators)
                self._rendered.begin(begun)
                if shown is not None:
                    shown[begun] = self._episodes.observation[begun]
            if some_over or some_wait:
                self._over = over.copy()
            self._some_over = some_over
        self._rendered.show()
        if self._episodes.pool is not None:
            infos.update(self._mask_infos(np.ones(self.num_envs, dtype=np.bool_)))
        observation = self._episodes.observation.copy() if shown is None else shown
        return observation, rewards, played.terminated, truncated, infos

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
        """Close the window, if one is open, and end the threads."""
        self._rendered.close()
        self._episodes.threads.end()

    def action_masks(self) -> NDArray[np.bool_]:
        """Who can be chosen now, shape (num_envs, M): True for opponents who are online."""
        return self._episodes.action_masks()

    def _mask_infos(self, reset: NDArray[np.bool_]) -> Infos:
        pool = self._episodes.pool
        if pool is None:
            return {}
        return {"action_mask": pool.online.astype(np.int8), "_action_mask": reset.copy()}

    def _check_started(self) -> None:
        if not self._all_started:
            raise ResetNeeded("Call reset() before render().")

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

    def __repr__(self) -> str:
        return self.settings.text_for(self, num_envs=self.num_envs)

    def _truncated(self, waiting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whose game was the last that ``max_episode_steps`` allows."""
        if self.max_episode_steps is None:
            return np.zeros(self.num_envs, dtype=np.bool_)
        late: NDArray[np.bool_] = self._episodes.games_played >= self.max_episode_steps
        return late & ~waiting

    def _finish(self, over: NDArray[np.bool_], infos: Infos) -> Infos:
        rows = np.flatnonzero(over)
        final_observations = np.full(self.num_envs, None, dtype=object)
        for row, observation in zip(rows, self._episodes.observation[rows], strict=True):
            final_observations[row] = observation
        final_info: Infos = {}
        for name in [key for key in infos if not key.startswith("_")]:
            final_info[name] = infos[name].copy()
            final_info[name][~over] = 0
            final_info[f"_{name}"] = over
            infos[name][over] = 0
            infos[f"_{name}"] = infos[f"_{name}"] & ~over
        self._episodes.begin(rows, self.generators)
        self._rendered.begin(rows)
        return {
            **infos,
            "final_obs": final_observations,
            "_final_obs": over,
            "final_info": final_info,
            "_final_info": over,
        }


def _infos(played: GamesPlayed, has_played: NDArray[np.bool_]) -> Infos:
    infos: Infos = dict(zip(REPORT_ROWS, played.report, strict=True))
    infos["won"] = played.outcomes > 0
    infos["outcome"] = played.outcomes
    for mask in INFO_MASKS:
        infos[mask] = has_played
    return infos
