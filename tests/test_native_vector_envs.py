"""Both native vector environments equal scalar environments, episode after episode."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import (
    MatchmakingEnv,
    MatchmakingQueueEnv,
    MatchmakingQueueVectorEnv,
    MatchmakingVectorEnv,
)


class Kind(NamedTuple):
    """An environment in both forms, and settings with short episodes."""

    name: str
    scalar: type[MatchmakingEnv] | type[MatchmakingQueueEnv]
    vector: type[MatchmakingVectorEnv] | type[MatchmakingQueueVectorEnv]
    settings: list[dict[str, Any]]


MATCHMAKING = Kind("Matchmaking-v0", MatchmakingEnv, MatchmakingVectorEnv, [
    {"num_opponents": 4, "horizon": 5},
    {"num_opponents": 3, "horizon": 4, "prior": "equal", "rank": "top", "reward": "match_quality"},
    {"num_opponents": 6, "horizon": 3, "draw_margin": 0.8, "tau": 0.3, "rank_by": "true_skill"},
])  # fmt: skip
QUEUE = Kind("MatchmakingQueue-v0", MatchmakingQueueEnv, MatchmakingQueueVectorEnv, [
    {"capacity": 6, "horizon": 12},
    {"capacity": 2, "horizon": 25, "arrival_rate": 0.3, "stay": 0.3, "patience": math.inf},
    {"capacity": 9, "horizon": 8, "arrival_rate": 20.0, "draw_margin": 0.8, "tau": 0.3,
     "reward": "true_match_quality", "game_length": 2, "population": ([25, 30], [8, 1.5])},
])  # fmt: skip
KINDS = (MATCHMAKING, QUEUE)
CASES = [(kind, arguments) for kind in KINDS for arguments in kind.settings]


def allowed(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random allowed action for each row whose actions without holes are allowed."""
    return (rng.random(len(masks)) * masks.sum(axis=1)).astype(np.int64)


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


@pytest.mark.parametrize(("kind", "arguments"), CASES)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_equals_gymnasiums_vector_of_scalars(
    kind: Kind, arguments: dict[str, Any], mode: AutoresetMode
) -> None:
    """Gymnasium's own SyncVectorEnv over scalar environments says what is right."""
    count = 5
    ours = gym.make_vec(kind.name, num_envs=count, autoreset_mode=mode, **arguments)
    reference = SyncVectorEnv(
        [lambda: kind.scalar(**arguments) for _ in range(count)], autoreset_mode=mode
    )
    first, other = ours.reset(seed=42), reference.reset(seed=42)
    np.testing.assert_array_equal(first[0], other[0])
    assert_same(first[1], other[1], "reset")
    rng = np.random.default_rng(1)
    ends = np.zeros(count, dtype=int)
    for n in range(3000):
        masks = ours.unwrapped.action_masks()
        np.testing.assert_array_equal(masks, [e.action_masks() for e in reference.envs])
        actions = allowed(masks, rng)
        one, two = ours.step(actions), reference.step(actions)
        for mine, theirs in zip(one[:4], two[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"step {n}")
            assert mine.dtype == theirs.dtype
        assert_same(one[4], two[4], f"step {n}")
        ends += one[2] | one[3]
        if (ends >= 3).all():
            return
    raise AssertionError("episodes did not end")


@pytest.mark.parametrize("arguments", MATCHMAKING.settings)
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


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_hands_out_stays_as_it_was(kind: Kind) -> None:
    env = kind.vector(3, horizon=30)
    handed = [*env.reset(seed=0), env.action_masks(), *env.step(np.zeros(3, dtype=int))]
    flat = [value for each in handed for value in (each.values() if isinstance(each, dict)
            else [each])]  # fmt: skip
    kept = [value.copy() for value in flat]
    for _ in range(50):
        env.step(np.ones(3, dtype=int) * env.action_masks()[:, 1])
    for now, before in zip(flat, kept, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_to_what_it_handed_out_changes_nothing(kind: Kind) -> None:
    env, untouched = kind.vector(3, horizon=10), kind.vector(3, horizon=10)
    env.reset(seed=0)[0][...] = 5.0
    untouched.reset(seed=0)
    for n in range(25):
        actions = np.full(3, 1 - n % 2) * env.action_masks()[:, 1]
        one, two = env.step(actions), untouched.step(actions)
        for mine, theirs in zip(one[:4], two[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        one[0][...] = 5.0
        one[1][...] = -1.0
        for mask in one[2:4]:
            mask[...] = True
        assert_same(one[4], two[4], f"step {n}")


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_allowed_and_nothing_warns(kind: Kind) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make_vec(kind.name, num_envs=3, horizon=20)
        env.reset(seed=0)
        for _ in range(200):
            env.step(env.action_space.sample())
        env.close()


@pytest.mark.parametrize("kind", KINDS)
def test_disabled_autoreset_and_a_limit_of_steps(kind: Kind) -> None:
    env = kind.vector(2, autoreset_mode="Disabled", max_episode_steps=4)
    env.reset(seed=0)
    ends = [env.step(np.zeros(2, dtype=int))[3].tolist() for _ in range(4)]
    assert ends == [[False] * 2] * 3 + [[True] * 2]
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1\] were played to their end"):
        env.step(np.zeros(2, dtype=int))
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"environments \[1\]"):
        env.step(np.zeros(2, dtype=int))
    env.reset(options={"reset_mask": np.array([False, True])})
    env.step(np.zeros(2, dtype=int))
