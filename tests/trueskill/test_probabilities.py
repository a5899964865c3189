"""Quality and probabilities of games of sides against determinants, quadrature and SciPy."""

import itertools
import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from refusals import refusals
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from matchenv.trueskill import (
    TrueSkill,
    draw_margin_from_probability,
    first_place_probability,
    ranking_probability,
    team_draw_probability,
    team_match_quality,
    team_win_probability,
)

NORMAL = NormalDist()
BETA = 25.0 / 6.0
TEAMS = [[(25.0, 8.0)], [(11.0, 3.0), (12.0, 2.0)], [(27.0, 1.0)], [(15.0, 8.0)]]
# Below this float64 has fewer digits.
SMALLEST = 1e-290
Team = list[tuple[float, float]]


def quality_by_determinants(
    teams: list[Team], beta: float, weights: list[list[float]]
) -> mpmath.mpf:
    """Return the general form in the literature, over players and differences."""
    belief = [tuple(map(mpmath.mpf, pair)) for side in teams for pair in side]
    side = [k for k, members in enumerate(teams) for _ in members]
    shares = [mpmath.mpf(share) for row in weights for share in row]
    differences = mpmath.matrix(len(belief), len(teams) - 1)
    for i, (own, share) in enumerate(zip(side, shares, strict=True)):
        for k in range(len(teams) - 1):
            differences[i, k] = share * ((own == k) - (own == k + 1))
    noise = mpmath.mpf(beta) ** 2 * differences.T * differences
    spread = mpmath.diag([sigma**2 for _, sigma in belief])
    whole = noise + differences.T * spread * differences
    gap = differences.T * mpmath.matrix([mu for mu, _ in belief])
    exponent = (gap.T * mpmath.inverse(whole) * gap)[0]
    return mpmath.sqrt(mpmath.det(noise) / mpmath.det(whole)) * mpmath.exp(-exponent / 2)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_quality_of_any_scale_and_of_many_sides(spread: float) -> None:
    """Compare scales over many orders of magnitude, where products would overflow."""
    rng = np.random.default_rng(0)

    def any_scale() -> float:
        return float(10.0 ** rng.uniform(-5.0 * spread, 5.0 * spread))

    for _ in range(200):
        beta = any_scale()
        sizes = rng.integers(1, 4, rng.choice([2, 2, 3, 5]))
        sigma = [[any_scale() for _ in range(size)] for size in sizes]
        scale = float(rng.choice([0.0, min(map(min, sigma)), max(map(max, sigma)), beta]))
        teams = [[(scale * float(rng.uniform(-1.0, 1.0)), s) for s in side] for side in sigma]
        weights = [[float(10.0 ** rng.uniform(-3.0, 0.0)) for _ in side] for side in teams]
        with mpmath.workdps(450):
            exact = quality_by_determinants(teams, beta, weights)
        got = team_match_quality(teams, beta, weights)
        if exact > SMALLEST:
            assert abs(got / exact - 1) < 1e-11, (teams, beta, weights)
        else:
            assert 0.0 <= got <= 2.0 * SMALLEST
    assert team_match_quality([[(25.0, 1e-9)]] * 300, BETA) == pytest.approx(1.0, rel=1e-12)
    assert 0.0 < team_match_quality([[(25.0, 3.0)]] * 300, BETA) < 1e-10


@pytest.mark.parametrize("keywords", [{}, {"draw_probability": 0.2}, {"draw_margin": 3.0}])
def test_win_and_draw_probabilities_of_teams(keywords: dict) -> None:
    i, j = TEAMS[1], [(26.0, 4.0)]
    weights = [[1.0, 0.5], [1.0]]
    margin = keywords.get("draw_margin", 0.0)
    if "draw_probability" in keywords:
        margin = draw_margin_from_probability(0.2, BETA, 3)
    win = team_win_probability(i, j, BETA, weights=weights, **keywords)
    loss = team_win_probability(j, i, BETA, weights=weights[::-1], **keywords)
    draw = team_draw_probability(i, j, BETA, weights=weights, **keywords)
    assert win + draw + loss == pytest.approx(1.0, abs=1e-14)
    variance = 9.0 + BETA**2 + 0.25 * (4.0 + BETA**2) + 16.0 + BETA**2
    deviation = math.sqrt(variance)
    expected = 0.5 * math.erfc(-(17.0 - 26.0 - margin) / deviation / math.sqrt(2.0))
    assert win == pytest.approx(expected, rel=1e-13)


def test_probabilities_of_all_rankings_add_up_to_one() -> None:
    narrow = [[(25.0, 8.0)], [(30.0, 0.01)], [(22.0, 4.0)], [(26.0, 0.02)]]
    for teams, beta in ((TEAMS, BETA), (narrow, 0.01)):
        found = [ranking_probability(teams, p, beta) for p in itertools.permutations(range(4))]
        assert sum(found) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("ranks", [[0, 1, 2], [0, 2, 1, 3], [3, 1, 2, 0], [0, 1, 0, 2]])
