"""``MatchmakingVecEnv`` against ``DummyVecEnv`` over ``gym.make``."""

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from matchenv.agents.vec_env import MatchmakingVecEnv

ENV = {"num_opponents": 4, "horizon": 7}
STAY = np.zeros(3, dtype=np.int64)


@pytest.mark.parametrize("extra", [{"belief": "full"}, {"max_episode_steps": 3}])
def test_equals_dummy_vec_env(extra):
    options = {**ENV, **extra}
    length = extra.get("max_episode_steps", ENV["horizon"])
    ours = MatchmakingVecEnv(3, **options)
    theirs = DummyVecEnv([lambda: Monitor(gym.make("Matchmaking-v0", **options))] * 3)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    ours.seed(5)
    theirs.seed(5)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for env in (ours, theirs):
        env.step(STAY)
    # Seeds serve once, and a reset amid an episode begins a whole one.
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for step in range(1, 4 * length + 1):
        actions = rng.integers(0, ENV["num_opponents"], 3)
        our_step = ours.step(actions)
        their_step = theirs.step(actions)
        for our_part, their_part in zip(our_step[:3], their_step[:3], strict=True):
            assert our_part.dtype == their_part.dtype
            np.testing.assert_array_equal(our_part, their_part)
        assert our_step[3][0] is not our_step[3][1]
        for done, info, other in zip(our_step[2], our_step[3], their_step[3], strict=True):
            assert bool(info) == done == (step % length == 0)
            if not done:
                continue
            np.testing.assert_array_equal(
                info["terminal_observation"], other["terminal_observation"]
            )
            assert info["TimeLimit.truncated"] is other["TimeLimit.truncated"]
            assert info["TimeLimit.truncated"] == (length < ENV["horizon"])
            assert info["episode"]["l"] == other["episode"]["l"] == length
            # Both round to six digits, after sums in a different order.
            assert info["episode"]["r"] == pytest.approx(other["episode"]["r"], abs=2e-6)
    means = [{"mu": np.arange(5.0) + k} for k in range(3)]
    for reset_options in (means[0], means):
        for env in (ours, theirs):
            env.set_options(reset_options)
        np.testing.assert_array_equal(ours.reset(), theirs.reset())
    ours.set_options([means[0], {}, {}])
    with pytest.raises(ValueError, match="options"):
        ours.reset()


def test_attributes_and_methods():
    env = MatchmakingVecEnv(3, render_mode="ansi", **ENV)
    env.reset()
    assert env.get_attr("render_mode") == ["ansi"] * 3
    assert env.get_attr("action_space") == [gym.spaces.Discrete(4)] * 3
    assert env.get_attr("games_left", 1) == [7]
    assert len(env.get_attr("true_skill", [0, 2])) == 2
    assert env.get_attr("true_skill", -1)[0].shape == (5,)
    assert env.get_attr("knowledge_state", [1])[0].mu.shape == (5,)
    assert not env.has_attr("no_such_thing")
    texts = env.env_method("render", indices=[0, 1])
    assert all(isinstance(picture, str) for picture in texts)
    env.set_attr("note", "kept")
    assert env.get_attr("note", 0) == ["kept"]
    for call, message in (
        (lambda: env.step(STAY[:2]), r"actions must have shape \(3,\), got \(2,\)"),
        (lambda: env.set_attr("note", "one only", indices=[0]), "indices"),
        (lambda: env.env_method("reset"), "method_name"),
        (
            lambda: MatchmakingVecEnv(2, num_opponents=[3, 4]),
            r"num_opponents must give observations of one size, got \[9, 11\]",
        ),
        (lambda: MatchmakingVecEnv(2, environment="CartPole-v1"), "env must be one of"),
        (
            lambda: MatchmakingVecEnv(2, autoreset_mode="NextStep"),
            "autoreset_mode must be left out",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(IndexError):
        env.get_attr("games_left", 3)
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, [0]) == [False]
    assert env.render() is None
    env.close()


def test_infos_have_the_keywords_that_are_asked_for():
    keywords = ("true_draw_density", "outcome")
    ours = MatchmakingVecEnv(3, info_keywords=keywords, horizon=[4, 7], num_opponents=4)
    envs = []
    for horizon in (4, 4, 7):
        options = {"num_opponents": 4, "horizon": horizon}
        envs.append(lambda options=options: Monitor(gym.make("Matchmaking-v0", **options)))
    theirs = DummyVecEnv(envs)
    monitored = VecMonitor(ours, info_keywords=("true_draw_density",))
    monitored.seed(2)
    theirs.seed(2)
    monitored.reset()
    theirs.reset()
    ends = 0
    for _ in range(15):
        infos = monitored.step(STAY)[3]
        for info, other in zip(infos, theirs.step(STAY)[3], strict=True):
            for name in keywords:
                assert info[name] == other[name]
            if "episode" in info:
                ends += 1
                assert info["episode"]["true_draw_density"] == other["true_draw_density"]
    assert ends == 3 + 3 + 2
    with pytest.raises(ValueError, match=r"info_keywords must be one of .*true_draw_density"):
        MatchmakingVecEnv(2, info_keywords=("density",))
