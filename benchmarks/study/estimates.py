"""Means, standard errors and paired differences from the sums of a study."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from matchenv.benchmarks.compare.statistics import CONFIDENCE
from matchenv.benchmarks.study.blocks import WINDOWS, Sums
from matchenv.benchmarks.study.cells import Cell
from matchenv.benchmarks.study.paths import MEASURES

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mean:
    """A mean with its uncertainty, of the same shape.

    Attributes:
        mean: the mean.
        standard_error: over paths, or over priors where there are several.
        half_width: half of the 95 % interval.
    """

    mean: Floats
    standard_error: Floats
    half_width: Floats

    @property
    def low(self) -> Floats:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> Floats:
        """Upper end of the interval."""
        return self.mean + self.half_width


@dataclass(frozen=True)
class CellResult:
    """What a study found in one cell.

    With several priors each counts once, and errors are those of a mean over priors: paths
    of one prior have that prior in common.

    Attributes:
        cell: which.
        policies: their labels.
        paths: for each prior.
        sums: of each prior.
    """

    cell: Cell
    policies: tuple[str, ...]
    paths: int
    sums: tuple[Sums, ...]

    def curve(self, policy: str, measure: str) -> Mean:
        """A measure at each game, shape (N,)."""
        place = (self.policies.index(policy), MEASURES.index(measure))
        return self._mean([each.curves[place] for each in self.sums])

    def window(self, policy: str, measure: str, window: str) -> Mean:
        """The mean of a measure over a window of games, shape ()."""
        place = (self.policies.index(policy), MEASURES.index(measure), WINDOWS.index(window))
        return self._mean([each.windows[place] for each in self.sums])

    def paired(self, ours: str, theirs: str, measure: str, window: str) -> Mean:
        """The difference of two policies on the same paths, ours less theirs, shape ()."""
        a, b = self.policies.index(ours), self.policies.index(theirs)
        place = (MEASURES.index(measure), WINDOWS.index(window))
        row = _pair_row(min(a, b), max(a, b), len(self.policies))
        found = self._mean([each.pairs[(row, *place)] for each in self.sums])
        if a < b:
            return found
        return Mean(-found.mean, found.standard_error, found.half_width)

    def prior_means(self, policy: str, measure: str, window: str) -> Floats:
        """The mean over a window with each prior, shape (priors,)."""
        place = (self.policies.index(policy), MEASURES.index(measure), WINDOWS.index(window))
        return np.array([each.windows[(*place, 0)] / each.paths for each in self.sums])

    def _mean(self, sums: list[Floats]) -> Mean:
        """A mean from sums and sums of squares, the last axis of each prior's array."""
        if len(sums) == 1:
            return mean_of_sums(sums[0][..., 0], sums[0][..., 1], self.paths)
        means = np.stack([each[..., 0] / self.paths for each in sums])
        return mean_of_sums(means.sum(axis=0), (means * means).sum(axis=0), len(sums))


def mean_of_sums(total: Floats, squares: Floats, count: int) -> Mean:
    """Mean and 95 % interval of ``count`` independent values.

    Args:
        total: their sum.
        squares: the sum of their squares, the same shape.
        count: how many, >= 2.
    """
    mean = np.asarray(total / count)
    variance = np.maximum(squares / count - mean * mean, 0.0) * (count / (count - 1))
    error = np.sqrt(variance / count)
    return Mean(mean, error, float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2.0)) * error)


def closeness(ours: Mean, theirs: Mean, paired: Mean, goal: float) -> Mean:
    """How much nearer to a goal we are than they, |theirs - goal| - |ours - goal|.

    Args:
        ours: our mean.
        theirs: theirs.
        paired: ours less theirs, on the same paths.
        goal: what both should be.
    """
    a, b = float(ours.mean) - goal, float(theirs.mean) - goal
    if (a > 0.0) == (b > 0.0):
        sign = 1.0 if a > 0.0 else -1.0
        return Mean(-sign * paired.mean, paired.standard_error, paired.half_width)
    # On either side of the goal the variance of the sum counts, which the others give.
    square = 2.0 * (float(ours.standard_error) ** 2 + float(theirs.standard_error) ** 2)
    error = math.sqrt(max(0.0, square - float(paired.standard_error) ** 2))
    scale = float(ours.half_width / ours.standard_error) if ours.standard_error > 0.0 else 0.0
    return Mean(np.asarray(abs(b) - abs(a)), np.asarray(error), np.asarray(scale * error))


def _pair_row(a: int, b: int, policies: int) -> int:
    """The place of the pair a < b among all pairs in the order of ``combinations``."""
    return a * policies - a * (a + 1) // 2 + b - a - 1
