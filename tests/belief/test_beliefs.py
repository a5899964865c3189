"""Beliefs against dense covariances, and their states."""

import math
from typing import Any

import numpy as np
import pytest
from dense_belief import DISCOUNTED, DenseBelief, covariance_of, states_after_games
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusals

import matchenv
from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv
from matchenv.belief import BELIEFS, FactorisedBelief, GameConstants, IndependentBelief, register
from matchenv.belief.knowledge import split_mask

BETA = 1.3


@pytest.mark.parametrize(
    ("others", "games", "margin", "belief"),
    [(1, 200, 0.0, "full"), (7, 400, 0.6, "full"), (49, 300, 0.0, "full"), (2, 10_000, 0.0, "full"),
     (4, 60, 0.4, DISCOUNTED), (4, 60, 0.0, "factorised")],
)  # fmt: skip
def test_equals_the_dense_covariance(others: int, games: int, margin: float, belief: str) -> None:
    env = MatchmakingEnv(
        num_opponents=others, horizon=games, beta=BETA, draw_margin=margin, belief=belief
    )
    env.reset(seed=5)
    state = env.knowledge_state
    covariance = np.diag(state.sigma.astype(np.longdouble) ** 2)
    dense = DenseBelief(state.mu.astype(np.longdouble), covariance, BETA, margin, belief)
    rng, close = np.random.default_rng(6), 1e-10 if belief == "full" else 1e-12
    for _ in range(games):
        # Few opponents often, others rarely or never.
        j = 1 + min(int(rng.geometric(0.3)) - 1, others - 1)
        _, reward, _, _, info = env.step(j - 1)
        assert reward == pytest.approx(dense.density(j), rel=10.0 * close)
        quality = dense.density(j) * 2.0 * BETA * math.sqrt(math.pi)
        assert info["match_quality"] == pytest.approx(quality, rel=10.0 * close)
        _, dense = dense.after(j)[info["outcome"]]
    state = env.knowledge_state
    np.testing.assert_allclose(state.mu, dense.mu.astype(float), rtol=close, atol=close)
    variances = np.diag(dense.covariance).astype(float)
    np.testing.assert_allclose(state.sigma, np.sqrt(variances), rtol=close)
    between = [dense.difference(j)[1] for j in range(1, others + 1)]
    np.testing.assert_allclose(state.difference_variance, between, rtol=2.0 * close)


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
        assert (after.difference_variance <= before.difference_variance * (1 + 1e-12)).all()
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
    expected = state.difference_variance
    np.testing.assert_array_equal(
        part.difference_variance, [expected[4, [2, 0]], expected[0, [1, 2]]]
    )
    # Skills are an affine function of the normals, whose matrix is a root of the covariance.
    one = state[1]
    root = (one.drawn_skills(np.eye(4), spread=0.5) - one.mu) / 0.5
    np.testing.assert_allclose(root.T @ root, covariance_of(one), rtol=1e-12, atol=1e-12)
    observation, mask = state.to_observation(0.5), np.eye(5, 3)
    masked = np.concatenate((observation, mask), axis=1)
    # With the full belief, the shape also fits four opponents without a mask.
    for told in (None, 3) if belief == "factorised" else (3,):
        numbers, masks = split_mask(masked, belief, told)
        np.testing.assert_array_equal(numbers, observation)
        np.testing.assert_array_equal(masks, mask == 1.0)
        assert split_mask(observation, belief, told)[1] is None


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
    (lambda: full_state([1, 1], [2.1]), "difference_sigma, the deviation of s_0 - s_k, must lie"),
    (lambda: full_state([1, 3], [1.5]), "difference_sigma, the deviation of s_0 - s_k, must lie"),
    (lambda: full_state([1, 1], [1.0, 1.0]), "difference_sigma must have shape"),
    (lambda: full_state([1, 1], [0.0]), "difference_sigma must be positive"),
    (lambda: full_state([1, 1], [np.nan]), "difference_sigma must be finite"),
    (lambda: KnowledgeState([0, 0], [1, 1], [1.0]), "difference_sigma must have shape"),
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


def test_bad_registrations_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(FactorisedBelief):
        name = "full"

    with pytest.raises(ValueError, match=r"belief\.name must be new, got 'full'"):
        register(Other())
    for name in (None, 5, ""):
        Other.name = name  # type: ignore[assignment]
        with pytest.raises(ValueError, match=rf"belief\.name must be a string .* got {name!r}"):
            register(Other())
    monkeypatch.setitem(BELIEFS, "discounted", BELIEFS["full"])  # removed at the end
    BELIEFS.pop("discounted")
    for _ in range(2):  # a notebook's cell that runs twice makes a new class
        again = type("Again", (IndependentBelief,), {"__module__": __name__, "name": "discounted"})
        register(again())
        assert type(BELIEFS["discounted"]) is again
    with pytest.raises(ValueError, match="belief must be a Belief"):
        register("discounted")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"belief must be one of .*'discounted'"):
        MatchmakingEnv(belief="other")


@pytest.mark.parametrize("deviation", [np.nan, -1.0, 0.0])
def test_an_update_without_a_belief_is_refused(deviation: float, monkeypatch: Any) -> None:
    def updated(self: Any, *given: Any) -> Any:
        return (*given[:3], deviation * given[3])

    monkeypatch.setattr("dense_belief.DiscountedBelief.updated", updated, raising=False)
    env = MatchmakingEnv(num_opponents=4, belief=DISCOUNTED)
    env.reset(seed=4)
    with pytest.raises(ValueError, match=f"updated of belief '{DISCOUNTED}' must return finite"):
        env.step(0)
