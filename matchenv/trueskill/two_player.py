"""Two players: probabilities, match quality and the update, for numbers and arrays.

Arguments broadcast as in NumPy. Results are float64, and scalars if all arguments are. They are
accurate to the limits of float64: gaps of 1000 sigma, a sigma of 1e-6 or 1e6 and draws between
unequal players give finite, correct numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_array,
    as_outcomes,
    as_positive_array,
    check_shapes,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    draw_density_of,
    draw_probability_of,
    is_positive,
    is_skill,
    match_quality_of,
    performance_variance,
    total_variance,
    update_two,
    win_probability_of,
)

WIN, DRAW, DENSITY, QUALITY, TRUE_DENSITY, UPDATE = range(6)

NAMES = ("mu_i", "sigma_i", "mu_j", "sigma_j", "beta", "draw_margin", "outcome")
TRUE_NAMES = ("skill_i", "", "skill_j", "", "beta", "", "")
CHECKS = dict.fromkeys(("sigma_i", "sigma_j", "beta"), as_positive_array)
CHECKS["draw_margin"] = as_non_negative_array

# Types of numbers that compiled functions accept without conversion.
NUMBERS = frozenset((float, np.float64))


def win_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Return the probability that player i beats player j.

    With a draw margin, ``win + draw + loss = 1``, where loss is j's win probability against i and
    draw is ``draw_probability``.

    Args:
        mu_i: means of the beliefs about i, in skill points.
        sigma_i: standard deviations of the beliefs about i, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: standard deviations of the beliefs about j, > 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances that differ by at most this are a draw, >= 0.

    Returns:
        Probabilities in [0, 1], of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, beta <= 0, a negative margin or shapes that do
            not broadcast.

    Source: Ryzhov, Tariq, Powell (2011), eq. (10), with its missing square root; the margin is from
    Herbrich, Minka, Graepel (2006), section 2.
    """
    return _games(WIN, (mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin, 1.0))[0]


