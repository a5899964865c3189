"""The vector environment equals scalar environments, episode after episode."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import MatchmakingEnv, MatchmakingVectorEnv

SETTINGS: list[dict[str, Any]] = [
    {"num_opponents": 4, "horizon": 5},
    {"num_opponents": 3, "horizon": 4, "prior": "equal", "rank": "top", "reward": "match_quality"},
    {"num_opponents": 6, "horizon": 3, "draw_margin": 0.8, "tau": 0.3, "rank_by": "true_skill"},
]


def assert_same(ours: Any, reference: Any, where: str) -> None:
    """Equal nested infos; where the reference has a mask, only what it marks counts."""
    for name, value in reference.items():
        if name.startswith("_"):
            np.testing.assert_array_equal(ours[name], value, err_msg=where)
        elif isinstance(value, dict):
            assert_same(ours[name], value, where)
        else:
            for i in np.flatnonzero(reference[f"_{name}"]):
                np.testing.assert_array_equal(ours[name][i], value[i], err_msg=f"{where} {name}")


@pytest.mark.parametrize("arguments", SETTINGS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_equals_gymnasiums_vector_of_scalars(
    arguments: dict[str, Any], mode: AutoresetMode
) -> None:
    """Gymnasium's own SyncVectorEnv over scalar environments says what is right."""
    count = 5
    ours = gym.make_vec("Matchmaking-v0", num_envs=count, autoreset_mode=mode, **arguments)
    reference = SyncVectorEnv(
        [lambda: MatchmakingEnv(**arguments) for _ in range(count)], autoreset_mode=mode
    )
    np.testing.assert_array_equal(ours.reset(seed=42)[0], reference.reset(seed=42)[0])
    rng = np.random.default_rng(1)
    ends = np.zeros(count, dtype=int)
    for n in range(6 * arguments["horizon"]):
        actions = rng.integers(arguments["num_opponents"], size=count)
        one, other = ours.step(actions), reference.step(actions)
        for mine, theirs in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"step {n}")
            assert mine.dtype == theirs.dtype
        assert_same(one[4], other[4], f"step {n}")
        ends += one[2]
    assert (ends >= 3).all()


@pytest.mark.parametrize("arguments", SETTINGS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_staggered_ends_equal_scalar_environments(
    arguments: dict[str, Any], mode: AutoresetMode
) -> None:
    """Environments that are reset at different times end at different times."""
    count, horizon = 4, arguments["horizon"]
    ours = MatchmakingVectorEnv(count, autoreset_mode=mode, **arguments)
    scalars = [MatchmakingEnv(**arguments) for _ in range(count)]
    observation, _ = ours.reset(seed=7)
    rows = [scalar.reset(seed=7 + i)[0] for i, scalar in enumerate(scalars)]
    rng = np.random.default_rng(2)
    over = np.zeros(count, dtype=bool)
    ends, apart = np.zeros(count, dtype=int), False
    for n in range(8 * horizon):
        if 0 < n < horizon and n < count:
            mask = np.arange(count) == n
            observation, _ = ours.reset(options={"reset_mask": mask})
            rows[n] = scalars[n].reset()[0]
            over[n] = False
        np.testing.assert_array_equal(observation, np.stack(rows), err_msg=f"step {n}")
        actions = rng.integers(arguments["num_opponents"], size=count)
        observation, rewards, terminated, _, infos = ours.step(actions)
        for i, scalar in enumerate(scalars):
            if over[i]:
                rows[i], over[i] = scalar.reset()[0], False
                assert (rewards[i], terminated[i]) == (0.0, False)
                continue
            rows[i], reward, done, _, info = scalar.step(actions[i])
            assert (rewards[i], terminated[i]) == (reward, done)
            source = infos["final_info"] if done and mode is AutoresetMode.SAME_STEP else infos
            assert {name: source[name][i] for name in info} == info
            if done:
                ends[i] += 1
                if mode is AutoresetMode.SAME_STEP:
                    np.testing.assert_array_equal(infos["final_obs"][i], rows[i])
                    rows[i] = scalar.reset()[0]
                else:
                    over[i] = True
        apart = apart or (terminated.any() and not terminated.all())
    assert apart
    assert (ends >= 3).all()


def test_the_default_autoreset_is_the_next_step() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=2)
    assert isinstance(env.unwrapped, MatchmakingVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert MatchmakingVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    same = gym.make_vec("Matchmaking-v0", num_envs=2, autoreset_mode="SameStep")
    assert same.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert MatchmakingVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_making_it_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make_vec("Matchmaking-v0", num_envs=3, num_opponents=2, horizon=2)
        env.reset(seed=0)
        for _ in range(7):
            env.step(env.action_space.sample())
        env.close()


def test_what_it_hands_out_stays_as_it_was() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=2, horizon=3)
    first, _ = env.reset(seed=0)
    kept = first.copy()
    second, rewards, *_, infos = env.step(np.zeros(3, dtype=int))
    kept_second, kept_rewards = second.copy(), rewards.copy()
    kept_density = infos["draw_density"].copy()
    rewards[:] = -1.0
    np.testing.assert_array_equal(infos["draw_density"], kept_density)
    rewards[:] = kept_rewards
    for _ in range(4):
        env.step(np.ones(3, dtype=int))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, kept_second)
    np.testing.assert_array_equal(infos["draw_density"], kept_density)


def test_seeds_as_a_list_and_going_on_without() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=2, horizon=3)
    by_list, _ = env.reset(seed=[5, 6, 7])
    by_number, _ = env.reset(seed=5)
    np.testing.assert_array_equal(by_list, by_number)
    again, _ = env.reset()
    assert not np.array_equal(again, by_number)
    mixed, _ = env.reset(seed=[5, None, 7])
    np.testing.assert_array_equal(mixed[[0, 2]], by_number[[0, 2]])
    assert not np.array_equal(mixed[1], by_number[1])


