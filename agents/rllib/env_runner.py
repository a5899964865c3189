"""RLlib's env runner over the native vector environment: arrays in, arrays out.

RLlib's own runner builds its episodes step by step and environment by environment in Python, and
passes each step through its connectors; this one keeps whole arrays, and cuts them into episodes
once, at the end of a sample.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

Floats = NDArray[np.float32]


@dataclass
class _Begun:
    """An episode that goes on.

    Attributes:
        games: played before this sample.
        total: of the rewards so far.
        name: RLlib's id of the episode.
    """

    games: int = 0
    total: float = 0.0
    name: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class _Played:
    """Some games of n environments, T of each.

    Attributes:
        shown: observations before each game and after the last, shape (T + 1, n, K).
        last: observations at the ends of episodes, by game and environment.
        columns: what was chosen and paid, by RLlib's names, each of shape (T, n, ...).
        terminated: shape (T, n).
        truncated: shape (T, n).
    """

    shown: Floats
    last: dict[tuple[int, int], Floats]
    columns: dict[str, NDArray[Any]]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class VectorEnvRunner(SingleAgentEnvRunner):  # type: ignore[misc]
    """Samples from ``num_envs_per_env_runner`` copies that are stepped together.

    For an RLModule without memory that reads plain observations. Connectors between environment
    and module, and callbacks at each step, are not called.
    """

    env: Any
    num_envs: int

    def make_env(self) -> None:
        """The vector environment of the name in the configuration."""
        if self.env is not None:
            self.env.close()
        self.env = gym.make_vec(
            self.config.env,
            num_envs=self.config.num_envs_per_env_runner,
            autoreset_mode="SameStep",
            **dict(self.config.env_config),
        )
        self.num_envs = self.env.num_envs
        self._needs_initial_reset = True
        self._finished: list[tuple[int, float]] = []

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[Any]:
        if force_reset or num_episodes is not None or self._needs_initial_reset:
            seed = self._seed if self._needs_initial_reset else None
            self._observation, _ = self.env.reset(seed=seed)
            self._begun = [_Begun() for _ in range(self.num_envs)]
            self._needs_initial_reset = False
        games = None if num_timesteps is None else -(-num_timesteps // self.num_envs)
        played = self._play(games, num_episodes, explore, random_actions)
        before = len(self._finished)
        episodes = list(self._episodes(played))
        steps = played.terminated.size
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=steps)
        self._increase_sampled_metrics(steps, len(self._finished) - before)
        return episodes

    def _play(
        self, games: int | None, episodes: int | None, explore: bool, random_actions: bool
    ) -> _Played:
        """Play so many games in each environment, or until so many episodes have ended."""
        rows: dict[str, list[Any]] = {}
        last: dict[tuple[int, int], Floats] = {}
        ended, t = 0, 0
        while t < games if games is not None else ended < (episodes or 0):
            chosen = self._random() if random_actions else self._chosen(explore)
            shown = self._observation
            result = self.env.step(chosen[Columns.ACTIONS])
            self._observation, rewards, terminated, truncated, infos = result
            row = {"shown": shown, **chosen, Columns.REWARDS: rewards.astype(np.float32),
                   "terminated": terminated, "truncated": truncated}  # fmt: skip
            for name, values in row.items():
                rows.setdefault(name, []).append(values)
            for e in np.flatnonzero(terminated | truncated).tolist():
                last[t, e] = infos["final_obs"][e]
                ended += 1
            t += 1
        shown = np.stack([*rows.pop("shown"), self._observation])
        columns = {name: np.stack(values) for name, values in rows.items()}
        return _Played(shown, last, columns, columns.pop("terminated"), columns.pop("truncated"))

    def _chosen(self, explore: bool) -> dict[str, NDArray[Any]]:
        batch = {Columns.OBS: torch.from_numpy(self._observation)}
        if explore:
            given = self.module.forward_exploration(batch, t=self.num_env_steps_sampled_lifetime)
            kind = self.module.get_exploration_action_dist_cls()
        else:
            given = self.module.forward_inference(batch)
            kind = self.module.get_inference_action_dist_cls()
        logits = given[Columns.ACTION_DIST_INPUTS]
        choice = kind.from_logits(logits)
        with torch.no_grad():
            actions = (choice if explore else choice.to_deterministic()).sample()
            found = {Columns.ACTIONS: actions, Columns.ACTION_DIST_INPUTS: logits,
                     Columns.ACTION_LOGP: choice.logp(actions)}  # fmt: skip
        return {name: tensor.numpy() for name, tensor in found.items()}

    def _random(self) -> dict[str, NDArray[Any]]:
        return {Columns.ACTIONS: self.env.action_space.sample()}

    def _episodes(self, played: _Played) -> Iterator[Any]:
        """The games as RLlib's episodes: those that ended, and pieces of those that go on."""
        games = len(played.terminated)
        ends: dict[int, list[int]] = {}
        for t, e in played.last:
            ends.setdefault(e, []).append(t + 1)
        for e in range(self.num_envs):
            first = 0
            for end in dict.fromkeys([*ends.get(e, ()), games]):
                if first < end:
                    yield self._episode(played, e, first, end)
                first = end

    def _episode(self, played: _Played, e: int, first: int, end: int) -> Any:
        over = (end - 1, e) in played.last
        after = played.last[end - 1, e] if over else played.shown[end, e]
        begun = self._begun[e]
        columns = {
            name: InfiniteLookbackBuffer(np.ascontiguousarray(values[first:end, e]))
            for name, values in played.columns.items()
        }
        total = begun.total + float(columns[Columns.REWARDS].data.sum())
        episode = SingleAgentEpisode(
            id_=begun.name,
            observation_space=self.env.single_observation_space,
            action_space=self.env.single_action_space,
            observations=InfiniteLookbackBuffer(
                np.concatenate((played.shown[first:end, e], after[None]))
            ),
            infos=InfiniteLookbackBuffer([{}] * (end - first + 1)),
            actions=columns.pop(Columns.ACTIONS),
            rewards=columns.pop(Columns.REWARDS),
            terminated=bool(played.terminated[end - 1, e]),
            truncated=bool(played.truncated[end - 1, e]),
            extra_model_outputs=columns,
            t_started=begun.games,
            len_lookback_buffer=0,
        )
        games = begun.games + end - first
        if over:
            self._finished.append((games, total))
            self._begun[e] = _Begun()
        else:
            self._begun[e] = _Begun(games, total, begun.name)
        return episode

    def get_metrics(self) -> Any:
        """Lengths and returns of the episodes that ended since the last call."""
        for length, total in self._finished:
            self._log_episode_metrics(length, total, 0.0)
        self._finished.clear()
        return self.metrics.reduce()
