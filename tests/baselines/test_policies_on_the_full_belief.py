"""Every policy on the belief with covariances, against brute force on a dense matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv
from matchenv.agents.policies import policy_named
from matchenv.baselines import (
    DrawChance,
    KnowledgeGradient,
    OptimisticDrawChance,
    Oracle,
    PointEstimate,
    RandomOpponent,
    ThompsonSampling,
)
from matchenv.settings import Settings

Floats = NDArray[np.float64]

BETA = 1.2


def states_after_games(num_opponents: int, games: int, count: int = 6) -> KnowledgeState:
    """Full beliefs in which some opponents are tied to player 0 and some are not."""
    env = MatchmakingVectorEnv(
        count, num_opponents=num_opponents, horizon=max(games, 1), beta=BETA, belief="full"
    )
    env.reset(seed=3)
    rng = np.random.default_rng(4)
    for _ in range(games - 1):
        env.step(np.minimum(rng.geometric(0.4, size=count) - 1, num_opponents - 1))
    return env.knowledge_state


def covariance_of(state: KnowledgeState) -> Floats:
    """Covariances of all skills, from the opponents' independence given player 0."""
    assert state.difference_sigma is not None
    variances = state.sigma**2
    to_0 = 0.5 * (variances[0] + variances[1:] - state.difference_sigma**2)
    covariance = np.diag(variances)
    covariance[0, 1:] = covariance[1:, 0] = to_0
    for k in range(1, variances.size):
        for other in range(1, variances.size):
            if k != other:
                covariance[k, other] = to_0[k - 1] * to_0[other - 1] / variances[0]
    return covariance


def densities(mu: Floats, covariance: Floats) -> Floats:
    values = []
    for k in range(1, mu.size):
        variance = covariance[0, 0] + covariance[k, k] - 2.0 * covariance[0, k] + 2.0 * BETA**2
        values.append(stats.norm.pdf(0.0, mu[0] - mu[k], np.sqrt(variance)))
    return np.array(values)


def after_game(mu: Floats, covariance: Floats, j: int, low: float, high: float) -> Any:
    """Probability that the performances differ by low to high, and the belief then."""
    direction = np.zeros(mu.size)
    direction[0], direction[j] = 1.0, -1.0
    moved = covariance @ direction
    gap, c = direction @ mu, np.sqrt(direction @ moved + 2.0 * BETA**2)
    t = (low - gap) / c, (high - gap) / c
    mean, variance = stats.truncnorm.stats(*t, moments="mv")
    probability = stats.norm.cdf(t[1]) - stats.norm.cdf(t[0])
    return (
        probability,
        mu + moved * mean / c,
        covariance - np.outer(moved, moved) * (1.0 - variance) / c**2,
    )


def brute_force_kg(state: KnowledgeState, multiplier: float, draw_margin: float) -> Floats:
    mu, covariance = state.mu, covariance_of(state)
    scores = densities(mu, covariance)
    edges = [-np.inf, -draw_margin, draw_margin, np.inf] if draw_margin else [-np.inf, 0.0, np.inf]
    for j in range(1, mu.size):
        for low, high in pairwise(edges):
            probability, *belief = after_game(mu, covariance, j, low, high)
            scores[j - 1] += multiplier * probability * densities(*belief).max()
    return scores


@pytest.mark.parametrize("draw_margin", [0.0, 0.8])
@pytest.mark.parametrize(("num_opponents", "games"), [(1, 4), (4, 1), (5, 12), (12, 60)])
def test_kg_equals_brute_force(num_opponents: int, games: int, draw_margin: float) -> None:
    states = states_after_games(num_opponents, games)
    policy = KnowledgeGradient(
        multiplier=7.0, beta=BETA, draw_margin=draw_margin, belief="full"
    )  # fmt: skip
    scores = policy.scores(states, 10)
    actions = policy.act(states, 10)
    for b in range(states.batch_shape[0]):
        expected = brute_force_kg(states[b], 7.0, draw_margin)
        np.testing.assert_allclose(scores[b], expected, rtol=1e-9)
        assert actions[b] == scores[b].argmax()


def test_draw_chance_uses_the_variance_of_the_difference() -> None:
    states = states_after_games(8, 40)
    policy = DrawChance(beta=BETA, belief="full")
    scores, actions = policy.scores(states), policy.act(states, 5)
    for b in range(states.batch_shape[0]):
        expected = densities(states.mu[b], covariance_of(states[b]))
        np.testing.assert_allclose(scores[b], expected, rtol=1e-10)
        assert actions[b] == expected.argmax()
    alone = DrawChance(beta=BETA).scores(KnowledgeState(states.mu, states.sigma))
    assert (scores > alone).any()


