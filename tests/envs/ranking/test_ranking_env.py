"""``Ranking-v0``: its loss, its luck, its masks and its arguments."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from matchenv.envs.ranking.settings import RankingSettings
from matchenv.runtime.random import drawn_key, uniform

GOALS = [{"goal": "order"}, {"goal": "top", "k": 3}, {"goal": "best"}]


def played(games: int = 60, **options: Any) -> Any:
    env = gym.make("Ranking-v0", num_items=7, **options).unwrapped
    env.reset(seed=4)
    env.action_space.seed(1)
    for _ in range(games):
        env.step(env.action_space.sample())
    return env


def losses(order: np.ndarray, skills: np.ndarray, cut: int) -> np.ndarray:
    """Misordered pairs of an order under each row of skills, by counting."""
    size = len(order)
    pairs = [(a, b) for a, b in combinations(range(size), 2) if cut == 0 or (a < cut) != (b < cut)]
    wrong = [skills[:, order[a]] < skills[:, order[b]] for a, b in pairs]
    return np.sum(wrong, axis=0)


@pytest.mark.parametrize("goal", GOALS)
def test_the_expected_loss_is_that_of_draws_from_the_belief(goal: dict[str, Any]) -> None:
    env = played(**goal)
    mu, covariance = env.view.mu[0], env.view.covariance[0]
    draws = np.random.default_rng(0).multivariate_normal(mu, covariance, size=200_000)
    order = np.argsort(-mu)
    found = losses(order, draws, env.settings.cut)
    info = env.simulator.info(env._state, 0)
    assert info["expected_loss"] == pytest.approx(
        found.mean(), abs=5.0 * found.std() / np.sqrt(found.size)
    )
    truth = env.view.true_skill
    assert info["true_loss"] == losses(order, truth, env.settings.cut)[0]
    assert info["kendall_tau"] == pytest.approx(kendalltau(mu, truth[0]).statistic)
    best = set(np.argsort(-truth[0])[: env.settings.k].tolist())
    assert info["top_errors"] == len(best - set(order[: env.settings.k].tolist()))


@pytest.mark.parametrize("goal", GOALS)
def test_rewards_sum_to_the_decrease_of_the_loss(goal: dict[str, Any]) -> None:
    env: Any = gym.make("Ranking-v0", num_items=5, horizon=30, cost=0.25, draw_margin=0.3, **goal)
    _, first = env.reset(seed=3)
    env.action_space.seed(0)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(env.action_space.sample())
        total += reward
    decrease = first["expected_loss"] - info["expected_loss"]
    assert total == pytest.approx(decrease - 30 * 0.25)


def test_the_observation_is_the_belief() -> None:
    env = played(horizon=100, max_games_per_pair=30)
    mu, covariance = env.view.mu[0], env.view.covariance[0]
    observation = env.simulator.observe(env._state)[0]
    i, j = env.settings.pairs.T
    variances = covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]
    expected = [mu, np.sqrt(np.diagonal(covariance)), mu[i] - mu[j], np.sqrt(variances), [0.4]]
    np.testing.assert_allclose(
        observation, np.concatenate([*expected, env.action_masks()]), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_a_pairs_kth_game_has_its_own_luck(margin: float) -> None:
    """Whatever else is played; and it is won where u is below the probability of winning."""
    skills = np.array([0.4, 0.0, -0.3])
    options: dict[str, Any] = {"num_items": 3, "horizon": 300, "draw_margin": margin, "beta": 1.0}
    found: list[dict[tuple[int, int], int]] = []
    for seed in (0, 1):
        env: Any = gym.make("Ranking-v0", **options).unwrapped
        env.reset(seed=9, options={"true_skill": skills})
        rng, outcomes, met = np.random.default_rng(seed), {}, np.zeros(3, dtype=int)
        for _ in range(300):
            action = int(rng.integers(3))
            *_, info = env.step(action)
            outcomes[action, int(met[action])] = int(info["outcome"])
            met[action] += 1
        found.append(outcomes)
    shared = set(found[0]) & set(found[1])
    assert len(shared) > 150
    assert all(found[0][key] == found[1][key] for key in shared)
    key = drawn_key(np.random.Generator(np.random.PCG64(9)))
    for action, k in shared:
        i, j = env.settings.pairs[action]
        gap, u = skills[i] - skills[j], uniform(key, 1, k * 3 + action)
        win = norm.cdf((gap - margin) / np.sqrt(2.0))
        loss = norm.cdf((-gap - margin) / np.sqrt(2.0))
        assert found[0][action, k] == (1 if u < win else 0 if u < 1.0 - loss else -1)


def test_limits_and_bars_leave_the_other_pairs() -> None:
    barred, limit = [(0, 1), (2, 4)], 3
    env: Any = gym.make(
        "Ranking-v0", num_items=5, horizon=24, max_games_per_pair=limit, barred_pairs=barred
    ).unwrapped
    env.reset(seed=0)
    met = np.zeros(10, dtype=int)
    never = [action for action, pair in enumerate(env.settings.pairs.tolist())
             if tuple(pair) in barred]  # fmt: skip
    for _ in range(24):
        allowed = met < limit
        allowed[never] = False
        np.testing.assert_array_equal(env.action_masks(), allowed)
        action = env.action_space.sample(env.action_masks().astype(np.int8))
        env.step(action)
        met[action] += 1
    assert sorted(met) == [0, 0] + 8 * [limit]
    assert env.action_masks().sum() >= 1  # the end of the episode has a mask that can be sampled


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_items": 1}, "num_items"),
        ({"k": 20}, "k must be below num_items=20"),
        ({"k": 2, "goal": "best"}, "k must be 1 with goal='best'"),
        ({"goal": "worst"}, "goal must be one of"),
        ({"cost": -1.0}, "cost must not be negative"),
        ({"sigma": 0.0}, "sigma must be positive"),
        ({"barred_pairs": [(0, 0)]}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": [(0, 20)]}, "barred_pairs must hold items below num_items=20"),
        ({"barred_pairs": "ab"}, "barred_pairs must hold pairs of items"),
        ({"barred_pairs": 3}, "barred_pairs must hold pairs of items"),
        ({"num_items": 2, "barred_pairs": [(1, 0)]}, "must leave at least one pair"),
        ({"num_items": 2, "max_games_per_pair": 3}, "must be at least the horizon"),
    ],
)
def test_bad_settings_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RankingSettings(**options)


@pytest.mark.parametrize("bad", [[0.0, 1.0], [[0.0] * 3], ["a", "b", "c"], [np.nan, 0.0, 1.0]])
def test_bad_true_skills_are_named(bad: Any) -> None:
    env = gym.make("Ranking-v0", num_items=3)
    with pytest.raises(ValueError, match="true_skill"):
        env.reset(options={"true_skill": bad})
