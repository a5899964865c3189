"""The full belief against dense covariances, and a custom belief in environment and policies."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from dense_belief import DenseBelief, covariance_of, states_after_games
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from refusals import refusals

import matchenv
from matchenv import (
    KnowledgeState,
    MatchmakingEnv,
    MatchmakingVectorEnv,
    trueskill,
)
from matchenv.baselines import (
    DrawChance,
    KnowledgeGradient,
    OptimisticDrawChance,
    PointEstimate,
    ThompsonSampling,
)
from matchenv.belief import BELIEFS, FactorisedBelief, GameConstants, IndependentBelief, register
from matchenv.belief.knowledge import split_mask

BETA = 1.3


@pytest.mark.parametrize(
    ("others", "games", "margin"), [(1, 200, 0.0), (7, 400, 0.6), (49, 300, 0.0), (2, 10_000, 0.0)]
)
def test_equals_the_dense_covariance(others: int, games: int, margin: float) -> None:
    env = MatchmakingEnv(
        num_opponents=others, horizon=games, beta=BETA, draw_margin=margin, belief="full"
    )
    env.reset(seed=5)
    state = env.knowledge_state
    covariance = np.diag(state.sigma.astype(np.longdouble) ** 2)
    dense = DenseBelief(state.mu.astype(np.longdouble), covariance, BETA, margin)
    rng = np.random.default_rng(6)
    for _ in range(games):
        # Few opponents often, others rarely or never.
        j = 1 + min(int(rng.geometric(0.3)) - 1, others - 1)
        _, reward, _, _, info = env.step(j - 1)
        assert reward == pytest.approx(dense.density(j), rel=1e-9)
        quality = dense.density(j) * 2.0 * BETA * math.sqrt(math.pi)
        assert info["match_quality"] == pytest.approx(quality, rel=1e-9)
        _, dense = dense.after(j)[info["outcome"]]
    state = env.knowledge_state
    np.testing.assert_allclose(state.mu, dense.mu.astype(float), rtol=1e-10, atol=1e-10)
    variances = np.diag(dense.covariance).astype(float)
    np.testing.assert_allclose(state.sigma, np.sqrt(variances), rtol=1e-10)
    between = [dense.difference(j)[1] for j in range(1, others + 1)]
    np.testing.assert_allclose(state.difference_sigma, np.sqrt(between), rtol=1e-10)


@given(
    mu=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    sigma=st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3),
    beta=st.floats(1e-3, 1e3),
    actions=st.lists(st.integers(0, 1), min_size=1, max_size=30),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_full_beliefs_stay_finite_and_never_widen(
    mu: list[float], sigma: list[float], beta: float, actions: list[int], seed: int
) -> None:
    env = MatchmakingEnv(num_opponents=2, horizon=len(actions), beta=beta, belief="full")
    env.reset(seed=seed, options={"mu": mu, "sigma": sigma})
    before = env.knowledge_state
    for action in actions:
        observation, reward, *_ = env.step(action)
        after = env.knowledge_state
        assert np.isfinite(observation).all()
        assert np.isfinite(reward)
        assert (after.sigma <= before.sigma * (1 + 1e-12)).all()
        assert (after.difference_sigma <= before.difference_sigma * (1 + 1e-12)).all()
        before = after


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_observations_and_knowledge_states_convert(belief: str) -> None:
    env = MatchmakingVectorEnv(2, num_opponents=3, horizon=5, belief=belief)
    env.reset(seed=1)
    observation = env.step(np.array([0, 2]))[0]
    state = env.knowledge_state
    np.testing.assert_array_equal(state.to_observation(np.full(2, 0.8)), observation)
    read = KnowledgeState.from_observation(observation, belief=belief)
    assert (read.belief, read.num_opponents) == (belief, 3)
    for found, expected in ((read.mu, state.mu), (read.sigma, state.sigma),
                            (read.difference_sigma, state.difference_sigma)):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(state[1].difference_sigma, state.difference_sigma[1])
    np.testing.assert_array_equal(matchenv.share_of_games_left(observation), np.float32(0.8))
    nine = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.2, 1.2, 1.0]  # the shape of both beliefs
    others = {"factorised": 3, "full": 2}[belief]
    assert KnowledgeState.from_observation(nine, belief).num_opponents == others


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_parts_draws_and_masks_of_states(belief: str) -> None:
    state = states_after_games(belief, 5, 3, 6)
    part = state.among(np.array([4, 0]), np.array([[2, 0], [1, 2]]))
    for found, whole in ((part.mu, state.mu), (part.sigma, state.sigma)):
        np.testing.assert_array_equal(found, [whole[4, [0, 3, 1]], whole[0, [0, 2, 3]]])
    expected = state.difference_sigma
    np.testing.assert_array_equal(part.difference_sigma, [expected[4, [2, 0]], expected[0, [1, 2]]])
    # Skills are an affine function of the normals, whose matrix is a root of the covariance.
    one = state[1]
    root = (one.drawn_skills(np.eye(4), spread=0.5) - one.mu) / 0.5
    np.testing.assert_allclose(root.T @ root, covariance_of(one), rtol=1e-12, atol=1e-12)
    observation, mask = state.to_observation(0.5), np.eye(5, 3)
    masked = np.concatenate((observation, mask), axis=1)
    for known in (None, 3):
        numbers, masks = split_mask(masked, belief, known)
        np.testing.assert_array_equal(numbers, observation)
        np.testing.assert_array_equal(masks, mask == 1.0)
        assert split_mask(observation, belief, known)[1] is None


def test_rounded_deviations_are_accepted() -> None:
    assert full_state([1, 3], [2.0 * (1 - 1e-6)]).num_opponents == 1
    assert full_state([1, 3], [4.0 * (1 + 1e-6)]).num_opponents == 1


def full_state(sigma: Any, difference_sigma: Any) -> KnowledgeState:
    return KnowledgeState([0, 0], sigma, difference_sigma, "full")  # type: ignore[arg-type]


test_bad_states_raise = refusals(
    (lambda: KnowledgeState.from_observation(np.ones(10), "full"), r"3 \* num_opponents \+ 3"),
    (lambda: KnowledgeState.from_observation(np.ones(9), "both"), "belief must be .*module:Class"),
    (lambda: MatchmakingEnv(belief="json:JSONDecoder"), "must name a subclass of Belief"),
    (lambda: KnowledgeState([0, 0], [1, 1]).to_observation(1.1), r"in \[0, 1\], got 1.1"),
    (lambda: full_state([1, 1], [2.1]), "extra, the deviation of s_0 - s_k, must lie"),
    (lambda: full_state([1, 3], [1.5]), "extra, the deviation of s_0 - s_k, must lie"),
    (lambda: full_state([1, 1], [1.0, 1.0]), "extra must have shape"),
    (lambda: full_state([1, 1], [0.0]), "extra must be positive"),
    (lambda: full_state([1, 1], [np.nan]), "extra must be finite"),
    (lambda: KnowledgeState([0, 0], [1, 1], [1.0]), "extra must have shape"),
)

BATCH = KnowledgeState(np.zeros((3, 4)), np.ones((3, 4)))
UNCHANGED: dict[str, Any] = {"state": BATCH, "opponents": [0, 1, 2], "outcomes": [1, -1, 1],
                             "constants": GameConstants(BETA)}  # fmt: skip
test_bad_games_raise = refusals(
    ({"opponents": [1, 1, 10**7]}, r"opponents must be in \[0, 2\], got 10000000 at index 2"),
    ({"opponents": [1, -1, 1]}, r"opponents must be in \[0, 2\], got -1 at index 1"),
    ({"opponents": [0.5, 1.0, 1.0]}, r"opponents must be integers of shape \(3,\)"),
    ({"opponents": 1}, r"opponents must be integers of shape \(3,\)"),
    ({"outcomes": [1, 0.9, 1]}, r"outcomes must be \+1, 0 or -1, got 0.9"),
    ({"outcomes": 300}, r"outcomes must be \+1, 0 or -1, got 300"),
    ({"outcomes": [1, -1]}, r"outcomes must have shape \(\) or \(3,\), got \(2,\)"),
    ({"outcomes": [1, 0, 1]}, "outcomes must be .* with draw_margin=0, got 0"),
    *(({"constants": GameConstants(beta)}, "beta must") for beta in (0.0, -1.0, np.nan, "1")),
    ({"constants": GameConstants(BETA, -1.0)}, "draw_margin must not be negative"),
    ({"constants": GameConstants(BETA, 0.0, np.nan)}, "tau must be finite"),
    ({"state": BATCH[0]}, r"states must have shape \(B, M \+ 1\), got \(4,\)"),
    (
        {
            "state": KnowledgeState.of_prior(BATCH.mu, BATCH.sigma, "full"),
            "constants": GameConstants(BETA, tau=0.1),
        },
        "tau must be 0 with belief='full'",
    ),
    call=lambda change: KnowledgeState.after_games(*{**UNCHANGED, **change}.values()),
)
test_bad_arguments_of_measures_raise = refusals(
    *((lambda beta=beta: BATCH.draw_density(beta), "beta must") for beta in (0, -1.0, "1")),
    (lambda: BATCH.outcome_probability(7, GameConstants(BETA)), r"outcome must .*\[-1, 1\], got 7"),
    (lambda: BATCH.outcome_probability(1, GameConstants(-1.0)), "beta must be positive"),
)


Floats = NDArray[np.float64]

INFLATION = 1.05


class DiscountedBelief(IndependentBelief):
    """Old games count less, since deviations grow by a factor before each game."""

    name = "discounted"

    def widened(self, sigma: Floats, constants: GameConstants) -> Floats:
        return INFLATION * sigma


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(DiscountedBelief())
    yield
    del BELIEFS["discounted"]


def test_the_environment_uses_a_custom_update() -> None:
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
def test_baselines_play_on_a_custom_belief(make: type) -> None:
    env = MatchmakingVectorEnv(5, num_opponents=4, horizon=20, belief="discounted")
    policy = make(belief="discounted")
    observation, _ = env.reset(seed=1)
    for _ in range(20):
        actions, _ = policy.predict(observation)
        observation, *_ = env.step(actions)
    assert (env.knowledge_state.kind.name, policy.belief) == ("discounted", "discounted")


def test_kg_looks_ahead_with_a_custom_update() -> None:
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


def test_bad_registrations_raise() -> None:
    class Other(FactorisedBelief):
        name = "full"

    with pytest.raises(ValueError, match=r"belief\.name must be new, got 'full'"):
        register(Other())
    for name in (None, 5, ""):
        Other.name = name  # type: ignore[assignment]
        with pytest.raises(ValueError, match=rf"belief\.name must be a string .* got {name!r}"):
            register(Other())
    again = type("DiscountedBelief", (DiscountedBelief,), {"__module__": __name__})
    register(again())  # a notebook's cell that runs twice makes a new class
    assert type(BELIEFS["discounted"]) is again
    with pytest.raises(ValueError, match="belief must be a Belief"):
        register("discounted")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"belief must be one of .*'discounted'"):
        MatchmakingEnv(belief="other")


@pytest.mark.parametrize("deviation", [np.nan, -1.0, 0.0])
def test_an_update_without_a_belief_is_refused(deviation: float, monkeypatch: Any) -> None:
    def updated(self: Any, *given: Any) -> Any:
        return (*given[:3], deviation * given[3])

    monkeypatch.setattr(DiscountedBelief, "updated", updated, raising=False)
    env = MatchmakingEnv(num_opponents=4, belief="discounted")
    env.reset(seed=4)
    with pytest.raises(ValueError, match="updated of belief 'discounted' must return finite"):
        env.step(0)
