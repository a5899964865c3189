"""Ticks and numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchenv.rendering.axis import Axis, number_text, tick_step, tick_text, ticks

SPANS = st.floats(1e-6, 1e9)


@given(low=st.floats(-1e6, 1e6), span=SPANS, most=st.integers(1, 20))
def test_ticks_are_round_evenly_spread_and_few(low: float, span: float, most: int) -> None:
    high = low + span
    step = tick_step(high - low, most)
    lead = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(lead - each) for each in (1.0, 2.0, 5.0, 10.0)) < 1e-6
    found = ticks(low, high, step)
    assert len(found) <= most + 1
    slack = 1e-6 * step + 1e-12 * max(abs(low), abs(high))
    assert all(low - slack <= value <= high + slack for value in found)
    assert np.allclose(np.diff(found), step, rtol=1e-6)


def test_ticks_of_an_axis_that_people_would_draw() -> None:
    assert ticks(-7.3, 8.1, tick_step(15.4, 8)) == [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    assert ticks(0.0, 500.0, tick_step(500.0, 5)) == [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]
    assert [tick_text(value, 0.05) for value in (0.0, 0.05, 0.1)] == ["0.00", "0.05", "0.10"]
    assert tick_text(-2000.0, 1000.0) == "−2,000"


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (-0.0, 2, "0.00"),
        (-0.001, 2, "0.00"),
        (-1.236, 2, "−1.24"),
        (12345.6, 0, "12,346"),
        (1e-7, None, "1e−07"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, places: int | None, text: str) -> None:
    assert number_text(value, places) == text


def test_an_axis_goes_both_ways() -> None:
    axis = Axis(-2.0, 6.0, 400.0)
    assert axis.at(-2.0) == 0.0
    assert axis.at(6.0) == 400.0
    np.testing.assert_allclose(axis.value(axis.at(np.array([0.0, 1.5]))), [0.0, 1.5])
