"""Two-player TrueSkill against quadrature, by its properties and forms of arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from matchenv import trueskill

skills = st.floats(-50, 50)
deviations = st.floats(1e-3, 1e3)


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


@pytest.mark.parametrize("number", [int, float, np.float64, np.array])
def test_numbers_of_any_type_give_numpys_scalars(number: Any) -> None:
    game = [number(each) for each in (1, 2, 0, 3)]
    found = [trueskill.win_probability(*game, 1.0), *trueskill.update(*game, 1, 1.0)]
    assert [type(each) for each in found] == 5 * [np.float64]


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
    game = {"mu_i": 0.0, "sigma_i": 1.0, "mu_j": 0.0, "sigma_j": 1.0, "outcome": 1, "beta": 1.0}
    with pytest.raises(ValueError, match=message):
        trueskill.update(**{**game, "draw_margin": 0.1, **change})


def test_draw_margins() -> None:
    assert trueskill.draw_margin_from_probability(0.0, 1.0) == 0.0
    assert trueskill.draw_probability_from_margin(0.0, 1.0) == 0.0
    for probability in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="draw_probability must be"):
            trueskill.draw_margin_from_probability(probability, 1.0)
    with pytest.raises(ValueError, match="num_players must be an integer of at least 2"):
        trueskill.draw_margin_from_probability(0.1, 1.0, 1)
