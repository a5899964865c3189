"""Who is ahead: one rule for every table, with Holm's correction where several are judged.

Source: Holm, "A simple sequentially rejective multiple test procedure" (1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from matchenv.evaluation.estimates import CONFIDENCE, UNDECIDED, Estimate, quantile_of

Floats = NDArray[np.float64]

# What a study should have a good chance to see.
POWER = 0.8


def p_value(difference: Estimate, count: int) -> float:
    """The two-sided probability of so large a mean difference if there were none.

    Args:
        difference: its mean and standard error; with an error of 0, 1 for no difference, else 0.
        count: values that it is the mean of, >= 2.
    """
    if difference.standard_error == 0.0:
        return float(difference.mean == 0.0)
    return float(2.0 * stdtr(count - 1, -abs(difference.mean / difference.standard_error)))


def holm_adjusted(p_values: Sequence[float]) -> Floats:
    """p-values adjusted by Holm's method.

    If all that are below a level count as findings, the chance of any false one is at most that
    level.

    Args:
        p_values: of K questions.

    Returns:
        Shape (K,), at most 1.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(given.size, 0, -1))
    adjusted = np.empty(given.size)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def verdicts(differences: Sequence[Estimate], count: int) -> list[str]:
    """Who is ahead, of several questions that are asked together.

    ``ahead`` or ``behind`` where the interval of a difference leaves out 0 and its p-value after
    Holm's correction is below 5 %; else ``undecided``. For one question both say the same.

    Args:
        differences: one for each question.
        count: values that each is the mean of, >= 2.
    """
    adjusted = holm_adjusted([p_value(each, count) for each in differences])
    return [
        each.verdict if p < 1.0 - CONFIDENCE else UNDECIDED
        for each, p in zip(differences, adjusted, strict=True)
    ]


def known_verdicts(differences: Sequence[Estimate], count: int) -> list[str]:
    """``verdicts`` of those that are known, and an empty text for each that is not.

    Args:
        differences: one for each question; all NaN where nothing was measured.
        count: as ``verdicts``.
    """
    said = iter(verdicts([each for each in differences if each.mean == each.mean], count))
    return [next(said) if each.mean == each.mean else "" for each in differences]


def detectable_effect(difference: Estimate, count: int) -> float:
    """The least true difference that so many values would find in 80 % of all tries.

    Args:
        difference: its standard error counts.
        count: values that it is the mean of, >= 2.

    Returns:
        The difference, in the unit of the values, by Student's quantiles.
    """
    quantiles = quantile_of(count) + float(stdtrit(count - 1, POWER))
    return quantiles * difference.standard_error