@pytest.mark.parametrize("seed", [5, [5, 6, 7], [5, None, 7], None])
def test_a_masked_reset_leaves_other_generators_alone_as_gymnasiums_does(seed: Any) -> None:
    def make() -> gym.Env[Any, Any]:
        return gym.make("Matchmaking-v0", num_opponents=3, horizon=4)

    ours = MatchmakingVectorEnv(
        3, num_opponents=3, horizon=4, autoreset_mode=AutoresetMode.DISABLED
    )
    theirs = SyncVectorEnv([make] * 3, autoreset_mode=AutoresetMode.DISABLED)
    mask = np.array([True, False, True])
    for env in (ours, theirs):
        env.reset(seed=1)
        env.reset(seed=seed, options={"reset_mask": mask.copy()})
    # What the generators hold shows in the next episodes.
    found, expected = (env.reset()[0] for env in (ours, theirs))
    np.testing.assert_array_equal(found, expected)


def test_a_masked_first_reset_seeds_only_what_it_resets() -> None:
    mask = np.array([True, False])
    states = []
    for _ in range(2):
        env = MatchmakingVectorEnv(2, num_opponents=3, horizon=4)
        env.reset(seed=1, options={"reset_mask": mask})
        states.append(env.reset()[0])
    np.testing.assert_array_equal(states[0][0], states[1][0])
    assert (states[0][1] != states[1][1]).any()


def test_options_fix_instances_for_all_or_for_each() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=2, horizon=3)
    mu = np.arange(9.0).reshape(3, 3)
    env.reset(seed=0, options={"mu": mu, "sigma": np.ones(3), "true_skill": -mu})
    np.testing.assert_array_equal(env.knowledge_state.mu, mu)
    np.testing.assert_array_equal(env.knowledge_state.sigma, np.ones((3, 3)))
    np.testing.assert_array_equal(env.true_skill, -mu)


def test_disabled_autoreset_asks_for_a_reset() -> None:
    env = MatchmakingVectorEnv(2, num_opponents=2, horizon=2, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step([0, 1])
    assert env.step([0, 1])[2].all()
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1\] were played to their end"):
        env.step([0, 1])
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"environments \[1\]"):
        env.step([0, 1])
    env.reset(options={"reset_mask": np.array([False, True])})
    env.step([0, 1])
    np.testing.assert_array_equal(env.games_left, [1, 1])


def test_pickle_and_copy_go_on_alike() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=3, horizon=4)
    env.reset(seed=1)
    env.step([0, 1, 2])
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    for n in range(12):
        actions = np.full(3, n % 3)
        expected = env.step(actions)
        for twin in twins:
            for mine, theirs in zip(expected[:4], twin.step(actions)[:4], strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_rendering_is_a_text_for_each() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=2, render_mode="ansi")
    env.reset(seed=0)
    env.step(np.array([3, 4]))
    texts = env.render()
    assert "against opponent 4" in texts[0]
    assert "against opponent 5" in texts[1]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"shape \(3,\)"),
        ([0.0, 1.0, 0.0], "must be integers"),
        ([0, 2, 1], r"must be in \[0, 1\], got 2 at index 1"),
        ([0, -1, 1], r"got -1 at index 1"),
        (None, "must be integers"),
        ([True, False, True], "must be integers"),
    ],
)
def test_bad_actions_change_nothing(actions: Any, message: str) -> None:
    env = MatchmakingVectorEnv(3, num_opponents=2, horizon=3)
    env.reset(seed=0)
    before = env.knowledge_state.mu
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    np.testing.assert_array_equal(env.knowledge_state.mu, before)
    np.testing.assert_array_equal(env.games_left, [3, 3, 3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"seed": [1, 2]}, "seed must hold num_envs=3 seeds, got 2"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": "one"}, "seed must be an integer"),
        ({"seed": [1, None, -1]}, r"seed\[2\] must be an integer of at least 0, got -1"),
        ({"seed": 2, "options": {"reset_mask": "all"}}, "reset_mask'] must be bool"),
        ({"options": 3}, "options must be a dict or None, got 3"),
        ({"options": {"mu": np.zeros((2, 3))}}, r"must have shape \(3,\) or \(3, 3\)"),
        ({"options": {"reset_mask": [1, 0, 1]}}, "reset_mask'] must be bool"),
        ({"options": {"reset_mask": np.zeros(3, dtype=bool)}}, "at least one True"),
        ({"options": {"sigma": [1.0, -1.0, 1.0]}}, "must be positive"),
    ],
)
def test_bad_resets_change_nothing(call: dict[str, Any], message: str) -> None:
    env = MatchmakingVectorEnv(3, num_opponents=2, horizon=3)
    env.reset(seed=0)
    before = env.knowledge_state.mu
    with pytest.raises(ValueError, match=message):
        env.reset(**call)
    np.testing.assert_array_equal(env.knowledge_state.mu, before)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="num_envs must be an integer of at least 1, got 0"):
        MatchmakingVectorEnv(0)
    with pytest.raises(ValueError, match="autoreset_mode must be one of"):
        MatchmakingVectorEnv(2, autoreset_mode="sometimes")
    with pytest.raises(ValueError, match="beta must be positive"):
        gym.make_vec("Matchmaking-v0", num_envs=2, beta=-1.0)
    with pytest.raises(ResetNeeded, match="never reset"):
        MatchmakingVectorEnv(2).step([0, 0])
