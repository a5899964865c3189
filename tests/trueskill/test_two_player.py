"""Two-player TrueSkill, qualities and probabilities of sides: mpmath, quadrature and SciPy."""

import itertools
import math
import warnings
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from refusals import refusals
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from matchenv import trueskill
from matchenv.trueskill import (
    TrueSkill,
    draw_margin_from_probability,
    first_place_probability,
    ranking_probability,
    team_draw_probability,
    team_match_quality,
    team_win_probability,
)
from matchenv.trueskill.game import (
    drawn_outcome,
    log_outcome_probability_of,
    performance_variance,
    total_variance,
    win_probability_of,
)
from matchenv.trueskill.normal import draw_moments, exponential, win_moments

skills = st.floats(-50, 50)
deviations = st.floats(1e-3, 1e3)


@given(skills, deviations, skills, deviations, st.floats(1e-3, 20), st.sampled_from([1, 0, -1]))
@settings(max_examples=80, deadline=None)
def test_update_is_symmetric_and_never_widens(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, margin: float, outcome: int
) -> None:
    one = trueskill.update(mu_i, sigma_i, mu_j, sigma_j, outcome, 1.6, margin)
    swapped = trueskill.update(mu_j, sigma_j, mu_i, sigma_i, -outcome, 1.6, margin)
    assert (one[2], one[3], one[0], one[1]) == swapped
    mirrored = trueskill.update(-mu_i, sigma_i, -mu_j, sigma_j, -outcome, 1.6, margin)
    assert mirrored == (-one[0], one[1], -one[2], one[3])
    assert 0.0 < one[1] <= sigma_i
    assert 0.0 < one[3] <= sigma_j
    if outcome != 0:
        assert outcome * (one[0] - mu_i) >= 0.0
        assert outcome * (one[2] - mu_j) <= 0.0


def test_arrays_broadcast_and_numbers_of_any_type_give_numpy_scalars() -> None:
    for number in (int, float, np.float64, np.array):
        game = [number(each) for each in (1, 2, 0, 3)]
        found = [trueskill.win_probability(*game, 1.0), *trueskill.update(*game, 1, 1.0)]
        assert [type(each) for each in found] == 5 * [np.float64]
    assert trueskill.win_probability(2**64, 1, 0, 1, 1) == 1.0
    rng = np.random.default_rng(5)
    mu_i, sigma_i = rng.normal(size=(3, 1)), rng.uniform(0.5, 2, size=(3, 1))
    mu_j, sigma_j = rng.normal(size=4), rng.uniform(0.5, 2, size=4)
    outcome = np.array([[1], [0], [-1]])
    table = trueskill.win_probability(mu_i, sigma_i, mu_j, sigma_j, 1.5, 0.2)
    updated = trueskill.update(mu_i, sigma_i, mu_j, sigma_j, outcome, 1.5, 0.2)
    assert table.shape == (3, 4)
    assert all(part.shape == (3, 4) and part.dtype == np.float64 for part in updated)
    for a in range(3):
        for b in range(4):
            one = (mu_i[a, 0], sigma_i[a, 0], mu_j[b], sigma_j[b])
            scalar = trueskill.win_probability(*one, 1.5, 0.2)
            assert isinstance(scalar, float)
            assert scalar == table[a, b]
            assert trueskill.update(*one, outcome[a, 0], 1.5, 0.2) == tuple(
                part[a, b] for part in updated
            )


@pytest.mark.parametrize("gap", [-9.0, -0.4, 0.0, 2.5])
@pytest.mark.parametrize("draw_margin", [0.0, 0.8])
def test_drawn_outcomes_have_their_probabilities(gap: float, draw_margin: float) -> None:
    """An outcome covers an interval of u as long as its probability: win, draw, loss."""
    beta = 1.6
    difference = NormalDist(gap, math.sqrt(2.0) * beta)
    not_win = difference.cdf(draw_margin)
    loss = difference.cdf(-draw_margin)
    variance = performance_variance(beta)
    win = win_probability_of(gap, variance, draw_margin)
    for u in np.linspace(0.0, 1.0, 1000, endpoint=False).tolist():
        outcome = drawn_outcome(u, win, gap, variance, draw_margin)
        if u < 1.0 - not_win:
            assert outcome == 1
        elif u < 1.0 - loss:
            assert outcome == 0
        else:
            assert outcome == -1


