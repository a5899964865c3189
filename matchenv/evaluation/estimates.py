"""Means, paired differences and verdicts with intervals, from one number for each episode.

One rule says who is ahead, with Holm's correction where several are judged. Source: Holm, "A
simple sequentially rejective multiple test procedure" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]

CONFIDENCE = 0.95

# Probability with which a difference is to be found.
POWER = 0.8

AHEAD, BEHIND, UNDECIDED = "ahead", "behind", "undecided"


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
        """Of a difference: ``ahead``, ``behind``, or ``undecided`` where the interval holds 0."""
        return AHEAD if self.low > 0.0 else BEHIND if self.high < 0.0 else UNDECIDED

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return 0.5 * (self.high - self.low)

    @property
    def known(self) -> bool:
        """Whether it was measured."""
        return self.mean == self.mean

    def times(self, factor: float) -> Estimate:
        """The estimate of a number that is ``factor`` times as large."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.mean, abs(factor) * self.standard_error, low, high)

    def __format__(self, form: str) -> str:
        """Return mean and interval, for example ``0.12 [-0.03, 0.27]`` by ``.2f``.

        What rounds to zero has no minus.
        """
        # A number's format: the sign, then z against minus zero, then the rest.
        sign, rest = (form[:1], form[1:]) if form[:1] in ("+", "-") else ("", form)
        mean, low, high = (f"{each:{sign}z{rest}}" for each in (self.mean, self.low, self.high))
        return f"{mean} [{low}, {high}]"


# Of what was not measured.
UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


class Record(dict[str, Any]):
    """A row of results: texts, numbers and estimates by name, which are attributes too."""

    def __getattr__(self, name: str) -> Any:
        """Return an entry."""
        if name not in self:
            raise AttributeError(name)
        return self[name]


def recorded(found: Any) -> Any:
    """Return what a JSON file holds: mappings as records, with estimates among them.

    In a record with an estimate null is NaN.
    """
    if isinstance(found, list):
        return [recorded(each) for each in found]
    if not isinstance(found, Mapping):
        return found
    if found.keys() == {each.name for each in fields(Estimate)}:
        return Estimate(
            **{name: math.nan if each is None else each for name, each in found.items()}
        )
    record = Record({name: recorded(value) for name, value in found.items()})
    if any(isinstance(value, Estimate) for value in record.values()):
        record.update({name: math.nan for name, value in record.items() if value is None})
    return record


def columns_of(record: Any) -> dict[str, Any]:
    """Return a record as columns of a table: four for each estimate.

    Args:
        record: a dataclass or a mapping. Numbers and texts stay as they are; an estimate becomes
            ``NAME_mean``, ``NAME_standard_error``, ``NAME_low`` and ``NAME_high``; the entries of
            a mapping take its place. All others are left out.
    """
    columns: dict[str, Any] = {}
    for name, value in (record if isinstance(record, Mapping) else vars(record)).items():
        if isinstance(value, Estimate):
            columns |= {f"{name}_{part}": number for part, number in vars(value).items()}
        elif isinstance(value, Mapping):
            columns |= columns_of(value)
        elif isinstance(value, str | int | float):
            columns[name] = value
    return columns


@dataclass(frozen=True)
class Curve:
    """Means of one measure at each game, with their uncertainty; all of shape (N,).

    Attributes:
        mean: the means.
        standard_error: their standard errors.
        half_width: half of their confidence intervals.
    """

    mean: Floats
    standard_error: Floats
    half_width: Floats


def quantile_of(count: int) -> float:
    """Half of an interval in standard errors, for ``count`` values, by Student's distribution."""
    return float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2.0))


