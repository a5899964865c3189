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
        standard_error: of that share, the pairs of one game taken as one observation.
        pairs: pairs counted.
        drawn: pairs that came out even, counted or not.
        predicted_ties: pairs that did not, but for which no order was predicted.
    """

    error: float
    standard_error: float
    pairs: int
    drawn: int
    predicted_ties: int


def pair_costs(
    gap: NDArray[np.float64], outcome: NDArray[np.int8], rule: TieRule
) -> NDArray[np.float64]:
    """What each pair costs: 0 for the right order, 1 for the wrong one, ties by the rule.

    Args:
        gap: (pairs,), predicted strength of the first side less that of the second.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 if even.
        rule: how ties count.

    Returns:
        (pairs,), NaN for a pair that is left out.
    """
    cost = np.where(np.sign(gap) == outcome, 0.0, 1.0)
    cost[gap == 0.0] = PREDICTED_TIES[rule.predicted_ties]
    drawn_cost = DRAWN_PAIRS[rule.drawn_pairs]
    cost[outcome == 0] = np.nan if drawn_cost is None else drawn_cost
    return cost


def prediction_error(
    gap: NDArray[np.float64],
    outcome: NDArray[np.int8],
    game: NDArray[np.int64],
    rule: TieRule,
) -> PredictionError:
    """The share of pairs predicted in the wrong order.

    Args:
        gap: (pairs,), predicted strength of the first side less that of the second.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 if even.
        game: (pairs,), the game in which each pair met.
        rule: how ties count.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    cost = pair_costs(gap, outcome, rule)
    error, standard_error = mean_over_pairs(cost, game)
    return PredictionError(
        error=error,
        standard_error=standard_error,
        pairs=int(np.count_nonzero(~np.isnan(cost))),
        drawn=int(np.count_nonzero(outcome == 0)),
        predicted_ties=int(np.count_nonzero((gap == 0.0) & (outcome != 0))),
    )


def mean_over_pairs(value: NDArray[np.float64], game: NDArray[np.int64]) -> tuple[float, float]:
    """Mean of a value over pairs, and its standard error.

    Pairs of one game share their players, so each game counts as one observation.

    Args:
        value: (pairs,), NaN for a pair that is left out.
        game: (pairs,), the game of each pair.

    Returns:
        ``(mean, standard_error)``, NaN where no pair is counted.
    """
    counted = ~np.isnan(value)
    if not counted.any():
        return float("nan"), float("nan")
    mean = float(value[counted].mean())
    by_game = np.bincount(game[counted], weights=value[counted] - mean)
    return mean, float(np.sqrt(np.sum(by_game**2)) / np.count_nonzero(counted))
