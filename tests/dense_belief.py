"""Reference beliefs with a dense covariance, from the papers' formulas; random knowledge states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from matchenv import KnowledgeState
from matchenv.belief import GameConstants, IndependentBelief

# A third-party belief, by name, and the factor of its deviations before each game.
DISCOUNTED, INFLATION = "dense_belief:DiscountedBelief", 1.05


class DiscountedBelief(IndependentBelief):
    """Old games count less, since deviations grow by a factor before each game."""

    def widened(self, sigma: Any, constants: GameConstants) -> Any:
        return INFLATION * super().widened(sigma, constants)


def density(x: float) -> float:
    """Return the density of the standard normal."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def truncated_normal(low: float, high: float) -> tuple[float, float, float]:
    """Return probability, mean and variance of a standard normal truncated to an interval."""
    chance = float(ndtr(high) - ndtr(low) if low < 0.0 else ndtr(-low) - ndtr(-high))
    at_low, at_high = density(low), density(high)
    mean = (at_low - at_high) / chance
    ends = [x * at for x, at in ((low, at_low), (-high, at_high)) if math.isfinite(x)]
    return chance, mean, 1.0 + sum(ends) / chance - mean * mean


class DenseBelief:
    """Means and covariance of all skills, player 0 first, with the moments of the exact posterior.

    All beliefs but the full one drop covariances after a game, which gives eq. (1) and (2). The
    printed one divides by c^2 where c is meant.
    """

    def __init__(
        self,
        mu: Any,
        covariance: Any,
        beta: float,
        margin: float = 0.0,
        belief: str = "full",
        tau: float = 0.0,
    ) -> None:
        self.mu, self.covariance = np.array(mu), np.array(covariance)
        self.game = beta, margin, belief, tau

    def difference(self, j: int) -> tuple[float, float]:
        """Return mean and variance of s_0 - s_j."""
        moved = self.covariance[0] - self.covariance[j]
        return float(self.mu[0] - self.mu[j]), float(moved[0] - moved[j])

    def density(self, j: int) -> float:
        """Return the draw density of a game with j, eq. (5)."""
        gap, variance = self.difference(j)
        c = math.sqrt(variance + 2.0 * self.game[0] ** 2)
        return density(gap / c) / c

    @property
    def densities(self) -> Any:
        """Draw densities of games with each opponent."""
        return np.array([self.density(j) for j in range(1, self.mu.size)])

    def after(self, j: int) -> dict[int, tuple[float, DenseBelief]]:
        """Return the probability of each outcome of a game with j, and the belief after it."""
        beta, margin, belief, tau = self.game
        ends = {1: (margin, math.inf), -1: (-math.inf, -margin)}
        if margin > 0.0:
            ends[0] = (-margin, margin)
        before = self.covariance.copy()
        before[[0, j], [0, j]] += tau**2
        before[[0, j], [0, j]] *= INFLATION**2 if belief == DISCOUNTED else 1.0
        moved, gap = before[0] - before[j], float(self.mu[0] - self.mu[j])
        c, results = math.sqrt(moved[0] - moved[j] + 2.0 * beta**2), {}
        scale = c * c if belief == "printed" else c
        for outcome, borders in ends.items():
            chance, mean, spread = truncated_normal(*((border - gap) / scale for border in borders))
            covariance = before - np.outer(moved, moved) * ((1.0 - spread) / c**2)
            if belief != "full":
                covariance = np.diag(np.diag(covariance))
            mu = self.mu + moved * (mean / scale)
            results[outcome] = chance, DenseBelief(mu, covariance, *self.game)
        return results


def states_after_games(
    belief: str, count: int, opponents: int, games: int, beta: float = 1.2, seed: int = 0
) -> KnowledgeState:
    """Return states in the middle of episodes, with frequent and with equal opponents."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, 2.0, (count, opponents + 1))
    sigma = np.sqrt(rng.uniform(1.0, 3.0, mu.shape))
    if opponents > 2:
        mu[:, 2], sigma[:, 2] = mu[:, 1], sigma[:, 1]
    differences = np.empty(0)
    if belief == "full":
        differences = np.sqrt(sigma[:, :1] ** 2 + sigma[:, 1:] ** 2)
    state = KnowledgeState(mu, sigma, differences, belief)
    for _ in range(games):
        chosen = np.minimum(rng.geometric(0.4, size=count), opponents) - 1
        outcomes = rng.choice([-1, 1], count)
        state = state.after_games(chosen, outcomes, GameConstants(beta))
    return state


def some_masks(count: int, opponents: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return masks that each allow at least one opponent, shape (count, opponents)."""
    masks = rng.random((count, opponents)) < rng.random((count, 1))
    masks[np.arange(count), rng.integers(opponents, size=count)] = True
    return masks


def covariance_of(state: KnowledgeState) -> NDArray[np.float64]:
    """Return the covariances of all skills of one state."""
    variances = state.sigma**2
    to_0 = 0.5 * (variances[0] + variances[1:] - state.difference_variance)
    to_0 = np.concatenate((variances[:1], to_0))
    covariance = np.outer(to_0, to_0) / variances[0]
    np.fill_diagonal(covariance, variances)
    return covariance
