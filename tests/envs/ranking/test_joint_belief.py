"""The joint belief against quadrature: its moments, the worth of a game, and long runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.belief.joint import game_precision, learn_joint, narrow

BETA = 0.8


def random_belief(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) / math.sqrt(size)
    return rng.normal(size=size), root @ root.T + 0.2 * np.eye(size)


def likelihood(difference: np.ndarray, outcome: int, margin: float) -> Any:
    scale = math.sqrt(2.0) * BETA
    win, loss = norm.sf((margin - difference) / scale), norm.cdf((-margin - difference) / scale)
    return {1: win, -1: loss, 0: 1.0 - win - loss}[outcome]


@pytest.mark.parametrize("margin", [0.0, 0.6])
def test_moments_and_the_worth_of_a_game_are_those_of_quadrature(margin: float) -> None:
    """Of s_i - s_j by quadrature; all skills are linear in it plus an independent rest.

    A game is worth a measurement that leaves the same expected variance of the difference.
    """
    prior, before = random_belief(4, 3)
    i, j = 1, 3
    moved = before[:, i] - before[:, j]
    variance, gap, left = moved[i] - moved[j], prior[i] - prior[j], 0.0
    x = np.linspace(gap - 12 * math.sqrt(variance), gap + 12 * math.sqrt(variance), 200_001)
    density = norm.pdf(x, gap, math.sqrt(variance)) * (x[1] - x[0])
    for outcome in (1, 0, -1) if margin else (1, -1):
        weight = density * likelihood(x, outcome, margin)
        probability = weight.sum()
        mean = weight @ x / probability
        spread = weight @ (x - mean) ** 2 / probability
        mu, covariance = prior.copy(), before.copy()
        learn_joint(mu, covariance, (i, j), outcome, (BETA, margin))
        expected = before - np.outer(moved, moved) / variance * (1.0 - spread / variance)
        np.testing.assert_allclose(mu, prior + moved / variance * (mean - gap), rtol=1e-8)
        np.testing.assert_allclose(covariance, expected, rtol=1e-7, atol=1e-10)
        left += probability * spread
    precision = game_precision(gap, variance, (BETA, margin))
    assert variance / (1.0 + variance * precision) == pytest.approx(left, rel=1e-7)


def test_many_games_keep_the_covariance_positive_definite() -> None:
    rng = np.random.default_rng(4)
    mu, covariance = np.zeros(6), 25.0 * np.eye(6)
    for _ in range(8_000):
        i, j = rng.choice(6, size=2, replace=False)
        learn_joint(mu, covariance, (i, j), 1 if rng.random() < 0.5 else -1, (0.2, 0.0))
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    np.testing.assert_array_equal(covariance, covariance.T)
    # Games inform about differences alone: the mean skill is as unknown as before.
    assert np.ones(6) @ covariance @ np.ones(6) == pytest.approx(6 * 25.0, rel=1e-6)
    narrow(covariance, (0, 1), 0.0)
