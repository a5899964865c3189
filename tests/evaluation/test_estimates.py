"""Estimates against SciPy, verdicts against Holm's rule, intervals against their coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matchenv.evaluation.estimates import (
    UNKNOWN,
    Estimate,
    Record,
    columns_of,
    curve_of_sums,
    detectable_effect,
    estimate,
    estimate_over_priors,
    estimate_without_luck,
    nearer_by,
    paired_difference,
    ratio_of_means,
    recorded,
    share_closed,
    verdicts,
)
from matchenv.runtime.files import json_bytes, parsed_json


def test_the_interval_equals_scipys() -> None:
    ours, theirs = np.random.default_rng(0).normal(size=(2, 40))
    found = paired_difference(ours, theirs)
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.standard_error == pytest.approx(stats.sem(ours - theirs))
    assert found.half_width == pytest.approx(0.5 * (expected.high - expected.low))
    assert estimate(np.array([*(ours - theirs), np.nan])) == found
    assert not estimate(np.array([1.0, np.nan])).known


def test_the_interval_of_a_ratio_has_its_nominal_coverage() -> None:
    """Up to 1 % for the approximation, and 4.5 standard errors."""
    rng, tries, hits = np.random.default_rng(11), 1000, 0
    for _ in range(tries):
        below = rng.normal(4.0, 1.0, 100)
        found = ratio_of_means(0.5 * below + rng.normal(1.0, 1.0, 100), below)
        hits += found.low <= 0.75 <= found.high
    assert abs(hits / tries - 0.95) < 0.01 + 4.5 * math.sqrt(0.05 * 0.95 / tries)
    assert not ratio_of_means(np.ones(3), np.zeros(3)).known


def test_times_equals_the_estimate_of_scaled_values() -> None:
    values = np.random.default_rng(3).normal(1.0, 2.0, 9)
    for factor in (3.0, -0.5, 0.0):
        found, expected = estimate(values).times(factor), estimate(factor * values)
        assert list(vars(found).values()) == pytest.approx(list(vars(expected).values()))


def test_formatted_zeros_have_no_minus_sign() -> None:
    found = estimate(np.array([-1e-9, 1e-9, -1e-9]))
    assert f"{found:+.2f}" == "+0.00 [+0.00, +0.00]"
    assert f"{found:.1f}" == "0.0 [0.0, 0.0]"


@pytest.mark.parametrize("priors", [1, 4])
def test_several_priors_are_the_independent_values(priors: int) -> None:
    values = np.random.default_rng(2).normal(2.0, 1.0, size=(priors, 30, 7))
    units = values[0] if priors == 1 else values.mean(axis=1)
    found = estimate_over_priors(values[:, :, 0])
    assert found.mean == pytest.approx(units[:, 0].mean())
    assert found.standard_error == pytest.approx(stats.sem(units[:, 0]))
    curve = curve_of_sums(np.stack([values.sum(axis=1), (values**2).sum(axis=1)], axis=-1), 30)
    np.testing.assert_allclose(curve.mean, units.mean(axis=0))
    np.testing.assert_allclose(curve.standard_error, stats.sem(units, axis=0))
    quantile = stats.t.ppf(0.975, len(units) - 1)
    np.testing.assert_allclose(curve.half_width, quantile * stats.sem(units, axis=0))


@pytest.mark.parametrize("means", [(0.6, 0.7), (0.3, 0.45), (0.42, 0.55), (0.58, 0.45)])
def test_differences_of_distances_and_shares_of_gaps(means: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    ours, theirs = (mean + 0.1 * rng.normal(size=4000) for mean in means)
    found = nearer_by(ours, theirs, 0.5).mean()
    assert found == pytest.approx(abs(theirs.mean() - 0.5) - abs(ours.mean() - 0.5))
    # The share of no gap is NaN.
    assert np.isnan(share_closed(np.ones(3), np.ones(3), np.ones(3)))
    assert share_closed(np.full(4, 1.5), np.ones(4), np.full(4, 2.0)) == 0.5


def test_records_survive_json_and_become_columns() -> None:
    record = Record(name="kg", total=Estimate(1.0, 0.5, 0.0, 2.0), share=0.25, more=UNKNOWN)
    again = recorded(parsed_json(json_bytes(record)))
    assert (again.total, again.share, again.more.known) == (record.total, 0.25, False)
    with pytest.raises(AttributeError, match="nothing"):
        _ = record.nothing
    columns = columns_of({**record, "inner": (3,), "cell": {"rank": "top"}})
    assert list(columns)[:6] == [
        "name", "total_mean", "total_standard_error", "total_low", "total_high", "share",
    ]  # fmt: skip
    assert columns["rank"] == "top"
    assert "inner" not in columns


def test_a_control_variate_gives_the_intercept_of_a_regression() -> None:
    luck, rest = np.random.default_rng(0).standard_normal((2, 9))
    values = 7.0 + 3.0 * luck + 0.1 * rest
    found, line = estimate_without_luck(values, luck), stats.linregress(luck, values)
    assert found.mean == pytest.approx(line.intercept, rel=1e-12)
    assert found.standard_error == pytest.approx(line.intercept_stderr, rel=1e-12)
    half = stats.t.ppf(0.975, values.size - 2) * line.intercept_stderr
    assert found.half_width == pytest.approx(half, rel=1e-12)
    assert estimate_without_luck(values, 0.0 * luck) == estimate(values)


@given(st.integers(0, 10**6))
def test_verdicts_follow_holms_rule_on_students_p_values(seed: int) -> None:
    """P-values in ascending order, each times the number of those left, up to the first above 5 %.

    Unknown estimates do not count, and a single verdict is that of the interval.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rng.integers(0, 8), 20)) + rng.normal(0.0, 0.7, size=(1, 1))
    p_values = [stats.ttest_1samp(each, 0.0).pvalue for each in values]
    expected = ["undecided"] * len(values)
    for step, place in enumerate(np.argsort(p_values)):
        if not p_values[place] * (len(values) - step) < 0.05:
            break
        expected[place] = "ahead" if values[place].mean() > 0.0 else "behind"
    found = [estimate(each) for each in values]
    assert verdicts([UNKNOWN, *found], 20) == ["", *expected]
    assert all(verdicts([each], 20) == [each.verdict] for each in found)
    same = [estimate(each) for each in (np.zeros(8), np.ones(8), -np.ones(8))]
    assert verdicts(same, 8) == ["undecided", "ahead", "behind"]
    assert verdicts(same, 3) == ["undecided"] * 3  # by the sign test
    assert verdicts([estimate(np.full(3, 0.1))], 3) == ["undecided"]  # but for rounding errors
    assert verdicts(same, [8, 3, 8]) == ["undecided", "undecided", "behind"]


@pytest.mark.parametrize("count", [2, 5, 20, 200])
def test_a_detectable_effect_is_detected_with_a_probability_of_80_percent(count: int) -> None:
    """Computed from the noncentral t distribution."""
    found = estimate(np.random.default_rng(3).standard_normal(count))
    shift = detectable_effect(found, count) / found.standard_error
    limit = stats.t.ppf(0.975, count - 1)
    assert stats.nct.sf(limit, count - 1, shift) == pytest.approx(0.8, abs=1e-6)
