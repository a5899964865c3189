"""Coverage of pixels against fine brute force."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv.rendering.curves import (
    bell_heights,
    column_places,
    crowd_coverage,
    dots_coverage,
    filled_coverage,
    peak_heights,
    stroke_coverage,
)

ROWS, COLUMNS, FINE = 40, 60, 16


def fine_points() -> tuple[np.ndarray, np.ndarray]:
    """x and height of FINE x FINE points in every pixel, each of shape (rows, columns, ...)."""
    part = (np.arange(FINE) + 0.5) / FINE
    x = np.arange(COLUMNS)[None, :, None, None] + part[None, None, None, :]
    y = (ROWS - 1 - np.arange(ROWS))[:, None, None, None] + part[None, None, :, None]
    return np.broadcast_arrays(x, y)


def test_an_area_under_a_curve() -> None:
    x, y = fine_points()
    curve = 12.0 + 9.0 * np.sin(0.15 * x)
    expected = (y < curve).mean(axis=(2, 3))
    heights = 12.0 + 9.0 * np.sin(0.15 * column_places(COLUMNS, 2))
    found = filled_coverage(heights, ROWS, 2)
    assert np.abs(found - expected).max() < 0.2
    assert abs(found.mean() - expected.mean()) < 0.002


def test_the_more_bells_lie_over_a_pixel_the_darker() -> None:
    heights = np.array([[5.0, 5.0], [10.0, 10.0], [20.5, 20.5]])
    column = crowd_coverage(heights, 30, 2)[:, 0][::-1]
    # By definition a pixel below n bells keeps the n-th power of what one bell leaves.
    one = 1.0 - column[15]
    np.testing.assert_allclose(1.0 - column[:5], one**3)
    np.testing.assert_allclose(1.0 - column[5:10], one**2)
    np.testing.assert_allclose(1.0 - column[20], np.sqrt(one))
    assert (column[21:] == 0.0).all()


@pytest.mark.parametrize("players", [1, 9, 49, 1000])
def test_a_crowd_is_seen_and_never_opaque(players: int) -> None:
    covered = crowd_coverage(np.full((players, 8), 6.0), 10, 2)
    assert 0.05 < covered.max() < 0.9
    assert (covered >= 0.0).all()


def test_bells_out_of_range_do_no_harm() -> None:
    heights = np.array([[-5.0, 50.0, 0.0, 10.0]])
    covered = crowd_coverage(heights, 10, 1)
    assert covered.shape == (10, 4)
    assert (covered[:, 0] == 0.0).all()
    assert (covered[:, 1] == covered.max()).all()
    assert (covered[:, 2] == 0.0).all()


@pytest.mark.parametrize("slope", [0.0, 0.7, -3.0, 9.0])
def test_a_line_is_equally_thick_however_steep(slope: float) -> None:
    x, y = fine_points()
    line = 20.0 + slope * (x - 30.0)
    expected = (np.abs(y - line) / np.hypot(1.0, slope) < 1.5).mean(axis=(2, 3))
    middles = column_places(COLUMNS, 1)
    found = stroke_coverage(20.0 + slope * (middles - 30.0), ROWS, 3.0)
    assert np.abs(found - expected)[:, 3:-3].max() < 0.3
    assert abs(found[:, 3:-3].sum() / expected[:, 3:-3].sum() - 1.0) < 0.06


def test_a_line_stops_where_the_curve_does() -> None:
    heights = np.full(20, 5.0)
    heights[8:] = np.nan
    covered = stroke_coverage(heights, 10, 2.0)
    assert covered[:, :8].max() > 0.9
    assert (covered[:, 11:] == 0.0).all()


def test_a_peak_has_no_spikes() -> None:
    at = column_places(41, 1)
    heights = bell_heights(at, np.array([20.0]), np.array([2.0]), np.array([30.0]))[0]
    covered = stroke_coverage(heights, ROWS, 2.4)
    above = covered[: ROWS - 32]
    assert (above == 0.0).all()


def test_a_dot_is_a_disc() -> None:
    x, y = fine_points()
    expected = (np.hypot(x - 30.3, y - 17.8) < 2.5).mean(axis=(2, 3))
    found = dots_coverage(np.array([30.3]), np.array([17.8]), ROWS, COLUMNS, 2.5)
    assert np.abs(found - expected).max() < 0.15
    assert abs(found.sum() - np.pi * 2.5**2) < 0.6


def test_dots_at_the_edge_are_cut() -> None:
    found = dots_coverage(np.array([0.0, 60.0, 500.0]), np.array([0.0, 40.0, -900.0]), 40, 60, 2.0)
    assert found.shape == (40, 60)
    assert found[-1, 0] > 0.5
    assert found[0, -1] > 0.5


def test_sure_beliefs_stand_higher_and_never_leave_the_picture() -> None:
    sigma = np.array([1e-9, 0.1, 1.0, 1.6, 100.0])
    peaks = peak_heights(sigma, 1.6, 200.0)
    assert (np.diff(peaks) < 0.0).all()
    assert peaks[0] <= 200.0
    assert peaks[3] == 100.0
