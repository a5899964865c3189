"""PPO whose advantages average over the outcomes of a game, as an algorithm of stable-baselines3.

Most of the variance of an advantage is luck: the value of the state after a win differs from that
after a loss by far more than one opponent's value from another's. The belief gives the probability
of each outcome and the state after it, so the critic's mean over the outcomes replaces the value of
the one that was drawn. With a calibrated belief this changes no expectation. Source: Burch, Schmid,
Moravcik, Morrill, Bowling (2018), "AIVAT: a new variance reduction technique for agent evaluation
in imperfect information games".

Potential-based shaping adds the believed value of the games left, if each had the draw density that
is highest now. Then a reward is what the knowledge gradient maximises, and the critic learns the
rest. Source: Ng, Harada, Russell (1999), "Policy invariance under reward transformations".
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv

from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import refusal

# Looks ahead from this many observations at once, which fit into the processor's cache.
AT_ONCE = 1024


class AveragedRollouts(RolloutBuffer):
    """Rollouts whose advantages and returns average over the outcomes of each game.

    Attributes:
        critic: policy whose values are averaged; set before the first rollout.
        settings: of the environments.
        shaping: whether to add the potential.
    """

    critic: ActorCriticPolicy
    settings: Settings
    shaping: bool

    def compute_returns_and_advantage(
        self, last_values: torch.Tensor, dones: NDArray[np.bool_]
    ) -> None:
        """Compute advantages (generalised advantage estimation) and returns.

        Args:
            last_values: unused, since the look-ahead gives the values after the last games too.
            dones: episodes that ended with the last game, shape (N,).
        """
        before, following = self._values_around_games()
        goes_on = 1.0 - np.append(self.episode_starts[1:], [dones], axis=0)
        errors = self.rewards + self.gamma * goes_on * following - before - self.values
        weights = self.gamma * self.gae_lambda * goes_on
        advantage = np.zeros_like(errors[0])
        for step in reversed(range(self.buffer_size)):
            advantage = errors[step] + weights[step] * advantage
            self.advantages[step] = advantage
        self.returns = self.advantages + self.values

    def _values_around_games(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the potential before, and the mean value and potential after, each game.

        Both have shape (T, N).
        """
        observations = self.observations.reshape(-1, *self.obs_shape)
        opponents = self.actions.reshape(-1).astype(np.int64)
        before = np.zeros(opponents.size, dtype=np.float32)
        following = np.zeros(opponents.size, dtype=np.float32)
        for first in range(0, opponents.size, AT_ONCE):
            block = slice(first, first + AT_ONCE)
            before[block] = self._potential(observations[block])
            outcomes = outcomes_of(self.settings, observations[block], opponents[block])
            for probability, after in outcomes:
                with torch.no_grad():
                    values = self.critic.predict_values(torch.from_numpy(after).to(self.device))
                total = values.flatten().cpu().numpy() + self._potential(after)
                following[block] += probability * total
        return before.reshape(self.rewards.shape), following.reshape(self.rewards.shape)

    def _potential(self, observations: NDArray[np.float32]) -> Floats:
        """Return the potential of states, shape (n,); 0 without shaping."""
        if not self.shaping:
            return np.zeros(len(observations))
        state = KnowledgeState.from_observation(observations, self.settings.belief)
        games_left = observations[:, -1] * self.settings.horizon
        games = games_left
        if self.gamma < 1.0:
            games = (1.0 - self.gamma**games_left) / (1.0 - self.gamma)
        return np.asarray(games * state.draw_density(self.settings.beta).max(axis=1))


def outcomes_of(
    settings: Settings, observations: NDArray[np.float32], opponents: Integers
) -> Iterator[tuple[Floats, NDArray[np.float32]]]:
    """Yield the believed probability of each outcome, and the observations after it.

    Args:
        settings: of the environments, whose opponents are always allowed.
        observations: before the games, shape (n, K).
        opponents: of the games, 0 to M - 1, shape (n,).
    """
    constants = settings.constants
    state = KnowledgeState.from_observation(observations, settings.belief)
    share_of_games_left = np.maximum(observations[:, -1] - 1.0 / settings.horizon, 0.0)
    rows = np.arange(len(opponents))
    for outcome in constants.outcomes:
        probability = state.outcome_probability(outcome, constants)[rows, opponents]
        after = state.after_games(opponents, outcome, constants)
        yield probability, after.to_observation(share_of_games_left)


class AveragedPPO(PPO):
    """PPO whose advantages average over the outcomes of each game.

    Args:
        policy: an actor-critic policy.
        env: ``Matchmaking-v0`` with all opponents always allowed.
        shaping: whether to add the potential to the rewards.
        others: arguments of ``PPO``.

    Raises:
        ValueError: for another environment, or one whose pool changes.
    """

    rollout_buffer: AveragedRollouts
    # Names of further hyperparameters.
    others: ClassVar[Sequence[str]] = tuple(inspect.signature(PPO.__init__).parameters)

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv,
        shaping: bool = True,
        **others: Any,
    ) -> None:
        self.shaping = shaping
        super().__init__(policy, env, rollout_buffer_class=AveragedRollouts, **others)

    def _setup_model(self) -> None:
        super()._setup_model()
        assert self.env is not None
        settings = self.env.get_attr("settings")[0]
        if not isinstance(settings, Settings) or settings.masks_change:
            rule = "env must be Matchmaking-v0 with all opponents always allowed"
            raise refusal(rule, settings)
        self.rollout_buffer.critic = self.policy
        self.rollout_buffer.settings = settings
        self.rollout_buffer.shaping = self.shaping
