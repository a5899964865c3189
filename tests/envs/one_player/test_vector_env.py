"""The vector environment, beside what ``test_contract`` asks of all."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import MatchmakingVectorEnv


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
