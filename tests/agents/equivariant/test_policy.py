"""The equivariant policy in stable-baselines3 and sb3-contrib, and the one that is shipped."""

import math

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents import MatchmakingVecEnv
from matchenv.agents.equivariant.policy import (
    EquivariantPolicy,
    MaskableEquivariantPolicy,
    network_of,
    new_equivariant_policy,
)
from matchenv.agents.evaluation import evaluate
from matchenv.agents.loading import SHIPPED
from matchenv.baselines import KnowledgeGradient

ENV = {"num_opponents": 5, "horizon": 20, "belief": "full"}


class SomeAreAway(gym.Wrapper):
    """Opponents 1 and 3 cannot be played."""

    def action_masks(self):
        """Who is there."""
        return np.array([False, True, False, True, True])


def observations(opponents, games=10, num_envs=6, **env_kwargs):
    env = MatchmakingVectorEnv(num_envs, num_opponents=opponents, belief="full", **env_kwargs)
    observation, _ = env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(games):
        observation, *_ = env.step(rng.integers(0, opponents, num_envs))
    return observation


def permuted(observation, order):
    """The observation had the opponents stood in another order."""
    players = order.size + 1
    columns = np.concatenate(
        (
            [0],
            1 + order,
            [players],
            players + 1 + order,
            2 * players + order,
            [3 * players - 1],
        )
    )
    return observation[:, columns]


def test_ppo_trains_it():
    torch.manual_seed(0)
    env = MatchmakingVecEnv(8, reward="true_draw_density", **ENV)
    model = PPO(EquivariantPolicy, env, n_steps=10, batch_size=40, n_epochs=2, device="cpu")
    before = [each.detach().clone() for each in network_of(model.policy).parameters()]
    model.learn(160)
    after = list(network_of(model.policy).parameters())
    assert all(bool(torch.isfinite(each).all()) for each in after)
    moved = [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]
    assert all(moved)


def test_maskable_ppo_trains_it_and_plays_nobody_who_is_away():
    torch.manual_seed(0)
    env = SomeAreAway(gym.make("Matchmaking-v0", **ENV))
    model = MaskablePPO(MaskableEquivariantPolicy, env, n_steps=40, batch_size=20, device="cpu")
    model.learn(80)
    observation, _ = env.reset(seed=0)
    for _ in range(20):
        action, _ = model.predict(observation, action_masks=env.action_masks(), deterministic=False)
        assert action in (1, 3, 4)
        observation, *_ = env.step(int(action))


def test_train_command_takes_it(tmp_path):
    config = agents.configured(
        "ppo",
        timesteps=80,
        num_envs=4,
        env_kwargs=ENV,
        hyperparameters={"policy": "EquivariantPolicy", "n_steps": 10, "batch_size": 20},
    )
    agents.start_training(tmp_path / "run", config, quiet=True)
    policy = agents.load(tmp_path / "run")
    assert policy.predict(observations(9))[0].shape == (6,)


def test_permuted_opponents_have_permuted_logits_and_one_value():
    policy = new_equivariant_policy(
        {"num_opponents": 7}, network_of(agents.load("equivariant").network)
    )
    observation = observations(7)
    order = np.random.default_rng(0).permutation(7)
    with torch.no_grad():
        here = policy.get_distribution(torch.from_numpy(observation)).distribution.logits
        there = policy.get_distribution(
            torch.from_numpy(permuted(observation, order))
        ).distribution.logits
        torch.testing.assert_close(there, here[:, order], atol=1e-2, rtol=1e-3)
        torch.testing.assert_close(
            policy.predict_values(torch.from_numpy(permuted(observation, order))),
            policy.predict_values(torch.from_numpy(observation)),
            atol=1e-4,
            rtol=1e-4,
        )


def test_a_factorised_observation_is_refused():
    env = MatchmakingVectorEnv(1, num_opponents=6)
    with pytest.raises(ValueError, match='belief="full"'):
        EquivariantPolicy(env.single_observation_space, env.single_action_space, lambda _: 0.0)


@pytest.fixture(scope="module")
def policy():
    return agents.load("equivariant")


class TestShipped:
    def test_it_is_small(self, policy):
        assert SHIPPED["equivariant"].stat().st_size < 1_000_000
        assert policy.belief == "full"

    def test_one_observation_and_many(self, policy):
        observation = observations(49)
        actions, state = policy.predict(observation)
        assert state is None
        assert actions.shape == (6,)
        assert actions.dtype == np.int64
        for row, action in zip(observation, actions, strict=True):
            one, _ = policy.predict(row)
            assert one.shape == ()
            assert one == action

    def test_it_is_the_network_in_the_file(self, policy):
        observation = observations(49)
        expected, _ = policy.network.predict(observation, deterministic=True)
        np.testing.assert_array_equal(policy.predict(observation)[0], expected)

    @pytest.mark.parametrize("opponents", [1, 2, 9, 199])
    def test_any_number_of_opponents(self, policy, opponents):
        observation = observations(opponents)
        for deterministic in (True, False):
            actions, _ = policy.predict(observation, deterministic=deterministic)
            assert ((actions >= 0) & (actions < opponents)).all()

    def test_more_states_than_fit_a_block(self, policy):
        observation = np.tile(observations(3), (400, 1))
        actions, _ = policy.predict(observation)
        np.testing.assert_array_equal(actions, np.tile(actions[:6], 400))

    @pytest.mark.parametrize("shape", [(), (7,), (2, 7), (1, 2, 9)])
    def test_shapes_that_no_environment_gives(self, policy, shape):
        with pytest.raises(ValueError, match="observation"):
            policy.predict(np.ones(shape, np.float32))

    def test_numbers_that_no_environment_gives(self, policy):
        observation = observations(4)
        observation[0, 2] = np.nan
        with pytest.raises(ValueError, match="observation"):
            policy.predict(observation)

    @pytest.mark.parametrize("cell", [{"rank": "top"}, {"rank": "middle", "prior": "equal"}])
    def test_it_is_ahead_of_the_knowledge_gradient(self, policy, cell):
        # A tenth of the paper's horizon, and paired games: the difference shows at once.
        env_kwargs = {"horizon": 50, **cell}
        ours = evaluate(policy, {**env_kwargs, "belief": "full"}, 200, 10**9)
        theirs = evaluate(KnowledgeGradient(horizon=50), env_kwargs, 200, 10**9)
        error = math.hypot(*(each["standard_error"] for each in (ours, theirs)))
        gain = ours["true_draw_density"] - theirs["true_draw_density"]
        assert error < 0.3
        assert gain > 0.2
