"""Log loss and calibration of stated probabilities of a win, a draw and a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """Stated probabilities against observed shares, in bins of the stated probability.

    Attributes:
        edges: (bins + 1,), the bins' ends.
        count: (bins,), forecasts in each bin.
        stated: (bins,), their mean, NaN for an empty bin.
        observed: (bins,), share of them that came true, NaN for an empty bin.
        error: mean of |stated - observed| over forecasts, NaN if there are none.
    """

    edges: Floats
    count: NDArray[np.int64]
    stated: Floats
    observed: Floats
    error: float


def log_loss(log_probability: Floats, outcome: NDArray[np.int8]) -> float:
    """Mean of minus the natural logarithm of the probability of what happened.

    Args:
        log_probability: (pairs, 3), of the first side's win, a draw and its loss.
        outcome: (pairs,), +1, 0 or -1 as seen by the first side.

    Returns:
        The mean; infinite if something happened that was held impossible, NaN if there are
        no pairs.
    """
    if not len(outcome):
        return float("nan")
    column = 1 - outcome.astype(np.int64)
    return float(-np.take_along_axis(log_probability, column[:, None], axis=1).mean())


def constant_log_loss(outcome: NDArray[np.int8]) -> float:
    """The log loss of a forecast that knows nothing but the share of draws in the log.

    It gives both sides of each pair the same chance. A system whose loss is not below this one
    has said nothing.

    Args:
        outcome: (pairs,), +1, 0 or -1.
    """
    if not len(outcome):
        return float("nan")
    draw = float(np.mean(outcome == 0))
    win = 0.5 * (1.0 - draw)
    return -sum(p * np.log(q) for p, q in ((draw, draw), (1.0 - draw, win)) if p > 0.0)


def calibration(probability: Floats, happened: NDArray[np.bool_], edges: Floats) -> Calibration:
    """Compare stated probabilities with what happened, in bins of the stated one.

    Args:
        probability: (forecasts,), stated, between the first and the last edge.
        happened: (forecasts,), whether it came true.
        edges: (bins + 1,), rising; each bin holds its lower edge, the last one both.
    """
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        stated = np.bincount(place, weights=probability, minlength=bins) / count
        observed = np.bincount(place, weights=happened, minlength=bins) / count
        filled = count > 0
        error = np.dot(np.abs(stated - observed)[filled], count[filled]) / np.float64(count.sum())
    return Calibration(edges, count, stated, observed, float(error))


def win_calibration(log_probability: Floats, outcome: NDArray[np.int8], bins: int) -> Calibration:
    """Calibration of win probabilities, each pair seen from both of its sides.

    Args:
        log_probability: (pairs, 3), of the first side's win, a draw and its loss.
        outcome: (pairs,), +1, 0 or -1 as seen by the first side.
        bins: bins of equal width that divide [0, 1].
    """
    probability = np.exp(np.concatenate([log_probability[:, 0], log_probability[:, 2]]))
    happened = np.concatenate([outcome == 1, outcome == -1])
    return calibration(probability, happened, np.linspace(0.0, 1.0, bins + 1))


def draw_calibration(log_probability: Floats, outcome: NDArray[np.int8], bins: int) -> Calibration:
    """Calibration of draw probabilities, in bins from 0 to the largest stated one.

    Arguments as ``win_calibration``.
    """
    probability = np.exp(log_probability[:, 1])
    largest = float(probability.max(initial=0.0)) or 1.0
    return calibration(probability, outcome == 0, np.linspace(0.0, largest, bins + 1))
