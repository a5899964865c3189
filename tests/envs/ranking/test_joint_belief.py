"""The joint belief against quadrature: its moments, the worth of a game, and long runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.belief.joint import game_precision, learn_joint, narrow

BETA = 0.8
MARGINS = pytest.mark.parametrize("margin", [0.0, 0.6])


def random_belief(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) / math.sqrt(size)
    return rng.normal(size=size), root @ root.T + 0.2 * np.eye(size)


def likelihood(difference: np.ndarray, outcome: int, margin: float) -> Any:
    scale = math.sqrt(2.0) * BETA
    win, loss = norm.sf((margin - difference) / scale), norm.cdf((-margin - difference) / scale)
    return {1: win, -1: loss, 0: 1.0 - win - loss}[outcome]


@pytest.mark.parametrize(
    ("outcome", "margin"), [(1, 0.0), (-1, 0.0), (1, 0.6), (0, 0.6), (-1, 0.6)]
)
def test_moments_are_those_of_quadrature(outcome: int, margin: float) -> None:
    """Of s_i - s_j by quadrature; all skills are linear in it plus an independent rest."""
    mu, covariance = random_belief(4, 3)
    i, j = 1, 3
    moved = covariance[:, i] - covariance[:, j]
    variance = moved[i] - moved[j]
    gap = mu[i] - mu[j]
    x = np.linspace(gap - 12 * math.sqrt(variance), gap + 12 * math.sqrt(variance), 200_001)
    weight = norm.pdf(x, gap, math.sqrt(variance)) * likelihood(x, outcome, margin)
    weight /= weight.sum()
    mean = weight @ x
    spread = weight @ (x - mean) ** 2
    expected_mu = mu + moved / variance * (mean - gap)
    expected = covariance - np.outer(moved, moved) / variance * (1.0 - spread / variance)
    learn_joint(mu, covariance, (i, j), outcome, (BETA, margin))
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-8)
    np.testing.assert_allclose(covariance, expected, rtol=1e-7, atol=1e-10)


@MARGINS
def test_a_game_is_worth_a_measurement_of_that_precision(margin: float) -> None:
    """The expected posterior variance over all outcomes is the same."""
    mu, covariance = random_belief(3, 8)
    spread = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    scale = math.sqrt(spread + 2.0 * BETA**2)
    gap, expected = mu[0] - mu[1], 0.0
    win, loss = norm.sf((margin - gap) / scale), norm.cdf((-margin - gap) / scale)
    for outcome, probability in ((1, win), (0, 1.0 - win - loss), (-1, loss)):
        if probability > 1e-12:
            mean, after = mu.copy(), covariance.copy()
            learn_joint(mean, after, (0, 1), outcome, (BETA, margin))
            expected += probability * (after[0, 0] + after[1, 1] - 2.0 * after[0, 1])
    precision = game_precision(gap, spread, (BETA, margin))
    assert spread / (1.0 + spread * precision) == pytest.approx(expected, rel=1e-9)


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
