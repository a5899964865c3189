"""The queue as stable-baselines3 and sb3-contrib meet it, and its pictures."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
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


@pytest.mark.parametrize("count", [1, 2])
def test_pictures_show_the_moment(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make_vec("MatchmakingQueue-v0", num_envs=count, render_mode="rgb_array", horizon=40)
    env.reset(seed=0)
    pictures = [env.render()]
    for _ in range(30):
        env.step(env.action_space.sample())
        pictures.append(env.render())
    shape = (600, 800, 3) if count == 1 else (360, 480, 3)
    for picture in pictures:
        assert len(picture) == count
        assert picture[0].shape == shape
        assert picture[0].dtype == np.uint8
    np.testing.assert_array_equal(env.render()[0], env.render()[0])
    assert not np.array_equal(pictures[0][0], pictures[-1][0])


def test_a_scalar_picture_equals_the_vector_one_and_an_empty_queue_has_one() -> None:
    pytest.importorskip("pygame")
    one = gym.make("MatchmakingQueue-v0", render_mode="rgb_array", horizon=40)
    many = gym.make_vec("MatchmakingQueue-v0", num_envs=1, render_mode="rgb_array", horizon=40)
    one.reset(seed=3)
    many.reset(seed=3)
    for _ in range(10):
        one.step(1)
        many.step(np.array([1]))
    np.testing.assert_array_equal(one.render(), many.render()[0])
    empty = gym.make("MatchmakingQueue-v0", render_mode="rgb_array", arrival_rate=0.0)
    empty.reset(seed=0)
    assert empty.render().shape == (600, 800, 3)


def test_a_window_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make("MatchmakingQueue-v0", render_mode="human", horizon=20)
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    env.close()
