"""Estimates against SciPy, and against what they promise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from matchenv.evaluation.estimates import (
    Estimate,
    columns_of,
    curve_of_sums,
    estimate,
    estimate_over_priors,
    nearer_by,
    paired_difference,
    share_closed,
    without_luck,
)


def test_interval_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(2, 40))
    found = paired_difference(ours, theirs)
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.standard_error == pytest.approx(stats.sem(ours - theirs))
    assert found.half_width == pytest.approx(0.5 * (expected.high - expected.low))


def test_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    trials = 2000
    hits = 0
    for _ in range(trials):
        difference = paired_difference(rng.normal(1.0, 2.0, 6), rng.normal(0.0, 1.0, 6))
        hits += difference.low <= 1.0 <= difference.high
    assert abs(hits / trials - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / trials)


def test_a_multiple_has_a_multiple_of_everything() -> None:
    values = np.random.default_rng(3).normal(1.0, 2.0, 9)
    for factor in (3.0, -0.5, 0.0):
        found, expected = estimate(values).times(factor), estimate(factor * values)
        for name in ("mean", "standard_error", "low", "high"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name))


def test_text_of_an_interval_has_no_minus_zero() -> None:
    assert estimate(np.array([-1e-9, 1e-9, -1e-9])).interval_text(2) == "+0.00 [+0.00, +0.00]"


def test_several_priors_count_as_so_many_values() -> None:
    values = np.random.default_rng(1).normal(size=(5, 9))
    found = estimate_over_priors(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(stats.sem(values.mean(axis=1)))
    assert estimate_over_priors(values[:1]).standard_error == pytest.approx(stats.sem(values[0]))


@pytest.mark.parametrize("priors", [1, 4])
def test_curves_from_sums_are_those_of_the_values(priors: int) -> None:
    values = np.random.default_rng(2).normal(2.0, 1.0, size=(priors, 30, 7))
    sums = np.stack([values.sum(axis=1), (values**2).sum(axis=1)], axis=-1)
    curve = curve_of_sums(sums, 30)
    units = values[0] if priors == 1 else values.mean(axis=1)
    np.testing.assert_allclose(curve.mean, units.mean(axis=0))
    np.testing.assert_allclose(curve.standard_error, stats.sem(units, axis=0))
    quantile = stats.t.ppf(0.975, len(units) - 1)
    np.testing.assert_allclose(curve.half_width, quantile * stats.sem(units, axis=0))


@pytest.mark.parametrize("means", [(0.6, 0.7), (0.3, 0.45), (0.42, 0.55), (0.58, 0.45)])
def test_nearer_by_is_how_much_nearer_our_mean_is(means: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    ours, theirs = (mean + 0.1 * rng.normal(size=4000) for mean in means)
    found = nearer_by(ours, theirs, 0.5).mean()
    assert found == pytest.approx(abs(theirs.mean() - 0.5) - abs(ours.mean() - 0.5))


def test_share_of_no_distance_is_no_number() -> None:
    assert np.isnan(share_closed(np.ones(3), np.ones(3), np.ones(3)))
    assert share_closed(np.full(4, 1.5), np.ones(4), np.full(4, 2.0)) == 0.5


@dataclass(frozen=True)
class Record:
    name: str
    total: Estimate
    share: float
    inner: tuple[int, ...]


def test_columns_are_the_fields_and_four_for_each_estimate() -> None:
    columns = columns_of(Record("kg", Estimate(1.0, 0.5, 0.0, 2.0), 0.25, (3,)))
    assert list(columns) == [
        "name", "total_mean", "total_standard_error", "total_low", "total_high", "share",
    ]  # fmt: skip
    assert list(columns.values()) == ["kg", 1.0, 0.5, 0.0, 2.0, 0.25]


def test_luck_of_known_mean_is_taken_off() -> None:
    rng = np.random.default_rng(0)
    luck, rest = rng.standard_normal((2, 4000))
    values = 7.0 + 3.0 * luck + 0.1 * rest
    found = estimate(without_luck(values, luck))
    assert abs(found.mean - 7.0) < 4.5 * found.standard_error
    assert found.standard_error == pytest.approx(0.1 / math.sqrt(4000), rel=0.1)
    np.testing.assert_array_equal(without_luck(values, 0.0 * luck), values)
