"""Estimates against SciPy, verdicts against their error rates, intervals against coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matchenv.evaluation.estimates import (
    EQUALITY_MARGIN,
    LEVEL,
    UNKNOWN,
    Estimate,
    Record,
    columns_of,
    curve_of_sums,
    detectable_effect,
    equality_p_value,
    errors_within_priors,
    estimate,
    estimate_over_priors,
    estimate_without_luck,
    nearer_by,
    paired_difference,
    ratio_of_means,
    ratio_without_luck,
    recorded,
    share_closed,
    share_of_episodes,
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


@pytest.mark.parametrize(("count", "spread"), [(5, 1.0), (12, 1.0), (12, 4.0), (200, 4.0)])
def test_shares_of_gaps_have_their_nominal_coverage_with_few_paths(
    count: int, spread: float
) -> None:
    """At most 5 % of the intervals miss, up to 4.5 standard errors.

    A share without an interval counts as covered, as in Fieller's theorem: there are some where the
    gap is no clearer than its error, and none where it is. Shares within -1 and 2 are printed.
    """
    rng = np.random.default_rng(count)
    tries, missed, unknown = 2000, 0, 0
    for _ in range(tries):
        gap = rng.normal(3.0, spread, count)
        found = share_closed(0.4 * gap + rng.normal(0.0, 1.0, count), np.zeros(count), gap)
        missed += found.known and not found.low <= 0.4 <= found.high
        unknown += not found.known
    assert missed / tries < 0.05 + 4.5 * math.sqrt(0.05 * 0.95 / tries)
    clear = 3.0 * math.sqrt(count) / spread > 10.0
    assert (unknown == 0) if clear else (missed > 0)
    if clear:
        assert missed / tries > 0.05 - 4.5 * math.sqrt(0.05 * 0.95 / tries)


@pytest.mark.parametrize("count", [12, 100])
def test_shares_of_the_bound_have_their_nominal_coverage_with_few_paths(count: int) -> None:
    """With the luck of the paths removed by two different control variates.

    The coverage is 95 % up to 1.5 % for the approximation, and 4.5 standard errors.
    """
    rng = np.random.default_rng(count)
    tries, hits = 2000, 0
    widths = []
    for _ in range(tries):
        luck, other = rng.normal(size=(2, count))
        noise = rng.normal(size=(2, count))
        below = 3.0 + 2.0 * luck + noise[0]
        above = 0.5 * 3.0 + 1.5 * luck + other + 0.5 * noise[0] + 0.3 * noise[1]
        controls = (luck + 0.5 * other, luck)
        found = ratio_without_luck(above, below, controls)
        hits += not found.known or found.low <= 0.5 <= found.high
        widths.append(found.half_width / ratio_of_means(above, below).half_width)
    assert abs(hits / tries - 0.95) < 0.015 + 4.5 * math.sqrt(0.05 * 0.95 / tries)
    assert np.nanmedian(widths) < 0.9
    constant = np.ones(count)
    assert ratio_without_luck(above, below, (constant, constant)) == ratio_of_means(above, below)
    assert found.mean == pytest.approx(
        estimate_without_luck(above, controls[0]).mean
        / estimate_without_luck(below, controls[1]).mean
    )


@pytest.mark.parametrize("count", [2, 12, 60])
def test_shares_of_episodes_cover_any_share(count: int) -> None:
    """Exactly, by the binomial distribution, and equal to SciPy's intervals."""
    found = [share_of_episodes(np.arange(count) < hits) for hits in range(count + 1)]
    for hits, share in enumerate(found):
        expected = stats.binomtest(hits, count).proportion_ci()
        assert (share.low, share.high) == pytest.approx((expected.low, expected.high))
        assert share.mean == hits / count
    for truth in np.linspace(0.001, 0.999, 333):
        chances = stats.binom.pmf(np.arange(count + 1), count, truth)
        covers = [share.low <= truth <= share.high for share in found]
        assert chances[covers].sum() >= 0.95 - 1e-9


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
    within = errors_within_priors(
        np.stack([values.sum(axis=1), (values**2).sum(axis=1)], axis=-1), 30
    )
    np.testing.assert_allclose(within, stats.sem(values, axis=1))