def estimate(values: Floats) -> Estimate:
    """Return the mean of independent values with Student's interval; NaN are left out.

    Args:
        values: shape (E,); with fewer than two that are known, all of the estimate is NaN.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return UNKNOWN
    mean = float(known.mean())
    error = float(known.std(ddof=1)) / math.sqrt(known.size)
    half = quantile_of(known.size) * error
    return Estimate(mean, error, mean - half, mean + half)


def estimate_over_priors(values: Floats) -> Estimate:
    """The mean over episodes of several priors.

    With several priors each counts once, and the error is that of a mean over priors: episodes
    of one prior have that prior in common. With one prior, episodes count.

    Args:
        values: shape (priors, episodes).
    """
    return estimate(values[0] if len(values) == 1 else values.mean(axis=1))


def paired_difference(ours: Floats, theirs: Floats) -> Estimate:
    """Mean difference between two policies on the same episodes, each of shape (E,)."""
    return estimate(ours - theirs)


def nearer_by(ours: Floats, theirs: Floats, goal: float) -> Floats:
    """Values whose mean says how much nearer to a goal our mean is than theirs.

    Args:
        ours: shape (...).
        theirs: on the same episodes, the same shape.
        goal: what both means should be.

    Returns:
        Values of mean ``|mean(theirs) - goal| - |mean(ours) - goal|``, the same shape.
    """
    side_of_ours, side_of_theirs = (
        1.0 if float(each.mean()) > goal else -1.0 for each in (ours, theirs)
    )
    found: Floats = side_of_theirs * (theirs - goal) - side_of_ours * (ours - goal)
    return found


def share_closed(ours: Floats, low: Floats, high: Floats) -> float:
    """Share of the distance between two policies that a third one covers.

    Args:
        ours: totals of the policy, shape (E,).
        low: totals of the policy that counts as 0, on the same episodes.
        high: totals of the policy that counts as 1.

    Returns:
        The share; NaN where the two are equal.
    """
    distance = float((high - low).mean())
    return float((ours - low).mean()) / distance if distance != 0.0 else math.nan


def ratio_of_means(above: Floats, below: Floats) -> Estimate:
    """The ratio of two means over the same episodes, by the delta method.

    Args:
        above: shape (E,), E >= 2.
        below: shape (E,).

    Returns:
        The ratio with Student's interval; all NaN where the mean below is 0.
    """
    mean = float(below.mean())
    if mean == 0.0:
        return UNKNOWN
    ratio = float(above.mean()) / mean
    spread = estimate((above - ratio * below) / mean)
    half = spread.half_width
    return Estimate(ratio, spread.standard_error, ratio - half, ratio + half)


def without_luck(values: Floats, control: Floats) -> Floats:
    """Return values minus their share of a luck of known mean 0; the mean stays, the error falls.

    The share is that of least squares. It depends on the values themselves, which shifts the mean
    by a term of the order of one value's weight.

    Args:
        values: shape (E,), E >= 2.
        control: a control variate of mean 0 on the same episodes, shape (E,).
    """
    spread = control - control.mean()
    squares = float(spread @ spread)
    count = values.size
    if squares == 0.0 or count == 2:  # two values lie on a line whatever they are
        return values
    left = values - float(spread @ values) / squares * control
    # Deviations have the error of a regression line where the control is 0.
    error = (count - 1) / (count - 2) * (1.0 + count * float(control.mean()) ** 2 / squares)
    found: Floats = left.mean() + math.sqrt(error) * (left - left.mean())
    return found


def curve_of_sums(sums: Floats, episodes: int) -> Curve:
    """Means at each game, as ``estimate_over_priors`` counts episodes and priors.

    Args:
        sums: shape (priors, N, 2): sums over episodes, and sums of squares.
        episodes: of each prior, >= 2.
    """
    total, squares, count = sums[0, :, 0], sums[0, :, 1], episodes
    if len(sums) > 1:
        means = sums[:, :, 0] / episodes
        total, squares, count = means.sum(axis=0), (means * means).sum(axis=0), len(sums)
    mean = total / count
    variance = np.maximum(squares / count - mean * mean, 0.0) * (count / (count - 1))
    error = np.sqrt(variance / count)
    return Curve(mean, error, quantile_of(count) * error)


def verdicts(differences: Sequence[Estimate], count: int) -> list[str]:
    """Return who is ahead, of several questions that are asked together.

    ``ahead`` or ``behind`` where the interval of a difference leaves out 0 and its p-value after
    Holm's correction is below 5 %; else ``undecided``, and ``""`` where nothing was measured. For
    one question both say the same, unless all values are equal: then the sign test decides.

    Args:
        differences: one for each question.
        count: values that each is the mean of, >= 2.
    """

    def p_value(difference: Estimate) -> float:
        if difference.standard_error == 0.0:  # all are equal: the sign test's
            return 2.0 ** (1 - count) if difference.mean else 1.0
        t = abs(difference.mean / difference.standard_error)
        return float(2.0 * stdtr(count - 1, -t))

    found = ["" if not each.known else UNDECIDED for each in differences]
    known = [place for place, each in enumerate(differences) if each.known]
    p_values = {place: p_value(differences[place]) for place in known}
    for step, place in enumerate(sorted(known, key=p_values.__getitem__)):
        if p_values[place] * (len(known) - step) >= 1.0 - CONFIDENCE:
            break
        found[place] = differences[place].verdict
    return found


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
