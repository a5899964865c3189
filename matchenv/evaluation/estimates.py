"""Means, paired differences, shares and verdicts with intervals, from one value per episode.

Sources: Holm, "A simple sequentially rejective multiple test procedure" (1979), for verdicts on
several questions; Schuirmann, "A comparison of the two one-sided tests procedure and the power
approach" (1987), for claims of equality; Fieller, "Some problems in interval estimation" (1954),
for ratios of means; Clopper and Pearson, "The use of confidence or fiducial limits" (1934), for
shares of episodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, nctdtrinc, stdtr, stdtrit

from matchenv.runtime.arrays import Floats, Integers, Masks

CONFIDENCE = 0.95

# Power at which the detectable effect is computed.
POWER = 0.8

# Margin of equality: policies whose mean totals differ by less than this share count as equal.
EQUALITY_MARGIN = 0.005

# Verdicts on a difference; level: equal within the margin.
AHEAD = "ahead"
BEHIND = "behind"
LEVEL = "level"
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


def t_quantile(count: int, confidence: float = CONFIDENCE) -> float:
    """Return the half width of Student's interval of ``count`` values, in standard errors."""
    return float(stdtrit(count - 1, 0.5 + confidence / 2.0))


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
    return estimate(independent_values(values))


def independent_values(values: Floats) -> Floats:
    """Return the independent values behind ``estimate_over_priors``, in one dimension."""
    if len(values) == 1:
        return values[0]
    return np.asarray(values.mean(axis=1))


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


def share_closed(ours: Floats, low: Floats, high: Floats) -> Estimate:
    """Return the share of the gap between two policies that a third one closes.

    Args:
        ours: totals of the policy, shape (E,).
        low: totals of the policy that counts as 0, on the same episodes.
        high: totals of the policy that counts as 1.

    Returns:
        The share, see ``ratio_of_means``.
    """
    return ratio_of_means(ours - low, high - low)


def share_of_episodes(happened: Masks) -> Estimate:
    """Return the share of episodes in which something happened.

    Args:
        happened: shape (E,), E >= 1.

    Returns:
        The share with the interval of Clopper and Pearson, which covers any share with at least
        its nominal probability.
    """
    count = happened.size
    hits = int(np.count_nonzero(happened))
    tail = 0.5 * (1.0 - CONFIDENCE)
    low, high = 0.0, 1.0
    if hits > 0:
        low = float(betaincinv(hits, count - hits + 1, tail))
    if hits < count:
        high = float(betaincinv(hits + 1, count - hits, 1.0 - tail))
    share = hits / count
    return Estimate(share, math.sqrt(share * (1.0 - share) / count), low, high)


def ratio_of_means(numerator: Floats, denominator: Floats) -> Estimate:
    """Return the ratio of two means over the same episodes, with Fieller's interval.

    Args:
        numerator: shape (E,), E >= 2.
        denominator: shape (E,).

    Returns:
        The ratio, with the standard error of the delta method; ``UNKNOWN`` if the interval of the
        denominator's mean contains 0, where no interval of the ratio is finite.
    """
    plain = np.zeros(numerator.shape)
    return _ratio(_intercept(numerator, plain), _intercept(denominator, plain))


def ratio_without_luck(
    numerator: Floats, denominator: Floats, controls: tuple[Floats, Floats]
) -> Estimate:
    """Return the ratio of two estimates of ``estimate_without_luck``, as ``ratio_of_means`` does.

    Args:
        numerator: shape (E,), E >= 2.
        denominator: shape (E,).
        controls: control variates of the numerator and of the denominator, shape (E,) each.
    """
    above, below = controls
    return _ratio(_intercept(numerator, above), _intercept(denominator, below))


def estimate_without_luck(values: Floats, control: Floats) -> Estimate:
    """Return the mean of values, with a control variate subtracted to narrow the interval.

    The coefficient is that of least squares. It depends on the values, which biases the mean by
    the order of one value's weight.

    Args:
        values: shape (E,), E >= 2.
        control: a control variate of mean 0 on the same episodes, shape (E,).
    """
    line = _intercept(values, control)
    if line.freedom == values.size - 1:
        return estimate(values)
    error = math.sqrt(line.covariance(line))
    half = t_quantile(line.freedom + 1) * error
    return Estimate(line.mean, error, line.mean - half, line.mean + half)


class _Intercept(NamedTuple):
    """The mean of values where a control variate is 0, by a regression line.

    It is the sum of the values times the weights. A constant control makes it the plain mean.
    """

    mean: float
    weights: Floats  # shape (E,)
    residuals: Floats  # of the line, shape (E,)
    freedom: int  # degrees of freedom of the residuals

    def covariance(self, other: _Intercept) -> float:
        """Return the covariance of two estimates from the same episodes."""
        freedom = max(self.freedom, other.freedom)
        spread = float(self.residuals @ other.residuals) / freedom
        return spread * float(self.weights @ other.weights)


def _intercept(values: Floats, control: Floats) -> _Intercept:
    """Return the mean of values without the luck in a control variate, shape (E,) each."""
    count = values.size
    weights = np.full(count, 1.0 / count)
    spread = control - control.mean()
    squares = float(spread @ spread)
    if squares == 0.0 or count == 2:  # a line fits any two values
        mean = float(values.mean())
        return _Intercept(mean, weights, values - mean, count - 1)
    slope = float(spread @ values) / squares
    mean = float((values - slope * control).mean())
    weights -= float(control.mean()) / squares * spread
    return _Intercept(mean, weights, values - mean - slope * control, count - 2)


