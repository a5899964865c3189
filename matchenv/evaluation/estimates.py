"""Means, paired differences and verdicts with intervals, from one value per episode.

Verdicts on several questions use Holm's correction. Source: Holm, "A simple sequentially rejective
multiple test procedure" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import nctdtrinc, stdtr, stdtrit

from matchenv.runtime.arrays import Floats, Integers

CONFIDENCE = 0.95

# Power at which the detectable effect is computed.
POWER = 0.8

# Verdicts on a difference.
AHEAD = "ahead"
BEHIND = "behind"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Estimate:
    """A mean with its uncertainty.

    Attributes:
        mean: the mean.
        standard_error: its standard error.
        low: lower end of its confidence interval.
        high: upper end.
    """

    mean: float
    standard_error: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Sign of a difference: ``ahead``, ``behind``, or ``undecided`` if 0 is in the interval."""
        if self.low > 0.0:
            return AHEAD
        if self.high < 0.0:
            return BEHIND
        return UNDECIDED

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return 0.5 * (self.high - self.low)

    @property
    def known(self) -> bool:
        """False for ``UNKNOWN``."""
        return not math.isnan(self.mean)

    def times(self, factor: float) -> Estimate:
        """Return the estimate of ``factor`` times the quantity."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.mean, abs(factor) * self.standard_error, low, high)

    def __format__(self, form: str) -> str:
        """Return mean and interval, for example ``0.12 [-0.03, 0.27]`` for ``.2f``.

        Zeros have no minus sign.
        """
        # The z, against minus zero, follows the sign.
        if form.startswith(("+", "-")):
            form = f"{form[0]}z{form[1:]}"
        else:
            form = f"z{form}"
        return f"{self.mean:{form}} [{self.low:{form}}, {self.high:{form}}]"


UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


class Record(dict[str, Any]):
    """A row of results: texts, numbers and estimates, as items and as attributes."""

    def __getattr__(self, name: str) -> Any:
        """Return an item."""
        if name not in self:
            raise AttributeError(name)
        return self[name]


def recorded(content: Any) -> Any:
    """Convert the content of a JSON file: mappings to records, and estimates among them.

    In an estimate, and in a record with an estimate, null is NaN.
    """
    if isinstance(content, list):
        return [recorded(item) for item in content]
    if not isinstance(content, Mapping):
        return content
    record = Record({name: recorded(value) for name, value in content.items()})
    is_estimate = record.keys() == {field.name for field in fields(Estimate)}
    if is_estimate or any(isinstance(value, Estimate) for value in record.values()):
        for name, value in record.items():
            if value is None:
                record[name] = math.nan
    return Estimate(**record) if is_estimate else record


def columns_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a record into columns of a table.

    Numbers and texts are kept; an estimate becomes ``NAME_mean``, ``NAME_standard_error``,
    ``NAME_low`` and ``NAME_high``; a mapping is replaced by its entries. Others are left out.
    """
    columns: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Estimate):
            for quantity, number in vars(value).items():
                columns[f"{name}_{quantity}"] = number
        elif isinstance(value, Mapping):
            columns |= columns_of(value)
        elif isinstance(value, str | int | float):
            columns[name] = value
    return columns


def t_quantile(count: int) -> float:
    """Return the half width of Student's interval of ``count`` values, in standard errors."""
    return float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2.0))


