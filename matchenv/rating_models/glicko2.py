"""Glicko-2 (Glickman): a rating, its deviation, and how erratic the player's results are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.rating_models.weng_lin import logistic
from matchenv.ratings.elo import LOGISTIC_RATE
from matchenv.runtime.checks import (
    as_float_array,
    as_number,
    as_positive_array,
    as_positive_number,
)
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]

RATING, DEVIATION, VOLATILITY, TAU = 1500.0, 350.0, 0.06, 0.5
# Glickman's 173.7178 is 400 / log(10), rounded.
SCALE = 1.0 / LOGISTIC_RATE
CLOSE_ENOUGH, MOST_STEPS = 1e-12, 200


class Glicko2Rating(NamedTuple):
    """What Glicko-2 knows about a player.

    Attributes:
        rating: on Elo's scale.
        deviation: its standard deviation, > 0.
        volatility: standard deviation of the skill's change in a period, on the internal scale,
            > 0.
    """

    rating: float = RATING
    deviation: float = DEVIATION
    volatility: float = VOLATILITY


def rate_glicko2(
    player: tuple[float, float, float],
    opponents: Sequence[tuple[float, ...]],
    scores: Sequence[float],
    *,
    tau: float = TAU,
) -> Glicko2Rating:
    """A player's rating after a rating period.

    Args:
        player: rating, deviation and volatility before the period.
        opponents: for each game the opponent's rating and deviation (more is not read) before
            the period; may be empty, then only the deviation grows.
        scores: for each game 1 for a win, 0.5 for a draw, 0 for a loss.
        tau: how much volatilities change, > 0; Glickman advises 0.3 to 1.2.

    Raises:
        ValueError: for bad input.

    Source: Glickman (2013), Example of the Glicko-2 system, steps 1 to 8.
    """
    change = as_positive_number("tau", tau)
    try:
        rating, deviation, volatility = player
        pairs = [(other[0], other[1]) for other in opponents]
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            "player must be (rating, deviation, volatility) and opponents a list of "
            f"(rating, deviation), got {player!r} and {opponents!r}"
        ) from None
    level = as_number("rating of player", rating)
    width = as_positive_number("deviation of player", deviation)
    erratic = as_positive_number("volatility of player", volatility)
    points = as_float_array("scores", list(scores))
    if points.shape != (len(pairs),) or ((points < 0.0) | (points > 1.0)).any():
        raise ValueError(
            f"scores must be in [0, 1], one for each of {len(pairs)} opponents, got {scores!r}"
        )
    others = as_float_array("rating of opponents", [pair[0] for pair in pairs])
    widths = as_positive_array("deviation of opponents", [pair[1] for pair in pairs])
    mu, phi, sigma = period(
        level / SCALE, width / SCALE, erratic, others / SCALE, widths / SCALE, points, change
    )
    return Glicko2Rating(mu * SCALE, phi * SCALE, sigma)


@compiled
def damping(phi: float) -> float:
    """g(phi): how much an opponent's deviation flattens what is expected."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi * phi / (math.pi * math.pi))


@compiled
def _slope(x: float, square: float, phi: float, v: float, a: float, tau: float) -> float:
    """f(x) of step 5."""
    e = math.exp(x)
    total = phi * phi + v + e
    return e * (square - total) / (2.0 * total * total) - (x - a) / (tau * tau)


@compiled
def _new_volatility(square: float, phi: float, v: float, sigma: float, tau: float) -> float:
    """Step 5, by the Illinois form of regula falsi; ``square`` is Delta squared."""
    a = math.log(sigma * sigma)
    left = a
    if square > phi * phi + v:
        right = math.log(square - phi * phi - v)
    else:
        k = 1
        while _slope(a - k * tau, square, phi, v, a, tau) < 0.0:
            k += 1
        right = a - k * tau
    at_left, at_right = _slope(left, square, phi, v, a, tau), _slope(right, square, phi, v, a, tau)
    steps = 0
    while abs(right - left) > CLOSE_ENOUGH and at_right != at_left and steps < MOST_STEPS:
        middle = left + (left - right) * at_left / (at_right - at_left)
        at_middle = _slope(middle, square, phi, v, a, tau)
        if at_middle * at_right <= 0.0:
            left, at_left = right, at_right
        else:
            at_left *= 0.5
        right, at_right = middle, at_middle
        steps += 1
    return math.exp(0.5 * left)


@compiled
def period(
    mu: float,
    phi: float,
    sigma: float,
    opponent_mu: Floats,
    opponent_phi: Floats,
    score: Floats,
    tau: float,
) -> tuple[float, float, float]:
    """Rating, deviation and volatility after a period, all on the internal scale.

    Args:
        mu: the player's rating.
        phi: its deviation.
        sigma: the player's volatility.
        opponent_mu: (games,) ratings of the opponents.
        opponent_phi: (games,) their deviations.
        score: (games,) 1, 0.5 or 0.
        tau: how much volatilities change.
    """
    information, surprise = 0.0, 0.0
    for k in range(score.size):
        g = damping(opponent_phi[k])
        expected = logistic(g * (mu - opponent_mu[k]))
        information += g * g * expected * (1.0 - expected)
        surprise += g * (score[k] - expected)
    if information <= 0.0:
        return mu, math.sqrt(phi * phi + sigma * sigma), sigma
    v = 1.0 / information
    sigma = _new_volatility((v * surprise) ** 2, phi, v, sigma, tau)
    variance = 1.0 / (1.0 / (phi * phi + sigma * sigma) + information)
    return mu + variance * surprise, math.sqrt(variance), sigma
