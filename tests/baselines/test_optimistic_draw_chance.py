"""The optimistic index, by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.baselines import DrawChance, OptimisticDrawChance, PointEstimate

BETA = 1.2


def some_states(belief: str) -> KnowledgeState:
    env = MatchmakingVectorEnv(8, num_opponents=7, horizon=40, beta=BETA, belief=belief)
    env.reset(seed=3)
    rng = np.random.default_rng(4)
    for _ in range(30):
        env.step(rng.integers(4, size=8))
    return env.knowledge_state


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize(
    ("inflation", "fade", "games_left", "factor"),
    [
        (5.0, 0.0, 1, 5.0),
        (5.0, 0.0, 100, 5.0),
        (10.0, 1.0, 100, 10.0),
        (10.0, 1.0, 50, 5.5),
        (20.0, 2.0, 50, 5.75),
        (20.0, 2.0, 0, 1.0),
        (20.0, 2.0, 400, 20.0),
    ],
)
def test_the_index_is_the_inflated_exponent(
    belief: str, inflation: float, fade: float, games_left: int, factor: float
) -> None:
    states = some_states(belief)
    policy = OptimisticDrawChance(inflation, fade, beta=BETA, horizon=100, belief=belief)
    scores, actions = policy.scores(states, games_left), policy.act(states, games_left)
    for b in range(8):
        for k in range(7):
            gap = states.mu[b, 0] - states.mu[b, k + 1]
            if states.belief == "factorised":
                doubt = states.sigma[b, 0] ** 2 + states.sigma[b, k + 1] ** 2
            else:
                doubt = states.difference_sigma[b, k] ** 2
            expected = -(gap**2) / (2.0 * (factor * doubt + 2.0 * BETA**2))
            assert scores[b, k] == pytest.approx(expected, rel=1e-12)
        assert actions[b] == scores[b].argmax()


def test_each_state_of_a_batch_has_its_own_share() -> None:
    states = some_states("full")
    policy = OptimisticDrawChance(30.0, 1.0, beta=BETA, horizon=40, belief="full")
    left = np.arange(1, 9) * 5
    together = policy.act(states, left)
    for b in range(8):
        assert together[b] == policy.act(states[b], left[b])


@given(
    mu=st.lists(st.floats(-5.0, 5.0), min_size=4, max_size=4),
    sigma=st.floats(0.1, 3.0),
    inflation=st.floats(1.0, 1e6),
)
def test_equal_doubt_is_no_reason(mu: list[float], sigma: float, inflation: float) -> None:
    """With one sigma for all, the nearest by estimate is chosen at any inflation."""
    state = KnowledgeState(mu, [sigma] * 4)
    gaps = np.abs(state.mu[0] - state.mu[1:])
    action = OptimisticDrawChance(inflation).act(state, 3)
    assert gaps[action] == pytest.approx(gaps.min(), rel=1e-6, abs=1e-6)


def test_more_inflation_prefers_the_unknown() -> None:
    """Near and well known against farther and unknown."""
    state = KnowledgeState([0.0, 1.0, 2.0], [0.1, 0.1, 3.0])
    assert OptimisticDrawChance(1.0, beta=BETA).act(state, 500) == 1
    assert DrawChance(beta=BETA).act(state, 500) == 0
    assert PointEstimate().act(state, 500) == 0
    closer = KnowledgeState([0.0, 0.5, 2.0], [0.1, 0.1, 2.0])
    assert OptimisticDrawChance(1.0, beta=BETA).act(closer, 500) == 0
    assert OptimisticDrawChance(50.0, beta=BETA).act(closer, 500) == 1
    # The doubt is worth less as the end comes near.
    assert OptimisticDrawChance(50.0, 1.0, beta=BETA).act(closer, 1) == 0


def test_ties_go_to_the_lowest_index() -> None:
    state = KnowledgeState([0.0, 1.0, -1.0, 1.0], [1.0] * 4)
    assert OptimisticDrawChance().act(state, 3) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inflation": 0.9}, "inflation must be at least 1, got 0.9"),
        ({"inflation": np.nan}, "inflation must be finite"),
        ({"fade": -1.0}, "fade must not be negative"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"horizon": 0}, "horizon must be"),
        ({"belief": "none"}, "belief must be one of"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OptimisticDrawChance(**arguments)
