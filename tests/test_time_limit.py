"""``max_episode_steps`` of the native vector environment is Gymnasium's ``TimeLimit``."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import matchenv


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
@pytest.mark.parametrize("limit", [1, 3, 5, 9])
def test_it_truncates_as_the_wrapper_does(mode: AutoresetMode, limit: int) -> None:
    options: dict[str, Any] = {"num_opponents": 3, "horizon": 5, "max_episode_steps": limit}
    native = gym.make_vec("Matchmaking-v0", num_envs=2, autoreset_mode=mode, **options)
    assert isinstance(native, matchenv.MatchmakingVectorEnv)
    reference = gym.make_vec(
        "Matchmaking-v0", num_envs=2, vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode}, **options,
    )  # fmt: skip
    np.testing.assert_array_equal(native.reset(seed=1)[0], reference.reset(seed=1)[0])
    rng = np.random.default_rng(2)
    cut = 0
    for _ in range(25):
        actions = rng.integers(3, size=2)
        one, other = native.step(actions), reference.step(actions)
        for mine, theirs in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        cut += int(one[3].sum())
        if "final_obs" in other[4]:
            for mine, theirs in zip(one[4]["final_obs"], other[4]["final_obs"], strict=True):
                np.testing.assert_array_equal(mine, theirs)
    assert (cut > 0) == (limit <= 5)


def test_bad_limits_are_named() -> None:
    for limit in (0, -3, 2.5):
        with pytest.raises(ValueError, match="max_episode_steps must be an integer of at least 1"):
            gym.make_vec("Matchmaking-v0", num_envs=2, max_episode_steps=limit)
