"""Verdicts against SciPy, Holm's rule by hand, and the power that is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matchenv.evaluation.estimates import (
    detectable_effect,
    estimate,
    holm_adjusted,
    p_value,
    ratio_of_means,
    verdicts,
)

SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


def test_p_values_are_those_of_students_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1.0, 40)
    assert p_value(estimate(values), 40) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    assert p_value(estimate(np.zeros(5)), 5) == 1.0
    assert p_value(estimate(np.ones(5)), 5) == 0.0


@given(SHARES, st.floats(0.001, 0.5))
def test_holm_rejects_what_his_steps_reject(p_values: list[float], level: float) -> None:
    """From the least on, each against the level over those left, until one stands."""
    rejected = set()
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if not p_values[place] * (len(p_values) - step) < level:
            break
        rejected.add(place)
    assert set(np.flatnonzero(holm_adjusted(p_values) < level)) == rejected


def test_one_question_is_judged_by_its_interval_and_many_more_strictly() -> None:
    rng = np.random.default_rng(1)
    found = [estimate(rng.normal(shift, 1.0, 50)) for shift in np.linspace(-0.6, 0.6, 21)]
    for each in found:
        assert verdicts([each], 50) == [each.verdict]
    together = verdicts(found, 50)
    for each, verdict in zip(found, together, strict=True):
        assert verdict in (each.verdict, "undecided")
    assert together.count("undecided") > [each.verdict for each in found].count("undecided")
    assert verdicts([], 50) == []


def test_questions_without_a_difference_are_seldom_decided() -> None:
    """In at most 5 % of all families of ten, within 4.5 standard errors."""
    rng = np.random.default_rng(2)
    tries = 1000
    wrong = sum(
        set(verdicts([estimate(values) for values in rng.standard_normal((10, 20))], 20))
        != {"undecided"}
        for _ in range(tries)
    )
    assert wrong / tries < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / tries)


@pytest.mark.parametrize("count", [20, 200])
def test_a_detectable_effect_is_found_in_four_of_five_tries(count: int) -> None:
    """By the noncentral distribution of Student's statistic."""
    values = np.random.default_rng(3).standard_normal(count)
    found = estimate(values)
    shift = detectable_effect(found, count) / found.standard_error
    limit = stats.t.ppf(0.975, count - 1)
    assert stats.nct.sf(limit, count - 1, shift) == pytest.approx(0.8, abs=0.01)


def test_a_ratio_of_means_is_covered_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    tries = 1000
    hits = 0
    for _ in range(tries):
        below = rng.normal(4.0, 1.0, 100)
        found = ratio_of_means(0.5 * below + rng.normal(1.0, 1.0, 100), below)
        hits += found.low <= 0.75 <= found.high
    assert abs(hits / tries - 0.95) < 0.01 + 4.5 * np.sqrt(0.05 * 0.95 / tries)
    assert np.isnan(ratio_of_means(np.ones(3), np.zeros(3)).mean)
