"""Probabilities and qualities over all scales that are accepted, against mpmath."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from matchenv.trueskill import (
    ConvergenceWarning,
    draw_density,
    draw_probability,
    match_quality,
    ranking_probability,
    rate,
    team_match_quality,
    true_draw_density,
    update,
    win_probability,
)
from matchenv.trueskill.game import (
    log_draw_probability_of,
    log_win_probability_of,
    total_variance,
)

# Below this float64 has fewer digits.
SMALLEST = 1e-290
Team = list[tuple[float, float]]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(450), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def any_scale(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.uniform(-150.0, 150.0))


def any_gap(rng: np.random.Generator, width: float) -> float:
    """A gap of any size, mostly one that the given width lets happen."""
    gap = rng.choice([0.0, width, 30.0 * width, any_scale(rng)]) * rng.normal()
    return float(np.clip(gap, -1e150, 1e150))


def quality_in_many_digits(
    teams: list[Team], beta: float, weights: list[list[float]]
) -> mpmath.mpf:
    """sqrt(det(A' B A) / det(A' D A)) exp(-...), with the determinants of diagonal B and D."""
    exact = mpmath.mpf
    mean, noise, variance = [], [], []
    for side, shares in zip(teams, weights, strict=True):
        both = list(zip(shares, side, strict=True))
        mean.append(sum(exact(w) * exact(mu) for w, (mu, _) in both))
        noise.append(sum(exact(w) ** 2 * exact(beta) ** 2 for w, _ in both))
        variance.append(
            sum(exact(w) ** 2 * (exact(beta) ** 2 + exact(s) ** 2) for w, (_, s) in both)
        )
    inverse = sum(1 / v for v in variance)
    ratio = mpmath.fprod(noise) * sum(1 / n for n in noise) / mpmath.fprod(variance) / inverse
    centre = sum(m / v for m, v in zip(mean, variance, strict=True)) / inverse
    square = sum((m - centre) ** 2 / v for m, v in zip(mean, variance, strict=True))
    return mpmath.sqrt(ratio) * mpmath.exp(-square / 2)


def test_quality_of_teams() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        beta = any_scale(rng)
        sizes = rng.integers(1, 4, rng.choice([2, 2, 3, 5]))
        sigma = [[any_scale(rng) for _ in range(size)] for size in sizes]
        scale = float(rng.choice([0.0, min(map(min, sigma)), max(map(max, sigma)), beta]))
        teams = [[(scale * float(rng.normal()), s) for s in side] for side in sigma]
        teams = [[(float(np.clip(mu, -1e150, 1e150)), s) for mu, s in side] for side in teams]
        weights = [[float(10.0 ** rng.uniform(-3.0, 0.0)) for _ in side] for side in teams]
        exact = quality_in_many_digits(teams, beta, weights)
        got = team_match_quality(teams, beta, weights)
        if exact > SMALLEST:
            assert abs(got / exact - 1) < 1e-11, (teams, beta, weights)
        else:
            assert 0.0 <= got <= 2.0 * SMALLEST


@pytest.mark.parametrize("beta", [1e-150, 1e-100, 1.0])
@pytest.mark.parametrize("sigma", [1e-100, 1.0, 1e100, 1e150])
def test_quality_of_newcomers_is_beta_over_their_spread(beta: float, sigma: float) -> None:
    """Which was NaN or infinite where sigma / beta is above 1e154, or beta below 1e-77."""
    expected = 1.0 / math.hypot(1.0, sigma / beta)
    two, three = ([[(25.0, sigma)]] * count for count in (2, 3))
    assert team_match_quality(two, beta) == pytest.approx(expected, rel=1e-12)
    assert match_quality(25.0, sigma, 25.0, sigma, beta) == pytest.approx(expected, rel=1e-12)
    if expected > 1e-145:
        assert team_match_quality(three, beta) == pytest.approx(expected**2, rel=1e-12)


def test_a_weight_may_be_next_to_nothing() -> None:
    for weight in (1e-10, 1e-100, 1e-150):
        quality = team_match_quality([[(0.0, 1e150)], [(0.0, 1.0)]], 1e-150, [[weight], [1.0]])
        assert 0.0 <= quality <= 1.0


def test_two_players() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        beta, sigma_i, sigma_j = any_scale(rng), any_scale(rng), any_scale(rng)
        variance = 2 * mpmath.mpf(beta) ** 2 + mpmath.mpf(sigma_i) ** 2 + mpmath.mpf(sigma_j) ** 2
        c = mpmath.sqrt(variance)
        gap = any_gap(rng, float(c))
        margin = abs(any_gap(rng, float(c)))
        players = (gap, sigma_i, 0.0, sigma_j, beta)
        t, e = gap / c, margin / c
        density = mpmath.npdf(t) / c
        quality = density * 2 * beta * mpmath.sqrt(mpmath.pi)
        for got, exact in ((draw_density(*players), density), (match_quality(*players), quality)):
            assert 0.0 <= got < math.inf
            if exact > SMALLEST:
                assert abs(got / exact - 1) < 1e-12
        assert 0.0 <= true_draw_density(gap, 0.0, beta) < math.inf
        pair = gap, total_variance(sigma_i, sigma_j, beta), margin
        found = [
            win_probability(*players, margin),
            draw_probability(*players, margin),
            log_win_probability_of(*pair),
            log_draw_probability_of(*pair),
        ]
        assert not any(math.isnan(value) for value in found)
        if abs(t) > 30 or not e < 30:
            continue
        for k, exact in enumerate(
            (
                mpmath.erfc((e - t) / mpmath.sqrt(2)) / 2,
                mpmath.ncdf(e - abs(t)) - mpmath.ncdf(-e - abs(t)),
            )
        ):
            if exact > SMALLEST:
                assert abs(found[k] / exact - 1) < 1e-11
            if exact > 0:
                assert abs(found[k + 2] - mpmath.log(exact)) < 1e-12 * (1 - mpmath.log(exact))


def test_beliefs_after_a_game_are_finite_or_the_game_is_refused() -> None:
    rng = np.random.default_rng(2)
    refused, given = 0, 0
    for _ in range(500):
        beta, margin = any_scale(rng), any_scale(rng)
        teams = [
            [(any_gap(rng, 0.0), any_scale(rng)) for _ in range(rng.integers(1, 3))]
            for _ in range(rng.choice([2, 2, 3]))
        ]
        ranks = rng.integers(0, 3, len(teams)).tolist()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                rated = rate(teams, ranks, beta=beta, draw_margin=margin)
            if len(teams) == 2 and sum(map(len, teams)) == 2:
                beliefs = update(
                    *teams[0][0], *teams[1][0], int(np.sign(ranks[1] - ranks[0])), beta, margin
                )
                assert np.isfinite(beliefs).all()
        except ValueError as error:
            refused += "must not mix scales so far apart" in str(error)
            continue
        given += 1
        beliefs = np.array([belief for side in rated for belief in side])
        assert np.isfinite(beliefs).all()
        assert (beliefs[:, 1] > 0.0).all()
    assert given + refused == 500
    assert refused < 75


def test_ranking_probability_says_where_it_knows_nothing() -> None:
    rng = np.random.default_rng(3)
    for _ in range(15):
        teams = [[(any_gap(rng, 0.0), any_scale(rng))] for _ in range(rng.choice([2, 3]))]
        ranks = rng.integers(0, 3, len(teams)).tolist()
        found = ranking_probability(teams, ranks, any_scale(rng), draw_margin=any_scale(rng))
        assert 0.0 <= found.probability <= 1.0
        assert found.log_probability <= 0.0
        assert found.error >= 0.0
