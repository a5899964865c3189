"""The environments in stable-baselines3 and sb3-contrib."""

import warnings
from typing import Any

import gymnasium as gym
import pytest

import matchenv  # noqa: F401  (registers the environments)

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
checker = pytest.importorskip("stable_baselines3.common.env_checker")

# Settings with forbidden actions.
MASKED: dict[str, dict[str, Any]] = {
    "Matchmaking-v0": {"num_opponents": 6, "horizon": 30, "availability": 0.5, "mean_stay": 5.0},
    "MatchmakingQueue-v0": {"capacity": 6, "horizon": 20},
}
every_environment = pytest.mark.parametrize("env_id", MASKED)


@every_environment
@pytest.mark.parametrize("masked", [False, True])
def test_the_checker_of_stable_baselines3_passes(env_id: str, masked: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(env_id, **(MASKED[env_id] if masked else {})), warn=True)


@every_environment
@pytest.mark.parametrize("masked", [False, True])
def test_algorithms_learn_with_and_without_masks(env_id: str, masked: bool) -> None:
    env = gym.make(env_id, **MASKED[env_id])
    made = contrib.MaskablePPO if masked else sb3.PPO
    small = {"n_steps": 64, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}}
    model = made("MlpPolicy", env, seed=1, device="cpu", **small)
    model.learn(192)
    observation, info = env.reset(seed=0)
    masks = {"action_masks": info["action_mask"]} if masked else {}
    action, _ = model.predict(observation, **masks)
    *_, info = env.step(action)
    assert not (masked and info["invalid_action"])