GAME = {"mu_i": 0.0, "sigma_i": 1.0, "mu_j": 0.0, "sigma_j": 1.0, "outcome": 1, "beta": 1.0}
test_bad_arguments_raise = refusals(
    ({"mu_i": math.nan}, "mu_i must be finite"),
    ({"mu_j": [0.0, math.inf]}, "mu_j must be finite .* at index 1"),
    ({"sigma_i": 0.0}, "sigma_i must be positive"),
    ({"sigma_j": -1.0}, "sigma_j must be positive"),
    ({"beta": 0.0}, "beta must be positive"),
    ({"draw_margin": -0.1}, "draw_margin must not be negative"),
    ({"outcome": 2}, r"outcome must be \+1, 0 or -1"),
    ({"outcome": 0.5}, r"outcome must be \+1, 0 or -1"),
    ({"outcome": 0, "draw_margin": 0.0}, "a draw has probability 0"),
    ({"mu_i": "a"}, "mu_i must hold real numbers"),
    ({"mu_i": [10**30, "a"]}, "mu_i must hold real numbers"),
    ({"mu_i": [1, 2, 3], "beta": [1, 2]}, r"broadcast, got mu_i \(3,\), beta \(2,\)"),
    ({"mu_i": 10**400}, "mu_i must be finite and at most"),
    ({"mu_i": np.ma.masked_array([1.0, -999.0], [0, 1])}, "mu_i must not hold masked numbers"),
    call=lambda change: trueskill.update(**{**GAME, "draw_margin": 0.1, **change}),
)
test_bad_draw_probabilities_raise = refusals(
    *((chance, 2, "draw_probability must be") for chance in (-0.1, 1.0, math.nan)),
    *((0.1, players, "num_players must be an integer in") for players in (1, 10**400)),
    call=lambda chance, players: trueskill.draw_margin_from_probability(chance, 1.0, players),
)


Floats = NDArray[np.float64]

GAPS = [0.0, 1e-9, 0.01, 0.5, 1.0, 2.0, 3.9, 4.0, 4.1, 6.0, 12.0, 37.0, 400.0, 1000.0]
MARGINS = [1e-12, 1e-6, 0.01, 0.3, 0.99, 1.0, 1.5, 5.0, 30.0, 1000.0, 1001.0]
RELATIVE_ERROR = 1e-10
SMALLEST_NORMAL = 2.3e-308
# Below this float64 has fewer digits.
SMALLEST = 1e-290


@njit
def of_row(x: Floats) -> Floats:
    """Apply the kernel in a loop that the compiler can vectorise."""
    values = np.empty(x.size)
    for k in range(x.size):
        values[k] = exponential(x[k])
    return values


def units_off(x: Floats) -> Floats:
    """Return the error in units in the last place."""
    with mpmath.workprec(120):
        exact = [mpmath.exp(mpmath.mpf(float(value))) for value in x]
        pairs = zip(of_row(x).tolist(), exact, strict=True)
        off = [abs(value - true) / float(np.spacing(float(true))) for value, true in pairs]
        return np.array(off, dtype=np.float64)


