"""Two-player TrueSkill by its properties and forms of arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchenv import trueskill

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


def test_bad_draw_probabilities_are_named() -> None:
    for probability in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="draw_probability must be"):
            trueskill.draw_margin_from_probability(probability, 1.0)
    with pytest.raises(ValueError, match="num_players must be an integer of at least 2"):
        trueskill.draw_margin_from_probability(0.1, 1.0, 1)
