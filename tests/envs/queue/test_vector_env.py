"""The vector environment of the queue, beside what ``test_native_vector_envs`` asks of both."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from matchenv import MatchmakingQueueEnv, MatchmakingQueueVectorEnv


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
    for each in (env, untouched):
        each.action_space.seed(0)
    for _ in range(30):
        one, two = (each.step(each.action_space.sample()) for each in (env, untouched))
        for mine, theirs in zip(one[:4], two[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_visits_are_those_that_the_totals_count() -> None:
    env = MatchmakingQueueVectorEnv(3, horizon=60, arrival_rate=2.0)
    env.keep_visits()
    env.reset(seed=5)
    env.action_space.seed(0)
    seen: list[dict[str, np.ndarray]] = []
    quality = np.zeros(3)
    while True:
        _, _, _, truncated, infos = env.step(env.action_space.sample())
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
