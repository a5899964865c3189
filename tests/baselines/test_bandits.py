"""Bayes-UCB against SciPy's quantiles, information-directed sampling against its definition."""

import math
from typing import Any

import numpy as np
import pytest
from dense_belief import covariance_of, states_after_games
from refusals import refusals
from scipy import optimize, stats

from matchenv import KnowledgeState
from matchenv.baselines import BayesUCB, InformationDirectedSampling
from matchenv.baselines.bandits import best_mixture, distance_quantile, prospects_of
from matchenv.envs.one_player.simulator import MatchmakingView as View

BETA = 1.2


def test_distance_quantiles_are_those_of_the_folded_normal() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        gap = rng.normal() * 10.0 ** rng.uniform(-2.0, 1.2)
        deviation = 10.0 ** rng.uniform(-1.5, 1.0)
        level = rng.choice([rng.uniform(), 10.0 ** rng.uniform(-4.0, -1.0)])
        found = distance_quantile(gap, deviation, level)
        mean = abs(gap) / deviation
        chance = stats.norm.cdf(found / deviation - mean)
        chance -= stats.norm.cdf(-found / deviation - mean)
        assert chance == pytest.approx(level, rel=1e-6)
        expected = stats.foldnorm.ppf(level, mean, scale=deviation)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize(("level", "left", "expected"), [
    (0.3, 7, 0.3), (None, 50, 1.0 / 2.0), (None, 1, 1.0 / 51.0), (None, 90, 1.0 / 2.0),
])  # fmt: skip
def test_the_index_is_a_quantile_of_the_true_draw_density(
    belief: str, level: float | None, left: int, expected: float
) -> None:
    """By samples of the belief: the density is above the index with the level's probability."""
    states = states_after_games(belief, 3, 4, 20)
    policy = BayesUCB(level, beta=BETA, horizon=50, belief=belief)
    indices = policy.scores(states, left)
    rng, count = np.random.default_rng(1), 40_000
    for b in range(3):
        covariance = covariance_of(states[b])
        skills = rng.multivariate_normal(states.mu[b], covariance, size=count)
        gaps = skills[:, :1] - skills[:, 1:]
        densities = stats.norm.pdf(gaps, scale=math.sqrt(2.0) * BETA)
        share = (densities > indices[b]).mean(axis=0)
        tolerance = 4.5 * math.sqrt(expected * (1.0 - expected) / count)
        np.testing.assert_allclose(share, expected, atol=tolerance)
    np.testing.assert_array_equal(policy.act(View(states, left)), indices.argmax(axis=1))


def entropy(chances: np.ndarray) -> float:
    return float(stats.entropy(chances))


@pytest.mark.parametrize("draw_margin", [0.0, 0.4])
def test_prospects_follow_their_definition(draw_margin: float) -> None:
    """The information as the divergence of the joint law from the product of its margins."""
    skills = np.random.default_rng(2).normal(size=(60, 5))
    found = prospects_of(skills, BETA, draw_margin)
    noise = math.sqrt(2.0) * BETA
    gaps = skills[:, :1] - skills[:, 1:]
    densities = stats.norm.pdf(gaps, scale=noise)
    best = densities.argmax(axis=1)
    np.testing.assert_allclose(found.regrets, (densities.max(axis=1)[:, None] - densities).mean(0))
    win = stats.norm.cdf((gaps - draw_margin) / noise)
    loss = stats.norm.cdf((-gaps - draw_margin) / noise)
    for k in range(4):
        outcomes = np.stack([win[:, k], loss[:, k], 1.0 - win[:, k] - loss[:, k]], axis=1)
        joint = np.array([outcomes[best == a].sum(axis=0) for a in range(4)]) / 60
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        likely = joint > 1e-15
        divergence = (joint[likely] * np.log(joint[likely] / product[likely])).sum()
        assert found.information[k] == pytest.approx(divergence, abs=1e-12)


def test_the_mixture_has_the_least_ratio_of_all_mixtures() -> None:
    """Over mixtures of all actions, by numerical minimisation from many starts."""
    rng = np.random.default_rng(3)
    prospects = prospects_of(rng.normal(size=(40, 5)), BETA, 0.0)
    for _ in range(20):
        regrets, information = rng.uniform(0.01, 1.0, (2, 4))
        chosen = best_mixture(type(prospects)(regrets, information))
        first, second, share = chosen
        mixture = np.zeros(4)
        mixture[first] += 1.0 - share
        mixture[second] += share

        def ratio(
            logits: np.ndarray, regrets: Any = regrets, information: Any = information
        ) -> float:
            weights = np.exp(logits - logits.max())
            weights /= weights.sum()
            return float((weights @ regrets) ** 2 / (weights @ information))

        starts = rng.normal(0.0, 3.0, (8, 4))
        least = min(optimize.minimize(ratio, start).fun for start in starts)
        ours = (mixture @ regrets) ** 2 / (mixture @ information)
        assert ours <= least * (1.0 + 1e-6)
    # Without information, or with an opponent who is best for certain, the regret decides.
    nothing = best_mixture(type(prospects)(np.array([0.3, 0.1, 0.2]), np.zeros(3)))
    assert nothing == (1, 1, 0.0)
    certain = best_mixture(type(prospects)(np.array([0.3, 0.0, 0.2]), np.ones(3)))
    assert certain == (1, 1, 0.0)


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_choices_have_the_frequencies_of_samples_of_the_belief(belief: str) -> None:
    """Against the rule on samples of NumPy from the dense covariance."""
    state, count = states_after_games(belief, 1, 4, 12), 4000
    many = state[np.zeros(count, dtype=np.int64)]
    policy = InformationDirectedSampling(20, beta=BETA, seed=1, belief=belief)
    chosen = policy.act(View(many, 5))
    rng = np.random.default_rng(7)
    expected = np.zeros(4)
    covariance = covariance_of(state[0])
    draws = rng.multivariate_normal(state.mu[0], covariance, size=(count, 20))
    for skills in draws:
        first, second, share = best_mixture(prospects_of(skills, BETA, 0.0))
        expected[first] += (1.0 - share) / count
        expected[second] += share / count
    frequencies = np.bincount(chosen, minlength=4) / count
    np.testing.assert_allclose(frequencies, expected, atol=5.0 * math.sqrt(2.0 * 0.25 / count))


def test_known_skills_leave_only_the_regret() -> None:
    state = KnowledgeState(np.array([0.0, 1.0, -0.2, 3.0]), np.full(4, 1e-6))
    for policy in (BayesUCB(), InformationDirectedSampling(seed=0)):
        assert policy.act(View(state, 10)) == 1


test_bad_input = refusals(
    (lambda: BayesUCB(0.0), "level must be positive"),
    (lambda: BayesUCB(1.0), "level must be below 1, got 1.0"),
    (lambda: BayesUCB(beta=0.0), "beta must be positive"),
    (lambda: InformationDirectedSampling(1), "samples must be an integer of at least 2, got 1"),
    (lambda: InformationDirectedSampling(draw_margin=-1.0), "draw_margin must not be negative"),
)