def test_point_estimate_looks_at_means_alone() -> None:
    states = states_after_games(8, 40)
    expected = np.abs(states.mu[:, :1] - states.mu[:, 1:]).argmin(axis=1)
    np.testing.assert_array_equal(PointEstimate(belief="full").act(states, 5), expected)


def test_before_the_first_game_both_beliefs_are_one() -> None:
    """For rules that do not look ahead; KG foresees the covariance that its game will make."""
    full = states_after_games(10, 1, count=50)
    factorised = KnowledgeState(full.mu, full.sigma)
    for make in (DrawChance, PointEstimate, OptimisticDrawChance):
        np.testing.assert_array_equal(
            make(belief="full").act(full, 100), make().act(factorised, 100)
        )


def test_thompson_draws_all_skills_jointly() -> None:
    state = states_after_games(4, 30)[0]
    count = 40_000
    many = KnowledgeState(
        *(np.broadcast_to(x, (count, x.size)) for x in (state.mu, state.sigma)),
        np.broadcast_to(state.difference_sigma, (count, 4)),
        "full",
    )
    rng = np.random.default_rng(5)
    chosen = ThompsonSampling(belief="full").act(many, 5, rng)
    skills = rng.multivariate_normal(state.mu, covariance_of(state), size=count)
    expected = np.abs(skills[:, :1] - skills[:, 1:]).argmin(axis=1)
    for action in range(4):
        ours, reference = (chosen == action).mean(), (expected == action).mean()
        assert abs(ours - reference) < 5.0 * np.sqrt(2.0 * 0.25 / count)


@pytest.mark.parametrize(
    "text", ["pe", "drawchance", "kg:multiplier=20", "optimistic:inflation=5,fade=0", "random"]
)
def test_predict_reads_the_observation_of_its_belief(text: str) -> None:
    name = text + ("," if ":" in text else ":") + "belief=full"
    policy = policy_named(name, Settings.checked(beta=BETA, horizon=20))
    assert policy.belief == "full"
    env = MatchmakingVectorEnv(5, num_opponents=6, horizon=20, beta=BETA, belief="full")
    observation, _ = env.reset(seed=1)
    for _ in range(10):
        actions, _ = policy.predict(observation)
        assert actions.shape == (5,)
        assert ((actions >= 0) & (actions < 6)).all()
        if text != "random":
            np.testing.assert_array_equal(actions, policy.act(env.knowledge_state, env.games_left))
        one, _ = policy.predict(observation[0])
        assert one.shape == ()
        observation = env.step(actions)[0]


def test_the_oracle_does_not_mind_the_belief() -> None:
    env = MatchmakingEnv(num_opponents=5, horizon=3, belief="full")
    observation, _ = env.reset(seed=1)
    oracle = Oracle(lambda: env.true_skill, belief="full")
    expected = np.abs(env.true_skill[0] - env.true_skill[1:]).argmin()
    assert oracle.predict(observation)[0] == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DrawChance(belief="half"), "belief must be one of 'factorised', 'full'"),
        (lambda: KnowledgeGradient(belief="full", tau=0.1), "tau must be 0 with belief='full'"),
        (
            lambda: KnowledgeGradient(tau=0.1).scores(states_after_games(2, 1), 1),
            "tau must be 0 with belief='full'",
        ),
        (
            lambda: DrawChance().act(states_after_games(2, 1), 1),
            "knowledge_state must hold the factorised belief",
        ),
        (
            lambda: DrawChance(belief="full").act(KnowledgeState([0.0, 0.0], [1.0, 1.0]), 1),
            "knowledge_state must hold the full belief",
        ),
        (
            lambda: KnowledgeGradient().predict(np.ones(3 * 49 + 3)),
            r"with the factorised belief, .* 49 opponents with belief='full'",
        ),
        (lambda: RandomOpponent(belief="full").predict(np.ones(10)), r"3 \* num_opponents \+ 3"),
    ],
)
def test_bad_input_is_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_an_observation_of_another_belief_names_the_belief() -> None:
    observation, _ = MatchmakingEnv(num_opponents=5, belief="full").reset(seed=0)
    with pytest.raises(ValueError, match=r"of 5 opponents with belief='full'"):
        KnowledgeGradient().predict(observation)
    KnowledgeGradient(belief="full").predict(observation)
