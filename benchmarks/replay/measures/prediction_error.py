"""The share of pairs of sides whose order was predicted wrongly before the game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What a pair costs that came out even, by the name of the rule; None leaves it out.
DRAWN_PAIRS: dict[str, float | None] = {"left-out": None, "half": 0.5, "wrong": 1.0}
# What a pair costs for which no order was predicted.
PREDICTED_TIES: dict[str, float] = {"wrong": 1.0, "half": 0.5, "right": 0.0}


@dataclass(frozen=True)
class TieRule:
    """How ties count in the prediction error.

    Attributes:
        drawn_pairs: for pairs that came out even, a key of ``DRAWN_PAIRS``.
        predicted_ties: for pairs predicted to be even that were not, a key of
            ``PREDICTED_TIES``.
    """

    drawn_pairs: str = "left-out"
    predicted_ties: str = "wrong"


@dataclass(frozen=True)
class PredictionError:
    """The error and what it was counted on.

    Attributes:
        error: share of the counted pairs, NaN if there are none.
        pairs: pairs counted.
        drawn: pairs that came out even, counted or not.
        predicted_ties: pairs that did not, but for which no order was predicted.
    """

    error: float
    pairs: int
    drawn: int
    predicted_ties: int


def prediction_error(
    gap: NDArray[np.float64], outcome: NDArray[np.int8], rule: TieRule
) -> PredictionError:
    """The share of pairs predicted in the wrong order.

    Args:
        gap: (pairs,), predicted strength of the first side less that of the second.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 if even.
        rule: how ties count.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    drawn, tied = outcome == 0, (gap == 0.0) & (outcome != 0)
    cost = np.where(np.sign(gap) == outcome, 0.0, 1.0)
    cost[tied] = PREDICTED_TIES[rule.predicted_ties]
    drawn_cost = DRAWN_PAIRS[rule.drawn_pairs]
    if drawn_cost is None:
        cost = cost[~drawn]
    else:
        cost[drawn] = drawn_cost
    error = float(cost.mean()) if len(cost) else float("nan")
    return PredictionError(error, len(cost), int(drawn.sum()), int(tied.sum()))
