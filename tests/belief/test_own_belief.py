"""A belief of a user's own, defined here and nowhere else, goes through the whole house."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from dense_belief import DenseBelief
from numpy.typing import NDArray

from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv, trueskill
from matchenv.baselines import (
    DrawChance,
    KnowledgeGradient,
    OptimisticDrawChance,
    PointEstimate,
    ThompsonSampling,
)
from matchenv.belief import BELIEFS, FactorisedBelief, GameConstants, IndependentBelief, register

Floats = NDArray[np.float64]

INFLATION = 1.05
BETA = 1.3


class DiscountedBelief(IndependentBelief):
    """Old games count less: deviations grow by a factor before each game."""

    name = "discounted"

    def widened(self, sigma: Floats, constants: GameConstants) -> Floats:
        return INFLATION * sigma


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(DiscountedBelief())
    yield
    del BELIEFS["discounted"]


def test_the_environment_learns_by_it() -> None:
    env = MatchmakingEnv(
        num_opponents=4, horizon=12, beta=BETA, draw_margin=0.4, belief="discounted"
    )
    env.reset(seed=4)
    for n in range(12):
        before, j = env.knowledge_state, n % 4 + 1
        mu, sigma = before.mu, before.sigma
        _, reward, _, _, info = env.step(n % 4)
        density = trueskill.draw_density(mu[0], sigma[0], mu[j], sigma[j], BETA)
        assert reward == pytest.approx(density, rel=1e-12)
        wide = INFLATION * sigma
        expected = trueskill.update(mu[0], wide[0], mu[j], wide[j], int(info["outcome"]), BETA, 0.4)
        after = env.knowledge_state
        found = (after.mu[0], after.sigma[0], after.mu[j], after.sigma[j])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "make", [PointEstimate, DrawChance, KnowledgeGradient, OptimisticDrawChance, ThompsonSampling]
)
def test_every_baseline_plays_on_it(make: type) -> None:
    env = MatchmakingVectorEnv(5, num_opponents=4, horizon=20, belief="discounted")
    policy = make(belief="discounted")
    observation, _ = env.reset(seed=1)
    for _ in range(20):
        actions, _ = policy.predict(observation)
        observation, *_ = env.step(actions)
    assert (env.knowledge_state.kind.name, policy.belief) == ("discounted", "discounted")


def test_kg_looks_ahead_through_its_update() -> None:
    rng = np.random.default_rng(3)
    mu, sigma = rng.normal(size=(2, 6)), rng.uniform(0.4, 2.0, size=(2, 6))
    policy = KnowledgeGradient(multiplier=12.0, beta=BETA, draw_margin=0.3, belief="discounted")
    scores = policy.scores(KnowledgeState(mu, sigma, belief="discounted"), 9)
    for b in range(2):
        before = DenseBelief(mu[b], np.diag(sigma[b] ** 2), BETA)
        for j in range(1, 6):
            wide = sigma[b].copy()
            wide[[0, j]] *= INFLATION
            belief = DenseBelief(mu[b], np.diag(wide**2), BETA, 0.3, factorised=True)
            future = sum(chance * each.densities.max() for chance, each in belief.after(j).values())
            expected = before.density(j) + 12.0 * future
            assert scores[b, j - 1] == pytest.approx(expected, rel=1e-10)


def test_names_stay_with_their_beliefs() -> None:
    class Other(FactorisedBelief):
        name = "full"

    with pytest.raises(ValueError, match=r"belief\.name must be new, got 'full'"):
        register(Other())
    with pytest.raises(ValueError, match="belief must be a Belief"):
        register("discounted")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"belief must be one of .*'discounted'"):
        MatchmakingEnv(belief="other")
