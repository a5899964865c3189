"""rate against the trueskill package and against 40-digit arithmetic."""

from __future__ import annotations

import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest

from matchenv.trueskill import rate, team_match_quality

# Of the extra "benchmarks".
trueskill = pytest.importorskip("trueskill")

BETA, TAU = 25.0 / 6.0, 25.0 / 300.0
NORMAL = NormalDist()


def normal_probability(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


# The package's own normal is exact to seven digits; SciPy's is as exact as this one, and slow.
BACKEND = (normal_probability, NORMAL.pdf, NORMAL.inv_cdf)


def random_game(rng: np.random.Generator) -> tuple[list, list[int], list | None, float]:
    """Teams, ranks, weights and a draw probability that the package can still handle."""
    sides = int(rng.integers(2, 9))
    sizes = rng.integers(1, 5, size=sides) if rng.random() < 0.6 else np.ones(sides, dtype=int)
    # The skills of a side are drawn about an even share, so that no gap makes the package
    # fail or reach for its inexact tails.
    teams = [
        [(float(rng.normal(25.0, 6.0) / size), float(rng.uniform(1.0, 9.0))) for _ in range(size)]
        for size in sizes
    ]
    draws = rng.random() < 0.4
    ranks = (rng.integers(0, sides, sides) if draws else rng.permutation(sides)).tolist()
    weights = None
    if rng.random() < 0.3:
        weights = [[float(rng.uniform(0.1, 1.0)) for _ in side] for side in teams]
    return teams, ranks, weights, float(rng.choice([0.02, 0.1, 0.3, 0.6]))


def as_package_teams(environment: trueskill.TrueSkill, teams: list) -> list[tuple]:
    return [tuple(environment.create_rating(mu, sigma) for mu, sigma in side) for side in teams]


def check_random_games(seed: int, games: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(games):
        teams, ranks, weights, draw_probability = random_game(rng)
        environment = trueskill.TrueSkill(
            beta=BETA, tau=TAU, draw_probability=draw_probability, backend=BACKEND
        )
        theirs = environment.rate(
            as_package_teams(environment, teams), ranks, weights, min_delta=1e-12
        )
        ours = rate(
            teams, ranks, beta=BETA, tau=TAU, draw_probability=draw_probability, weights=weights
        )
        for our_side, their_side in zip(ours, theirs, strict=True):
            for mine, their in zip(our_side, their_side, strict=True):
                assert mine.mu == pytest.approx(their.mu, rel=1e-5, abs=1e-5)
                assert mine.sigma == pytest.approx(their.sigma, rel=1e-5)


def test_random_games_of_every_form_agree_with_the_package() -> None:
    check_random_games(0, 80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_thousands_more_games_agree_with_the_package(seed: int) -> None:
    check_random_games(seed, 200)


def test_quality_of_teams_agrees_with_the_package() -> None:
    rng = np.random.default_rng(7)
    environment = trueskill.TrueSkill(beta=BETA, tau=TAU, backend=BACKEND)
    for _ in range(30):
        teams, _, weights, _ = random_game(rng)
        theirs = environment.quality(as_package_teams(environment, teams), weights)
        assert team_match_quality(teams, BETA, weights) == pytest.approx(theirs, rel=1e-8)


def exact_duel(pair: tuple, outcome: int, beta: float, margin: float) -> list[tuple]:
    """Posterior means and deviations in 40 digits, from the cut normal of the difference."""
    with mpmath.workdps(40):
        (mu_i, sigma_i), (mu_j, sigma_j) = (tuple(map(mpmath.mpf, belief)) for belief in pair)
        variance = sigma_i**2 + sigma_j**2 + 2 * mpmath.mpf(beta) ** 2
        c, gap, e = mpmath.sqrt(variance), mu_i - mu_j, mpmath.mpf(margin)
        limits = {1: [e, mpmath.inf], 0: [-e, e], -1: [-mpmath.inf, -e]}[outcome]
        t = [(limit - gap) / c for limit in limits]

        def below(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        # The upper tail in place of 1 - tiny.
        mass = below(-t[0]) - below(-t[1]) if t[0] > 0 else below(t[1]) - below(t[0])
        density = [mpmath.npdf(x) if mpmath.isfinite(x) else mpmath.mpf(0) for x in t]
        edge = [
            x * y if mpmath.isfinite(x) else mpmath.mpf(0) for x, y in zip(t, density, strict=True)
        ]
        mean = (density[0] - density[1]) / mass
        spread = 1 + (edge[0] - edge[1]) / mass - mean**2
        out = []
        for mu, sigma, sign in ((mu_i, sigma_i, 1), (mu_j, sigma_j, -1)):
            own = sigma**2 / variance
            out.append((mu + sign * own * c * mean, sigma * mpmath.sqrt(1 - own * (1 - spread))))
        return [(float(mu), float(sigma)) for mu, sigma in out]


@pytest.mark.parametrize("outcome", [1, 0, -1])
@pytest.mark.parametrize("gap", [-60.0, -8.0, -0.3, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("margin", [1e-3, 0.74, 9.0])
def test_two_players_agree_with_forty_digits(outcome: int, gap: float, margin: float) -> None:
    pair = ((25.0 + gap, 2.5), (25.0, 7.0))
    expected = exact_duel(pair, outcome, BETA, margin)
    ranks = {1: [0, 1], 0: [0, 0], -1: [1, 0]}[outcome]
    teams = [[pair[0]], [pair[1]]]
    for weights in (None, [[1.0], [1.0]]):  # the closed form, and the factor graph
        rated = rate(teams, ranks, beta=BETA, draw_margin=margin, weights=weights)
        for (mine,), exact in zip(rated, expected, strict=True):
            assert mine.mu == pytest.approx(exact[0], rel=1e-12)
            assert mine.sigma == pytest.approx(exact[1], rel=1e-12)


def test_the_published_value_that_is_wrong_after_seven_digits() -> None:
    winner, loser = rate(
        [[(25.0, 25.0 / 3.0)], [(25.0, 25.0 / 3.0)]],
        [0, 1],
        beta=BETA,
        tau=TAU,
        draw_probability=0.1,
    )
    assert winner[0] == pytest.approx((29.39583169299151, 7.17147580700922), rel=1e-14)
    assert loser[0] == pytest.approx((50.0 - 29.39583169299151, 7.17147580700922), rel=1e-14)