@pytest.mark.parametrize("means", [(0.6, 0.7), (0.3, 0.45), (0.42, 0.55), (0.58, 0.45)])
def test_differences_of_distances_and_shares_of_gaps(means: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    ours, theirs = (mean + 0.1 * rng.normal(size=4000) for mean in means)
    found = nearer_by(ours, theirs, 0.5).mean()
    assert found == pytest.approx(abs(theirs.mean() - 0.5) - abs(ours.mean() - 0.5))
    assert not share_closed(np.ones(3), np.ones(3), np.ones(3)).known
    half = share_closed(np.full(4, 1.5), np.ones(4), np.full(4, 2.0))
    assert half == Estimate(0.5, 0.0, 0.5, 0.5)


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


@pytest.mark.parametrize("questions", [1, 24])
@pytest.mark.parametrize("count", [2, 5, 20, 200])
def test_a_detectable_effect_is_detected_with_a_probability_of_80_percent(
    count: int, questions: int
) -> None:
    """Computed from the noncentral t distribution, at the level of Holm's first step."""
    found = estimate(np.random.default_rng(3).standard_normal(count))
    shift = detectable_effect(found, count, questions) / found.standard_error
    limit = stats.t.ppf(1.0 - 0.025 / questions, count - 1)
    assert stats.nct.sf(limit, count - 1, shift) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("questions", "count"), [(1, 20), (24, 20), (24, 200)])
def test_the_verdict_finds_the_detectable_effect_in_80_percent_of_tables(
    questions: int, count: int
) -> None:
    """By simulation, within 4.5 standard errors: one true difference among others of 0.

    If all differences are true, Holm's later steps find more.
    """
    rng, tries = np.random.default_rng(questions + count), 1000
    true_error = Estimate(0.0, 1.0 / math.sqrt(count), math.nan, math.nan)
    effect = detectable_effect(true_error, count, questions)
    found, found_among_many = 0, 0
    for _ in range(tries):
        noise = rng.normal(size=(questions, count))
        alone = [estimate(noise[0] + effect), *map(estimate, noise[1:])]
        found += verdicts(alone, count)[0] == "ahead"
        many = [estimate(values + effect) for values in noise]
        found_among_many += verdicts(many, count)[0] == "ahead"
    tolerance = 4.5 * math.sqrt(0.8 * 0.2 / tries)
    assert abs(found / tries - 0.8) < tolerance
    assert found_among_many >= found


@given(st.integers(0, 10**6))
def test_equality_is_tested_by_two_one_sided_tests(seed: int) -> None:
    """Against SciPy's one-sided tests, for totals of either sign."""
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0])
    theirs = sign * rng.normal(80.0, 5.0, 30)
    ours = theirs + rng.normal(rng.normal(0.0, 0.3), 1.0, 30)
    margin = 0.005 * sign * theirs
    below = stats.ttest_1samp(ours - theirs + margin, 0.0, alternative="greater")
    above = stats.ttest_1samp(theirs - ours + margin, 0.0, alternative="greater")
    expected = max(below.pvalue, above.pvalue)
    assert equality_p_value(ours, theirs) == pytest.approx(expected)
    assert equality_p_value(theirs, theirs) < 1e-9
    assert equality_p_value(np.full(30, np.nan), theirs) == 1.0


@pytest.mark.parametrize(("questions", "count"), [(1, 12), (24, 12), (24, 200)])
def test_differences_at_the_margin_are_rarely_called_level(questions: int, count: int) -> None:
    """In at most 5 % of tables, up to 4.5 standard errors, wherever the difference is there."""
    rng, tries, wrong = np.random.default_rng(questions * count), 1000, 0
    for _ in range(tries):
        theirs = rng.normal(80.0, 5.0, (questions, count))
        signs = rng.choice([-1.0, 1.0], (questions, 1))
        ours = (1.0 + signs * EQUALITY_MARGIN) * theirs + rng.normal(0.0, 0.3, theirs.shape)
        differences = [paired_difference(*pair) for pair in zip(ours, theirs, strict=True)]
        equality = [equality_p_value(*pair) for pair in zip(ours, theirs, strict=True)]
        # A difference that is called ahead or behind is not called level.
        hidden = [Estimate(0.0, 1.0, -1.0, 1.0) for _ in differences]
        wrong += LEVEL in verdicts(hidden, count, equality)
        assert len(verdicts(differences, count, equality)) == questions
    assert wrong / tries < 0.05 + 4.5 * math.sqrt(0.05 * 0.95 / tries)


def test_equal_policies_are_level_with_enough_episodes_and_undecided_before() -> None:
    rng = np.random.default_rng(0)
    theirs = rng.normal(80.0, 5.0, 2000)
    ours = theirs + rng.normal(0.0, 2.0, 2000)
    for count, expected in ((20, "undecided"), (2000, "level")):
        difference = paired_difference(ours[:count], theirs[:count])
        equality = equality_p_value(ours[:count], theirs[:count])
        assert verdicts([difference, UNKNOWN], count, [equality, 1.0]) == [expected, ""]
        assert verdicts([difference], count) == ["undecided"]
    lead = paired_difference(ours + 0.2, theirs)
    # A clear lead is a lead, also within the margin.
    assert verdicts([lead], 2000, [equality_p_value(ours + 0.2, theirs)]) == ["ahead"]
