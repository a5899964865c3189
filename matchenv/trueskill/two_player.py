"""Two players: probabilities, match quality and the update, for numbers and arrays.

Arguments broadcast as in NumPy; results are float64, scalars where all arguments are. All are exact
to the limits of float64: gaps of 1000 sigma, a sigma of 1e-6 or 1e6 and draws between unequal
players give finite, correct numbers.

The common arguments:

    mu_i, sigma_i   mean and standard deviation (> 0) of the belief about i, in skill points
    mu_j, sigma_j   those of the belief about j
    beta            standard deviation of one performance around skill, > 0
    draw_margin     performances closer than this are a draw, >= 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.checks import (
    LARGEST_SKILL,
    as_float_array,
    as_non_negative_array,
    as_positive_array,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    draw_density_of,
    draw_probability_of,
    match_quality_of,
    total_variance,
    update_two,
    win_probability_of,
)

Floats = NDArray[np.float64]

WIN, DRAW, DENSITY, QUALITY, TRUE_DENSITY = range(5)

# The least allowed numbers, as the checks have them; all others may be negative.
LEAST = dict.fromkeys(("sigma_i", "sigma_j", "beta"), 1.0 / LARGEST_SKILL) | {"draw_margin": 0.0}


def win_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Return the probability that player i beats player j.

    With a draw margin, ``win + draw + loss = 1``, where loss is the win probability of j against i
    and draw is ``draw_probability``.

    Args:
        mu_i: means of the beliefs about i, in skill points.
        sigma_i: their standard deviations, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: their standard deviations, > 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances closer than this are a draw, >= 0.

    Returns:
        Probabilities in [0, 1], of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, beta <= 0 or a negative margin.

    Source: Ryzhov, Tariq, Powell (2011), eq. (10), with the square root that is missing there; the
    margin is that of Herbrich, Minka, Graepel (2006), section 2.
    """
    return _measure(
        WIN, mu_i=mu_i, sigma_i=sigma_i, mu_j=mu_j, sigma_j=sigma_j, beta=beta,
        draw_margin=draw_margin,
    )  # fmt: skip


def draw_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Return the probability that two performances differ by at most the draw margin.

    Arguments, shapes and errors as ``win_probability``. Exactly 0 without a margin.

    Source: Herbrich, Minka, Graepel (2006), section 2; eq. (3) of the 2011 paper.
    """
    return _measure(
        DRAW, mu_i=mu_i, sigma_i=sigma_i, mu_j=mu_j, sigma_j=sigma_j, beta=beta,
        draw_margin=draw_margin,
    )  # fmt: skip


def draw_density(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """Return q, the draw density: the density at 0 of the difference of two performances.

    Arguments, shapes and errors as ``win_probability``; in 1 / skill points.

    Source: Ryzhov, Tariq, Powell (2011), eq. (5).
    """
    return _measure(DENSITY, mu_i=mu_i, sigma_i=sigma_i, mu_j=mu_j, sigma_j=sigma_j, beta=beta)


def match_quality(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """Return q~, the draw density relative to that of an even game of known skills, in (0, 1].

    Arguments, shapes and errors as ``win_probability``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (6); Herbrich, Minka, Graepel (2006), eq. (7).
    """
    return _measure(QUALITY, mu_i=mu_i, sigma_i=sigma_i, mu_j=mu_j, sigma_j=sigma_j, beta=beta)


def true_draw_density(skill_i: ArrayLike, skill_j: ArrayLike, beta: ArrayLike) -> Any:
    """Return the draw density of a game between players of known skill.

    Args:
        skill_i: true skills of i, in skill points.
        skill_j: true skills of j.
        beta: standard deviation of one performance around skill, > 0.

    Returns:
        Densities, 1 / skill points, of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity or beta <= 0.

    Source: Ryzhov, Tariq, Powell (2011), eq. (14).
    """
    return _measure(TRUE_DENSITY, skill_i=skill_i, skill_j=skill_j, beta=beta)


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

    The exact posterior is not normal; it is replaced by a normal of the same mean and variance.

    Args:
        mu_i: means of the beliefs about i before the game, in skill points.
        sigma_i: their standard deviations, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: their standard deviations, > 0.
        outcome: +1 if i won, -1 if i lost, 0 for a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances closer than this are a draw, >= 0.

    Returns:
        ``(mu_i, sigma_i, mu_j, sigma_j)`` after the game, each of the broadcast shape. A sigma
        never grows.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, beta <= 0, a negative margin, an outcome other
            than +1, 0 and -1, a draw where the margin is 0 (it has probability 0), or scales so
            far apart (more than a hundred orders of magnitude) that float64 cannot hold the result.

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), with the square roots that are missing
    there; draws from Herbrich, Minka, Graepel (2006), section 3.
    """
    checked: ArrayLike = outcome
    if type(outcome) is int and -1 <= outcome <= 1:
        checked = float(outcome)
    else:
        outcomes = as_float_array("outcome", outcome)
        known = (outcomes == 0.0) | (np.abs(outcomes) == 1.0)
        if not known.all():
            raise ValueError(f"outcome must be +1, 0 or -1, got {outcomes[~known].flat[0]!r}")
        checked = outcomes[()]
    table, shape = _table(
        mu_i=mu_i, sigma_i=sigma_i, mu_j=mu_j, sigma_j=sigma_j, outcome=checked, beta=beta,
        draw_margin=draw_margin,
    )  # fmt: skip
    drawn = table[4] == 0.0
    if drawn.any() and (table[6][drawn] == 0.0).any():
        raise ValueError(
            "outcome must be +1 or -1 where draw_margin is 0, got 0: a draw has probability 0 "
            "without a margin; give draw_margin > 0 (see draw_margin_from_probability)"
        )
    new = _updates(table)
    if not (new[1::2] > 0.0).all():
        raise ValueError(
            "sigma_i, sigma_j, beta and draw_margin must not mix scales so far apart that float64 "
            "cannot hold the result"
        )
    mu_i, sigma_i, mu_j, sigma_j = new.reshape(4, *shape) if shape else new[:, 0]
    return mu_i, sigma_i, mu_j, sigma_j


