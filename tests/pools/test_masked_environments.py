"""Masks of a pool that changes, in the scalar and the vector environment."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import MatchmakingEnv, MatchmakingVectorEnv

CHANGING: dict[str, Any] = {"availability": 0.5, "mean_stay": 3.0, "turnover": 0.1}
SETTINGS: list[dict[str, Any]] = [
    {"num_opponents": 5, "horizon": 6, **CHANGING},
    {"num_opponents": 4, "horizon": 5, "belief": "full", "rank": "top", **CHANGING},
    {"num_opponents": 3, "horizon": 7, "tau": 0.2, "prior": "equal", "turnover": 0.4},
]


def some_action(masks: Any, rng: np.random.Generator) -> Any:
    return (rng.random(masks.shape) * masks).argmax(axis=-1)


def assert_same(ours: Any, reference: Any, where: str) -> None:
    """Equal nested infos; only what the reference marks counts."""
    for name, value in reference.items():
        if name.startswith("_"):
            np.testing.assert_array_equal(ours[name], value, err_msg=f"{where} {name}")
        elif isinstance(value, dict):
            assert_same(ours[name], value, where)
        else:
            for i in np.flatnonzero(reference[f"_{name}"]):
                np.testing.assert_array_equal(ours[name][i], value[i], err_msg=f"{where} {name}")
                assert np.asarray(ours[name][i]).dtype == np.asarray(value[i]).dtype


@pytest.mark.parametrize("arguments", SETTINGS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("most", [None, 4])
def test_equals_gymnasiums_vector_of_scalars(
    arguments: dict[str, Any], mode: AutoresetMode, most: int | None
) -> None:
    """Rewards, ends, terminal observations and masks over several episodes."""
    count = 4
    ours = MatchmakingVectorEnv(count, autoreset_mode=mode, max_episode_steps=most, **arguments)
    reference = SyncVectorEnv(
        [
            lambda: gym.make(
                "Matchmaking-v0", max_episode_steps=most, disable_env_checker=True, **arguments
            )
        ]
        * count,
        autoreset_mode=mode,
    )
    one, other = ours.reset(seed=42), reference.reset(seed=42)
    rng = np.random.default_rng(1)
    for n in range(30):
        np.testing.assert_array_equal(one[0], other[0])
        assert_same(one[-1], other[-1], f"step {n}")
        masks = ours.action_masks()
        assert masks.dtype == np.bool_
        np.testing.assert_array_equal(masks, other[-1]["action_mask"])
        np.testing.assert_array_equal(one[0][:, -arguments["num_opponents"] :], masks)
        np.testing.assert_array_equal(masks, reference.call("action_masks"))
        actions = some_action(masks, rng)
        one, other = ours.step(actions), reference.step(actions)
        for mine, theirs in zip(one[1:4], other[1:4], strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"step {n}")


def test_an_opponent_who_is_offline_is_named_and_nothing_changes() -> None:
    env = MatchmakingEnv(num_opponents=6, horizon=9, **CHANGING)
    twin = MatchmakingEnv(num_opponents=6, horizon=9, **CHANGING)
    _, info = env.reset(seed=1)
    twin.reset(seed=1)
    mask = info["action_mask"]
    away = int(np.flatnonzero(mask == 0)[0])
    with pytest.raises(ValueError, match=f"got {away}: opponent {away + 1} is offline"):
        env.step(away)
    here = int(mask.argmax())
    for mine, same in zip(env.step(here), twin.step(here), strict=True):
        np.testing.assert_equal(mine, same)


def test_in_the_vector_environment_too() -> None:
    envs = [MatchmakingVectorEnv(4, num_opponents=6, horizon=9, **CHANGING) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    masks = envs[0].action_masks()
    actions = masks.argmax(axis=1)
    bad = actions.copy()
    bad[2] = masks[2].argmin()
    message = f"got {bad[2]} at index 2: opponent {bad[2] + 1} is offline"
    with pytest.raises(ValueError, match=message):
        envs[0].step(bad)
    for mine, same in zip(*(env.step(actions) for env in envs), strict=True):
        np.testing.assert_equal(mine, same)


def test_the_action_of_an_environment_that_is_reset_may_name_anybody() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=6, horizon=1, **CHANGING)
    env.reset(seed=0)
    env.step(env.action_masks().argmax(axis=1))
    env.step(env.action_masks().argmin(axis=1))
    assert env.games_left.tolist() == [1, 1, 1]


def test_only_some_are_reset() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=6, horizon=9, **CHANGING)
    env.reset(seed=0)
    before = env.action_masks()
    mask = np.array([False, True, False])
    observation, info = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(info["_action_mask"], mask)
    np.testing.assert_array_equal(info["action_mask"], env.action_masks())
    np.testing.assert_array_equal(observation[:, -6:], env.action_masks())
    np.testing.assert_array_equal(env.action_masks()[[0, 2]], before[[0, 2]])


def test_an_unchanged_pool_says_no_more_than_before() -> None:
    env = gym.make("Matchmaking-v0", num_opponents=3)
    observation, info = env.reset(seed=0)
    assert observation.shape == (9,)
    assert info == {}
    assert "action_mask" not in env.step(0)[4]
    assert env.get_wrapper_attr("action_masks")().tolist() == [True] * 3
    assert MatchmakingVectorEnv(2, num_opponents=3).action_masks().all()
    assert type(env.unwrapped.action_space) is gym.spaces.Discrete


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_gymnasiums_check_finds_nothing(belief: str) -> None:
    """That check draws an action before the reset that precedes it: most must be online."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")
        env = gym.make("Matchmaking-v0", num_opponents=6, belief=belief, availability=0.8)
        check_env(env.unwrapped, skip_render_check=True)


def test_samples_are_of_who_is_online() -> None:
    env = MatchmakingEnv(num_opponents=8, horizon=400, **CHANGING)
    _, info = env.reset(seed=2)
    env.action_space.seed(0)
    for _ in range(200):
        assert info["action_mask"][env.action_space.sample()] == 1
        assert info["action_mask"][env.action_space.sample(info["action_mask"])] == 1
        _, _, _, _, info = env.step(env.action_space.sample())
    vector = MatchmakingVectorEnv(5, num_opponents=8, horizon=40, **CHANGING)
    vector.reset(seed=2)
    for _ in range(100):
        vector.step(vector.action_space.sample())


def test_pickle_and_copy_go_on_alike() -> None:
    env = MatchmakingVectorEnv(3, num_opponents=6, horizon=5, **CHANGING)
    env.reset(seed=0)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    for _ in range(12):
        actions = env.action_masks().argmax(axis=1)
        expected = env.step(actions)
        for twin in twins:
            for mine, same in zip(twin.step(actions), expected, strict=True):
                np.testing.assert_equal(mine, same)
    for twin in twins:
        twin.step(twin.action_space.sample())
