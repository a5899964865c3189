"""The queue as stable-baselines3 and sb3-contrib meet it, and its pictures."""

from __future__ import annotations

import warnings

import gymnasium as gym
import pytest

import matchenv  # noqa: F401  (registers the environment)


def test_stable_baselines3s_checker_finds_nothing() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make("MatchmakingQueue-v0"), warn=True)


def test_maskable_ppo_learns_on_it_and_chooses_what_is_allowed() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    env = gym.make("MatchmakingQueue-v0", capacity=5, horizon=30)
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0)
    model.learn(128)
    observation, _ = env.reset(seed=0)
    for _ in range(50):
        masks = env.unwrapped.action_masks()
        action, _ = model.predict(observation, action_masks=masks)
        assert masks[action]
        observation, _, _, truncated, _ = env.step(action)
        if truncated:
            observation, _ = env.reset()
