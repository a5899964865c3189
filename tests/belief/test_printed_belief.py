"""The belief of the 2011 paper's equations as printed, against the formulas written out here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv
from matchenv.baselines import KnowledgeGradient

BETA = 1.4


def printed_game(mu: Any, sigma: Any, j: int, outcome: int) -> tuple[list[float], list[float]]:
    """Eq. (1) and (2) with c^2 where c belongs."""
    c2 = sigma[0] ** 2 + sigma[j] ** 2 + 2.0 * BETA**2
    t = outcome * (mu[0] - mu[j]) / c2
    v = norm.pdf(t) / norm.cdf(t)
    w = v * (v + t)
    new_mu, new_sigma = [*mu], [*sigma]
    for i, sign in ((0, outcome), (j, -outcome)):
        new_mu[i] = mu[i] + sign * sigma[i] ** 2 / c2 * v
        new_sigma[i] = sigma[i] * math.sqrt(1.0 - sigma[i] ** 2 / c2 * w)
    return new_mu, new_sigma


def test_the_environment_learns_as_printed() -> None:
    env = MatchmakingEnv(num_opponents=4, horizon=30, beta=BETA, belief="printed")
    observation, _ = env.reset(seed=3)
    assert observation.shape == (11,)
    rng = np.random.default_rng(1)
    mu, sigma = [*env.knowledge_state.mu], [*env.knowledge_state.sigma]
    for _ in range(30):
        action = int(rng.integers(4))
        gap, c2 = mu[0] - mu[action + 1], sigma[0] ** 2 + sigma[action + 1] ** 2 + 2.0 * BETA**2
        observation, reward, _, _, info = env.step(action)
        assert reward == pytest.approx(norm.pdf(gap, scale=math.sqrt(c2)), rel=1e-12)
        mu, sigma = printed_game(mu, sigma, action + 1, int(info["outcome"]))
        np.testing.assert_allclose(env.knowledge_state.mu, mu, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(env.knowledge_state.sigma, sigma, rtol=1e-10)
        np.testing.assert_allclose(observation[:-1], [*mu, *sigma], rtol=1e-6)


def test_it_meets_the_same_games_as_the_factorised_belief() -> None:
    both = [
        MatchmakingVectorEnv(3, num_opponents=5, horizon=8, belief=belief)
        for belief in ("factorised", "printed")
    ]
    np.testing.assert_array_equal(*(env.reset(seed=2)[0] for env in both))
    for n in range(20):
        one, other = (env.step(np.array([n % 5, 0, 4]))[4] for env in both)
        for name in ("outcome", "true_draw_density", "skill_difference", "_won"):
            np.testing.assert_array_equal(one[name], other[name])


def test_vector_equals_scalar_environment() -> None:
    vector = MatchmakingVectorEnv(
        3, num_opponents=5, horizon=6, belief="printed", autoreset_mode="Disabled"
    )
    scalars = [MatchmakingEnv(num_opponents=5, horizon=6, belief="printed") for _ in range(3)]
    vector.reset(seed=9)
    for i, env in enumerate(scalars):
        env.reset(seed=9 + i)
    for n in range(6):
        observation, reward, *_ = vector.step(np.array([n % 5, 1, 4]))
        for i, env in enumerate(scalars):
            one = env.step((n % 5, 1, 4)[i])
            np.testing.assert_array_equal(observation[i], one[0])
            assert reward[i] == one[1]


def test_kg_looks_ahead_with_the_printed_equations() -> None:
    rng = np.random.default_rng(7)
    mu, sigma = rng.normal(size=5), rng.uniform(0.5, 2.0, size=5)
    state = KnowledgeState(mu, sigma, belief="printed")
    policy = KnowledgeGradient(multiplier=9.0, beta=BETA, belief="printed")

    def density(mean: Any, deviation: Any, k: int) -> float:
        variance = deviation[0] ** 2 + deviation[k] ** 2 + 2.0 * BETA**2
        return float(norm.pdf(mean[0] - mean[k], scale=math.sqrt(variance)))

    expected = []
    for j in range(1, 5):
        c2 = sigma[0] ** 2 + sigma[j] ** 2 + 2.0 * BETA**2
        future = 0.0
        for outcome in (1, -1):
            after = printed_game(mu, sigma, j, outcome)
            best = max(density(*after, k) for k in range(1, 5))
            future += norm.cdf(outcome * (mu[0] - mu[j]) / c2) * best
        expected.append(density(mu, sigma, j) + 9.0 * future)
    np.testing.assert_allclose(policy.scores(state, 10), expected, rtol=1e-12)
    assert policy.act(state, 10) == np.argmax(expected)


@pytest.mark.parametrize("name", ["draw_margin", "tau"])
def test_it_knows_neither_draws_nor_drift(name: str) -> None:
    arguments: dict[str, Any] = {name: 0.5, "belief": "printed"}
    with pytest.raises(ValueError, match=f"{name} must be 0 with belief='printed'"):
        MatchmakingEnv(**arguments)
    with pytest.raises(ValueError, match=f"{name} must be 0 with belief='printed'"):
        KnowledgeGradient(**arguments)
