"""``Ranking-v0`` and its belief: moments, loss, random numbers and masks."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from dense_belief import DenseBelief
from scipy.stats import kendalltau, norm

from matchenv.belief.joint import expect_joint, game_precision, learn_joint
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.ranking import RankingSettings, RankingSimulator
from matchenv.runtime.random import drawn_key, uniform

BETA = 0.8


@pytest.mark.parametrize("margin", [0.0, 0.6])
def test_moments_and_the_precision_of_a_game_match_the_exact_posterior(margin: float) -> None:
    """The precision is that of a measurement with the same expected posterior variance."""
    rng = np.random.default_rng(3)
    prior, root = rng.normal(size=4), rng.normal(size=(4, 4))
    before = 0.25 * root @ root.T + 0.2 * np.eye(4)
    i, j, left, mean_covariance = 1, 3, 0.0, np.zeros((4, 4))
    swap = np.array([i, 0, 2, j])  # item i is player 0 of the reference
    dense = DenseBelief(prior[swap], before[np.ix_(swap, swap)], BETA, margin)
    for outcome, (probability, after) in dense.after(j).items():
        mu, covariance = prior.copy(), before.copy()
        learn_joint(mu, covariance, (i, j, outcome), (BETA, margin))
        np.testing.assert_allclose(mu[swap], after.mu, rtol=1e-8)
        expected = after.covariance[np.ix_(swap, swap)]
        np.testing.assert_allclose(covariance, expected, rtol=1e-7, atol=1e-10)
        left += probability * after.difference(j)[1]
        mean_covariance += probability * expected
    gap, variance = dense.difference(j)
    precision = game_precision(gap, variance, (BETA, margin))
    assert variance / (1.0 + variance * precision) == pytest.approx(left, rel=1e-7)
    mu, covariance = prior.copy(), before.copy()
    assert expect_joint(mu, covariance, (i, j), (BETA, margin)) == 1.0
    np.testing.assert_array_equal(mu, prior)
    np.testing.assert_allclose(covariance, mean_covariance, rtol=1e-6, atol=1e-9)


def test_skills_are_drawn_without_replacement_and_read_from_rankings(tmp_path: Path) -> None:
    file, skills = tmp_path / "ranking.csv", 2.0 ** np.arange(6)
    rows = [f"item {k},{skill},20" for k, skill in enumerate(skills)]
    file.write_text("\n".join(["item,mean,games", *rows, "rarely played,9.0,19"]))
    for given in (skills, str(file)):
        simulator = RankingSimulator(RankingSettings(num_items=4, skills=given))
        drawn = Episodes.of_seeds(simulator, range(600)).state.true_skill
        values, counts = np.unique(drawn.round(9), return_counts=True)
        np.testing.assert_allclose(values, skills - skills.mean())
        assert all(np.unique(row).size == 4 for row in drawn)
        # Each is drawn with probability 2/3; five standard errors.
        assert np.abs(counts / 600 - 2 / 3).max() < 5 * math.sqrt(2 / 9 / 600)


def test_the_covariance_stays_positive_definite() -> None:
    rng = np.random.default_rng(4)
    mu, covariance = np.zeros(6), 25.0 * np.eye(6)
    for _ in range(8_000):
        i, j = rng.choice(6, size=2, replace=False)
        game = i, j, 1 if rng.random() < 0.5 else -1
        learn_joint(mu, covariance, game, (0.2, 0.0))
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    np.testing.assert_array_equal(covariance, covariance.T)
    # Games inform about differences only: the variance of the mean skill is unchanged.
    assert np.ones(6) @ covariance @ np.ones(6) == pytest.approx(6 * 25.0, rel=1e-6)


def losses(order: np.ndarray, skills: np.ndarray, cut: int) -> np.ndarray:
    """Count the misordered pairs of an order under each row of skills."""
    pairs = combinations(range(len(order)), 2)
    wrong = [skills[:, order[a]] < skills[:, order[b]] for a, b in pairs
             if cut == 0 or (a < cut) != (b < cut)]  # fmt: skip
    return np.sum(wrong, axis=0)


@pytest.mark.parametrize("goal", [{"goal": "order"}, {"goal": "top", "k": 3}, {"goal": "best"}])
def test_measures_match_posterior_draws_and_rewards_add_up(goal: dict[str, Any]) -> None:
    options = {"num_items": 7, "horizon": 60, "cost": 0.25, "draw_margin": 0.3, **goal}
    env: Any = gym.make("Ranking-v0", **options).unwrapped
    _, first = env.reset(seed=4)
    env.action_space.seed(1)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(env.action_space.sample())
        total += reward
    assert total == pytest.approx(first["expected_loss"] - info["expected_loss"] - 60 * 0.25)
    mu, covariance, truth = env._state.mu[0], env._state.covariance[0], env._state.true_skill
    draws = np.random.default_rng(0).multivariate_normal(mu, covariance, size=100_000)
    order, cut, k = np.argsort(-mu), env.settings.cut, env.settings.k
    found = losses(order, draws, cut)
    error = found.std() / np.sqrt(found.size)
    assert info["expected_loss"] == pytest.approx(found.mean(), abs=5.0 * error)
    assert info["true_loss"] == losses(order, truth, cut)[0]
    assert info["kendall_tau"] == pytest.approx(kendalltau(mu, truth[0]).statistic)
    best = set(np.argsort(-truth[0])[:k].tolist())
    assert info["top_errors"] == len(best - set(order[:k].tolist()))
    # With w wrong items at the top, at least w^2 pairs across the cut are misordered.
    if cut:
        top = np.argsort(-draws, axis=1)[:, :k]
        wrong = k - np.isin(top, order[:k]).sum(axis=1)
        assert (found >= wrong**2).all()


@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_the_kth_game_of_a_pair_has_its_own_random_number(margin: float) -> None:
    """Other games do not change it, and the item of lower index wins if u < P(win)."""
    skills, games = np.array([0.4, 0.0, -0.3]), 150
    env: Any = gym.make(
        "Ranking-v0", num_items=3, horizon=games, draw_margin=margin, beta=1.0
    ).unwrapped
    key = np.uint64(drawn_key(np.random.Generator(np.random.PCG64(9))))
    for seed in (0, 1):
        env.reset(seed=9, options={"true_skill": skills})
        met = np.zeros(3, dtype=int)
        for action in np.random.default_rng(seed).integers(3, size=games).tolist():
            *_, info = env.step(action)
            i, j = env.settings.pairs[action]
            gap, u = skills[i] - skills[j], uniform(key, 1, met[action] * 3 + action)
            win = norm.cdf((gap - margin) / np.sqrt(2.0))
            loss = norm.cdf((-gap - margin) / np.sqrt(2.0))
            assert info["outcome"] == (1 if u < win else 0 if u < 1.0 - loss else -1)
            met[action] += 1


def test_masks_follow_limits_and_bars_and_observations_show_the_belief() -> None:
    barred, limit = np.array([(0, 1), (4, 2)]), 3
    env: Any = gym.make(
        "Ranking-v0", num_items=5, horizon=24, max_games_per_pair=limit, barred_pairs=barred
    ).unwrapped
    assert repr(env.settings.barred_pairs) == "((0, 1), (2, 4))"
    env.reset(seed=0)
    met = np.zeros(10, dtype=int)
    i, j = env.settings.pairs.T
    free = np.array([(a, b) not in ((0, 1), (2, 4)) for a, b in zip(i, j, strict=True)])
    for game in range(24):
        np.testing.assert_array_equal(env.action_masks(), free & (met < limit))
        action = env.action_space.sample(env.action_masks().astype(np.int8))
        observation, *_ = env.step(action)
        met[action] += 1
        mu, covariance = env._state.mu[0], env._state.covariance[0]
        variances = covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]
        shown = [mu, np.sqrt(np.diagonal(covariance)), mu[i] - mu[j], np.sqrt(variances)]
        expected = np.concatenate([*shown, [(23 - game) / 24], env.action_masks()])
        np.testing.assert_allclose(observation, expected, rtol=1e-6, atol=1e-7)
    assert sorted(met) == [0, 0] + 8 * [limit]
    assert env.action_masks().sum() >= 1  # sampling works after the last game


ADVANTAGE: dict[str, Any] = {"num_items": 3, "beta": BETA, "first_advantage": 0.6}


def weighted_moments(
    actions: np.ndarray, outcomes: np.ndarray, settings: RankingSettings, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return exact means and deviations of skills and advantage, by importance sampling."""
    scale = np.append(np.full(settings.num_items, settings.sigma), settings.first_advantage)
    draws = np.random.default_rng(7).normal(size=(count, scale.size)) * scale
    log_weights = np.zeros(count)
    for action, outcome in zip(actions, outcomes, strict=True):
        i, j = settings.pairs[action]
        gap = draws[:, i] - draws[:, j] + draws[:, -1]
        log_weights += norm.logcdf(outcome * gap / (math.sqrt(2.0) * settings.beta))
    weights = np.exp(log_weights - log_weights.max())
    mean = np.average(draws, axis=0, weights=weights)
    variance = np.average((draws - mean) ** 2, axis=0, weights=weights)
    return mean, np.sqrt(variance)


