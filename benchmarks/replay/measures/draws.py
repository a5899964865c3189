"""Draws found against match quality: does a system find the games that end in a draw?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DrawCurve:
    """Draws found as games are taken from the most to the least even.

    Attributes:
        possible: (points,), share of all possible draws in the games taken so far.
        found: (points,), share of all draws found in them.
        area: under the curve; 0.5 for a quality that says nothing, NaN without draws.
        draws: draws in all games.
    """

    possible: NDArray[np.float64]
    found: NDArray[np.float64]
    area: float
    draws: int


def draw_curve(
    quality: NDArray[np.float64], possible: NDArray[np.int64], found: NDArray[np.int64]
) -> DrawCurve:
    """Accumulate draws in order of falling quality; games of equal quality come as one.

    Args:
        quality: (games,), high for a game that a system judges even.
        possible: (games,), how many draws each game could have had.
        found: (games,), how many it had.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Match Quality'.
    """
    order = np.argsort(-quality, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(quality[order])), len(order) - 1)
    total_possible, total = int(possible.sum()), int(found.sum())
    if total == 0:
        nothing = np.array([0.0, 1.0])
        return DrawCurve(nothing, np.full(2, np.nan), float("nan"), 0)
    x = np.concatenate([[0.0], np.cumsum(possible[order])[ends] / total_possible])
    y = np.concatenate([[0.0], np.cumsum(found[order])[ends] / total])
    return DrawCurve(x, y, float(np.trapezoid(y, x)), total)
