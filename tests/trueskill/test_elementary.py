"""The exponential function against mpmath, and that a row gives the same bits as one number."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from matchenv.trueskill.normal import exponential

Floats = NDArray[np.float64]


@njit
def of_row(x: Floats) -> Floats:
    """A loop as kernels have it, which the compiler may do several numbers at a time."""
    values = np.empty(x.size)
    for k in range(x.size):
        values[k] = exponential(x[k])
    return values


def units_off(x: Floats) -> Floats:
    """Distance from the true value, in units in the last place."""
    with mpmath.workprec(120):
        exact = [mpmath.exp(mpmath.mpf(float(value))) for value in x]
        return np.array(
            [
                float(abs(mpmath.mpf(float(value)) - true) / mpmath.mpf(np.spacing(float(true))))
                for value, true in zip(of_row(x), exact, strict=True)
            ]
        )


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 0.0), (-50.0, 0.0), (-700.0, -50.0), (-745.0, -700.0), (0.0, 709.0)],
)
def test_exponential_is_right_to_the_last_place(low: float, high: float) -> None:
    x = np.random.default_rng(1).uniform(low, high, 4000)
    assert units_off(x).max() < 1.0


def test_exponential_of_tiny_numbers_and_at_the_ends_of_its_pieces() -> None:
    tiny = -(10.0 ** np.linspace(-320.0, 0.0, 641))
    halves = (np.arange(-1074, 0) + 0.5) * math.log(2.0)  # where it rounds to another power of 2
    sides = [np.nextafter(halves, 0.0), halves, np.nextafter(halves, -np.inf)]
    assert units_off(np.concatenate([tiny, [-0.0, 0.0, -700.0], *sides])).max() < 1.0


def test_exponential_ends_in_nothing_and_hands_nan_on() -> None:
    assert of_row(np.array([-745.2, -746.0, -1e300, -np.inf])).tolist() == [0.0] * 4
    assert of_row(np.array([-745.13]))[0] == 5e-324
    assert of_row(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]
    assert math.isnan(of_row(np.array([np.nan]))[0])


def test_a_row_gives_the_bits_of_its_numbers() -> None:
    """Whether compiled for one number, for many at a time, or not compiled at all."""
    x = -np.random.default_rng(2).exponential(100.0, 1001)
    row = of_row(x)
    assert [exponential(value) for value in x] == row.tolist()
    assert [exponential.py_func(value) for value in x] == row.tolist()
    assert [of_row(x[k : k + 1])[0] for k in range(100)] == row[:100].tolist()
