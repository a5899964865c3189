"""What the equivariant policy reads off an observation, against exact Gaussian inference."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from matchenv import MatchmakingVectorEnv
from matchenv.agents.equivariant.state import (
    COUPLING,
    GAMES_LEFT,
    GAP,
    MISSING_VARIANCE,
    OWN_VARIANCE,
    SHARE_LEFT,
    VARIANCE,
    are_of_belief,
    state_of_observations,
)
from matchenv.baselines import DrawChance
from matchenv.knowledge import KnowledgeState

BETA = math.sqrt(2.5)


def played(games, seed=0, num_envs=8, opponents=6, **env_kwargs):
    """Observations after random games, with who was played and who won."""
    env = MatchmakingVectorEnv(num_envs, num_opponents=opponents, belief="full", **env_kwargs)
    first, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    observation, history = first, []
    for _ in range(games):
        actions = rng.integers(0, opponents, num_envs)
        observation, _, _, _, info = env.step(actions)
        history.append((actions, np.where(info["won"], 1, -1)))
    return first, observation, history


def dense_belief(mu, sigma, games):
    """Mean and covariance by a rank-one update along s_0 - s_j after each game."""
    mean, cov = mu.astype(float).copy(), np.diag(sigma.astype(float) ** 2)
    for opponent, won in games:
        a = np.zeros(mu.size)
        a[0], a[opponent + 1] = 1.0, -1.0
        gain = cov @ a
        c = math.sqrt(a @ gain + 2 * BETA**2)
        t = won * (a @ mean) / c
        v = norm.pdf(t) / norm.cdf(t)
        mean = mean + won * gain * v / c
        cov = cov - np.outer(gain, gain) * v * (v + t) / c**2
    return mean, cov


def test_gaps_variances_and_ties_are_those_of_the_dense_covariance():
    first, last, history = played(60)
    read = state_of_observations(last)
    players = 7
    for row in range(8):
        games = [(actions[row], won[row]) for actions, won in history]
        mean, cov = dense_belief(first[row, :players], first[row, players : 2 * players], games)
        difference = cov[0, 0] - 2 * cov[0, 1:] + np.diag(cov)[1:]
        np.testing.assert_allclose(read.opponents[row, GAP], mean[0] - mean[1:], atol=2e-5)
        np.testing.assert_allclose(read.opponents[row, VARIANCE], difference, rtol=1e-4)
        np.testing.assert_allclose(
            read.opponents[row, COUPLING], cov[0, 1:] / cov[0, 0], rtol=1e-3, atol=1e-4
        )
        np.testing.assert_allclose(read.state[row, OWN_VARIANCE], cov[0, 0], rtol=1e-5)


@pytest.mark.parametrize("horizon", [50, 200, 500])
def test_games_left_are_told_without_the_horizon(horizon):
    env = MatchmakingVectorEnv(64, horizon=horizon, rank="middle", belief="full")
    observation, _ = env.reset(seed=0)
    policy = DrawChance(belief="full")
    for played_games in range(1, horizon // 2 + 1):
        observation, *_ = env.step(policy.predict(observation)[0])
        if played_games in (horizon // 5, horizon // 2):
            read = state_of_observations(observation)
            np.testing.assert_allclose(
                read.state[:, SHARE_LEFT], 1 - played_games / horizon, rtol=1e-6
            )
            # Even games tell about equally much; few of these are far from even.
            error = read.state[:, GAMES_LEFT] / (horizon - played_games) - 1.0
            assert abs(np.median(error)) < 0.15
            assert (np.abs(error) < 0.35).mean() > 0.9


def test_before_the_first_game_the_horizon_of_the_paper_is_assumed():
    first, _, _ = played(0)
    np.testing.assert_array_equal(state_of_observations(first).state[:, GAMES_LEFT], 500.0)


def test_an_equal_prior_shows_as_missing_variance():
    first, last, _ = played(30, opponents=49, prior="equal")
    variances = first[:, 51:100].astype(float) ** 2
    at_first = state_of_observations(first).state[:, MISSING_VARIANCE]
    np.testing.assert_allclose(at_first, 6.5 - variances.mean(axis=1), rtol=1e-4)
    later = state_of_observations(last).state[:, MISSING_VARIANCE]
    np.testing.assert_allclose(later, at_first, atol=0.2)


def test_an_informative_prior_misses_nothing():
    for observation in played(30, opponents=49, num_envs=64)[:2]:
        np.testing.assert_array_equal(state_of_observations(observation).state[:, 1], 0.0)


def test_a_prior_that_knows_its_doubt_misses_nothing():
    first, _, _ = played(0, opponents=49, prior="equal", equal_variance="matching")
    assert (state_of_observations(first).state[:, MISSING_VARIANCE] < 0.3).all()


def test_only_differences_count():
    _, last, _ = played(40)
    moved = last.astype(np.float64)
    moved[:, :7] += 3.0
    for ours, theirs in zip(
        (state_of_observations(last).opponents, state_of_observations(last).state),
        (state_of_observations(moved).opponents, state_of_observations(moved).state),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_skills_are_measured_in_units_of_beta():
    _, last, _ = played(40)
    doubled = last.astype(np.float64)
    doubled[:, :-1] *= 2.0
    here = state_of_observations(last)
    there = state_of_observations(doubled, 2.0 * BETA)
    np.testing.assert_allclose(there.opponents, here.opponents, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(there.state, here.state, rtol=1e-5, atol=1e-6)


def test_the_quick_check_takes_what_a_knowledge_state_takes():
    _, last, _ = played(40)
    assert are_of_belief(last)
    rng = np.random.default_rng(0)
    refused = 0
    for value in (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-30, 0.3, 5.0, 1e30):
        for column in rng.permutation(last.shape[1])[:15]:
            damaged = last.copy()
            damaged[rng.integers(8), column] = value
            try:
                KnowledgeState.from_observation(damaged, "full")
                taken = True
            except ValueError:
                taken = False
            # The share of games left is no part of a knowledge state, but must be a number.
            if column == last.shape[1] - 1:
                taken = bool(np.isfinite(value))
            assert are_of_belief(damaged) == taken, (value, column)
            refused += not taken
    assert 30 < refused < 130


@pytest.mark.parametrize("shape", [(6,), (2, 7), (2, 3), (2, 2, 6)])
def test_shapes_that_no_environment_gives(shape):
    with pytest.raises(ValueError, match="observations must have shape"):
        state_of_observations(np.ones(shape, np.float32))
