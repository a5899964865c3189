"""Means, paired differences, shares and intervals, from one number for each episode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

CONFIDENCE = 0.95

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

    @classmethod
    def from_plain(cls, numbers: Mapping[str, float | None]) -> Estimate:
        """The estimate that ``asdict`` gave, as a result file holds it: null for NaN."""
        found = (numbers[each.name] for each in fields(cls))
        return cls(*(math.nan if number is None else float(number) for number in found))

    @property
    def verdict(self) -> str:
        """Of a difference: ``ahead``, ``behind``, or ``undecided`` where the interval holds 0."""
        return AHEAD if self.low > 0.0 else BEHIND if self.high < 0.0 else UNDECIDED

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return 0.5 * (self.high - self.low)

    def times(self, factor: float) -> Estimate:
        """The estimate of a number that is ``factor`` times as large."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.mean, abs(factor) * self.standard_error, low, high)

    def interval_text(self, digits: int) -> str:
        """Such as ``+0.12 [-0.03, +0.27]``; what rounds to zero has no minus."""
        mean, low, high = (
            round(number, digits) + 0.0 for number in (self.mean, self.low, self.high)
        )
        return f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


# Of what was not measured.
UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


def columns_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as columns of a table: four for each estimate.

    Args:
        record: the dataclass.

    Returns:
        By name: numbers and texts as they are; ``NAME_mean``, ``NAME_standard_error``,
        ``NAME_low`` and ``NAME_high`` of an estimate. Fields of other kinds are left out.
    """
    columns: dict[str, Any] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if isinstance(value, Estimate):
            columns |= {f"{each.name}_{name}": part for name, part in asdict(value).items()}
        elif isinstance(value, str | int | float):
            columns[each.name] = value
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


def quantile_of(count: int, confidence: float = CONFIDENCE) -> float:
    """Half of an interval in standard errors, for ``count`` values, by Student's distribution."""
    return float(stdtrit(count - 1, 0.5 + confidence / 2.0))


def estimate(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent values, with Student's interval.

    Args:
        values: shape (E,), E >= 2.
        confidence: coverage of the interval.
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = quantile_of(values.size, confidence) * error
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
    """How much of the distance from one policy to another a third one has come.

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
    """Values less their share of luck whose mean is known to be 0; the mean stays, the error falls.

    The share is that of least squares. It depends on the values themselves, which shifts the mean
    by a term of the order of one value's weight.

    Args:
        values: shape (E,), E >= 2.
        control: a control variate of mean 0 on the same episodes, shape (E,).
    """
    spread = control - control.mean()
    squares = float(spread @ spread)
    share = float(spread @ values) / squares if squares > 0.0 else 0.0
    found: Floats = values - share * control
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
