"""The vector environment, beside what ``test_native_vector_envs`` asks of both kinds."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import MatchmakingVectorEnv


def test_the_default_autoreset_is_the_next_step() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=2)
    assert isinstance(env.unwrapped, MatchmakingVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert MatchmakingVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    same = gym.make_vec("Matchmaking-v0", num_envs=2, autoreset_mode="SameStep")
    assert same.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert MatchmakingVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


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
