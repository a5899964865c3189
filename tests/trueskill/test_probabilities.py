"""Qualities and probabilities of sides: mpmath, quadrature and SciPy."""

import itertools
import math
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest
from refusals import refusals
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from trueskill_references import SMALLEST, any_scale

from matchenv.trueskill import (
    TrueSkill,
    draw_margin_from_probability,
    first_place_probability,
    ranking_probability,
    team_draw_probability,
    team_match_quality,
    team_win_probability,
)

BETA = 25.0 / 6.0
TEAMS = [[(25.0, 8.0)], [(11.0, 3.0), (12.0, 2.0)], [(27.0, 1.0)], [(15.0, 8.0)]]
Team = list[tuple[float, float]]


def quality_by_determinants(
    teams: list[Team], beta: float, weights: list[list[float]]
) -> mpmath.mpf:
    """Return the general form in the literature, over players and differences of sides."""
    players = list(itertools.chain(*teams))
    # Weight of each player in the difference of sides k and k + 1.
    differences = mpmath.matrix(len(players), len(teams) - 1)
    player = 0
    for side, row in enumerate(weights):
        for weight in row:
            if side < len(teams) - 1:
                differences[player, side] = mpmath.mpf(weight)
            if side > 0:
                differences[player, side - 1] = -mpmath.mpf(weight)
            player += 1
    mu = mpmath.matrix([mean for mean, _ in players])
    variance = mpmath.diag([mpmath.mpf(sigma) ** 2 for _, sigma in players])
    noise = mpmath.mpf(beta) ** 2 * differences.T * differences
    total = noise + differences.T * variance * differences
    gap = differences.T * mu
    exponent = (gap.T * mpmath.inverse(total) * gap)[0]
    return mpmath.sqrt(mpmath.det(noise) / mpmath.det(total)) * mpmath.exp(-exponent / 2)


@pytest.mark.parametrize("power", [5.0, 150.0])
def test_quality_of_any_scale(power: float) -> None:
    """Compare scales over many orders of magnitude, where products would overflow."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        beta = any_scale(rng, power)
        sizes = rng.integers(1, 4, rng.choice([2, 2, 3, 5]))
        sigmas = [[any_scale(rng, power) for _ in range(size)] for size in sizes]
        every_sigma = list(itertools.chain(*sigmas))
        scale = float(rng.choice([0.0, min(every_sigma), max(every_sigma), beta]))
        teams = []
        weights = []
        for row in sigmas:
            teams.append([(scale * float(rng.uniform(-1.0, 1.0)), sigma) for sigma in row])
            weights.append((10.0 ** rng.uniform(-3.0, 0.0, len(row))).tolist())
        with mpmath.workdps(450):
            exact = quality_by_determinants(teams, beta, weights)
        quality = team_match_quality(teams, beta, weights)
        if exact > SMALLEST:
            assert abs(quality / exact - 1) < 1e-11, (teams, beta, weights)
        else:
            assert 0.0 <= quality <= 2.0 * SMALLEST


def test_quality_of_many_sides() -> None:
    assert team_match_quality([[(25.0, 1e-9)]] * 300, BETA) == pytest.approx(1.0, rel=1e-12)
    assert 0.0 < team_match_quality([[(25.0, 3.0)]] * 300, BETA) < 1e-10


@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_win_and_draw_probabilities_of_teams(margin: float) -> None:
    team_i = TEAMS[1]
    team_j = [(26.0, 4.0)]
    weights = [[1.0, 0.5], [1.0]]
    win = team_win_probability(team_i, team_j, BETA, weights=weights, draw_margin=margin)
    loss = team_win_probability(team_j, team_i, BETA, weights=weights[::-1], draw_margin=margin)
    draw = team_draw_probability(team_i, team_j, BETA, weights=weights, draw_margin=margin)
    assert win + draw + loss == pytest.approx(1.0, abs=1e-14)
    variance = 9.0 + BETA**2 + 0.25 * (4.0 + BETA**2) + 16.0 + BETA**2
    difference = NormalDist(17.0 - 26.0, math.sqrt(variance))
    assert win == pytest.approx(1.0 - difference.cdf(margin), rel=1e-12)
    first_places = first_place_probability(
        [team_i, team_j], BETA, weights=weights, draw_margin=margin
    )
    assert first_places == pytest.approx([win, loss], abs=1e-11)


def test_draw_probability_sets_the_margin_of_all_players() -> None:
    team_i = TEAMS[1]
    team_j = [(26.0, 4.0)]
    weights = [[1.0, 0.5], [1.0]]
    margin = draw_margin_from_probability(0.2, BETA, 3)
    by_margin: dict[str, Any] = {"weights": weights, "draw_margin": margin}
    win = team_win_probability(team_i, team_j, BETA, draw_probability=0.2, weights=weights)
    assert win == pytest.approx(team_win_probability(team_i, team_j, BETA, **by_margin), rel=1e-14)
    draw = team_draw_probability(team_i, team_j, BETA, draw_probability=0.2, weights=weights)
    expected = team_draw_probability(team_i, team_j, BETA, **by_margin)
    assert draw == pytest.approx(expected, rel=1e-14)
    model = TrueSkill(draw_probability=0.2)
    assert model.win_probability(team_i, team_j, weights) == win
    first_places = first_place_probability([team_i, team_j], BETA, **by_margin)
    assert model.first_place_probability([team_i, team_j], weights) == pytest.approx(first_places)


NARROW_TEAMS = [[(25.0, 8.0)], [(30.0, 0.01)], [(22.0, 4.0)], [(26.0, 0.02)]]


@pytest.mark.parametrize(("teams", "beta"), [(TEAMS, BETA), (NARROW_TEAMS, 0.01)])
def test_probabilities_of_all_rankings_add_up_to_one(teams: list[Team], beta: float) -> None:
    total = 0.0
    for ranks in itertools.permutations(range(4)):
        total += ranking_probability(teams, ranks, beta)
    assert total == pytest.approx(1.0, abs=1e-9)


UNEQUAL_TEAMS = [[(0.0, 300.0)], [(-20.0, 400.0)], [(9.0, 1e-3)]]


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize(
    ("teams", "ranks"),
    [
        (UNEQUAL_TEAMS, [0, 1, 2]),
        (TEAMS, [0, 2, 1, 3]),
        (TEAMS, [3, 1, 2, 0]),
        (TEAMS, [0, 1, 0, 2]),
    ],
)
def test_a_ranking_is_an_event_of_the_differences_of_neighbours(
    teams: list[Team], ranks: list[int], margin: float
) -> None:
    """Compare with SciPy's multivariate normal distribution function."""
    mean = np.array([sum(mu for mu, _ in side) for side in teams])
    variance = np.array([sum(sigma**2 + BETA**2 for _, sigma in side) for side in teams])
    order = np.argsort(ranks, kind="stable")
    gaps = np.diff(np.eye(len(ranks))[order], axis=0)  # the worse side minus the better one
    is_draw = np.diff(np.sort(ranks)) == 0
    low = np.where(is_draw, -margin, -np.inf)
    high = np.where(is_draw, margin, -margin)
    exact = 0.0
    if (low < high).all():
        exact = multivariate_normal.cdf(
            high,
            lower_limit=low,
            mean=gaps @ mean,
            cov=gaps * variance @ gaps.T,
            abseps=1e-7,
            releps=1e-7,
        )
    probability = ranking_probability(teams, ranks, BETA, draw_margin=margin)
    assert probability == pytest.approx(exact, abs=1e-6)


