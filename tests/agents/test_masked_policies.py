"""Learned policies with action masks: training and choices."""

from typing import Any

import numpy as np
import pytest
import torch
from dense_belief import some_masks
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from matchenv import MatchmakingEnv, MatchmakingVectorEnv, Settings, agents
from matchenv.agents.policy_file import LearnedPolicy, PolicyDescription
from matchenv.agents.run_config import ALGORITHMS
from matchenv.agents.vec_env import MatchmakingVecEnv

CHANGING: dict[str, Any] = {
    "num_opponents": 6, "horizon": 20, "availability": 0.5, "mean_stay": 4.0, "turnover": 0.05,
}  # fmt: skip
STEADY: dict[str, Any] = {"num_opponents": 6, "horizon": 20}


def policy_of(algo: str, belief: str = "factorised") -> LearnedPolicy:
    settings = Settings.checked(belief=belief, **STEADY)
    torch.manual_seed(0)
    kwargs = {"net_arch": [16]}
    network = PolicyDescription(algo, "MlpPolicy", kwargs, settings.changed()).network()
    return LearnedPolicy(algo, network, belief, settings)


@pytest.mark.parametrize(
    ("algo", "belief"), [*((algo, "factorised") for algo in ALGORITHMS), ("ppo", "full")]
)
def test_a_masked_choice_follows_the_order_of_the_scores(algo, belief):
    """Masking each chosen action in turn gives the order; all other masks must agree with it."""
    policy = policy_of(algo, belief)
    plain = MatchmakingVectorEnv(8, belief=belief, **STEADY)
    observation, rows = plain.reset(seed=1)[0], np.arange(8)
    order, masks = [policy.predict(observation)[0]], np.ones((8, 6), dtype=bool)
    for _ in range(5):
        masks[rows, order[-1]] = False
        order.append(policy.predict(observation, action_masks=masks)[0])
    ranks = np.argsort(np.array(order), axis=0).T
    assert (np.arange(6) == np.sort(np.array(order), axis=0).T).all()
    for masks in some_masks(80, 6, np.random.default_rng(0)).reshape(10, 8, 6):
        expected = np.where(masks, ranks, 99).argmin(axis=1)
        actions, _ = policy.predict(observation, action_masks=masks)
        np.testing.assert_array_equal(actions, expected)
        assert policy.predict(observation[3], action_masks=masks[3].astype(int))[0] == expected[3]
        drawn, _ = policy.predict(observation, deterministic=False, action_masks=masks)
        assert masks[rows, drawn].all()


def test_sampling_uses_the_masked_and_normalised_probabilities():
    policy = policy_of("ppo")
    row = MatchmakingEnv(**STEADY).reset(seed=0)[0]
    mask = np.array([True, False, True, True, False, False])
    many = np.tile(row, (20_000, 1))
    drawn, _ = policy.predict(many, deterministic=False, action_masks=np.tile(mask, (len(many), 1)))
    with torch.no_grad():
        tensor, _ = policy.network.obs_to_tensor(row)
        chances = policy.network.get_distribution(tensor).distribution.probs[0].numpy() * mask
    chances = chances / chances.sum()
    counts = np.bincount(drawn, minlength=6) / len(many)
    assert (np.abs(counts - chances) < 4.5 * np.sqrt(chances / len(many)) + 1e-12).all()
    with pytest.raises(ValueError, match="they allow none at index 0"):
        policy.predict(many[:2], action_masks=np.zeros((2, 6)))


def test_the_vec_env_provides_masks_to_sb3_contrib():
    env = MatchmakingVecEnv(5, **CHANGING)
    env.reset()
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), env.natives[0].action_masks())


@pytest.mark.parametrize("algo", ["a2c", "ppo", "trpo"])
def test_training_on_a_changing_pool_plays_no_masked_action(algo, tmp_path, small_config):
    refusing = {**CHANGING, "invalid_action": "error"}
    config = small_config(algo, timesteps=128, env_kwargs=refusing)
    agents.start_training(tmp_path / "run", config, quiet=True)
