"""The scalar environment: its contract, its instances and its games."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

import matchenv
from matchenv import KnowledgeState, MatchmakingEnv
from matchenv.trueskill import (
    draw_density,
    draw_margin_from_probability,
    match_quality,
    true_draw_density,
    update,
)

BETA = math.sqrt(2.5)


def small(**arguments: object) -> MatchmakingEnv:
    return MatchmakingEnv(**({"num_opponents": 4, "horizon": 6} | arguments))


def test_registered_names_make_it() -> None:
    for name in ("Matchmaking-v0", "matchenv:Matchmaking-v0"):
        env = gym.make(name)
        assert isinstance(env.unwrapped, MatchmakingEnv)
        assert env.observation_space.shape == (101,)
        assert env.action_space.n == 49
        assert env.spec.max_episode_steps is None


def test_a_game_follows_the_formulas() -> None:
    """Observation, reward and information of each game, recomputed from the public functions."""
    env = small(horizon=5)
    observation, _ = env.reset(seed=3)
    skill = env.true_skill
    rng = np.random.default_rng(0)
    for n in range(5):
        state = env.knowledge_state
        np.testing.assert_array_equal(observation, state.to_observation((5 - n) / 5))
        action = int(rng.integers(4))
        j = action + 1
        pair = (state.mu[0], state.sigma[0], state.mu[j], state.sigma[j])
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == info["draw_density"] == draw_density(*pair, BETA)
        assert info["match_quality"] == pytest.approx(match_quality(*pair, BETA), rel=1e-15)
        assert info["true_draw_density"] == true_draw_density(skill[0], skill[j], BETA)
        assert info["squared_error"] == (state.mu[0] - skill[0]) ** 2
        assert info["skill_difference"] == skill[0] - skill[j]
        assert info["won"] == (info["outcome"] == 1)
        assert (terminated, truncated) == (n == 4, False)
        expected = update(*pair, info["outcome"], BETA)
        after = env.knowledge_state
        assert (after.mu[0], after.sigma[0], after.mu[j], after.sigma[j]) == expected
        others = [k for k in range(1, 5) if k != j]
        np.testing.assert_array_equal(after.mu[others], state.mu[others])
        np.testing.assert_array_equal(after.sigma[others], state.sigma[others])


@pytest.mark.parametrize("reward", ["draw_density", "match_quality", "true_draw_density"])
def test_the_reward_is_the_one_asked_for(reward: str) -> None:
    env = small(reward=reward)
    env.reset(seed=0)
    _, value, _, _, info = env.step(1)
    assert value == info[reward]


def test_true_skills_are_in_no_observation() -> None:
    """The observation is a function of the belief alone."""
    env = small()
    given = {"mu": np.zeros(5), "sigma": np.ones(5)}
    one, _ = env.reset(seed=1, options=given | {"true_skill": np.arange(5.0)})
    other, _ = env.reset(seed=2, options=given | {"true_skill": -np.arange(5.0)})
    np.testing.assert_array_equal(one, other)


def test_noise_does_not_depend_on_the_choices() -> None:
    """Policies are compared on the same noise: equal skills win the same games everywhere."""
    env = small(horizon=200)
    given = {"mu": np.zeros(5), "sigma": np.ones(5), "true_skill": np.zeros(5)}

    def outcomes(action: int) -> list[int]:
        env.reset(seed=4, options=given)
        return [env.step(action)[4]["outcome"] for _ in range(200)]

    assert outcomes(0) == outcomes(3)


def test_long_horizons_have_noise_of_their_own_throughout() -> None:
    """Outcomes of an even game are fair and do not repeat after any block of noise."""
    env = small(horizon=5000)
    env.reset(seed=8, options={"mu": np.zeros(5), "sigma": np.ones(5), "true_skill": np.zeros(5)})
    outcomes = np.array([env.step(0)[4]["outcome"] for _ in range(5000)])
    assert abs(outcomes.mean()) < 4 / math.sqrt(5000)
    for lag in (500, 1000, 1024, 2048):
        correlation = (outcomes[lag:] * outcomes[:-lag]).mean()
        assert abs(correlation) < 4 / math.sqrt(5000 - lag), lag


@pytest.mark.parametrize("prior", ["informative", "equal"])
def test_instances_follow_the_study(prior: str) -> None:
    env = MatchmakingEnv(num_opponents=999, prior=prior)
    mu, variance, standardised = [], [], []
    for seed in range(20):
        env.reset(seed=seed)
        state = env.knowledge_state
        mu.append(state.mu)
        variance.append(state.sigma**2)
        standardised.append((env.true_skill - state.mu) / state.sigma)
    means, variances = np.concatenate(mu), np.concatenate(variance)
    assert stats.kstest(variances - 2, "uniform").pvalue > 1e-3
    if prior == "informative":
        assert stats.kstest(means / 2, "norm").pvalue > 1e-3
        assert stats.kstest(np.concatenate(standardised), "norm").pvalue > 1e-3
    else:
        assert not means.any()
        truths = np.concatenate(standardised) * np.sqrt(variances)
        assert truths.var() == pytest.approx(6.5, abs=5 * 6.5 * math.sqrt(2 / truths.size))


def test_matching_variance_makes_the_equal_prior_true() -> None:
    env = MatchmakingEnv(num_opponents=999, prior="equal", equal_variance="matching")
    standardised = []
    for seed in range(20):
        env.reset(seed=seed)
        standardised.append(env.true_skill / env.knowledge_state.sigma)
    assert stats.kstest(np.concatenate(standardised), "norm").pvalue > 1e-3


@pytest.mark.parametrize(("rank", "place"), [("top", 0), (12, 12), ("middle", 24), ("bottom", 49)])
def test_player_0_stands_at_the_rank(rank: int | str, place: int) -> None:
    env = MatchmakingEnv(rank=rank)
    by_skill = MatchmakingEnv(rank=rank, rank_by="true_skill", prior="equal")
    for seed in range(5):
        env.reset(seed=seed)
        mu = env.knowledge_state.mu
        assert (mu > mu[0]).sum() == place
        by_skill.reset(seed=seed)
        skill = by_skill.true_skill
        assert (skill > skill[0]).sum() == place


def test_random_rank_takes_every_place() -> None:
    env = MatchmakingEnv(num_opponents=4)
    places = np.zeros(5)
    for seed in range(1000):
        env.reset(seed=seed)
        mu = env.knowledge_state.mu
        places[(mu > mu[0]).sum()] += 1
    assert stats.chisquare(places).pvalue > 1e-3


def test_options_fix_the_instance() -> None:
    env = small()
    mu, sigma, skill = np.arange(5.0), np.linspace(1, 2, 5), np.array([0.0, 1, -1, 2, 5])
    env.reset(seed=1, options={"mu": mu, "sigma": sigma, "true_skill": skill})
    np.testing.assert_array_equal(env.knowledge_state.mu, mu)
    np.testing.assert_array_equal(env.knowledge_state.sigma, sigma)
    np.testing.assert_array_equal(env.true_skill, skill)
    env.reset()
    assert not np.array_equal(env.knowledge_state.mu, mu)


def test_skills_not_given_are_drawn_from_the_given_belief() -> None:
    env = MatchmakingEnv(num_opponents=999)
    mu, sigma = np.full(1000, 30.0), np.full(1000, 0.1)
    env.reset(seed=1, options={"mu": mu, "sigma": sigma})
    assert stats.kstest((env.true_skill - 30) / 0.1, "norm").pvalue > 1e-3


def test_win_ratio_follows_the_true_skills() -> None:
    """Known skills: wins against an opponent weaker by d follow Phi(d / (sqrt 2 beta))."""
    env = small(horizon=20_000)
    skill = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    env.reset(seed=3, options={"mu": skill, "sigma": np.full(5, 1e-3), "true_skill": skill})
    wins = np.mean([env.step(0)[4]["won"] for _ in range(20_000)])
    expected = stats.norm.cdf(1 / (math.sqrt(2) * BETA))
    assert abs(wins - expected) < 4 * math.sqrt(expected * (1 - expected) / 20_000)


def test_draws_come_at_their_probability_and_update_the_belief() -> None:
    margin = draw_margin_from_probability(0.3, BETA)
    env = small(horizon=20_000, draw_margin=margin)
    zeros = np.zeros(5)
    env.reset(seed=3, options={"mu": zeros, "sigma": np.full(5, 0.5), "true_skill": zeros})
    drawn = 0
    for _ in range(20_000):
        state = env.knowledge_state
        _, _, _, _, info = env.step(2)
        drawn += info["outcome"] == 0
        assert info["won"] == (info["outcome"] == 1)
        pair = (state.mu[0], state.sigma[0], state.mu[3], state.sigma[3])
        after = env.knowledge_state
        expected = update(*pair, info["outcome"], BETA, margin)
        assert (after.mu[0], after.sigma[0], after.mu[3], after.sigma[3]) == expected
    assert abs(drawn / 20_000 - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 20_000)


def test_drift_moves_the_two_who_play_and_widens_their_beliefs() -> None:
    tau = 0.4
    env = small(horizon=4000, tau=tau)
    env.reset(seed=3)
    moves = []
    for n in range(4000):
        before, state = env.true_skill, env.knowledge_state
        j = n % 4 + 1
        _, reward, _, _, info = env.step(j - 1)
        moved = env.true_skill - before
        moves.append(moved[[0, j]])
        assert np.count_nonzero(moved) == 2
        wide = np.hypot(state.sigma, tau)
        expected = update(state.mu[0], wide[0], state.mu[j], wide[j], info["outcome"], BETA)
        after = env.knowledge_state
        got = (after.mu[0], after.sigma[0], after.mu[j], after.sigma[j])
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        assert reward == draw_density(
            state.mu[0], state.sigma[0], state.mu[j], state.sigma[j], BETA
        )
        assert info["skill_difference"] == env.true_skill[0] - env.true_skill[j]
    assert stats.kstest(np.concatenate(moves) / tau, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(np.array(moves).T)[0, 1]) < 4 / math.sqrt(4000)


@pytest.mark.parametrize("opponents", [1, 2, 1_000_000])
@pytest.mark.parametrize("rank", [None, "middle"])
def test_sizes_from_one_to_a_million(opponents: int, rank: str | None) -> None:
    env = MatchmakingEnv(num_opponents=opponents, horizon=2, rank=rank)
    observation, _ = env.reset(seed=0)
    assert observation.shape == (2 * opponents + 3,)
    observation, _, terminated, _, _ = env.step(opponents - 1)
    assert np.isfinite(observation).all()
    assert not terminated
    assert env.step(0)[2]


def test_knowledge_state_and_observation_are_inverse() -> None:
    rng = np.random.default_rng(0)
    mu = rng.normal(size=(3, 6)).astype(np.float32)
    sigma = rng.uniform(1, 2, size=(3, 6)).astype(np.float32)
    state = KnowledgeState(mu, sigma)
    observation = state.to_observation([1.0, 0.5, 0.0])
    assert observation.dtype == np.float32
    again = KnowledgeState.from_observation(observation)
    np.testing.assert_array_equal(again.mu, mu)
    np.testing.assert_array_equal(again.sigma, sigma)
    np.testing.assert_array_equal(matchenv.share_of_games_left(observation), [1.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_opponents": 0}, r"num_opponents must be an integer in \[1, 1000000\], got 0"),
        ({"num_opponents": 4.0}, "num_opponents must be an integer"),
        ({"horizon": 0}, r"horizon must be an integer in \[1, 1000000000\], got 0"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"beta": math.nan}, "beta must be finite"),
        (
            {"prior": "flat"},
            "prior must be one of 'informative', 'equal' or a matchenv.Prior, .*got 'flat'",
        ),
        ({"reward": "fun"}, "reward must be one of 'draw_density'.*got 'fun'"),
        ({"rank": "best"}, "rank must be None, 'top', 'middle', 'bottom' or an integer in"),
        ({"rank": 50}, r"rank must be .* \[0, 49\], got 50"),
        ({"rank": -1}, r"rank must be .* \[0, 49\], got -1"),
        ({"rank": 1.5}, "rank must be"),
        ({"rank_by": "fame"}, "rank_by must be one of"),
        ({"equal_variance": "none"}, "equal_variance must be one of"),
        ({"draw_margin": -1.0}, "draw_margin must not be negative"),
        ({"tau": math.inf}, "tau must be finite"),
        ({"render_mode": "video"}, "render_mode must be None or 'human', 'rgb_array', 'ansi', got"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make("Matchmaking-v0", **arguments)


@pytest.mark.parametrize("action", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_every_kind_of_integer_is_an_action(action: object) -> None:
    env, twin = small(), small()
    env.reset(seed=0)
    twin.reset(seed=0)
    assert env.step(action)[1] == twin.step(2)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": np.zeros(4)}, r"options\['mu'\] must have shape \(5,\), got \(4,\)"),
        ({"sigma": np.zeros(5)}, r"options\['sigma'\] must be positive"),
        ({"true_skill": [0, 0, np.nan, 0, 0]}, r"options\['true_skill'\] must be finite.*index 2"),
        ({"mu": np.full(5, 1e31)}, r"options\['mu'\] must be at most"),
        ({"skill": np.zeros(5)}, "options may hold 'mu', 'sigma', 'true_skill', got 'skill'"),
        ("mu", "options must be a dict"),
    ],
)
def test_bad_options_change_nothing(options: object, message: str) -> None:
    env = small()
    env.reset(seed=0)
    before = env.knowledge_state
    with pytest.raises(ValueError, match=message):
        env.reset(seed=9, options=options)
    np.testing.assert_array_equal(env.knowledge_state.mu, before.mu)
    env.step(0)
