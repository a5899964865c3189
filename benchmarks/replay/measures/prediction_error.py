"""The share of pairs of sides whose order was predicted wrongly before the game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.settings import DrawnPairs, DrawRule, PredictedDraws

Floats = NDArray[np.float64]

# What a pair that drew costs; None leaves it out.
_DRAWN_PAIRS: dict[DrawnPairs, float | None] = {"left-out": None, "half": 0.5, "wrong": 1.0}
# What a pair costs for which no order was predicted.
_PREDICTED_DRAWS: dict[PredictedDraws, float] = {"wrong": 1.0, "half": 0.5, "right": 0.0}


@dataclass(frozen=True)
class PredictionError:
    """The error and what it was counted on.

    Attributes:
        error: share of the counted pairs, NaN if there are none.
        standard_error: of that share, the pairs of one game taken as one observation.
        pairs: pairs counted.
        drawn: pairs that drew, counted or not.
        predicted_draws: pairs that did not draw, but for which no order was predicted.
    """

    error: float
    standard_error: float
    pairs: int
    drawn: int
    predicted_draws: int


def pair_costs(gap: Floats, outcome: NDArray[np.int8], rule: DrawRule) -> Floats:
    """What each pair costs: 0 for the right order, 1 for the wrong one, draws by the rule.

    Args:
        gap: (pairs,), predicted strength of the first side less that of the second.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 for a draw.
        rule: how draws count.

    Returns:
        (pairs,), NaN for a pair that is left out.
    """
    cost = np.where(np.sign(gap) == outcome, 0.0, 1.0)
    cost[gap == 0.0] = _PREDICTED_DRAWS[rule.predicted_draws]
    drawn_cost = _DRAWN_PAIRS[rule.drawn_pairs]
    cost[outcome == 0] = np.nan if drawn_cost is None else drawn_cost
    return cost


def prediction_error(
    gap: Floats, outcome: NDArray[np.int8], game: NDArray[np.int64], rule: DrawRule
) -> PredictionError:
    """The share of pairs predicted in the wrong order.

    Args:
        gap: as ``pair_costs``.
        outcome: as ``pair_costs``.
        game: (pairs,), the game in which each pair met.
        rule: how draws count.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    cost = pair_costs(gap, outcome, rule)
    return PredictionError(
        *mean_over_pairs(cost, game),
        pairs=int(np.count_nonzero(~np.isnan(cost))),
        drawn=int(np.count_nonzero(outcome == 0)),
        predicted_draws=int(np.count_nonzero((gap == 0.0) & (outcome != 0))),
    )


def mean_over_pairs(value: Floats, game: NDArray[np.int64]) -> tuple[float, float]:
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
