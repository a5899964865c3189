"""KG through a belief's own update equals the compiled rules."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.knowledge_gradient import SCORES
from matchenv.baselines.look_ahead import look_ahead_scores
from matchenv.belief import GameConstants


def states(belief: str) -> KnowledgeState:
    """States after some games."""
    env = MatchmakingVectorEnv(6, num_opponents=7, horizon=40, beta=1.2, belief=belief)
    env.reset(seed=3)
    rng = np.random.default_rng(4)
    for _ in range(25):
        env.step(np.minimum(rng.geometric(0.4, size=6) - 1, 6))
    return env.knowledge_state


@pytest.mark.parametrize(
    ("belief", "draw_margin", "tau"),
    [
        ("factorised", 0.0, 0.0),
        ("factorised", 0.6, 0.3),
        ("full", 0.0, 0.0),
        ("full", 0.6, 0.0),
        ("printed", 0.0, 0.0),
    ],
)
def test_it_equals_the_compiled_rule(belief: str, draw_margin: float, tau: float) -> None:
    assert belief in SCORES
    constants = GameConstants(1.2, draw_margin, tau)
    state, multipliers = states(belief), np.linspace(0.0, 99.0, 6)
    policy = KnowledgeGradient(
        multiplier=1.0, beta=1.2, draw_margin=draw_margin, tau=tau, belief=belief
    )
    base = policy.scores(state, 10)
    q = state.draw_density(1.2)
    expected = q + multipliers[:, None] * (base - q)
    found = look_ahead_scores(state, multipliers, constants)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
