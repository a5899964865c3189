"""The joint belief with the advantage of the first, against quadrature on a grid."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.belief.joint import (
    NOBODY,
    JointFit,
    Results,
    contrast_variance,
    expect_joint,
    fit_joint,
    learn_joint,
    new_sites,
)

BETA, MARGIN, SIGMA, ADVANTAGE = 1.0, 0.3, 1.2, 0.5
NOISE = (BETA, MARGIN)
Row = tuple[int, int, int, bool]  # i, j, outcome, whether i was first


class Posterior(NamedTuple):
    """Moments of skills and advantage by quadrature; skills are relative to their mean."""

    mean: np.ndarray
    covariance: np.ndarray
    log_evidence: float


def quadrature(rows: list[Row], sigma: float = SIGMA, margin: float = MARGIN) -> Posterior:
    """Return the posterior of two items and the advantage: their difference and it on a grid."""
    difference_deviation = math.sqrt(2.0) * sigma
    d = np.linspace(-8.0, 8.0, 801)[:, np.newaxis] * difference_deviation
    h = np.linspace(-8.0, 8.0, 401)[np.newaxis] * ADVANTAGE
    log_density = norm.logpdf(d, scale=difference_deviation) + norm.logpdf(h, scale=ADVANTAGE)
    for i, _, outcome, first in rows:
        gap = (d if i == 0 else -d) + (h if first else 0.0)
        scale = math.sqrt(2.0) * BETA
        win = norm.cdf((gap - margin) / scale)
        loss = norm.cdf((-gap - margin) / scale)
        # Both tails are below a half, so the difference is accurate.
        draw = norm.cdf((margin - np.abs(gap)) / scale) - norm.cdf((-margin - np.abs(gap)) / scale)
        log_density = log_density + np.log(np.maximum({1: win, -1: loss, 0: draw}[outcome], 1e-300))
    cell = (d[1, 0] - d[0, 0]) * (h[0, 1] - h[0, 0])
    top = log_density.max()
    weights = np.exp(log_density - top)
    total = weights.sum()
    weights /= total
    values = [0.5 * d + 0.0 * h, -0.5 * d + 0.0 * h, h + 0.0 * d]
    mean = np.array([(weights * value).sum() for value in values])
    covariance = np.empty((3, 3))
    for a, b in itertools.product(range(3), repeat=2):
        covariance[a, b] = (weights * (values[a] - mean[a]) * (values[b] - mean[b])).sum()
    return Posterior(mean, covariance, top + math.log(total * cell))


def results_of(rows: list[Row]) -> Results:
    """Return one row for each game of two items and the advantage."""
    i, j, outcome, first = np.array(rows, dtype=np.int64).T
    return Results(
        i.copy(), j.copy(), outcome.copy(), np.where(first == 1, 2, NOBODY), np.ones(len(rows))
    )


def fit_of(rows: list[Row], sigma: float = SIGMA, margin: float = MARGIN) -> JointFit:
    results = results_of(rows)
    return fit_joint(results, new_sites(len(rows)), 2, (BETA, margin), sigma, ADVANTAGE)


def relative(covariance: np.ndarray) -> np.ndarray:
    """Return the covariance of skills minus their mean, and of the advantage."""
    centre = np.eye(3)
    centre[:2, :2] -= 0.5
    return centre @ covariance @ centre.T


GAMES: list[Row] = [
    (0, 1, 1, True), (1, 0, 1, True), (0, 1, 0, False), (0, 1, 1, False), (1, 0, -1, True),
    (0, 1, 1, True), (1, 0, 0, True),
]  # fmt: skip


@pytest.mark.parametrize("game", [(0, 1, 1, True), (1, 0, 0, True), (0, 1, -1, False)])
def test_one_game_with_an_advantage_has_the_exact_moments(game: Row) -> None:
    exact = quadrature([game])
    mu = np.zeros(3)
    covariance = np.diag([SIGMA**2, SIGMA**2, ADVANTAGE**2])
    i, j, outcome, first = game
    learn_joint(mu, covariance, (i, j, outcome), NOISE, 2 if first else NOBODY)
    np.testing.assert_allclose(mu, exact.mean, atol=1e-6)
    np.testing.assert_allclose(relative(covariance), exact.covariance, atol=1e-6)
    fit = fit_of([game])
    np.testing.assert_allclose(fit.mu, exact.mean, atol=1e-6)
    np.testing.assert_allclose(relative(fit.covariance), exact.covariance, atol=1e-6)
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=1e-6)


@pytest.mark.parametrize(("sigma", "margin"), [(1.2, 0.3), (0.3, 0.1), (3.0, 1.0)])
def test_the_fit_and_its_evidence_match_quadrature(sigma: float, margin: float) -> None:
    exact = quadrature(GAMES, sigma, margin)
    fit = fit_of(GAMES, sigma, margin)
    deviations = np.sqrt(np.diagonal(exact.covariance))
    assert np.abs((fit.mu - exact.mean) / deviations).max() < 0.02
    own = np.sqrt(np.diagonal(relative(fit.covariance)))
    np.testing.assert_allclose(own, deviations, rtol=0.01)
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)


def test_slopes_are_derivatives_of_the_evidence() -> None:
    step = 1e-4
    fit = fit_of(GAMES)
    wider = fit_of(GAMES, sigma=SIGMA * math.exp(step))
    narrower = fit_of(GAMES, sigma=SIGMA * math.exp(-step))
    slope = (wider.log_evidence - narrower.log_evidence) / (2.0 * step)
    assert fit.sigma_slope == pytest.approx(slope, abs=1e-4)
    more = fit_of(GAMES, margin=MARGIN + step)
    less = fit_of(GAMES, margin=MARGIN - step)
    slope = (more.log_evidence - less.log_evidence) / (2.0 * step)
    assert fit.margin_slope == pytest.approx(slope, abs=1e-4)


def test_neither_the_order_nor_counting_equal_games_matters() -> None:
    fit = fit_of(GAMES * 3)
    backwards = fit_of(GAMES[::-1] * 3)
    counted = results_of(GAMES)._replace(number=np.full(len(GAMES), 3.0))
    together = fit_joint(counted, new_sites(len(GAMES)), 2, NOISE, SIGMA, ADVANTAGE)
    for other in (backwards, together):
        np.testing.assert_allclose(other.mu, fit.mu, atol=1e-6)
        np.testing.assert_allclose(other.covariance, fit.covariance, atol=1e-6)
        assert other.log_evidence == pytest.approx(fit.log_evidence, abs=1e-5)


def test_differences_keep_their_digits_for_a_very_wide_prior() -> None:
    """With as many wins as losses and a flat prior the difference is 0, with a known variance."""
    rows: list[Row] = [(0, 1, 1, False), (0, 1, -1, False)] * 50
    spreads = []
    for sigma in (1e3, 1e6):
        fit = fit_of(rows, sigma=sigma, margin=0.0)
        assert abs(fit.mu[0] - fit.mu[1]) < 1e-6
        spreads.append(contrast_variance(fit.covariance, 0, 1, NOBODY))
    # Information of an even game: phi(0)^2 / (1/4) / (2 beta^2) = 1 / (pi beta^2).
    assert spreads[0] == pytest.approx(math.pi / 100.0, rel=0.03)
    assert spreads[1] == pytest.approx(spreads[0], rel=1e-5)


def test_expected_effect_of_a_game_with_an_advantage_is_that_of_its_outcomes() -> None:
    """The expected variance of the contrast, over the outcomes of one game."""
    covariance = np.diag([SIGMA**2, SIGMA**2, ADVANTAGE**2])
    mu = np.array([0.4, -0.2, 0.1])
    expected = covariance.copy()
    expect_joint(mu.copy(), expected, (0, 1), NOISE, 0.0, 1.0, 0.0, 2)
    scale = math.sqrt(2.0 * BETA**2 + contrast_variance(covariance, 0, 1, 2))
    gap = mu[0] - mu[1] + mu[2]
    win = norm.cdf((gap - MARGIN) / scale)
    loss = norm.cdf((-gap - MARGIN) / scale)
    mean = 0.0
    for outcome, probability in ((1, win), (-1, loss), (0, 1.0 - win - loss)):
        after = covariance.copy()
        learn_joint(mu.copy(), after, (0, 1, outcome), NOISE, 2)
        mean += probability * contrast_variance(after, 0, 1, 2)
    assert contrast_variance(expected, 0, 1, 2) == pytest.approx(mean, rel=1e-6)
