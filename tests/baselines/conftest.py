"""Knowledge states of every kind, and skills' covariances written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from matchenv import KnowledgeState
from matchenv.belief import GameConstants

Floats = NDArray[np.float64]


def states_after_games(
    belief: str, count: int, opponents: int, games: int, beta: float = 1.2, seed: int = 0
) -> KnowledgeState:
    """Beliefs in the middle of episodes: some opponents were met often, some equal others."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, 2.0, (count, opponents + 1))
    sigma = np.sqrt(rng.uniform(1.0, 3.0, mu.shape))
    if opponents > 2:
        mu[:, 2], sigma[:, 2] = mu[:, 1], sigma[:, 1]
    extra = np.sqrt(sigma[:, :1] ** 2 + sigma[:, 1:] ** 2) if belief == "full" else np.empty(0)
    state = KnowledgeState(mu, sigma, extra, belief)
    for _ in range(games):
        chosen = np.minimum(rng.geometric(0.4, size=count), opponents) - 1
        outcomes = rng.choice([-1, 1], count)
        state = state.after_games(chosen, outcomes, GameConstants(beta))
    return state


def covariance_of(state: KnowledgeState) -> Floats:
    """Covariances of all skills of one state; opponents are independent given player 0."""
    variances = state.sigma**2
    to_0 = 0.5 * (variances[0] + variances[1:] - state.difference_sigma**2)
    covariance = np.diag(variances)
    covariance[0, 1:] = covariance[1:, 0] = to_0
    for k in range(1, variances.size):
        for other in range(1, variances.size):
            if k != other:
                covariance[k, other] = to_0[k - 1] * to_0[other - 1] / variances[0]
    return covariance


@pytest.fixture(scope="session")
def make_states() -> Any:
    """``states_after_games``."""
    return states_after_games


@pytest.fixture(scope="session")
def make_covariance() -> Any:
    """``covariance_of``."""
    return covariance_of
