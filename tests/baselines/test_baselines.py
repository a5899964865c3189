"""The baselines against enumerations written from the paper, and as users call them."""

from __future__ import annotations

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import norm

from matchenv import KnowledgeState
from matchenv.baselines import (
    DrawChance,
    KnowledgeGradient,
    NarrowedKnowledgeGradient,
    Oracle,
    PointEstimate,
    Policy,
    RandomOpponent,
    ThompsonSampling,
)

BETA = math.sqrt(2.5)


def states(count: int, opponents: int, seed: int = 0) -> KnowledgeState:
    rng = np.random.default_rng(seed)
    return KnowledgeState(
        rng.normal(0, 2, size=(count, opponents + 1)),
        np.sqrt(rng.uniform(0.1, 3, size=(count, opponents + 1))),
    )


def paper_density(mu: np.ndarray, sigma: np.ndarray, k: int) -> float:
    """Eq. (5)."""
    variance = sigma[0] ** 2 + sigma[k] ** 2 + 2 * BETA**2
    return math.exp(-((mu[0] - mu[k]) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def paper_update(
    mu: np.ndarray, sigma: np.ndarray, j: int, outcome: int, margin: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (1) and (2), corrected, and their draws: by the moments of a truncated normal."""
    c = math.sqrt(sigma[0] ** 2 + sigma[j] ** 2 + 2 * BETA**2)
    mu, sigma = mu.copy(), sigma.copy()
    gap = mu[0] - mu[j]
    low, high = {1: (margin, math.inf), -1: (-math.inf, -margin), 0: (-margin, margin)}[outcome]
    a, b = (low - gap) / c, (high - gap) / c
    mass = norm.cdf(b) - norm.cdf(a)
    mean = (norm.pdf(a) - norm.pdf(b)) / mass
    edges = (a * norm.pdf(a) if math.isfinite(a) else 0.0) - (
        b * norm.pdf(b) if math.isfinite(b) else 0.0
    )
    w = mean**2 - edges / mass
    for i, sign in ((0, 1), (j, -1)):
        mu[i] += sign * sigma[i] ** 2 / c * mean
        sigma[i] *= math.sqrt(1 - sigma[i] ** 2 / c**2 * w)
    return mu, sigma


def paper_kg_scores(
    mu: np.ndarray, sigma: np.ndarray, multiplier: float, margin: float = 0.0
) -> np.ndarray:
    """Eq. (12) and (13) by enumeration of opponents, outcomes and next opponents."""
    count = len(mu)
    scores = []
    for j in range(1, count):
        c = math.sqrt(sigma[0] ** 2 + sigma[j] ** 2 + 2 * BETA**2)
        gap = mu[0] - mu[j]
        probability = {1: norm.cdf((gap - margin) / c), -1: norm.cdf((-gap - margin) / c)}
        if margin:
            probability[0] = 1 - probability[1] - probability[-1]
        future = 0.0
        for outcome, chance in probability.items():
            after = paper_update(mu, sigma, j, outcome, margin)
            future += chance * max(paper_density(*after, k) for k in range(1, count))
        scores.append(paper_density(mu, sigma, j) + multiplier * future)
    return np.array(scores)


@pytest.mark.parametrize(
    ("policy", "multiplier"),
    [
        (KnowledgeGradient(), 99.0),
        (KnowledgeGradient(0.9), 9.0),
        (KnowledgeGradient(discount=0.0), 0.0),
        (KnowledgeGradient(multiplier=20), 20.0),
        (KnowledgeGradient(finite_horizon=True), 36.0),
    ],
)
@pytest.mark.parametrize("opponents", [1, 2, 7])
def test_kg_equals_the_enumeration(
    policy: KnowledgeGradient, multiplier: float, opponents: int
) -> None:
    batch = states(25, opponents)
    scores = policy.scores(batch, 37)
    actions = policy.act(batch, 37)
    for b in range(25):
        expected = paper_kg_scores(batch.mu[b], batch.sigma[b], multiplier)
        np.testing.assert_allclose(scores[b], expected, rtol=1e-11)
        assert scores[b, actions[b]] == scores[b].max()
        one = KnowledgeState(batch.mu[b], batch.sigma[b])
        np.testing.assert_array_equal(policy.scores(one, 37), scores[b])
        assert policy.act(one, 37) == actions[b]


def test_kg_with_draws_equals_the_enumeration() -> None:
    batch = states(25, 5, seed=3)
    policy = KnowledgeGradient(multiplier=12, draw_margin=0.7)
    scores = policy.scores(batch, 10)
    for b in range(25):
        expected = paper_kg_scores(batch.mu[b], batch.sigma[b], 12.0, margin=0.7)
        np.testing.assert_allclose(scores[b], expected, rtol=1e-10)
    np.testing.assert_array_equal(policy.act(batch, 10), scores.argmax(axis=1))


def test_kg_with_drift_looks_ahead_from_the_wider_belief() -> None:
    tau = 0.5
    one = states(1, 1, seed=4)
    policy = KnowledgeGradient(multiplier=1.0, tau=tau)
    wide = np.sqrt(one.sigma[0] ** 2 + tau**2)
    now = paper_density(one.mu[0], one.sigma[0], 1)
    future = paper_kg_scores(one.mu[0], wide, 1.0)[0] - paper_density(one.mu[0], wide, 1)
    np.testing.assert_allclose(policy.scores(one, 5)[0, 0], now + future, rtol=1e-11)


def test_the_last_game_of_the_finite_horizon_is_draw_chance() -> None:
    batch = states(50, 9)
    policy = KnowledgeGradient(finite_horizon=True)
    np.testing.assert_array_equal(policy.act(batch, 1), DrawChance().act(batch, 1))
    different = policy.act(batch, np.arange(50) + 1)
    for b in range(50):
        one = KnowledgeState(batch.mu[b], batch.sigma[b])
        assert policy.act(one, b + 1) == different[b]


def test_point_estimate_and_draw_chance_by_the_papers_words() -> None:
    batch = states(200, 8)
    gaps = np.abs(batch.mu[:, :1] - batch.mu[:, 1:])
    np.testing.assert_array_equal(PointEstimate().act(batch, 1), gaps.argmin(axis=1))
    chosen = DrawChance().act(batch, 1)
    for b in range(200):
        densities = [paper_density(batch.mu[b], batch.sigma[b], k) for k in range(1, 9)]
        assert chosen[b] == int(np.argmax(densities))


def test_draw_chance_where_every_density_underflows() -> None:
    mu = np.array([0.0, 300.0, -200.0, 250.0])
    state = KnowledgeState(mu, np.full(4, 0.1))
    assert DrawChance().act(state, 1) == 1


@pytest.mark.parametrize("policy", [PointEstimate(), DrawChance(), KnowledgeGradient()])
def test_ties_go_to_the_lowest_index(policy: Policy) -> None:
    mu = np.array([0.0, 2.0, 1.0, 1.0, -1.0])
    assert policy.act(KnowledgeState(mu, np.ones(5)), 5) == 1


def test_random_takes_everyone_alike() -> None:
    policy = RandomOpponent(seed=3)
    actions = policy.act(states(20_000, 4), 1)
    counts = np.bincount(actions, minlength=4)
    assert (np.abs(counts - 5000) < 4 * math.sqrt(20_000 * 0.25 * 0.75)).all()


def test_thompson_chooses_as_often_as_each_is_nearest() -> None:
    """Two opponents: the frequency against the probability by Monte Carlo of its own."""
    mu, sigma = np.array([0.0, 0.5, -1.5]), np.array([1.0, 0.4, 1.2])
    batch = KnowledgeState(np.tile(mu, (40_000, 1)), np.tile(sigma, (40_000, 1)))
    share = ThompsonSampling(spread=0.7, seed=1).act(batch, 1).mean()
    draws = np.random.default_rng(99).normal(mu, 0.7 * sigma, size=(400_000, 3))
    expected = (np.abs(draws[:, 0] - draws[:, 2]) < np.abs(draws[:, 0] - draws[:, 1])).mean()
    spread = math.sqrt(expected * (1 - expected) * (1 / 40_000 + 1 / 400_000))
    assert abs(share - expected) < 4 * spread
    np.testing.assert_array_equal(
        ThompsonSampling(spread=0.0).act(batch, 1), PointEstimate().act(batch, 1)
    )


def test_oracle_knows_the_nearest_and_beats_every_other_choice() -> None:
    env = gym.make("Matchmaking-v0", num_opponents=5, horizon=30).unwrapped
    oracle = Oracle(lambda: env.true_skill)
    observation, _ = env.reset(seed=0)
    skill = env.true_skill
    action, _ = oracle.predict(observation)
    assert action == np.abs(skill[0] - skill[1:]).argmin()
    truths = np.random.default_rng(0).normal(size=(3, 6))
    chosen = Oracle(truths).act(states(3, 5), 1)
    np.testing.assert_array_equal(chosen, np.abs(truths[:, :1] - truths[:, 1:]).argmin(axis=1))
    with pytest.raises(ValueError, match="true_skill must have shape"):
        Oracle(np.zeros(4)).act(states(3, 5), 1)


EVERY_POLICY = [
    PointEstimate(),
    DrawChance(),
    KnowledgeGradient(),
    KnowledgeGradient(finite_horizon=True),
    RandomOpponent(seed=0),
    ThompsonSampling(seed=0),
    Oracle(np.arange(7.0)),
]


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=lambda policy: policy.name)
def test_predict_takes_one_or_many_and_gives_back_the_form(policy: Policy) -> None:
    batch = states(4, 6)
    observations = batch.to_observation(0.5)
    actions, memory = policy.predict(observations)
    assert actions.shape == (4,)
    assert memory is None
    assert np.issubdtype(actions.dtype, np.integer)
    one, _ = policy.predict(observations[0], deterministic=True)
    assert one.shape == ()
    assert 0 <= int(one) < 6
    if policy.name not in ("random", "thompson"):
        assert one == actions[0]
    deep = KnowledgeState(batch.mu.reshape(2, 2, 7), batch.sigma.reshape(2, 2, 7))
    assert policy.act(deep, 3).shape == (2, 2)


def test_predict_uses_the_horizon_for_the_games_left() -> None:
    batch = states(30, 6)
    observations = batch.to_observation(0.25)
    policy = KnowledgeGradient(finite_horizon=True, horizon=200)
    seen = KnowledgeState.from_observation(observations)
    np.testing.assert_array_equal(policy.predict(observations)[0], policy.act(seen, 50))


@pytest.mark.parametrize("policy", EVERY_POLICY[:6], ids=lambda policy: policy.name)
def test_stable_baselines3_evaluates_a_baseline(policy: Policy) -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    env = gym.make("Matchmaking-v0", num_opponents=6, horizon=5)
    with pytest.warns(UserWarning, match="Monitor"):
        mean, _ = evaluation.evaluate_policy(policy, env, n_eval_episodes=3)
    assert 0.0 < mean < 5 * 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KnowledgeGradient(1.0), r"discount must be in \[0, 1\), got 1.0"),
        (lambda: KnowledgeGradient(multiplier=-1), "multiplier must not be negative"),
        (lambda: KnowledgeGradient(multiplier=math.nan), "multiplier must be finite"),
        (lambda: KnowledgeGradient(0.9, multiplier=3), "give one of discount"),
        (lambda: KnowledgeGradient(beta=0), "beta must be positive"),
        (lambda: DrawChance(beta=-1), "beta must be positive"),
        (lambda: ThompsonSampling(spread=-1), "spread must not be negative"),
        (lambda: PointEstimate(horizon=0), "horizon must be an integer"),
        (lambda: PointEstimate().act(states(2, 3), -1), "games_left must not be negative"),
        (lambda: PointEstimate().act(states(2, 3), [1, 2, 3]), "games_left must broadcast"),
        (lambda: PointEstimate().predict(np.zeros(6)), "observation must have shape"),
        (lambda: PointEstimate().predict(np.full(7, np.nan)), "observation must be finite"),
        (lambda: KnowledgeState(np.zeros(3), np.zeros(3)), "sigma must be positive"),
        (lambda: KnowledgeState(np.zeros(3), np.ones(4)), "must have the same shape"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_future_is_worth_less_than_certainty_and_more_than_nothing() -> None:
    """F_j lies between 0 and the density of a certain, even game, for any state."""
    batch = states(500, 3, seed=8)
    kg = KnowledgeGradient(multiplier=1.0)
    future = kg.scores(batch, 2) - KnowledgeGradient(multiplier=0.0).scores(batch, 2)
    assert (future > 0).all()
    assert (future < 1 / (2 * math.sqrt(math.pi) * BETA)).all()


def test_kg_does_not_depend_on_the_order_of_opponents() -> None:
    one = states(1, 4, seed=5)
    base = KnowledgeGradient().scores(one, 1)[0]
    for order in itertools.islice(itertools.permutations(range(4)), 1, 24, 5):
        index = [0, *[k + 1 for k in order]]
        shuffled = KnowledgeState(one.mu[:, index], one.sigma[:, index])
        np.testing.assert_allclose(
            KnowledgeGradient().scores(shuffled, 1)[0], base[list(order)], rtol=1e-14
        )


def test_policies_print_as_what_makes_them() -> None:
    assert repr(PointEstimate()) == "PointEstimate(horizon=500, belief='factorised')"
    policy = KnowledgeGradient(multiplier=20, beta=2.0, horizon=50)
    said = repr(policy)
    assert said.startswith("KnowledgeGradient(")
    again = eval(said)
    assert (again.multiplier, again.beta, again.horizon) == (20.0, 2.0, 50)
    assert all(" object at " not in repr(each) for each in EVERY_POLICY)


@pytest.mark.parametrize("kept", [1, 3, 7, 8, 50])
def test_narrowed_kg_is_kg_where_only_the_most_even_exist(kept: int) -> None:
    state = states(40, 8, seed=3)
    chosen = NarrowedKnowledgeGradient(kept).act(state, 100)
    for row, action in enumerate(chosen):
        mu, sigma = state.mu[row], state.sigma[row]
        density = [paper_density(mu, sigma, k) for k in range(1, 9)]
        among = sorted(np.argsort(density)[::-1][:kept] + 1)
        players = [0, *among]
        scores = paper_kg_scores(mu[players], sigma[players], 99.0)
        assert action == among[int(np.argmax(scores))] - 1
    if kept >= 8:
        np.testing.assert_array_equal(chosen, KnowledgeGradient().act(state, 100))
    if kept == 1:
        np.testing.assert_array_equal(chosen, DrawChance().act(state, 100))