def test_a_ranking_is_an_event_of_the_differences_of_neighbours(
    ranks: list[int], margin: float
) -> None:
    """Compare with SciPy's multivariate normal distribution function."""
    teams = TEAMS if len(ranks) == 4 else [[(0.0, 300.0)], [(-20.0, 400.0)], [(9.0, 1e-3)]]
    mean = np.array([sum(mu for mu, _ in side) for side in teams])
    variance = [sum(sigma**2 + BETA**2 for _, sigma in side) for side in teams]
    order = np.argsort(ranks, kind="stable")
    gaps = np.diff(np.eye(len(ranks))[order], axis=0)  # the worse side minus the better one
    drawn = np.diff(np.sort(ranks)) == 0
    low, high = np.where(drawn, -margin, -np.inf), np.where(drawn, margin, -margin)
    law = {"mean": gaps @ mean, "cov": gaps * variance @ gaps.T, "abseps": 1e-7, "releps": 1e-7}
    exact = multivariate_normal.cdf(high, lower_limit=low, **law) if (low < high).all() else 0.0
    found = ranking_probability(teams, ranks, BETA, draw_margin=margin)
    assert found == pytest.approx(exact, abs=1e-6)


def test_equal_sides_have_equal_rankings() -> None:
    many = ranking_probability([[(25.0, 3.0)]] * 40, range(40), BETA)
    assert math.log(many) == pytest.approx(-math.lgamma(41.0), abs=1e-4)


@pytest.mark.parametrize("margin", [0.0, 1e-9, 0.7, 30.0])
@pytest.mark.parametrize("far", [10.0, 500.0])
def test_a_third_side_that_is_certain_to_lose_changes_nothing(margin: float, far: float) -> None:
    """Compare the chain of integrals with the closed forms of two sides."""
    i, j, last = [(0.0, 1.0)], [(far, 1.0)], [(-1000.0, 0.1)]
    for ranks in ([0, 1, 2], [1, 0, 2], [0, 0, 2]):
        pair = (i, j) if ranks[0] <= ranks[1] else (j, i)
        exact = team_draw_probability if ranks[0] == ranks[1] else team_win_probability
        expected = pytest.approx(exact(*pair, 1.0, draw_margin=margin), rel=1e-7, abs=1e-10)
        assert ranking_probability([i, j, last], ranks, 1.0, draw_margin=margin) == expected
        assert ranking_probability([i, j], ranks[:2], 1.0, draw_margin=margin) == expected


@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_first_places_are_the_integral_of_the_model(margin: float, scale: float) -> None:
    # The second side is much narrower for a small scale.
    teams = [[(25.0, 8.0)], [(27.0 * scale, 2.0 * scale)], [(20.0, 3.0), (4.0, 1.0)], [(31.0, 5.0)]]
    weights = [[1.0], [scale], [1.0, 1.0], [2.0]]
    means, spreads = np.transpose(
        [
            (np.dot(row, mu), math.hypot(*np.multiply(row, np.hypot(sigma, BETA))))
            for row, (mu, sigma) in zip(weights, map(np.transpose, teams), strict=True)
        ]
    )
    found = first_place_probability(teams, BETA, draw_margin=margin, weights=weights)
    for i, chance in enumerate(found):

        def density(x: float, i: int = i) -> float:
            others = [NORMAL.cdf((x - margin - means[j]) / spreads[j]) for j in range(4) if j != i]
            return NORMAL.pdf((x - means[i]) / spreads[i]) / spreads[i] * math.prod(others)

        ends = means[i] - 12 * spreads[i], means[i] + 12 * spreads[i]
        points = (means + margin + np.multiply.outer([-6, -2, 0, 2, 6], spreads)).ravel()
        points = points[(points > ends[0]) & (points < ends[1])]
        exact, _ = quad(density, *ends, points=points, limit=2000, epsabs=1e-13)
        assert chance == pytest.approx(exact, abs=1e-10)
    assert sum(found) == pytest.approx(1.0, abs=1e-10) if margin == 0.0 else sum(found) < 1.0


def test_first_places_of_two_sides_are_win_probabilities() -> None:
    trueskill = TrueSkill(draw_probability=0.3)
    pair = [(25.0, 8.0)], [(22.0, 4.0), (5.0, 1.0)]
    first, second = trueskill.first_place_probability(pair)
    keywords = {"beta": BETA, "draw_probability": 0.3}
    assert first == pytest.approx(team_win_probability(*pair, **keywords), abs=1e-11)
    assert first == pytest.approx(trueskill.win_probability(*pair), abs=1e-11)
    assert second == pytest.approx(trueskill.win_probability(*pair[::-1]), abs=1e-11)


test_bad_arguments_raise = refusals(
    (lambda: team_match_quality(TEAMS, 0.0), "beta"),
    (lambda: team_match_quality(TEAMS[:1], BETA), "at least two sides"),
    (lambda: team_win_probability([(25.0, -1.0)], TEAMS[0], BETA), r"sigma of teams\[0\]"),
    (lambda: ranking_probability(TEAMS, [0, 1], BETA), "ranks"),
)
