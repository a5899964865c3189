"""From totals of true q to one score: interquartile mean and stratified bootstrap.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice"
(2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import trim_mean

from matchenv.evaluation.estimates import CONFIDENCE, ratio_of_means

Floats = NDArray[np.float64]

RESAMPLES = 2000
TAIL = 0.5 * (1.0 - CONFIDENCE)


@dataclass(frozen=True)
class Score:
    """A number with its bootstrap interval.

    Attributes:
        value: the number.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """Such as ``0.123 [0.101, 0.145]``."""
        value, low, high = (round(each, digits) + 0.0 for each in (self.value, self.low, self.high))
        return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def family_scores(above: Floats, span: Floats) -> Floats:
    """The score of each run in each family: 0 for DrawChance, 1 for the mark.

    Args:
        above: true q of every episode less DrawChance's, shape (runs, F, E).
        span: of the same episodes, what the mark is above DrawChance, shape (F, E).

    Returns:
        Shape (runs, F).
    """
    found: Floats = above.mean(axis=-1) / span.mean(axis=-1)
    return found


def interquartile_mean(scores: Floats) -> float:
    """The mean of the middle half of all scores."""
    return float(_interquartile_means(np.ravel(scores)[None])[0])


def _interquartile_means(rows: Floats) -> Floats:
    """That of each row."""
    found: Floats = trim_mean(rows, 0.25, axis=1)
    return found


def overall(above: Floats, span: Floats, rng: np.random.Generator) -> Score:
    """The interquartile mean over runs and families.

    The bootstrap draws episodes anew within each family, the same for all policies, and, where
    there are several, runs within each family.

    Args:
        above: as ``family_scores``.
        span: as there.
        rng: draws.
    """
    runs, families, episodes = above.shape
    drawn = np.empty((RESAMPLES, runs * families))
    rows = np.arange(families)[:, None]
    for k in range(RESAMPLES):
        chosen = rng.integers(episodes, size=(families, episodes))
        parts = family_scores(above[:, rows, chosen], span[rows, chosen])
        if runs > 1:
            parts = parts[rng.integers(runs, size=(runs, families)), np.arange(families)]
        drawn[k] = np.ravel(parts)
    ends = np.quantile(_interquartile_means(drawn), (TAIL, 1.0 - TAIL))
    return Score(interquartile_mean(family_scores(above, span)), *map(float, ends))


def of_family(above: Floats, span: Floats) -> Score:
    """The score of one family, shapes (runs, E) and (E,), its interval by the delta method."""
    found = ratio_of_means(above.mean(axis=0), span)
    return Score(found.mean, found.low, found.high)
