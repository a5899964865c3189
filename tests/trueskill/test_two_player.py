"""Two-player TrueSkill against 40-digit arithmetic, quadrature and its own properties."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from matchenv import trueskill
from matchenv.trueskill.game import log_draw_probability_of, log_win_probability_of
from matchenv.trueskill.normal import draw_moments, win_moments

GAPS = [0.0, 1e-9, 0.01, 0.5, 1.0, 2.0, 3.9, 4.0, 4.1, 6.0, 12.0, 30.0, 37.0, 100.0, 400.0, 1000.0]
MARGINS = [1e-12, 1e-6, 0.01, 0.3, 0.99, 1.0, 1.5, 5.0, 30.0, 100.0, 1000.0, 1001.0]
RELATIVE_ERROR = 1e-10
SMALLEST_NORMAL = 2.3e-308


def upper_tail(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def digits_for(t: float, margin: float = 0.0) -> int:
    """Digits that survive the cancellations of the textbook formulas, plus 40."""
    return 40 + int(2 * abs(t) + 2 * abs(math.log10(margin) if margin else 0)) + 40


def win_reference(t: float) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """v, w and the log probability of a win at t."""
    x = mpmath.mpf(t)
    probability = upper_tail(-x)
    v = mpmath.npdf(x) / probability
    return v, v * (v + x), mpmath.log(probability)


def draw_reference(t: float, margin: float) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """v, w and the probability of a draw, from the formulas of the 2006 paper."""
    low, high = -mpmath.mpf(margin) - t, mpmath.mpf(margin) - mpmath.mpf(t)
    probability = (
        upper_tail(low) - upper_tail(high) if t < 0 else upper_tail(-high) - upper_tail(-low)
    )
    v = (mpmath.npdf(low) - mpmath.npdf(high)) / probability
    w = v * v + (high * mpmath.npdf(high) - low * mpmath.npdf(low)) / probability
    return v, w, probability


def assert_close(value: float, reference: mpmath.mpf, what: object) -> None:
    if abs(reference) < SMALLEST_NORMAL:
        assert abs(value) <= 2 * SMALLEST_NORMAL, what
        return
    error = abs((mpmath.mpf(float(value)) - reference) / reference)
    assert error < RELATIVE_ERROR, (what, float(error))


@pytest.mark.parametrize("t", sorted({s * g for g in GAPS for s in (1, -1)}))
def test_win_correction_equals_forty_digits(t: float) -> None:
    with mpmath.workdps(digits_for(min(t, 40.0))):
        v, w, _ = win_reference(t)
        ours_v, ours_w, _ = win_moments(t)
        assert_close(ours_v, v, t)
        assert_close(ours_w, w, t)


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("t", GAPS)
def test_draw_correction_equals_forty_digits(t: float, margin: float) -> None:
    with mpmath.workdps(digits_for(t, margin)):
        v, w, _ = draw_reference(t, margin)
        for sign in (1, -1):
            ours_v, ours_w, _ = draw_moments(sign * t, margin)
            assert_close(ours_v, sign * v, (t, margin))
            assert_close(ours_w, w, (t, margin))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("gap", [0.0, 0.3, 3.0, 30.0, 1000.0])
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_probabilities_equal_forty_digits(gap: float, margin: float, scale: float) -> None:
    sigma_i, sigma_j, beta = 1.3 * scale, 0.7 * scale, 0.9 * scale
    mu_i, mu_j, draw_margin = gap * scale, 0.0, margin * scale
    arguments = (mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)
    with mpmath.workdps(digits_for(gap, margin) + int(gap)):
        c = mpmath.sqrt(
            mpmath.mpf(sigma_i) ** 2 + mpmath.mpf(sigma_j) ** 2 + 2 * mpmath.mpf(beta) ** 2
        )
        for sign in (1, -1):
            lead = (sign * mpmath.mpf(mu_i) - mpmath.mpf(draw_margin)) / c
            probability = upper_tail(-lead)
            swapped = (sign * mu_i, *arguments[1:])
            assert_close(trueskill.win_probability(*swapped), probability, arguments)
            logarithm = log_win_probability_of(sign * mu_i, float(c) ** 2, draw_margin)
            assert_close(logarithm, mpmath.log(probability), arguments)
        if margin:
            low, high = (-mpmath.mpf(draw_margin) - mu_i) / c, (mpmath.mpf(draw_margin) - mu_i) / c
            probability = upper_tail(-high) - upper_tail(-low)
            assert_close(trueskill.draw_probability(*arguments), probability, arguments)
            logarithm = log_draw_probability_of(mu_i, float(c) ** 2, draw_margin)
            assert_close(logarithm, mpmath.log(probability), arguments)


def posterior_by_quadrature(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, outcome: int, beta: float, m: float
) -> tuple[float, float]:
    """Exact posterior mean and deviation of player i, integrating over i's skill."""
    spread = math.sqrt(sigma_j**2 + 2 * beta**2)

    def cdf(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    def likelihood(skill: float) -> float:
        lead = skill - mu_j
        if outcome == 0:
            return cdf((m - lead) / spread) - cdf((-m - lead) / spread)
        return cdf((outcome * lead - m) / spread)

    def moment(power: int) -> float:
        def integrand(z: float) -> float:
            skill = mu_i + sigma_i * z
            return skill**power * likelihood(skill) * math.exp(-0.5 * z * z)

        return integrate.quad(integrand, -12, 12, epsabs=1e-14, epsrel=1e-11, limit=400)[0]

    mass, first, second = moment(0), moment(1), moment(2)
    mean = first / mass
    return mean, math.sqrt(second / mass - mean * mean)


@pytest.mark.parametrize("outcome", [1, 0, -1])
@pytest.mark.parametrize(
    ("mu_i", "sigma_i", "mu_j", "sigma_j"),
    [(0.0, 1.0, 0.0, 1.0), (1.5, 0.7, -0.4, 2.0), (-2.0, 1.6, 1.0, 0.3), (25.0, 8.3, 25.0, 1.0)],
)
def test_update_is_the_exact_posterior(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, outcome: int
) -> None:
    beta, margin = 1.58, 0.6
    new = trueskill.update(mu_i, sigma_i, mu_j, sigma_j, outcome, beta, margin)
    exact_i = posterior_by_quadrature(mu_i, sigma_i, mu_j, sigma_j, outcome, beta, margin)
    exact_j = posterior_by_quadrature(mu_j, sigma_j, mu_i, sigma_i, -outcome, beta, margin)
    np.testing.assert_allclose(new, (*exact_i, *exact_j), rtol=1e-9, atol=1e-11)


def test_published_example_to_sixteen_digits() -> None:
    """25, 25/3 beats the same with tau 25/300 and 10 % draws, by 40-digit arithmetic."""
    beta = 25 / 6
    sigma = math.hypot(25 / 3, 25 / 300)
    margin = trueskill.draw_margin_from_probability(0.10, beta)
    mu_i, sigma_i, mu_j, sigma_j = trueskill.update(25, sigma, 25, sigma, 1, beta, margin)
    assert mu_i == pytest.approx(29.39583169299151, rel=1e-14)
    assert sigma_i == pytest.approx(7.17147580700922, rel=1e-14)
    assert mu_j == pytest.approx(50 - 29.39583169299151, rel=1e-14)
    assert sigma_j == pytest.approx(7.17147580700922, rel=1e-14)


@pytest.mark.parametrize("sigma", [1e-6, 1e6])
@pytest.mark.parametrize("gap", [-1000.0, 1000.0])
def test_update_at_the_extremes_equals_forty_digits(sigma: float, gap: float) -> None:
    """An upset by 1000 sigma, for a player whose own sigma is all or nothing of c."""
    beta, sigma_j = 1.58, 1.0
    with mpmath.workdps(60):
        vi, rest = mpmath.mpf(sigma) ** 2, mpmath.mpf(sigma_j) ** 2 + 2 * mpmath.mpf(beta) ** 2
        c = mpmath.sqrt(vi + rest)
        mu_i = float(gap * c)
        t = mpmath.mpf(mu_i) / c
        v, w, _ = win_reference(float(t)) if abs(t) < 30 else _far_reference(t)
        exact_mu = mu_i + vi / c * v
        exact_sigma = sigma * mpmath.sqrt(1 - vi / c**2 * w)
        new_mu, new_sigma, _, _ = trueskill.update(mu_i, sigma, 0.0, sigma_j, 1, beta)
        assert_close(new_mu, exact_mu, (sigma, gap))
        assert_close(new_sigma, exact_sigma, (sigma, gap))


def _far_reference(t: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf, None]:
    with mpmath.workdps(80):
        v = mpmath.npdf(t) / upper_tail(-t)
        return v, v * (v + t), None


skills = st.floats(-50, 50)
deviations = st.floats(1e-3, 1e3)


@given(mu_i=skills, sigma_i=deviations, mu_j=skills, sigma_j=deviations, margin=st.floats(0, 20))
@settings(max_examples=300, deadline=None)
def test_win_draw_and_loss_make_one(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, margin: float
) -> None:
    win = trueskill.win_probability(mu_i, sigma_i, mu_j, sigma_j, 1.6, margin)
    loss = trueskill.win_probability(mu_j, sigma_j, mu_i, sigma_i, 1.6, margin)
    draw = trueskill.draw_probability(mu_i, sigma_i, mu_j, sigma_j, 1.6, margin)
    assert win + draw + loss == pytest.approx(1.0, abs=4e-15)
    assert (draw == 0.0) == (margin == 0.0) or draw < 1e-300


@given(
    mu_i=skills,
    sigma_i=deviations,
    mu_j=skills,
    sigma_j=deviations,
    margin=st.floats(1e-3, 20),
    outcome=st.sampled_from([1, 0, -1]),
)
@settings(max_examples=300, deadline=None)
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


@given(t=st.floats(-8, 8), margin=st.floats(0.05, 3))
@settings(max_examples=200, deadline=None)
def test_corrections_are_derivatives_of_the_log_probability(t: float, margin: float) -> None:
    """v is the first derivative and -w the second, by 40-digit differentiation."""
    with mpmath.workdps(60):

        def log_win(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(upper_tail(mpmath.mpf(margin) - x))

        def log_draw(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(upper_tail(-margin - x) - upper_tail(margin - x))

        for log_probability, (v, w, _) in (
            (log_win, win_moments(t - margin)),
            (log_draw, draw_moments(t, margin)),
        ):
            assert float(v) == pytest.approx(
                float(mpmath.diff(log_probability, t)), rel=1e-9, abs=1e-12
            )
            assert float(w) == pytest.approx(
                float(-mpmath.diff(log_probability, t, 2)), rel=1e-9, abs=1e-12
            )


def test_draw_density_is_the_density_of_the_difference_at_zero() -> None:
    """Eq. (5) against the integral of eq. (4) over the belief about the difference."""
    mu_i, sigma_i, mu_j, sigma_j, beta = 1.1, 0.8, -0.7, 1.4, 1.58
    spread = math.hypot(sigma_i, sigma_j)

    def integrand(x: float) -> float:
        belief = math.exp(-0.5 * ((x - (mu_i - mu_j)) / spread) ** 2)
        return trueskill.true_draw_density(x, 0.0, beta) * belief / spread / math.sqrt(2 * math.pi)

    integral, _ = integrate.quad(integrand, -20, 20, epsabs=0, epsrel=1e-12)
    density = trueskill.draw_density(mu_i, sigma_i, mu_j, sigma_j, beta)
    assert density == pytest.approx(integral, rel=1e-11)


def test_draw_density_is_the_limit_of_the_draw_probability() -> None:
    arguments = (0.4, 1.2, -0.9, 0.7, 1.58)
    margin = 1e-7
    limit = trueskill.draw_probability(*arguments, margin) / (2 * margin)
    assert trueskill.draw_density(*arguments) == pytest.approx(limit, rel=1e-12)


def test_match_quality_is_one_for_known_equals_and_follows_the_density() -> None:
    assert trueskill.match_quality(3.0, 1e-9, 3.0, 1e-9, 2.0) == pytest.approx(1.0, rel=1e-15)
    density = trueskill.draw_density(1.0, 0.5, 0.0, 0.8, [1.0, 2.0])
    quality = trueskill.match_quality(1.0, 0.5, 0.0, 0.8, [1.0, 2.0])
    certain = trueskill.true_draw_density(0.0, 0.0, [1.0, 2.0])
    np.testing.assert_allclose(quality, density / certain, rtol=1e-14)


def test_arrays_broadcast_and_equal_scalars() -> None:
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
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
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    arguments = {
        "mu_i": 0.0,
        "sigma_i": 1.0,
        "mu_j": 0.0,
        "sigma_j": 1.0,
        "outcome": 1,
        "beta": 1.0,
        "draw_margin": 0.1,
    }
    with pytest.raises(ValueError, match=message):
        trueskill.update(**(arguments | change))
