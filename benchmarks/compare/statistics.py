"""Means, paired differences and shares, from one number for each episode."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over episodes.

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


def estimate(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent values, with Student's interval.

    Args:
        values: shape (E,), E >= 2.
        confidence: coverage of the interval.
    """
    count = values.size
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(count)
    half = float(stdtrit(count - 1, 0.5 + confidence / 2.0)) * error
    return Estimate(mean, error, mean - half, mean + half)


def paired_difference(ours: Floats, theirs: Floats) -> Estimate:
    """Mean difference between two policies on the same episodes, each of shape (E,)."""
    return estimate(ours - theirs)


def share_closed(ours: Floats, low: Floats, high: Floats) -> float:
    """How much of the way from one policy to another a third one has come.

    Args:
        ours: totals of the policy, shape (E,).
        low: totals of the policy that counts as 0, on the same episodes.
        high: totals of the policy that counts as 1.

    Returns:
        The share; NaN where the two are equal.
    """
    distance = float((high - low).mean())
    return float((ours - low).mean()) / distance if distance != 0.0 else math.nan
