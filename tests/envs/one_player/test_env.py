"""Games, instances and reset options of ``Matchmaking-v0``."""

import math

import numpy as np
import pytest
from scipy import stats

from matchenv import MatchmakingEnv, MatchmakingVectorEnv
from matchenv.envs.one_player.simulator import OUTCOME
from matchenv.runtime.random import uniform
from matchenv.trueskill import draw_density, match_quality, true_draw_density, update

BETA = math.sqrt(2.5)


@pytest.mark.parametrize(
    ("draw_margin", "tau", "paid"),
    [(0.0, 0.0, "draw_density"), (0.7, 0.4, "match_quality"), (0.7, 0.0, "true_draw_density")],
)
def test_a_game_follows_the_formulas(draw_margin: float, tau: float, paid: str) -> None:
    """Recompute observation, reward and information of each game by the public functions."""
    env = MatchmakingEnv(num_opponents=4, horizon=60, draw_margin=draw_margin, tau=tau, reward=paid)
    observation, _ = env.reset(seed=3)
    rng, outcomes = np.random.default_rng(0), set()
    for n in range(60):
        state, before = env.knowledge_state, env.true_skill
        np.testing.assert_array_equal(observation, state.to_observation((60 - n) / 60))
        action = int(rng.integers(4))
        j = action + 1
        pair = (state.mu[0], state.sigma[0], state.mu[j], state.sigma[j])
        observation, reward, terminated, truncated, info = env.step(action)
        skill = env.true_skill
        assert np.flatnonzero(skill != before).tolist() == ([0, j] if tau else [])
        assert reward == info[paid]
        assert info["draw_density"] == draw_density(*pair, BETA)
        assert info["match_quality"] == pytest.approx(match_quality(*pair, BETA), rel=1e-15)
        assert info["true_draw_density"] == true_draw_density(skill[0], skill[j], BETA)
        assert info["squared_error"] == (state.mu[0] - skill[0]) ** 2
        assert info["skill_difference"] == skill[0] - skill[j]
        assert info["won"] == (info["outcome"] == 1)
        luck, gap = uniform(env._state.key[0], OUTCOME, n), skill[0] - skill[j]
        ends = np.array([gap - draw_margin, gap + draw_margin]) / (math.sqrt(2.0) * BETA)
        assert info["outcome"] == 1 - np.count_nonzero(luck >= stats.norm.cdf(ends))
        assert (terminated, truncated) == (n == 59, False)
        outcomes.add(int(info["outcome"]))
        wide = np.hypot(state.sigma, tau)
        expected = update(
            state.mu[0], wide[0], state.mu[j], wide[j], info["outcome"], BETA, draw_margin
        )
        after = env.knowledge_state
        found = (after.mu[0], after.sigma[0], after.mu[j], after.sigma[j])
        np.testing.assert_allclose(found, expected, rtol=1e-12 if tau else 0.0)
        others = [k for k in range(1, 5) if k != j]
        np.testing.assert_array_equal(after.mu[others], state.mu[others])
        np.testing.assert_array_equal(after.sigma[others], state.sigma[others])
    assert outcomes == ({-1, 0, 1} if draw_margin else {-1, 1})


@pytest.mark.parametrize(
    ("prior", "variance"), [("informative", "paper"), ("equal", "paper"), ("equal", "matching")]
)
def test_instances_follow_the_study(prior: str, variance: str) -> None:
    env = MatchmakingVectorEnv(20, num_opponents=999, prior=prior, equal_variance=variance)
    env.reset(seed=0)
    state = env.knowledge_state
    drawn = state.sigma**2 - (4.0 if variance == "matching" else 0.0)
    assert stats.kstest(drawn.ravel() - 2, "uniform").pvalue > 1e-3
    if prior == "informative":
        assert stats.kstest(state.mu.ravel() / 2, "norm").pvalue > 1e-3
    else:
        assert not state.mu.any()
    # With equal means, the spread of skills includes the hidden means.
    deviation = np.sqrt(drawn + (4.0 if prior == "equal" else 0.0))
    assert stats.kstest(((env.true_skill - state.mu) / deviation).ravel(), "norm").pvalue > 1e-3


RANKS = [("top", 0), (0, 0), (12, 12), ("middle", 24), ("bottom", 49), (49, 49)]


@pytest.mark.parametrize(("rank", "place"), RANKS)
def test_player_0_has_the_rank(rank: int | str, place: int) -> None:
    env = MatchmakingEnv(rank=rank)
    by_skill = MatchmakingEnv(rank=rank, rank_by="true_skill", prior="equal")
    for seed in range(5):
        env.reset(seed=seed)
        mu = env.knowledge_state.mu
        assert (mu > mu[0]).sum() == place
        by_skill.reset(seed=seed)
        skill = by_skill.true_skill
        assert (skill > skill[0]).sum() == place


def test_the_random_rank_is_uniform() -> None:
    env = MatchmakingVectorEnv(1000, num_opponents=4)
    env.reset(seed=0)
    mu = env.knowledge_state.mu
    places = np.bincount((mu > mu[:, :1]).sum(axis=1), minlength=5)
    assert stats.chisquare(places).pvalue > 1e-3


def test_options_fix_the_instance_or_only_the_belief() -> None:
    env = MatchmakingEnv(num_opponents=4)
    mu, sigma, skill = np.arange(5.0), np.linspace(1, 2, 5), np.array([0.0, 1, -1, 2, 5])
    env.reset(seed=1, options={"mu": mu, "sigma": sigma, "true_skill": skill})
    np.testing.assert_array_equal(env.knowledge_state.mu, mu)
    np.testing.assert_array_equal(env.knowledge_state.sigma, sigma)
    np.testing.assert_array_equal(env.true_skill, skill)
    env.reset()
    assert not np.array_equal(env.knowledge_state.mu, mu)
    large = MatchmakingEnv(num_opponents=999)
    large.reset(seed=1, options={"mu": np.full(1000, 30.0), "sigma": np.full(1000, 0.1)})
    assert stats.kstest((large.true_skill - 30) / 0.1, "norm").pvalue > 1e-3


def test_drift_is_normal_and_independent() -> None:
    env = MatchmakingVectorEnv(200, num_opponents=3, horizon=20, tau=0.4)
    env.reset(seed=3)
    moves = []
    for n in range(20):
        before = env.true_skill
        env.step(np.full(200, n % 3))
        moves.append((env.true_skill - before)[:, [0, n % 3 + 1]])
    moved = np.concatenate(moves)
    assert stats.kstest(moved.ravel() / 0.4, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(moved.T)[0, 1]) < 4 / math.sqrt(4000)


def test_a_million_opponents() -> None:
    env = MatchmakingEnv(num_opponents=10**6, horizon=2, rank="middle")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (2 * 10**6 + 3,)
    observation, _, terminated, _, _ = env.step(10**6 - 1)
    assert np.isfinite(observation).all()
    assert not terminated
    assert env.step(0)[2]