def test_exponential_is_right_to_the_last_place() -> None:
    rng = np.random.default_rng(1)
    for low, high in ((-1.0, 0.0), (-50.0, 0.0), (-700.0, -50.0), (-745.0, -700.0), (0.0, 709.0)):
        assert units_off(rng.uniform(low, high, 600)).max() < 1.0
    tiny = -(10.0 ** np.linspace(-320.0, 0.0, 321))
    halves = (np.arange(-1074, 0) + 0.5) * math.log(2.0)  # where it rounds to another power of 2
    sides = [np.nextafter(halves, 0.0), halves, np.nextafter(halves, -np.inf)]
    assert units_off(np.concatenate([tiny, [-0.0, 0.0, -700.0], *sides])).max() < 1.0
    assert of_row(np.array([-745.2, -746.0, -1e300, -np.inf])).tolist() == [0.0] * 4
    assert of_row(np.array([-745.13, 0.0, -0.0])).tolist() == [5e-324, 1.0, 1.0]
    assert math.isnan(of_row(np.array([np.nan]))[0])


def test_exponential_has_the_same_bits_in_scalars_loops_and_python() -> None:
    x = -np.random.default_rng(2).exponential(100.0, 1001)
    row = of_row(x)
    assert [exponential(value) for value in x] == row.tolist()
    assert [exponential.py_func(value) for value in x] == row.tolist()
    assert [of_row(x[k : k + 1])[0] for k in range(100)] == row[:100].tolist()


def digits_for(margin: float = 1.0) -> int:
    """Return the digits lost to cancellation in the textbook formulas, plus 40."""
    return 60 + int(4 * abs(math.log10(margin or 1.0)))


