"""Beliefs about all skills with a dense covariance, from the formulas of the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr


def density(x: float) -> float:
    """Of the standard normal."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def cut_normal(low: float, high: float) -> tuple[float, float, float]:
    """Probability, mean and variance of a standard normal between two numbers."""
    chance = float(ndtr(high) - ndtr(low) if low < 0.0 else ndtr(-low) - ndtr(-high))
    at_low, at_high = density(low), density(high)
    mean = (at_low - at_high) / chance
    ends = [x * at for x, at in ((low, at_low), (-high, at_high)) if math.isfinite(x)]
    return chance, mean, 1.0 + sum(ends) / chance - mean * mean


class DenseBelief:
    """Means and covariance of all skills, those of player 0 first.

    After a game it has the moments of the exact posterior; the factorised one, which is eq. (1)
    and (2), forgets the covariances.
    """

    def __init__(
        self, mu: Any, covariance: Any, beta: float, margin: float = 0.0, factorised: bool = False
    ) -> None:
        self.mu, self.covariance = np.array(mu), np.array(covariance)
        self.game = beta, margin, factorised

    def difference(self, j: int) -> tuple[float, float]:
        """Mean and variance of s_0 - s_j."""
        moved = self.covariance[0] - self.covariance[j]
        return float(self.mu[0] - self.mu[j]), float(moved[0] - moved[j])

    def density(self, j: int) -> float:
        """Draw density of a game with j, eq. (5)."""
        gap, variance = self.difference(j)
        c = math.sqrt(variance + 2.0 * self.game[0] ** 2)
        return density(gap / c) / c

    @property
    def densities(self) -> Any:
        """Of games with each opponent."""
        return np.array([self.density(j) for j in range(1, self.mu.size)])

    def after(self, j: int) -> dict[int, tuple[float, DenseBelief]]:
        """Probability of each outcome of a game with j, and the belief after it."""
        beta, margin, factorised = self.game
        ends = {1: (margin, math.inf), -1: (-math.inf, -margin)}
        if margin > 0.0:
            ends[0] = (-margin, margin)
        gap, variance = self.difference(j)
        c, found = math.sqrt(variance + 2.0 * beta**2), {}
        moved = (self.covariance[0] - self.covariance[j]) / c
        for outcome, borders in ends.items():
            chance, mean, spread = cut_normal(*((border - gap) / c for border in borders))
            covariance = self.covariance - np.outer(moved, moved) * (1.0 - spread)
            if factorised:
                covariance = np.diag(np.diag(covariance))
            found[outcome] = chance, DenseBelief(self.mu + moved * mean, covariance, *self.game)
        return found
