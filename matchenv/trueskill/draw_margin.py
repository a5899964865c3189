"""Conversions between draw margin and draw probability, and margins of games of sides."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from scipy.special import erf, erfinv

from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_positive_number,
    as_probability,
)
from matchenv.runtime.compile import compiled


def draw_margin_from_probability(draw_probability: Any, beta: Any, num_players: Any = 2) -> float:
    """Return the margin at which two even sides of known skill draw with a given probability.

    Args:
        draw_probability: in [0, 1).
        beta: standard deviation of one performance around skill, > 0.
        num_players: players in both sides together, >= 2.

    Returns:
        The draw margin in skill points, >= 0.

    Raises:
        ValueError: for a probability outside [0, 1), beta <= 0 or fewer than 2 players.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, with beta outside the square root.
    """
    probability = as_probability("draw_probability", draw_probability)
    return math.sqrt(2.0) * float(erfinv(probability)) * _performance_deviation(beta, num_players)


def draw_probability_from_margin(draw_margin: Any, beta: Any, num_players: Any = 2) -> float:
    """Return the draw probability of two even sides of known skill.

    The inverse of ``draw_margin_from_probability``.

    Args:
        draw_margin: performances that differ by at most this are a draw, in skill points, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        num_players: players in both sides together, >= 2.

    Returns:
        A probability in [0, 1].

    Raises:
        ValueError: for a negative margin, beta <= 0 or fewer than 2 players.
    """
    margin = as_non_negative_number("draw_margin", draw_margin)
    return float(erf(margin / (math.sqrt(2.0) * _performance_deviation(beta, num_players))))


def _performance_deviation(beta: Any, num_players: Any) -> float:
    count = as_integer("num_players", num_players, 2, 1_000_000_000)
    return math.sqrt(count) * as_positive_number("beta", beta)


class DrawMargin(NamedTuple):
    """Draw margin of games whose sides differ in size.

    Attributes:
        margin: the margin between any two sides; if it grows, the margin for one player.
        grows: whether the margin is multiplied by the square root of the number of players.
    """

    margin: float
    grows: bool


@compiled
def margin_between(margin: float, grows: bool, players: int) -> float:
    """Return the margin between two sides with ``players`` members in total; see ``DrawMargin``."""
    if grows:
        return margin * math.sqrt(players)
    return margin


def as_draw_margin(draw_probability: Any, draw_margin: Any, beta: float) -> DrawMargin:
    """Return the margin from the draw probability or the margin; 0 if both are None.

    Args:
        draw_probability: probability that two even sides of known skill draw, in [0, 1), or None.
            The margin between sides of n1 and n2 players is ``draw_margin_from_probability`` with
            n1 + n2 players, whatever their weights.
        draw_margin: the margin between any two sides, >= 0, or None.
        beta: standard deviation of one performance.

    Raises:
        ValueError: if both are set, or one is out of range.
    """
    if draw_margin is not None:
        if draw_probability is not None:
            raise ValueError(
                "draw_margin must be left out if draw_probability is set, "
                f"got {draw_margin!r} and {draw_probability!r}"
            )
        return DrawMargin(as_non_negative_number("draw_margin", draw_margin), False)
    if draw_probability is None:
        return DrawMargin(0.0, False)
    margin = draw_margin_from_probability(draw_probability, beta, 2)
    return DrawMargin(margin / math.sqrt(2.0), True)