def win_reference(t: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return v and w of a win at t."""
    x = mpmath.mpf(t)
    v = mpmath.npdf(x) / mpmath.ncdf(x)
    return v, v * (v + x)


def draw_reference(t: float, margin: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return v and w of a draw, from the formulas of the 2006 paper."""
    low, high = -mpmath.mpf(margin) - t, mpmath.mpf(margin) - mpmath.mpf(t)
    ends = (-low, -high) if t < 0 else (high, low)
    probability = mpmath.ncdf(ends[0]) - mpmath.ncdf(ends[1])
    v = (mpmath.npdf(low) - mpmath.npdf(high)) / probability
    return v, v * v + (high * mpmath.npdf(high) - low * mpmath.npdf(low)) / probability


def assert_close(value: float, reference: mpmath.mpf, what: object) -> None:
    if abs(reference) < SMALLEST_NORMAL:
        assert abs(value) <= 2 * SMALLEST_NORMAL, what
        return
    error = abs((mpmath.mpf(float(value)) - reference) / reference)
    assert error < RELATIVE_ERROR, (what, float(error))


def test_moments_of_a_win_keep_their_digits() -> None:
    for number in np.random.default_rng(2).uniform(-6.0, 6.0, 600).tolist():
        with mpmath.workprec(160):
            v, w = win_reference(number)
            found_v, found_w, found_rest = win_moments(number)
            # The density has the rounding error of x^2 / 2. At the start of the tail v + x is
            # v / 17 and 1 - w is w / 19, which multiplies the relative error of v.
            assert abs(found_v / v - 1) < 5e-15, number
            assert abs(found_w / w - 1) < 17 * 8e-16 + 5e-15, number
            assert abs(found_rest / (1 - w) - 1) < 17 * 19 * 8e-16 + 5e-15, number
    with mpmath.workdps(digits_for()):
        for number in (sign * gap for gap in GAPS for sign in (1, -1)):
            v, w = win_reference(number)
            found_v, found_w, _ = win_moments(number)
            assert_close(found_v, v, number)
            assert_close(found_w, w, number)


@pytest.mark.parametrize("margin", MARGINS)
def test_draw_correction_equals_forty_digits(margin: float) -> None:
    for t in GAPS:
        with mpmath.workdps(digits_for(margin)):
            v, w = draw_reference(t, margin)
            for sign in (1, -1):
                ours_v, ours_w, _, _ = draw_moments(sign * t, margin)
                assert_close(ours_v, sign * v, (t, margin))
                assert_close(ours_w, w, (t, margin))


@pytest.mark.parametrize("probability", [0.0, 1e-9, 0.01, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("players", [2, 9])
def test_draw_margin_equals_forty_digits(probability: float, players: int) -> None:
    with mpmath.workdps(40):
        margin = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(probability))
        margin *= mpmath.sqrt(players) * mpmath.mpf("1.7")
    ours = trueskill.draw_margin_from_probability(probability, 1.7, players)
    assert ours == pytest.approx(float(margin), rel=1e-13)
    back = trueskill.draw_probability_from_margin(ours, 1.7, players)
    assert back == pytest.approx(probability, rel=1e-12)


def exact_duel(
    pair: tuple[tuple[float, float], ...], outcome: int, beta: float, margin: float
) -> list[tuple[float, float]]:
    """Return posterior means and deviations, from V and W of the paper."""
    (mu_i, sigma_i), (mu_j, sigma_j) = (tuple(map(mpmath.mpf, belief)) for belief in pair)
    variance = sigma_i**2 + sigma_j**2 + 2 * mpmath.mpf(beta) ** 2
    c, gap = mpmath.sqrt(variance), mu_i - mu_j
    if outcome == 0:
        v, w = draw_reference(gap / c, margin / c)
    else:
        v, w = win_reference((outcome * gap - margin) / c)
        v *= outcome
    return [
        (float(mu + sign * s**2 / c * v), float(s * mpmath.sqrt(1 - s**2 / variance * w)))
        for mu, s, sign in ((mu_i, sigma_i, 1), (mu_j, sigma_j, -1))
    ]


@pytest.mark.parametrize("outcome", [1, 0, -1])
@pytest.mark.parametrize("gap", [-9000.0, -60.0, -8.0, -0.3, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("margin", [1e-3, 0.74, 9.0])
def test_update_and_both_paths_of_rate_keep_their_digits(
    outcome: int, gap: float, margin: float
) -> None:
    pair = ((25.0 + gap, 2.5), (25.0, 7.0))
    with mpmath.workdps(digits_for(margin)):
        expected = exact_duel(pair, outcome, 25.0 / 6.0, margin)
    ranks = {1: [0, 1], 0: [0, 0], -1: [1, 0]}[outcome]
    for weights in (None, [[1.0], [1.0]]):  # the closed form, and the factor graph
        game = {"beta": 25.0 / 6.0, "draw_margin": margin, "weights": weights}
        rated = trueskill.rate([[pair[0]], [pair[1]]], ranks, **game)  # type: ignore[arg-type]
        for (mine,), exact in zip(rated, expected, strict=True):
            assert mine == pytest.approx(exact, rel=1e-12)
    updated = trueskill.update(*pair[0], *pair[1], outcome, 25.0 / 6.0, margin)
    assert updated == pytest.approx([*expected[0], *expected[1]], rel=1e-12)


def any_scale(rng: np.random.Generator, power: float = 150.0) -> float:
    return float(10.0 ** rng.uniform(-power, power))


def any_gap(rng: np.random.Generator, width: float) -> float:
    """Return a gap of any size, mostly comparable to the width."""
    gap = rng.choice([0.0, width, 30.0 * width, any_scale(rng)]) * rng.normal()
    return float(np.clip(gap, -1e150, 1e150))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@mpmath.workdps(450)
def test_two_players_of_any_scale() -> None:
    rng, compared = np.random.default_rng(1), 0
    for _ in range(160):
        beta, sigma_i, sigma_j = any_scale(rng), any_scale(rng), any_scale(rng)
        variance = 2 * mpmath.mpf(beta) ** 2 + mpmath.mpf(sigma_i) ** 2 + mpmath.mpf(sigma_j) ** 2
        c = mpmath.sqrt(variance)
        gap = any_gap(rng, float(c))
        margin = abs(any_gap(rng, float(c)))
        players = (gap, sigma_i, 0.0, sigma_j, beta)
        t, e = gap / c, margin / c
        density, noise = mpmath.npdf(t) / c, beta * mpmath.sqrt(2)
        quality = density * 2 * beta * mpmath.sqrt(mpmath.pi)
        for got, exact in (
            (trueskill.draw_density(*players), density),
            (trueskill.match_quality(*players), quality),
            (trueskill.true_draw_density(gap, 0.0, beta), mpmath.npdf(gap / noise) / noise),
        ):
            assert 0.0 <= got < math.inf
            if exact > SMALLEST:
                assert abs(got / exact - 1) < 1e-12
        pair = gap, total_variance(sigma_i, sigma_j, beta), margin
        found = [
            trueskill.win_probability(*players, margin),
            trueskill.draw_probability(*players, margin),
            log_outcome_probability_of(*pair[:2], 1, margin),
            log_outcome_probability_of(*pair[:2], 0, margin),
        ]
        assert not any(math.isnan(value) for value in found)
        if abs(t) > 1000 or not e < 1000:
            continue
        compared += 1
        draw = mpmath.ncdf(e - abs(t)) - mpmath.ncdf(-e - abs(t))
        for k, exact in enumerate((mpmath.ncdf(t - e), draw)):
            if exact > SMALLEST:
                assert abs(found[k] / exact - 1) < 1e-11
            if exact > 0:
                size = abs(mpmath.log(exact))
                error = abs(found[k + 2] - mpmath.log(exact))
                assert error <= min(1e-9 * size + 1e-300, 1e-12 * (1 + size))
    assert compared > 60


def test_updates_are_finite_or_raise() -> None:
    rng = np.random.default_rng(2)
    refused, given = 0, 0
    for _ in range(300):
        beta, margin = any_scale(rng), any_scale(rng)
        teams = [
            [(any_gap(rng, 0.0), any_scale(rng)) for _ in range(rng.integers(1, 3))]
            for _ in range(rng.choice([2, 2, 3]))
        ]
        ranks = rng.integers(0, 3, len(teams)).tolist()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", trueskill.ConvergenceWarning)
                rated = trueskill.rate(teams, ranks, beta=beta, draw_margin=margin)
            if len(teams) == 2 and sum(map(len, teams)) == 2:
                beliefs = trueskill.update(
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
    assert given + refused == 300
    assert refused < 45


NORMAL = NormalDist()
BETA = 25.0 / 6.0
TEAMS = [[(25.0, 8.0)], [(11.0, 3.0), (12.0, 2.0)], [(27.0, 1.0)], [(15.0, 8.0)]]
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


@pytest.mark.parametrize("power", [5.0, 150.0])
def test_quality_of_any_scale_and_of_many_sides(power: float) -> None:
    """Compare scales over many orders of magnitude, where products would overflow."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        beta = any_scale(rng, power)
        sizes = rng.integers(1, 4, rng.choice([2, 2, 3, 5]))
        sigma = [[any_scale(rng, power) for _ in range(size)] for size in sizes]
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
    win = team_win_probability(i, j, BETA, weights=weights, **keywords)
    loss = team_win_probability(j, i, BETA, weights=weights[::-1], **keywords)
    draw = team_draw_probability(i, j, BETA, weights=weights, **keywords)
    assert win + draw + loss == pytest.approx(1.0, abs=1e-14)
    places = first_place_probability([i, j], BETA, weights=weights, **keywords)
    assert places == pytest.approx([win, loss], abs=1e-11)
    margin = keywords.get("draw_margin", 0.0)
    if "draw_probability" in keywords:
        margin, trueskill = draw_margin_from_probability(0.2, BETA, 3), TrueSkill(**keywords)
        assert trueskill.first_place_probability([i, j], weights) == places
        assert trueskill.win_probability(i, j, weights) == win
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


test_bad_teams_raise = refusals(
    (lambda: team_match_quality(TEAMS, 0.0), "beta"),
    (lambda: team_match_quality(TEAMS[:1], BETA), "at least two sides"),
    (lambda: team_win_probability([(25.0, -1.0)], TEAMS[0], BETA), r"sigma of teams\[0\]"),
    (lambda: ranking_probability(TEAMS, [0, 1], BETA), "ranks"),
)