def test_the_belief_about_an_advantage_matches_importance_sampling() -> None:
    env: Any = gym.make("Ranking-v0", horizon=12, **ADVANTAGE).unwrapped
    env.reset(seed=5)
    actions = np.random.default_rng(2).integers(3, size=12)
    outcomes = []
    for action in actions.tolist():
        observation, *_, info = env.step(action)
        outcomes.append(info["outcome"])
    mean, deviation = weighted_moments(actions, np.array(outcomes), env.settings, 400_000)
    mu, covariance = env._state.mu[0], env._state.covariance[0]
    # Assumed density filtering is not exact: within a tenth of a deviation after twelve games.
    assert np.abs((mu - mean) / deviation).max() < 0.1
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), deviation, rtol=0.05)
    expected = [mu[3], math.sqrt(covariance[3, 3]), 0.0]
    np.testing.assert_allclose(observation[-3:], expected, rtol=1e-6)
    assert observation.size == env.settings.observation_size == 2 * 3 + 2 * 3 + 3


def test_the_first_item_wins_by_its_advantage_and_skills_are_drawn_as_before() -> None:
    """Advantages follow their prior, and equal luck decides games with and without one."""
    settings = RankingSettings(horizon=1, **ADVANTAGE)
    episodes = Episodes.of_seeds(RankingSimulator(settings), range(4_000))
    usual = Episodes.of_seeds(
        RankingSimulator(RankingSettings(num_items=3, horizon=1, beta=BETA)), range(4_000)
    )
    np.testing.assert_array_equal(episodes.state.true_skill, usual.state.true_skill)
    np.testing.assert_array_equal(usual.state.true_advantage, 0.0)
    advantage = episodes.state.true_advantage.copy()
    error = 0.6 / math.sqrt(4_000)
    assert abs(advantage.mean()) < 5.0 * error
    assert advantage.std() == pytest.approx(0.6, abs=5.0 * error / math.sqrt(2.0))
    assert abs(np.corrcoef(advantage, episodes.state.true_skill[:, 0])[0, 1]) < 5.0 / 4_000**0.5
    actions = np.full(4_000, 2)
    episodes.step(actions, strict=True)
    usual.step(actions, strict=True)
    # With equal random numbers, an advantage can only turn losses into wins.
    change = episodes.state.outcomes - usual.state.outcomes
    assert (change * np.sign(advantage) >= 0.0).all()
    skill = episodes.state.true_skill
    gap = skill[:, 1] - skill[:, 2] + advantage
    win = norm.cdf(gap / (math.sqrt(2.0) * BETA))
    wins = (episodes.state.outcomes == 1).mean()
    error = math.sqrt((win * (1.0 - win)).sum()) / 4_000
    assert wins == pytest.approx(win.mean(), abs=5.0 * error)


