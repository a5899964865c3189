"""Games of two players against mpmath, and their symmetries."""

import math
import warnings
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusals
from trueskill_references import (
    SMALLEST,
    any_gap,
    any_scale,
    digits_for,
    draw_reference,
    win_reference,
)

from matchenv import trueskill
from matchenv.trueskill.game import (
    OUTCOMES,
    drawn_outcome,
    log_outcome_probability_of,
    performance_variance,
    total_variance,
    win_probability_of,
)

skills = st.floats(-50, 50)
deviations = st.floats(1e-3, 1e3)


@given(skills, deviations, skills, deviations, st.floats(1e-3, 20), st.sampled_from(OUTCOMES))
@settings(max_examples=80, deadline=None)
def test_update_is_symmetric_and_never_widens(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, margin: float, outcome: int
) -> None:
    updated = trueskill.update(mu_i, sigma_i, mu_j, sigma_j, outcome, 1.6, margin)
    new_mu_i, new_sigma_i, new_mu_j, new_sigma_j = updated
    swapped = trueskill.update(mu_j, sigma_j, mu_i, sigma_i, -outcome, 1.6, margin)
    assert swapped == (new_mu_j, new_sigma_j, new_mu_i, new_sigma_i)
    mirrored = trueskill.update(-mu_i, sigma_i, -mu_j, sigma_j, -outcome, 1.6, margin)
    assert mirrored == (-new_mu_i, new_sigma_i, -new_mu_j, new_sigma_j)
    assert 0.0 < new_sigma_i <= sigma_i
    assert 0.0 < new_sigma_j <= sigma_j
    if outcome != 0:
        assert outcome * (new_mu_i - mu_i) >= 0.0
        assert outcome * (new_mu_j - mu_j) <= 0.0


@pytest.mark.parametrize("number", [int, float, np.float64, np.array])
def test_numbers_of_any_type_give_numpy_scalars(number: type) -> None:
    beliefs = [number(1), number(2), number(0), number(3)]
    assert type(trueskill.win_probability(*beliefs, 1.0)) is np.float64
    for value in trueskill.update(*beliefs, 1, 1.0):
        assert type(value) is np.float64


def test_integers_beyond_int64_are_numbers() -> None:
    assert trueskill.win_probability(2**64, 1, 0, 1, 1) == 1.0


def test_arrays_broadcast() -> None:
    rng = np.random.default_rng(5)
    mu_i = rng.normal(size=(3, 1))
    sigma_i = rng.uniform(0.5, 2, size=(3, 1))
    mu_j = rng.normal(size=4)
    sigma_j = rng.uniform(0.5, 2, size=4)
    outcome = np.array([[1], [0], [-1]])
    win = trueskill.win_probability(mu_i, sigma_i, mu_j, sigma_j, 1.5, 0.2)
    updated = np.array(trueskill.update(mu_i, sigma_i, mu_j, sigma_j, outcome, 1.5, 0.2))
    assert win.shape == (3, 4)
    assert updated.shape == (4, 3, 4)
    assert updated.dtype == np.float64
    for a, b in np.ndindex(3, 4):
        game = (mu_i[a, 0], sigma_i[a, 0], mu_j[b], sigma_j[b])
        assert trueskill.win_probability(*game, 1.5, 0.2) == win[a, b]
        one_game = trueskill.update(*game, outcome[a, 0], 1.5, 0.2)
        assert one_game == tuple(updated[:, a, b])


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
    (-0.1, 2, "draw_probability must be"),
    (1.0, 2, "draw_probability must be"),
    (math.nan, 2, "draw_probability must be"),
    (0.1, 1, "num_players must be an integer in"),
    (0.1, 10**400, "num_players must be an integer in"),
    call=lambda chance, players: trueskill.draw_margin_from_probability(chance, 1.0, players),
)


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


def exact_update(
    belief_i: tuple[float, float],
    belief_j: tuple[float, float],
    outcome: int,
    beta: float,
    margin: float,
) -> list[float]:
    """Return mu_i, sigma_i, mu_j and sigma_j after a game, from V and W of the paper."""
    mu_i, sigma_i = map(mpmath.mpf, belief_i)
    mu_j, sigma_j = map(mpmath.mpf, belief_j)
    variance = sigma_i**2 + sigma_j**2 + 2 * mpmath.mpf(beta) ** 2
    c = mpmath.sqrt(variance)
    gap = mu_i - mu_j
    if outcome == 0:
        v, w = draw_reference(gap / c, margin / c)
    else:
        v, w = win_reference((outcome * gap - margin) / c)
        v *= outcome
    return [
        float(mu_i + sigma_i**2 / c * v),
        float(sigma_i * mpmath.sqrt(1 - sigma_i**2 / variance * w)),
        float(mu_j - sigma_j**2 / c * v),
        float(sigma_j * mpmath.sqrt(1 - sigma_j**2 / variance * w)),
    ]