def estimate(values: Floats, count: int | None = None) -> Estimate:
    """Return the mean of independent values with Student's interval.

    Args:
        values: shape (E,); NaN are ignored. ``UNKNOWN`` if fewer than two are left.
        count: effective number of values, at least 2; by default those left.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return UNKNOWN
    mean = float(known.mean())
    error = float(known.std(ddof=1)) / math.sqrt(known.size)
    if count is not None:
        error *= math.sqrt((known.size - 1) / known.size * count / (count - 1))
    half = t_quantile(count or known.size) * error
    return Estimate(mean, error, mean - half, mean + half)


def estimate_over_priors(values: Floats) -> Estimate:
    """Return the mean over the episodes of several priors.

    With several priors, their means are the independent values, since the episodes of a prior are
    correlated. With one prior, the episodes are.

    Args:
        values: shape (priors, episodes).
    """
    return estimate(values[0] if len(values) == 1 else values.mean(axis=1))


def paired_difference(ours: Floats, theirs: Floats) -> Estimate:
    """Return the mean difference of two policies on the same episodes, shape (E,) each."""
    return estimate(ours - theirs)


def nearer_by(ours: Floats, theirs: Floats, goal: float) -> Floats:
    """Return values whose mean is by how much our mean is nearer to a goal than theirs.

    Args:
        ours: shape (...).
        theirs: on the same episodes, same shape.
        goal: the goal.

    Returns:
        Values of mean ``|mean(theirs) - goal| - |mean(ours) - goal|``, same shape.
    """
    our_side = 1.0 if float(ours.mean()) > goal else -1.0
    their_side = 1.0 if float(theirs.mean()) > goal else -1.0
    return their_side * (theirs - goal) - our_side * (ours - goal)


def share_closed(ours: Floats, low: Floats, high: Floats) -> float:
    """Return the share of the gap between two policies that a third one closes.

    Args:
        ours: totals of the policy, shape (E,).
        low: totals of the policy that counts as 0, on the same episodes.
        high: totals of the policy that counts as 1.

    Returns:
        The share; NaN if there is no gap.
    """
    gap = float((high - low).mean())
    if gap == 0.0:
        return math.nan
    return float((ours - low).mean()) / gap


def ratio_of_means(numerator: Floats, denominator: Floats) -> Estimate:
    """Return the ratio of two means over the same episodes, by the delta method.

    Args:
        numerator: shape (E,), E >= 2.
        denominator: shape (E,).

    Returns:
        The ratio with Student's interval; ``UNKNOWN`` if the denominator's mean is 0.
    """
    mean = float(denominator.mean())
    if mean == 0.0:
        return UNKNOWN
    ratio = float(numerator.mean()) / mean
    spread = estimate((numerator - ratio * denominator) / mean)
    half = spread.half_width
    return Estimate(ratio, spread.standard_error, ratio - half, ratio + half)


def estimate_without_luck(values: Floats, control: Floats) -> Estimate:
    """Return the mean of values, with a control variate subtracted to narrow the interval.

    The coefficient is that of least squares. It depends on the values, which biases the mean by
    the order of one value's weight.

    Args:
        values: shape (E,), E >= 2.
        control: a control variate of mean 0 on the same episodes, shape (E,).
    """
    spread = control - control.mean()
    count = values.size
    squares = float(spread @ spread)
    if squares == 0.0 or count == 2:  # a line fits any two values
        return estimate(values)
    left = values - float(spread @ values) / squares * control
    # The error of the regression line where the control is 0.
    mean = float(left.mean())
    share = 1.0 / count + float(control.mean()) ** 2 / squares
    error = float(left.std(ddof=2)) * math.sqrt(share)
    half = t_quantile(count - 1) * error  # the slope costs one degree of freedom
    return Estimate(mean, error, mean - half, mean + half)


def curve_of_sums(sums: Floats, episodes: int) -> Record:
    """Return the mean of a measure at each game, with the errors of ``estimate_over_priors``.

    Args:
        sums: shape (priors, N, 2): sums over the episodes, and sums of squares.
        episodes: of each prior, >= 2.

    Returns:
        ``mean``, ``standard_error`` and ``half_width`` of the interval, shape (N,) each.
    """
    if len(sums) == 1:
        count = episodes
        total = sums[0, :, 0]
        squares = sums[0, :, 1]
    else:
        count = len(sums)
        means = sums[:, :, 0] / episodes
        total = means.sum(axis=0)
        squares = (means * means).sum(axis=0)
    mean = total / count
    variance = np.maximum(squares / count - mean * mean, 0.0) * (count / (count - 1))
    error = np.sqrt(variance / count)
    return Record(mean=mean, standard_error=error, half_width=t_quantile(count) * error)


def mean_of_blocks(sums: Floats, sizes: Integers) -> Record:
    """Return the mean of a curve, with errors from blocks of episodes.

    Args:
        sums: shape (K, N): sums over the episodes of each block.
        sizes: episodes of each block, shape (K,).

    Returns:
        ``mean``, ``standard_error`` and ``half_width`` of the interval, shape (N,) each; NaN errors
        for a single block.
    """
    count = len(sums)
    mean = sums.sum(axis=0) / sizes.sum()
    error = np.full_like(mean, np.nan)
    half_width = error
    if count > 1:
        deviations = sums - sizes[:, np.newaxis] * mean
        variance = (deviations**2).sum(axis=0) * (count / (count - 1))
        error = np.sqrt(variance) / sizes.sum()
        half_width = t_quantile(count) * error
    return Record(mean=mean, standard_error=error, half_width=half_width)


def verdicts(differences: Sequence[Estimate], counts: int | Sequence[int]) -> list[str]:
    """Judge several differences together.

    A verdict is ``ahead`` or ``behind`` if the interval excludes 0 and the p-value after Holm's
    correction is below 5 %, otherwise ``undecided``, and ``""`` for ``UNKNOWN``. If all values of
    a difference are equal, the sign test gives its p-value.

    Args:
        differences: one for each question.
        counts: number of values behind each mean, or behind all, >= 2.
    """
    judged = [""] * len(differences)
    p_values: dict[int, float] = {}
    sizes = np.broadcast_to(counts, len(differences)).tolist()
    for question, difference in enumerate(differences):
        if difference.known:
            judged[question] = UNDECIDED
            p_values[question] = _p_value(difference, sizes[question])
    for step, question in enumerate(sorted(p_values, key=p_values.__getitem__)):
        if p_values[question] * (len(p_values) - step) >= 1.0 - CONFIDENCE:
            break
        judged[question] = differences[question].verdict
    return judged


def _p_value(difference: Estimate, count: int) -> float:
    """Return the two-sided p-value of a difference of 0, from ``count`` values."""
    if difference.standard_error <= 1e-12 * abs(difference.mean):  # rounding alone
        return 2.0 ** (1 - count) if difference.mean else 1.0
    t = abs(difference.mean / difference.standard_error)
    return float(2.0 * stdtr(count - 1, -t))


def detectable_effect(difference: Estimate, count: int) -> float:
    """Return the least true difference that is detected with a probability of 80 %.

    Args:
        difference: supplies the standard error.
        count: number of values behind its mean, >= 2.

    Returns:
        The difference in the unit of the values, by the noncentral t distribution.
    """
    errors = float(nctdtrinc(count - 1, 1.0 - POWER, t_quantile(count)))
    return errors * difference.standard_error