def test_the_estimate_of_the_advantage_approaches_the_truth() -> None:
    settings = RankingSettings(num_items=6, horizon=600, beta=BETA, first_advantage=0.6)
    simulator = RankingSimulator(settings)
    episodes = Episodes.of_seeds(simulator, range(200))
    rng = np.random.default_rng(3)
    errors = []
    deviations = []
    for game in range(600):
        episodes.step(rng.integers(settings.num_pairs, size=200), strict=True)
        if game in (29, 599):
            view = simulator.view(episodes.state)
            errors.append(view.advantage_mu - episodes.state.true_advantage)
            deviations.append(view.advantage_sigma.copy())
    assert deviations[1].mean() < 0.6 / 3.0
    for error, deviation in zip(errors, deviations, strict=True):
        # Standardised errors have variance 1; five standard errors of 200 squares.
        assert ((error / deviation) ** 2).mean() == pytest.approx(1.0, abs=5.0 * 0.1)
    assert np.abs(errors[1]).mean() < 0.5 * np.abs(errors[0]).mean()


def test_a_judge_who_prefers_the_first_misleads_only_a_belief_without_an_advantage() -> None:
    """Equal skills and an advantage of one: without the option, low indices seem better."""
    estimates = []
    for options in ({}, {"first_advantage": 1.0}):
        settings = RankingSettings(num_items=3, horizon=300, beta=BETA, **options)
        simulator = RankingSimulator(settings)
        episodes = Episodes.of_seeds(simulator, range(20))
        episodes.state.true_skill[:] = 0.0
        episodes.state.true_advantage[:] = 1.0
        for game in range(300):
            episodes.step(np.full(20, game % 3), strict=True)
        mu = simulator.view(episodes.state).mu
        estimates.append((mu[:, 0] - mu[:, 2]).mean())
    assert estimates[0] > 0.5
    assert abs(estimates[1]) < 0.2