@pytest.mark.parametrize(("outcome", "ranks"), [(1, [0, 1]), (0, [0, 0]), (-1, [1, 0])])
@pytest.mark.parametrize("gap", [-9000.0, -60.0, -8.0, -0.3, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("margin", [1e-3, 0.74, 9.0])
def test_update_and_both_paths_of_rate_keep_their_digits(
    outcome: int, ranks: list[int], gap: float, margin: float
) -> None:
    beta = 25.0 / 6.0
    belief_i = (25.0 + gap, 2.5)
    belief_j = (25.0, 7.0)
    with mpmath.workdps(digits_for(margin)):
        expected = exact_update(belief_i, belief_j, outcome, beta, margin)
    updated = trueskill.update(*belief_i, *belief_j, outcome, beta, margin)
    assert updated == pytest.approx(expected, rel=1e-12)
    for weights in (None, [[1.0], [1.0]]):  # the closed form, and the factor graph
        rated = trueskill.rate(
            [[belief_i], [belief_j]], ranks, beta=beta, draw_margin=margin, weights=weights
        )
        ((new_i,), (new_j,)) = rated
        assert [*new_i, *new_j] == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@mpmath.workdps(450)
def test_densities_of_players_of_any_scale() -> None:
    rng = np.random.default_rng(1)
    for _ in range(160):
        beta, sigma_i, sigma_j = any_scale(rng), any_scale(rng), any_scale(rng)
        noise = mpmath.sqrt(2) * mpmath.mpf(beta)
        c = mpmath.sqrt(noise**2 + mpmath.mpf(sigma_i) ** 2 + mpmath.mpf(sigma_j) ** 2)
        gap = any_gap(rng, float(c))
        game = (gap, sigma_i, 0.0, sigma_j, beta)
        density = mpmath.npdf(gap / c) / c
        quality = density * 2 * beta * mpmath.sqrt(mpmath.pi)
        true_density = mpmath.npdf(gap / noise) / noise
        for value, exact in (
            (trueskill.draw_density(*game), density),
            (trueskill.match_quality(*game), quality),
            (trueskill.true_draw_density(gap, 0.0, beta), true_density),
        ):
            assert 0.0 <= value < math.inf
            if exact > SMALLEST:
                assert abs(value / exact - 1) < 1e-12


@pytest.mark.filterwarnings("error::RuntimeWarning")
@mpmath.workdps(450)
def test_probabilities_of_players_of_any_scale() -> None:
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(160):
        beta, sigma_i, sigma_j = any_scale(rng), any_scale(rng), any_scale(rng)
        variance = 2 * mpmath.mpf(beta) ** 2 + mpmath.mpf(sigma_i) ** 2 + mpmath.mpf(sigma_j) ** 2
        c = mpmath.sqrt(variance)
        gap = any_gap(rng, float(c))
        margin = abs(any_gap(rng, float(c)))
        game = (gap, sigma_i, 0.0, sigma_j, beta, margin)
        win = trueskill.win_probability(*game)
        draw = trueskill.draw_probability(*game)
        total = total_variance(sigma_i, sigma_j, beta)
        log_win = log_outcome_probability_of(gap, total, 1, margin)
        log_draw = log_outcome_probability_of(gap, total, 0, margin)
        for value in (win, draw, log_win, log_draw):
            assert not math.isnan(value)
        t = gap / c
        e = margin / c
        if abs(t) > 1000 or not e < 1000:
            continue
        compared += 1
        exact_draw = mpmath.ncdf(e - abs(t)) - mpmath.ncdf(-e - abs(t))
        for value, logarithm, exact in (
            (win, log_win, mpmath.ncdf(t - e)),
            (draw, log_draw, exact_draw),
        ):
            if exact > SMALLEST:
                assert abs(value / exact - 1) < 1e-11
            if exact > 0:
                size = abs(mpmath.log(exact))
                error = abs(logarithm - mpmath.log(exact))
                assert error <= min(1e-9 * size + 1e-300, 1e-12 * (1 + size))
    assert compared > 60


def test_updates_are_finite_or_raise() -> None:
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(300):
        beta = any_scale(rng)
        margin = any_scale(rng)
        teams = []
        for _ in range(rng.choice([2, 2, 3])):
            members = range(rng.integers(1, 3))
            teams.append([(any_gap(rng, 0.0), any_scale(rng)) for _ in members])
        ranks = rng.integers(0, 3, len(teams)).tolist()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", trueskill.ConvergenceWarning)
                rated = trueskill.rate(teams, ranks, beta=beta, draw_margin=margin)
        except ValueError as error:
            if "must not mix scales so far apart" not in str(error):
                raise
            refused += 1
            continue
        beliefs = np.concatenate(rated)
        assert np.isfinite(beliefs).all()
        assert (beliefs[:, 1] > 0.0).all()
        if [len(side) for side in teams] == [1, 1]:
            outcome = int(np.sign(ranks[1] - ranks[0]))
            updated = trueskill.update(*teams[0][0], *teams[1][0], outcome, beta, margin)
            assert np.isfinite(updated).all()
    assert refused < 45
