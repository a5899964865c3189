"""Advantages that average over outcomes, against the environment and the knowledge gradient."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.buffers import RolloutBuffer

from matchenv.agents import MatchmakingVecEnv
from matchenv.agents.averaged_outcomes import AveragedPPO, AveragedRollouts, outcomes_of
from matchenv.agents.sb3_policies import SharedPolicy
from matchenv.baselines import KnowledgeGradient
from matchenv.belief.knowledge import KnowledgeState

SETTINGS = [
    {"num_opponents": 5, "horizon": 8},
    {"num_opponents": 4, "horizon": 7, "belief": "full"},
    {"num_opponents": 3, "horizon": 6, "draw_margin": 0.5, "tau": 0.1},
]
GAMMA = 0.9


class SumOfMeans:
    """A critic: the value is the sum of the means of a state of five opponents."""

    def predict_values(self, observations: torch.Tensor) -> torch.Tensor:
        return observations[:, :6].sum(dim=1, keepdim=True)


@pytest.mark.parametrize("options", SETTINGS)
def test_one_of_the_outcomes_is_what_happens(options):
    env = gym.make_vec("matchenv:Matchmaking-v0", num_envs=64, **options)
    before, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    settings = env.unwrapped.settings
    for _ in range(options["horizon"] - 1):
        opponents = rng.integers(options["num_opponents"], size=64)
        after, _, _, _, infos = env.step(opponents)
        total = np.zeros(64)
        happened = np.zeros(64, dtype=bool)
        outcomes = settings.constants.outcomes
        for outcome, (probability, observations) in zip(
            outcomes, outcomes_of(settings, before, opponents), strict=True
        ):
            total += probability
            rows = infos["outcome"] == outcome
            happened |= rows
            # The look-ahead begins from float32, the environment from float64.
            np.testing.assert_allclose(observations[rows], after[rows], rtol=2e-5, atol=2e-5)
        assert happened.all()
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)
        before = after


def filled(options, steps, shaping, gae_lambda, cls=AveragedRollouts):
    """Return a rollout of random games in 8 environments, and its last values and ends."""
    env = MatchmakingVecEnv(8, **options)
    env.seed(5)
    observations = env.reset()
    buffer = cls(
        steps, env.observation_space, env.action_space, gamma=GAMMA, gae_lambda=gae_lambda, n_envs=8
    )
    buffer.critic = SumOfMeans()
    buffer.settings = env.natives[0].settings
    buffer.shaping = shaping
    rng = np.random.default_rng(1)
    ends = np.ones(8, dtype=bool)
    for _ in range(steps):
        actions = rng.integers(options["num_opponents"], size=8)
        values = buffer.critic.predict_values(torch.from_numpy(observations))
        following, rewards, next_ends, _ = env.step(actions)
        buffer.add(observations, actions.reshape(8, 1), rewards, ends, values, torch.zeros(8))
        observations, ends = following, next_ends
    return buffer, buffer.critic.predict_values(torch.from_numpy(observations)), ends


@pytest.mark.parametrize("gae_lambda", [0.0, 0.7, 1.0])
def test_without_luck_advantages_are_those_of_the_library(gae_lambda):
    # Means and deviations of the belief hardly move, so both outcomes lead to the same values.
    options = {"num_opponents": 5, "horizon": 8, "beta": 1e5}
    ours, last_values, ends = filled(options, 20, False, gae_lambda)
    theirs, *_ = filled(options, 20, False, gae_lambda, RolloutBuffer)
    ours.compute_returns_and_advantage(last_values, ends)
    theirs.compute_returns_and_advantage(last_values, ends)
    np.testing.assert_allclose(ours.advantages, theirs.advantages, atol=1e-3)
    np.testing.assert_allclose(ours.returns, theirs.returns, atol=1e-3)


def test_the_mean_over_outcomes_removes_the_luck_of_one_game():
    # The mean of player 0 is a martingale, so with its sum the value after a game is that before.
    options = {"num_opponents": 5, "horizon": 8, "belief": "full"}
    ours, last_values, ends = filled(options, 7, False, 0.0)
    theirs, *_ = filled(options, 7, False, 0.0, RolloutBuffer)
    ours.compute_returns_and_advantage(last_values, ends)
    theirs.compute_returns_and_advantage(last_values, ends)
    expected = ours.rewards - (1.0 - GAMMA) * ours.values
    np.testing.assert_allclose(ours.advantages, expected, atol=1e-4)
    assert np.abs(theirs.advantages - expected).max() > 0.1


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_a_shaped_reward_is_what_the_knowledge_gradient_maximises(belief):
    options = {"num_opponents": 5, "horizon": 8, "belief": belief}
    buffer, last_values, ends = filled(options, 6, True, 0.0)
    buffer.critic = type("Zero", (), {"predict_values": lambda _, rows: 0.0 * rows[:, :1]})()
    buffer.values[:] = 0.0
    buffer.compute_returns_and_advantage(last_values, ends)
    for step in range(6):
        games_left = 8 - step
        state = KnowledgeState.from_observation(buffer.observations[step], belief)
        games_after = (1.0 - GAMMA ** (games_left - 1)) / (1.0 - GAMMA)
        rule = KnowledgeGradient(multiplier=GAMMA * games_after, belief=belief)
        scores = rule.scores(state, games_left=games_left)
        opponents = buffer.actions[step].astype(int)
        chosen = np.take_along_axis(scores, opponents, axis=1)[:, 0]
        games = (1.0 - GAMMA**games_left) / (1.0 - GAMMA)
        potential = games * state.draw_density(buffer.settings.beta).max(axis=1)
        np.testing.assert_allclose(buffer.advantages[step], chosen - potential, atol=1e-4)


def test_environments_without_a_look_ahead_are_refused():
    queue = MatchmakingVecEnv(2, environment="MatchmakingQueue-v0", horizon=10)
    changing = MatchmakingVecEnv(2, num_opponents=4, horizon=6, availability=0.5)
    for env in (queue, changing):
        with pytest.raises(ValueError, match="env must be Matchmaking-v0 with all opponents"):
            AveragedPPO(SharedPolicy, env, n_steps=8, batch_size=8)
