"""Draw margin and draw probability, each from the other."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import erf, erfinv

from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_positive_number,
    as_probability,
)


def draw_margin_from_probability(draw_probability: Any, beta: Any, num_players: Any = 2) -> float:
    """The margin at which two even sides of known skill draw with the given probability.

    Args:
        draw_probability: in [0, 1).
        beta: standard deviation of one performance around skill, > 0.
        num_players: players in both sides together, >= 2.

    Returns:
        The draw margin in skill points, >= 0.

    Raises:
        ValueError: for a probability outside [0, 1), beta <= 0 or fewer than 2 players.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, with the square root over the
    number of players alone (beta stands outside it).
    """
    probability = as_probability("draw_probability", draw_probability)
    return math.sqrt(2.0) * float(erfinv(probability)) * _performance_spread(beta, num_players)


def draw_probability_from_margin(draw_margin: Any, beta: Any, num_players: Any = 2) -> float:
    """The probability of a draw between two even sides of known skill.

    Args:
        draw_margin: performances closer than this are a draw, in skill points, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        num_players: players in both sides together, >= 2.

    Returns:
        A probability in [0, 1].

    Raises:
        ValueError: for a negative margin, beta <= 0 or fewer than 2 players.

    Source: as ``draw_margin_from_probability``, whose inverse it is.
    """
    margin = as_non_negative_number("draw_margin", draw_margin)
    return float(erf(margin / (math.sqrt(2.0) * _performance_spread(beta, num_players))))


def _performance_spread(beta: Any, num_players: Any) -> float:
    count = as_integer("num_players", num_players, 2)
    return math.sqrt(count) * as_positive_number("beta", beta)
