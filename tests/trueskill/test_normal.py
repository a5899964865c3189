"""The standard normal and its truncations against mpmath."""

import math

import mpmath
import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from trueskill_references import RELATIVE_ERROR, digits_for, draw_reference, win_reference

from matchenv.trueskill.normal import draw_moments, exponential, win_moments

Floats = NDArray[np.float64]

GAPS = [0.0, 1e-9, 0.01, 0.5, 1.0, 2.0, 3.9, 4.0, 4.1, 6.0, 12.0, 37.0, 400.0, 1000.0]
MARGINS = [1e-12, 1e-6, 0.01, 0.3, 0.99, 1.0, 1.5, 5.0, 30.0, 1000.0, 1001.0]
SMALLEST_NORMAL = 2.3e-308


@njit
def exponentials(x: Floats) -> Floats:
    """Apply the kernel in a loop that the compiler can vectorise."""
    values = np.empty(x.size)
    for k in range(x.size):
        values[k] = exponential(x[k])
    return values


def largest_error_in_last_places(x: Floats) -> float:
    """Return the largest error in units in the last place."""
    largest = 0.0
    for number, value in zip(x.tolist(), exponentials(x).tolist(), strict=True):
        with mpmath.workprec(120):
            exact = mpmath.exp(mpmath.mpf(number))
            error = float(abs(value - exact) / float(np.spacing(float(exact))))
        largest = max(largest, error)
    return largest


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 0.0), (-50.0, 0.0), (-700.0, -50.0), (-745.0, -700.0), (0.0, 709.0)]
)
def test_exponential_is_right_to_the_last_place(low: float, high: float) -> None:
    x = np.random.default_rng(1).uniform(low, high, 600)
    assert largest_error_in_last_places(x) < 1.0


def test_exponential_is_right_to_the_last_place_where_it_is_hard() -> None:
    tiny = -(10.0 ** np.linspace(-320.0, 0.0, 321))
    assert largest_error_in_last_places(tiny) < 1.0
    assert largest_error_in_last_places(np.array([-0.0, 0.0, -700.0])) < 1.0
    # Between two powers of 2, where the exponent rounds to another integer.
    halves = (np.arange(-1074, 0) + 0.5) * math.log(2.0)
    for x in (np.nextafter(halves, 0.0), halves, np.nextafter(halves, -np.inf)):
        assert largest_error_in_last_places(x) < 1.0


def test_exponential_at_the_ends_of_its_range() -> None:
    assert exponentials(np.array([-745.2, -746.0, -1e300, -np.inf])).tolist() == [0.0] * 4
    assert exponentials(np.array([-745.13, 0.0, -0.0])).tolist() == [5e-324, 1.0, 1.0]
    assert math.isnan(exponentials(np.array([np.nan]))[0])


def test_exponential_has_the_same_bits_in_scalars_loops_and_python() -> None:
    x = -np.random.default_rng(2).exponential(100.0, 1001)
    values = exponentials(x).tolist()
    assert [exponential(number) for number in x] == values
    assert [exponential.py_func(number) for number in x] == values
    assert [exponentials(x[k : k + 1])[0] for k in range(100)] == values[:100]


def assert_close(value: float, reference: mpmath.mpf, case: object) -> None:
    if abs(reference) < SMALLEST_NORMAL:
        assert abs(value) <= 2 * SMALLEST_NORMAL, case
        return
    error = abs((mpmath.mpf(float(value)) - reference) / reference)
    assert error < RELATIVE_ERROR, (case, float(error))


def test_moments_of_a_win_keep_their_digits() -> None:
    for lead in np.random.default_rng(2).uniform(-6.0, 6.0, 600).tolist():
        v, w, complement = win_moments(lead)
        with mpmath.workprec(160):
            exact_v, exact_w = win_reference(lead)
            # The density has the rounding error of x^2 / 2. At the start of the tail v + x is
            # v / 17 and 1 - w is w / 19, which multiplies the relative error of v.
            assert abs(v / exact_v - 1) < 5e-15, lead
            assert abs(w / exact_w - 1) < 17 * 8e-16 + 5e-15, lead
            assert abs(complement / (1 - exact_w) - 1) < 17 * 19 * 8e-16 + 5e-15, lead


@pytest.mark.parametrize("gap", GAPS)
def test_moments_of_a_win_at_any_gap(gap: float) -> None:
    for lead in (gap, -gap):
        v, w, _ = win_moments(lead)
        with mpmath.workdps(digits_for()):
            exact_v, exact_w = win_reference(lead)
            assert_close(v, exact_v, lead)
            assert_close(w, exact_w, lead)


@pytest.mark.parametrize("margin", MARGINS)
def test_moments_of_a_draw_at_any_gap(margin: float) -> None:
    for gap in GAPS:
        with mpmath.workdps(digits_for(margin)):
            exact_v, exact_w = draw_reference(gap, margin)
            for sign in (1, -1):
                v, w, _, _ = draw_moments(sign * gap, margin)
                assert_close(v, sign * exact_v, (gap, margin))
                assert_close(w, exact_w, (gap, margin))
