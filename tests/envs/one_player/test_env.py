"""Games, instances, reset options, priors and rewards of ``Matchmaking-v0``."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refusals
from scipy import stats

import matchenv
from matchenv import (
    EqualPrior,
    MatchmakingEnv,
    MatchmakingVectorEnv,
    NormalPrior,
    Prior,
    Reward,
    Settings,
)
from matchenv.belief import GamesPlayed
from matchenv.envs.one_player.simulator import (
    OUTCOME,
    SKILL_GAP,
    WIN,
    OnePlayer,
    decide_games,
)
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


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TwoLeagues(Prior):
    """Half the players are better by a gap, which the belief does not know."""

    gap: float = 4.0

    def draw(self, normals: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        return self.gap * (uniforms > 0.5), np.ones_like(normals)

    def believed(self, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
        return np.zeros_like(mu), np.sqrt(sigma**2 + self.gap**2 / 4.0)


@dataclass(frozen=True)
class EvenWins(Reward):
    """A win counts as much as the game was even."""

    scale: float = 2.0

    def of(self, games: GamesPlayed) -> Floats:
        return self.scale * games.match_quality * (games.outcomes > 0) - 0.01 * games.opponents


def test_a_custom_prior_draws_the_players_and_a_custom_reward_pays() -> None:
    options: Any = {"num_opponents": 9, "prior": TwoLeagues(20.0), "reward": EvenWins()}
    env, scalar = MatchmakingVectorEnv(400, **options), MatchmakingEnv(**options)
    np.testing.assert_array_equal(env.reset(seed=1)[0][0], scalar.reset(seed=1)[0])
    skills, state = env.true_skill.ravel(), env.knowledge_state
    high = skills > 10.0
    assert 0.45 < high.mean() < 0.55
    assert stats.kstest(skills[high] - 20.0, "norm").pvalue > 1e-3
    assert (state.mu == 0.0).all()
    np.testing.assert_allclose(state.sigma, np.sqrt(101.0))
    for n in range(12):
        actions = (np.arange(400) + n) % 9
        _, rewards, _, _, info = env.step(actions)
        expected = 2.0 * info["match_quality"] * info["won"] - 0.01 * actions
        np.testing.assert_allclose(rewards, expected, rtol=1e-12)
        assert scalar.step(n % 9)[1] == rewards[0]


def test_a_normal_prior_is_the_initial_belief() -> None:
    env = gym.make_vec(
        "Matchmaking-v0", num_envs=300, num_opponents=9, prior=NormalPrior(mean=25, deviation=8.3)
    ).unwrapped
    env.reset(seed=5)
    assert (env.knowledge_state.mu == 25.0).all()
    assert (env.knowledge_state.sigma == 8.3).all()
    assert stats.kstest((env.true_skill.ravel() - 25.0) / 8.3, "norm").pvalue > 1e-3


def test_settings_have_a_plain_description_and_are_checked_when_replaced() -> None:
    settings = Settings(prior=NormalPrior(25.0, 8.3), rank="top", rank_by="true_skill")
    plain = json.loads(json.dumps(settings.description()))
    assert plain["prior"] == "NormalPrior(mean=25.0, deviation=8.3)"
    assert (plain["num_opponents"], plain["rank"], plain["belief"]) == (49, "top", "factorised")
    assert Settings(**Settings(beta=2.0).description()) == Settings(beta=2.0)
    with pytest.raises(ValueError, match="rank must be None"):
        replace(Settings(rank=40), num_opponents=5)
    assert replace(Settings(rank="bottom"), num_opponents=5).place == 5


@pytest.mark.parametrize(
    "text",
    [
        "MatchmakingEnv(num_opponents=49, horizon=500, prior='equal', tau=0.1)",
        "MatchmakingVectorEnv(num_envs=8, num_opponents=49, horizon=20, "
        "prior=NormalPrior(mean=25.0, deviation=8.0))",
        "EqualPrior(variance='matching')",
    ],
)
def test_reprs_are_constructor_calls(text: str) -> None:
    assert repr(eval(text)) == text


def test_dir_lists_public_names() -> None:
    assert matchenv.ratings.elo.__name__ == "matchenv.ratings.elo"
    names = set(dir(matchenv))
    assert {"MatchmakingEnv", "Prior", "Reward", "belief", "ratings", "baselines"} <= names
    assert not {"gymnasium", "import_module", "annotations"} & names


def own(base: type, method: str, result: Any) -> Any:
    """Return a prior or a reward whose method returns a function of its first argument."""
    return type("Own", (base,), {method: lambda self, first, *_: result(first)})()


def played(**options: Any) -> None:
    """Play one game."""
    env = MatchmakingEnv(**options)
    env.reset(seed=1)
    env.step(0)


test_bad_priors_and_rewards_raise = refusals(
    (lambda: MatchmakingEnv(prior=NormalPrior), "prior must be one of"),
    (lambda: NormalPrior(deviation=0.0), "deviation must be positive"),
    (lambda: NormalPrior(mean=np.nan), "mean must be finite"),
    (lambda: EqualPrior("same"), "equal_variance must be one of"),
    (lambda: MatchmakingEnv(prior=NormalPrior(), rank="top"), r"rank_by must be 'true_skill' with"),
    (lambda: played(prior=own(Prior, "draw", lambda x: (x, x + np.inf))), "means and skills of"),
    (lambda: played(prior=own(Prior, "draw", lambda x: (x[:, 1:],) * 2)), r"shape \(1, 50\)"),
    (lambda: played(reward=own(Reward, "of", lambda _: 1.0)), r"of must return shape \(1,\)"),
    (lambda: played(reward=own(Reward, "of", lambda x: x.outcomes * np.nan)), "return finite"),
    (lambda: played(reward=own(Reward, "of", lambda: 1.0)), "of: TypeError: .*1 was given"),
)


def test_win_probabilities_of_players_far_apart_keep_their_digits() -> None:
    gaps, table = np.linspace(-25.0, 25.0, 51), np.zeros(4096)
    table[SKILL_GAP : SKILL_GAP + 51] = gaps
    decide_games(table, 51, 0.8, 0.3)
    expected = stats.norm.cdf((gaps - 0.3) / (math.sqrt(2.0) * 0.8))
    np.testing.assert_allclose(table[WIN : WIN + 51], expected, rtol=1e-11)


def test_episodes_that_do_not_run_have_no_game() -> None:
    simulator, rows = OnePlayer(Settings(num_opponents=2, horizon=3)), np.arange(2)
    state = simulator.begin(simulator.new_state(2), rows, rows.astype(np.uint64))
    state = simulator.step(state, np.zeros(2, np.int64), np.array([True, False])).state
    infos = simulator.infos(state)
    assert infos["outcome"][0] != 0
    assert [infos[name][1] for name in ("outcome", "won", "draw_density")] == [0, False, 0.0]
