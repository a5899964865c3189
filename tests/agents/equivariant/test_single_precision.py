"""The functions of float32 against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from matchenv.agents.equivariant.single_precision import (
    ERF_ERROR,
    EXP_ERROR,
    LOG_ERROR,
    ROUNDING,
    erf_of,
    exp_of,
    log_of,
)

Numbers = NDArray[np.float32]


@njit
def exponentials(x: Numbers) -> Numbers:
    values = np.empty_like(x)
    for k in range(x.size):
        values[k] = exp_of(x[k])
    return values


@njit
def logarithms(x: Numbers, above: Numbers) -> Numbers:
    values = np.empty_like(x)
    for k in range(x.size):
        values[k] = log_of(x[k], above[k])
    return values


@njit
def errors(x: Numbers) -> Numbers:
    values = np.empty_like(x)
    for k in range(x.size):
        over, under = erf_of(x[k])
        values[k] = over / under
    return values


def exactly(function: object, x: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.array([float(function(mpmath.mpf(float(value)))) for value in x])


def test_exp() -> None:
    x = np.random.default_rng(1).uniform(-86.9, 87.9, 20_000).astype(np.float32)
    x = np.concatenate([x, np.linspace(-1.0, 1.0, 4001, dtype=np.float32)])
    exact = exactly(mpmath.exp, x)
    # A rounding of the product with log2(e) moves x by its own last place.
    assert (np.abs(exponentials(x) / exact - 1.0) < EXP_ERROR).all()
    ends = exponentials(np.array([-np.inf, -1e30, -87.0], np.float32))
    assert (ends == ends[2]).all()
    assert 0.0 < ends[2] < 2e-38


def test_log() -> None:
    rng = np.random.default_rng(2)
    x = (10.0 ** rng.uniform(-30.0, 30.0, 20_000)).astype(np.float32)
    x = np.concatenate([x, np.linspace(0.4, 2.1, 8001, dtype=np.float32)])
    exact = exactly(mpmath.log, x)
    found = logarithms(x, x - np.float32(1.0))
    assert (np.abs(found - exact) < LOG_ERROR + 2.0 * ROUNDING * np.abs(exact)).all()


def test_log_of_little_more_than_one_keeps_its_digits() -> None:
    above = np.concatenate(
        [10.0 ** np.linspace(-30, -0.6, 500), -(10.0 ** np.linspace(-30, -0.6, 500))]
    )
    above = above.astype(np.float32)
    exact = exactly(mpmath.log1p, above)
    found = logarithms(np.float32(1.0) + above, above)
    assert (np.abs(found / exact - 1.0) < 16.0 * ROUNDING).all()


def test_erf() -> None:
    x = np.linspace(-6.0, 6.0, 24_001, dtype=np.float32)
    assert np.abs(errors(x) - exactly(mpmath.erf, x)).max() < ERF_ERROR
    assert (errors(np.array([-np.inf, -1e30, 1e30, np.inf], np.float32)) ** 2 > 1.0 - 1e-5).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compiled_and_plain_code_agree(kind: type) -> None:
    """Without Numba they are chosen by the type of the number too."""
    x = np.linspace(0.3, 3.0, 50).astype(kind)
    plain = [(exp_of(v), log_of(v, v - kind(1.0)), erf_of(v)[0] / erf_of(v)[1]) for v in x]
    compiled = (exponentials(x), logarithms(x, x - kind(1.0)), errors(x))
    np.testing.assert_allclose(
        np.array(plain).T, compiled, rtol=1e-6 if kind is np.float32 else 1e-15
    )
