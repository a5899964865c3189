"""The vector environment equals scalar environments, run after run."""

from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from matchenv import MatchmakingQueueEnv, MatchmakingQueueVectorEnv

SETTINGS: list[dict[str, Any]] = [
    {"capacity": 6, "horizon": 12},
    {"capacity": 2, "horizon": 25, "arrival_rate": 0.3, "stay": 0.3, "patience": math.inf},
    {"capacity": 9, "horizon": 8, "arrival_rate": 20.0, "draw_margin": 0.8, "tau": 0.3,
     "reward": "true_match_quality", "game_length": 2, "population": ([25, 30], [8, 1.5])},
]  # fmt: skip


def allowed(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random allowed action for each row."""
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


@pytest.mark.parametrize("arguments", SETTINGS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_equals_gymnasiums_vector_of_scalars(
    arguments: dict[str, Any], mode: AutoresetMode
) -> None:
    """Gymnasium's own SyncVectorEnv over scalar environments says what is right."""
    count = 5
    ours = gym.make_vec("MatchmakingQueue-v0", num_envs=count, autoreset_mode=mode, **arguments)
    reference = SyncVectorEnv(
        [lambda: MatchmakingQueueEnv(**arguments) for _ in range(count)], autoreset_mode=mode
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
        ends += one[3]
        if (ends >= 3).all():
            return
    raise AssertionError("episodes did not end")


def test_infos_have_the_same_types_in_both_environments() -> None:
    scalar, vector = MatchmakingQueueEnv(), MatchmakingQueueVectorEnv(2)
    one, many = scalar.reset(seed=1)[1], vector.reset(seed=1)[1]
    for _ in range(20):
        assert {name for name in many if not name.startswith("_")} == set(one)
        for name, value in one.items():
            assert value.dtype == many[name].dtype, name
            np.testing.assert_array_equal(value, many[name][0])
        one, many = scalar.step(1)[4], vector.step(np.array([1, 0]))[4]
    mask = np.array([True, False])
    infos = vector.reset(options={"reset_mask": mask})[1]
    assert infos["waiting"][1] == 0
    np.testing.assert_array_equal(infos["_waiting"], mask)


def test_the_same_view_in_both_environments() -> None:
    scalar, vector = MatchmakingQueueEnv(), MatchmakingQueueVectorEnv(3)
    scalar.reset(seed=6)
    vector.reset(seed=4)
    for _ in range(40):
        one, many = scalar.waiting_players(), vector.waiting_players(2)
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, getattr(many, name), err_msg=name)
        scalar.step(1)
        vector.step(np.ones(3, dtype=int))
    with pytest.raises(ValueError, match="index must be"):
        vector.waiting_players(3)


def test_what_is_refused_changes_nothing() -> None:
    env, untouched = MatchmakingQueueVectorEnv(3), MatchmakingQueueVectorEnv(3)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(3, dtype=int))
    given = {"mu": [[0.0, 1.0]] * 3, "sigma": [1.0, 1.0]}
    for bad in (given, {"mu": [[0.0]] * 2, "sigma": [[1.0]] * 2}):
        with pytest.raises(ValueError, match=r"sigma|shape"):
            env.reset(options=bad)
    for each in (env, untouched):
        each.reset(seed=1, options={"mu": [0.0, 1.0, 5.0], "sigma": [1.0, 1.0, 2.0]})
    for bad in ([0, 16, 0], [0, -1, 0], [0, 15, 0], [0.0, 1.0, 1.0], [0, 0]):
        with pytest.raises(ValueError, match="action"):
            env.step(np.array(bad))
    with pytest.raises(ValueError, match="at index 1"):
        env.step(np.array([0, 15, 0]))
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(30):
        one = env.step(allowed(env.action_masks(), rng))
        two = untouched.step(allowed(untouched.action_masks(), other))
        for mine, theirs in zip(one[:4], two[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_what_it_hands_out_stays_as_it_was() -> None:
    env = MatchmakingQueueVectorEnv(3, horizon=30)
    handed = [*env.reset(seed=0), env.waiting_players(0).mu, env.action_masks()]
    handed += list(env.step(np.zeros(3, dtype=int)))
    flat = [value for each in handed for value in (each.values() if isinstance(each, dict)
            else [each])]  # fmt: skip
    kept = [value.copy() for value in flat]
    for _ in range(50):
        env.step(np.ones(3, dtype=int) * env.action_masks()[:, 1])
    for now, before in zip(flat, kept, strict=True):
        np.testing.assert_array_equal(now, before)


def test_samples_are_allowed_and_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make_vec("MatchmakingQueue-v0", num_envs=3, arrival_rate=0.5, horizon=20)
        env.reset(seed=0)
        for _ in range(200):
            env.step(env.action_space.sample())
        env.close()


def test_disabled_autoreset_and_a_limit_of_choices() -> None:
    env = MatchmakingQueueVectorEnv(2, autoreset_mode="Disabled", max_episode_steps=4)
    env.reset(seed=0)
    ends = [env.step(np.zeros(2, dtype=int))[3].tolist() for _ in range(4)]
    assert ends == [[False] * 2] * 3 + [[True] * 2]
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1\]"):
        env.step(np.zeros(2, dtype=int))
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"environments \[1\]"):
        env.step(np.zeros(2, dtype=int))


def test_visits_are_those_that_the_totals_count() -> None:
    env = MatchmakingQueueVectorEnv(3, horizon=60, arrival_rate=2.0)
    env.keep_visits()
    env.reset(seed=5)
    rng = np.random.default_rng(0)
    seen: list[dict[str, np.ndarray]] = []
    quality = np.zeros(3)
    while True:
        _, _, _, truncated, infos = env.step(allowed(env.action_masks(), rng))
        quality += 2 * infos["match_quality"]
        seen.append(env.taken_visits())
        if truncated[0]:
            break
    visits = {name: np.concatenate([each[name] for each in seen]) for name in seen[0]}
    first = {name: column[visits["environment"] == 0] for name, column in visits.items()}
    info = {name: infos[name][0] for name in infos if not name.startswith("_")}
    assert first["served"].sum() == info["matched_players"]
    assert (first["served"] == 0).sum() == info["abandoned"] > 0
    assert first["waited"].mean() == pytest.approx(info["mean_wait"])
    assert first["match_quality"].sum() == pytest.approx(quality[0])
    assert first["games_played"].max() > 1
    assert (np.diff(first["tick"]) >= 0).all()
    fresh = first["games_played"] == 0
    assert len(set(first["player"][fresh])) == fresh.sum()
    new = (first["newcomer"] == 1) & fresh
    assert (first["mu"][new] == 0.0).all()
    assert (first["sigma"][~fresh] < 2.5).all()
