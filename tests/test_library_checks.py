"""The environment as stable-baselines3 meets it."""

from __future__ import annotations

import warnings

import gymnasium as gym
import pytest

import matchenv  # noqa: F401  (registers the environment)

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv


def test_stable_baselines3s_checker_finds_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make("Matchmaking-v0"), warn=True)


def test_ppo_takes_the_name_as_a_user_types_it() -> None:
    model = PPO("MlpPolicy", "Matchmaking-v0", n_steps=64, batch_size=64, n_epochs=1)
    model.learn(128)
    observation, _ = gym.make("Matchmaking-v0").reset(seed=0)
    action, _ = model.predict(observation)
    assert 0 <= int(action) < 49


def test_it_works_in_spawned_processes() -> None:
    env = make_vec_env(
        "matchenv:Matchmaking-v0",
        n_envs=2,
        seed=3,
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": "spawn"},
        env_kwargs={"num_opponents": 3, "horizon": 2},
    )
    try:
        observations = env.reset()
        assert observations.shape == (2, 9)
        for _ in range(3):
            observations, rewards, _, _ = env.step([0, 2])
            assert (rewards > 0).all()
    finally:
        env.close()
