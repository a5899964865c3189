"""Custom priors and rewards, and the text forms of settings."""

import json
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


def test_scalar_and_vector_environments_use_a_custom_reward() -> None:
    options: Any = {"num_opponents": 4, "prior": TwoLeagues(3.0), "reward": EvenWins()}
    vector, scalar = MatchmakingVectorEnv(2, **options), MatchmakingEnv(**options)
    np.testing.assert_array_equal(vector.reset(seed=3)[0][0], scalar.reset(seed=3)[0])
    for n in range(12):
        actions = np.array([n % 4, 1])
        _, rewards, _, _, info = vector.step(actions)
        expected = 2.0 * info["match_quality"] * info["won"] - 0.01 * actions
        np.testing.assert_allclose(rewards, expected, rtol=1e-12)
        assert scalar.step(n % 4)[1] == rewards[0]


def test_a_custom_prior_draws_the_players() -> None:
    env = MatchmakingVectorEnv(400, num_opponents=9, horizon=1, prior=TwoLeagues(20.0))
    env.reset(seed=1)
    skills, state = env.true_skill.ravel(), env.knowledge_state
    high = skills > 10.0
    assert 0.45 < high.mean() < 0.55
    assert stats.kstest(skills[high] - 20.0, "norm").pvalue > 1e-3
    assert (state.mu == 0.0).all()
    np.testing.assert_allclose(state.sigma, np.sqrt(101.0))


def test_a_normal_prior_is_the_initial_belief() -> None:
    env = gym.make_vec(
        "Matchmaking-v0", num_envs=300, num_opponents=9, prior=NormalPrior(mean=25, deviation=8.3)
    ).unwrapped
    env.reset(seed=5)
    assert (env.knowledge_state.mu == 25.0).all()
    assert (env.knowledge_state.sigma == 8.3).all()
    assert stats.kstest(env.true_skill.ravel(), "norm", args=(25.0, 8.3)).pvalue > 1e-3


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
)