def draw_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Return the probability of a draw: performances differ by at most the draw margin.

    See ``win_probability`` for arguments, shapes and errors. The result is 0 without a margin.

    Source: Herbrich, Minka, Graepel (2006), section 2; eq. (3) of the 2011 paper.
    """
    return _games(DRAW, (mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin, 1.0))[0]


def draw_density(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """Return the draw density q: the density at 0 of the difference of two performances.

    See ``win_probability`` for arguments, shapes and errors. The unit is 1 / skill points.

    Source: Ryzhov, Tariq, Powell (2011), eq. (5).
    """
    return _games(DENSITY, (mu_i, sigma_i, mu_j, sigma_j, beta, 0.0, 1.0))[0]


def match_quality(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """Return the draw density relative to that of an even game of known skills, in (0, 1].

    See ``win_probability`` for arguments, shapes and errors.

    Source: Ryzhov, Tariq, Powell (2011), eq. (6); Herbrich, Minka, Graepel (2006), eq. (7).
    """
    return _games(QUALITY, (mu_i, sigma_i, mu_j, sigma_j, beta, 0.0, 1.0))[0]


def true_draw_density(skill_i: ArrayLike, skill_j: ArrayLike, beta: ArrayLike) -> Any:
    """Return the draw density of a game between players of known skill.

    Args:
        skill_i: skills of i, in skill points.
        skill_j: skills of j.
        beta: standard deviation of one performance around skill, > 0.

    Returns:
        Densities, 1 / skill points, of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity or beta <= 0.

    Source: Ryzhov, Tariq, Powell (2011), eq. (14).
    """
    return _games(TRUE_DENSITY, (skill_i, 1.0, skill_j, 1.0, beta, 0.0, 1.0), TRUE_NAMES)[0]


def update(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    outcome: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> tuple[Any, Any, Any, Any]:
    """Return the beliefs about both players after a game between them.

    The exact posterior is not normal. It is replaced by a normal of the same mean and variance.

    Args:
        mu_i: means of the beliefs about i before the game, in skill points.
        sigma_i: standard deviations of the beliefs about i, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: standard deviations of the beliefs about j, > 0.
        outcome: +1 if i won, -1 if i lost, 0 for a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances that differ by at most this are a draw, >= 0.

    Returns:
        ``(mu_i, sigma_i, mu_j, sigma_j)`` after the game, each of the broadcast shape. A sigma
        never grows.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, beta <= 0, a negative margin, an outcome other
            than +1, 0 and -1, a draw without a margin (it has probability 0), or scales so far
            apart (more than a hundred orders of magnitude) that float64 cannot hold the result.

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), with their missing square roots; draws
    from Herbrich, Minka, Graepel (2006), section 3.
    """
    outcome = as_outcomes("outcome", outcome)
    return _games(UPDATE, (mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin, outcome))


def _games(
    which: int, values: tuple[ArrayLike, ...], names: tuple[str, ...] = NAMES
) -> tuple[Any, Any, Any, Any]:
    """Return the results of ``game_or_nan`` for each game.

    Raises:
        ValueError: for bad arguments.
    """
    if NUMBERS.issuperset(map(type, values)):
        first, second, third, fourth = game_or_nan(which, *values)
        if first == first:  # NaN: the checks below name the bad argument
            return np.float64(first), np.float64(second), np.float64(third), np.float64(fourth)
    arrays = []
    for name, value in zip(names, values, strict=True):
        check = CHECKS.get(name, as_float_array)
        arrays.append(check(name, value))
    check_shapes(names, *arrays)
    table = np.stack(np.broadcast_arrays(*arrays))
    if which == UPDATE and (np.abs(table[-2:]).max(axis=0) == 0.0).any():
        raise ValueError(
            "outcome must be +1 or -1 with draw_margin=0, got 0: without a margin a draw has "
            "probability 0; set draw_margin > 0 (see draw_margin_from_probability)"
        )
    new = _table_of_games(which, table.reshape(len(arrays), -1))
    if np.isnan(new).any():
        raise ValueError(
            "sigma_i, sigma_j, beta and draw_margin must not mix scales so far apart that float64 "
            "cannot hold the result"
        )
    first, second, third, fourth = new.reshape(4, *table.shape[1:])
    return first, second, third, fourth


@compiled
def game_or_nan(
    which: int,
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    beta: float,
    draw_margin: float,
    outcome: float,
) -> tuple[float, float, float, float]:
    """Return ``update_two`` or four times a measure of one game; NaN for invalid numbers."""
    good = is_skill(mu_i) and is_positive(sigma_i) and is_skill(mu_j) and is_positive(sigma_j)
    good = good and is_positive(beta) and draw_margin >= 0.0 and is_skill(draw_margin)
    result = math.nan
    gap = mu_i - mu_j
    variance = total_variance(sigma_i, sigma_j, beta)
    if good and which == UPDATE:
        if abs(outcome) == 1.0 or (outcome == 0.0 and draw_margin > 0.0):
            after = update_two(mu_i, sigma_i, mu_j, sigma_j, int(outcome), beta, draw_margin)
            if after[1] > 0.0 and after[3] > 0.0:
                return after
    elif good and which == WIN:
        result = win_probability_of(gap, variance, draw_margin)
    elif good and which == DRAW:
        result = draw_probability_of(gap, variance, draw_margin)
    elif good and which == DENSITY:
        result = draw_density_of(gap, variance)
    elif good and which == QUALITY:
        result = match_quality_of(gap, variance, beta)
    elif good:
        result = draw_density_of(gap, performance_variance(beta))
    return result, result, result, result


@compiled
def _table_of_games(which: int, table: Floats) -> Floats:
    new = np.empty((4, table.shape[1]))
    for k in range(new.shape[1]):
        new[0, k], new[1, k], new[2, k], new[3, k] = game_or_nan(
            which,
            table[0, k],
            table[1, k],
            table[2, k],
            table[3, k],
            table[4, k],
            table[5, k],
            table[6, k],
        )
    return new