def _ratio(above: _Intercept, below: _Intercept) -> Estimate:
    """Return the ratio of two estimates from the same episodes, with Fieller's interval."""
    square = t_quantile(min(above.freedom, below.freedom) + 1) ** 2
    variance = below.covariance(below)
    covariance = above.covariance(below)
    # Ratios r in the interval fulfil a r^2 - 2 b r + c <= 0.
    a = below.mean**2 - square * variance
    if not a > 0.0:
        return UNKNOWN
    ratio = above.mean / below.mean
    b = above.mean * below.mean - square * covariance
    c = above.mean**2 - square * above.covariance(above)
    root = math.sqrt(max(0.0, b * b - a * c))
    spread = above.covariance(above) - 2.0 * ratio * covariance + ratio * ratio * variance
    error = math.sqrt(max(0.0, spread)) / abs(below.mean)
    return Estimate(ratio, error, (b - root) / a, (b + root) / a)


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


def errors_within_priors(sums: Floats, episodes: int) -> Floats:
    """Return the standard error over the episodes of each prior, shape (priors, N).

    For the arguments see ``curve_of_sums``.
    """
    mean = sums[:, :, 0] / episodes
    variance = np.maximum(sums[:, :, 1] / episodes - mean * mean, 0.0)
    return np.asarray(np.sqrt(variance / (episodes - 1)))


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


def verdicts(
    differences: Sequence[Estimate],
    counts: int | Sequence[int],
    equality: Sequence[float] | None = None,
) -> list[str]:
    """Judge several differences together.

    A verdict is ``ahead`` or ``behind`` if the interval excludes 0 and the p-value after Holm's
    correction is below 5 %, and ``""`` for ``UNKNOWN``. If all values of a difference are equal,
    the sign test gives its p-value. Other differences are ``level`` if their p-value of equality is
    below 5 %, also after Holm's correction over all questions, else ``undecided``. So each kind of
    verdict is wrong anywhere with a probability of at most 5 %.

    Args:
        differences: one for each question.
        counts: number of values behind each mean, or behind all, >= 2.
        equality: p-values of ``equality_p_value``; None if no verdict is ``level``.
    """
    judged = [""] * len(differences)
    p_values: dict[int, float] = {}
    equal: dict[int, float] = {}
    sizes = np.broadcast_to(counts, len(differences)).tolist()
    for question, difference in enumerate(differences):
        if difference.known:
            judged[question] = UNDECIDED
            p_values[question] = _p_value(difference, sizes[question])
            if equality is not None:
                equal[question] = equality[question]
    for question in _rejected(equal):
        judged[question] = LEVEL
    for question in _rejected(p_values):
        judged[question] = differences[question].verdict
    return judged


def _rejected(p_values: Mapping[int, float]) -> list[int]:
    """Return the hypotheses that Holm's rule rejects."""
    rejected: list[int] = []
    for step, hypothesis in enumerate(sorted(p_values, key=p_values.__getitem__)):
        if p_values[hypothesis] * (len(p_values) - step) >= 1.0 - CONFIDENCE:
            break
        rejected.append(hypothesis)
    return rejected


def _p_value(difference: Estimate, count: int) -> float:
    """Return the two-sided p-value of a difference of 0, from ``count`` values."""
    if difference.standard_error <= 1e-12 * abs(difference.mean):  # rounding alone
        return 2.0 ** (1 - count) if difference.mean else 1.0
    t = abs(difference.mean / difference.standard_error)
    return float(2.0 * stdtr(count - 1, -t))


def equality_p_value(ours: Floats, theirs: Floats) -> float:
    """Return the p-value of the claim that two means are equal within the margin.

    These are two one-sided tests: that our mean is above theirs minus the margin, and below theirs
    plus the margin, which is ``EQUALITY_MARGIN`` times their mean.

    Args:
        ours: values of the policy, shape (E,), E >= 2.
        theirs: values of the policy compared with, on the same episodes.
    """
    margin = EQUALITY_MARGIN * math.copysign(1.0, float(np.nanmean(theirs))) * theirs
    p_values = []
    for room in (estimate(margin + (ours - theirs)), estimate(margin - (ours - theirs))):
        if not room.known:
            return 1.0
        two_sided = _p_value(room, ours.size)
        if room.mean > 0.0:
            p_values.append(0.5 * two_sided)
        else:
            p_values.append(1.0 - 0.5 * two_sided)
    return max(p_values)


def detectable_effect(difference: Estimate, count: int, questions: int = 1) -> float:
    """Return the least true difference that gets a verdict with a probability of 80 %.

    This is the least favourable case: Holm's first and strictest step, whatever the other
    differences are. It is found more often if others are clear, too.

    Args:
        difference: supplies the standard error.
        count: number of values behind its mean, >= 2.
        questions: number of differences that ``verdicts`` judges together.

    Returns:
        The difference in the unit of the values, by the noncentral t distribution.
    """
    limit = t_quantile(count, 1.0 - (1.0 - CONFIDENCE) / questions)
    errors = float(nctdtrinc(count - 1, 1.0 - POWER, limit))
    return errors * difference.standard_error