def _measure(which: int, **arguments: ArrayLike) -> Any:
    table, shape = _table(**arguments)
    return _measures(which, table).reshape(shape)[()]


def _table(**arguments: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """Return the checked arguments, a row for each and a column for each game, and their shape."""
    if all(
        isinstance(value, float) and LEAST.get(name, -LARGEST_SKILL) <= value <= LARGEST_SKILL
        for name, value in arguments.items()
    ):  # a tenth of the time that the checks take
        return np.array(list(arguments.values()))[:, None], ()
    arrays = [_checked(*each) for each in arguments.items()]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    table = np.empty((len(arrays), *shape))
    for row, array in enumerate(arrays):
        table[row] = array
    return table.reshape(len(arrays), -1), shape


def _checked(name: str, value: ArrayLike) -> Floats:
    if name == "draw_margin":
        return as_non_negative_array(name, value)
    return (as_positive_array if name in LEAST else as_float_array)(name, value)


@compiled
def _measures(which: int, table: Floats) -> Floats:
    out = np.empty(table.shape[1])
    for k in range(out.size):
        if which == TRUE_DENSITY:
            beta = table[2, k]
            out[k] = draw_density_of(table[0, k] - table[1, k], total_variance(0.0, 0.0, beta))
            continue
        gap, beta = table[0, k] - table[2, k], table[4, k]
        variance = total_variance(table[1, k], table[3, k], beta)
        if which == WIN:
            out[k] = win_probability_of(gap, variance, table[5, k])
        elif which == DRAW:
            out[k] = draw_probability_of(gap, variance, table[5, k])
        elif which == DENSITY:
            out[k] = draw_density_of(gap, variance)
        else:
            out[k] = match_quality_of(gap, variance, beta)
    return out


@compiled
def _updates(table: Floats) -> Floats:
    new = np.empty((4, table.shape[1]))
    for k in range(new.shape[1]):
        mu_i, sigma_i, mu_j, sigma_j = table[0, k], table[1, k], table[2, k], table[3, k]
        outcome, beta, draw_margin = int(table[4, k]), table[5, k], table[6, k]
        new[0, k], new[1, k], new[2, k], new[3, k] = update_two(
            mu_i, sigma_i, mu_j, sigma_j, outcome, beta, draw_margin
        )
    return new