def test_equal_sides_have_equal_rankings() -> None:
    probability = ranking_probability([[(25.0, 3.0)]] * 40, range(40), BETA)
    assert math.log(probability) == pytest.approx(-math.lgamma(41.0), abs=1e-4)


@pytest.mark.parametrize("margin", [0.0, 1e-9, 0.7, 30.0])
@pytest.mark.parametrize("far", [10.0, 500.0])
def test_a_third_side_that_is_certain_to_lose_changes_nothing(margin: float, far: float) -> None:
    """Compare the chain of integrals with the closed forms of two sides."""
    i = [(0.0, 1.0)]
    j = [(far, 1.0)]
    last = [(-1000.0, 0.1)]
    for ranks, exact in (
        ([0, 1], team_win_probability(i, j, 1.0, draw_margin=margin)),
        ([1, 0], team_win_probability(j, i, 1.0, draw_margin=margin)),
        ([0, 0], team_draw_probability(i, j, 1.0, draw_margin=margin)),
    ):
        expected = pytest.approx(exact, rel=1e-7, abs=1e-10)
        assert ranking_probability([i, j], ranks, 1.0, draw_margin=margin) == expected
        of_three = ranking_probability([i, j, last], [*ranks, 2], 1.0, draw_margin=margin)
        assert of_three == expected


@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_first_places_are_the_integral_of_the_model(margin: float, scale: float) -> None:
    # The second side is much narrower for a small scale.
    teams = [[(25.0, 8.0)], [(27.0 * scale, 2.0 * scale)], [(20.0, 3.0), (4.0, 1.0)], [(31.0, 5.0)]]
    weights = [[1.0], [scale], [1.0, 1.0], [2.0]]
    performances = []
    for side, row in zip(teams, weights, strict=True):
        mean = 0.0
        variance = 0.0
        for (mu, sigma), weight in zip(side, row, strict=True):
            mean += weight * mu
            variance += weight**2 * (sigma**2 + BETA**2)
        performances.append(NormalDist(mean, math.sqrt(variance)))
    probabilities = first_place_probability(teams, BETA, draw_margin=margin, weights=weights)
    for side, own in enumerate(performances):
        others = performances[:side] + performances[side + 1 :]

        def density(x: float, own: NormalDist = own, others: list[NormalDist] = others) -> float:
            return own.pdf(x) * math.prod(other.cdf(x - margin) for other in others)

        low = own.mean - 12 * own.stdev
        high = own.mean + 12 * own.stdev
        points = []
        for other in performances:
            for z in (-6, -2, 0, 2, 6):
                point = other.mean + margin + z * other.stdev
                if low < point < high:
                    points.append(point)
        exact, _ = quad(density, low, high, points=points, limit=2000, epsabs=1e-13)
        assert probabilities[side] == pytest.approx(exact, abs=1e-10)
    if margin == 0.0:
        assert sum(probabilities) == pytest.approx(1.0, abs=1e-10)
    else:
        assert sum(probabilities) < 1.0


test_bad_teams_raise = refusals(
    (lambda: team_match_quality(TEAMS, 0.0), "beta"),
    (lambda: team_match_quality(TEAMS[:1], BETA), "at least two sides"),
    (lambda: team_win_probability([(25.0, -1.0)], TEAMS[0], BETA), r"sigma of teams\[0\]"),
    (lambda: ranking_probability(TEAMS, [0, 1], BETA), "ranks"),
    (lambda: ranking_probability(TEAMS, [0, (1, 3), 2, 3], BETA), "ranks must hold real numbers"),
)
