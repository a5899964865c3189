"""Two players in TrueSkill: probabilities, qualities and the update, for arrays.

Every argument broadcasts as NumPy's own functions do; results are float64, a scalar
where all arguments are. All are exact to the end of float64: a gap of 1000 sigma, a sigma
of 1e-6 or 1e6 and a draw between unequals give finite, correct numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.compilation import compiled
from matchenv.trueskill.broadcasting import flattened, shaped
from matchenv.trueskill.game import (
    draw_density_of,
    draw_probability_of,
    log_draw_probability_of,
    log_win_probability_of,
    match_quality_of,
    total_variance,
    update_two,
    win_probability_of,
)
from matchenv.validation import as_float_array, as_non_negative_array, as_positive_array

Floats = NDArray[np.float64]


def win_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Probability that player i beats player j.

    With a draw margin, ``win + draw + loss = 1``, where loss is the win probability of j
    against i and draw is ``draw_probability``.

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

    Source: Ryzhov, Tariq, Powell (2011), eq. (10), with the square root that is missing
    there; the margin is that of Herbrich, Minka, Graepel (2006), section 2.
    """
    return _game_probability(_WIN, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


def log_win_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Natural logarithm of ``win_probability``, finite where that underflows to 0.

    Arguments, shapes and errors as there.
    """
    return _game_probability(_LOG_WIN, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


def draw_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Probability that the performances of i and j differ by at most the draw margin.

    Arguments, shapes and errors as ``win_probability``. Exactly 0 without a margin.

    Source: Herbrich, Minka, Graepel (2006), section 2; eq. (3) of the 2011 paper.
    """
    return _game_probability(_DRAW, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


def log_draw_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Natural logarithm of ``draw_probability``; minus infinity without a margin."""
    return _game_probability(_LOG_DRAW, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


def draw_density(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """q, the density of a draw: the density at 0 of the difference of performances.

    Args:
        mu_i: means of the beliefs about i, in skill points.
        sigma_i: their standard deviations, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: their standard deviations, > 0.
        beta: standard deviation of one performance around skill, > 0.

    Returns:
        Densities, 1 / skill points, of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0 or beta <= 0.

    Source: Ryzhov, Tariq, Powell (2011), eq. (5).
    """
    return _even_game(_DENSITY, mu_i, sigma_i, mu_j, sigma_j, beta)


def match_quality(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """q~, the draw density relative to that of an even game between known skills, in (0, 1].

    Arguments, shapes and errors as ``draw_density``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (6); Herbrich, Minka, Graepel (2006), eq. (7).
    """
    return _even_game(_QUALITY, mu_i, sigma_i, mu_j, sigma_j, beta)


def true_draw_density(skill_i: ArrayLike, skill_j: ArrayLike, beta: ArrayLike) -> Any:
    """The draw density of a game between players whose true skills are known.

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
    arguments, shape = flattened(
        as_float_array("skill_i", skill_i),
        as_float_array("skill_j", skill_j),
        as_positive_array("beta", beta),
    )
    skills_i, skills_j, betas = arguments
    known = np.zeros_like(betas)
    return shaped(_even_loop(_DENSITY, skills_i, known, skills_j, known, betas), shape)


def update(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    outcome: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> tuple[Any, Any, Any, Any]:
    """Beliefs about both players after a game between them.

    The mean and variance of the exact posterior, which is not normal, as a normal again.

    Args:
        mu_i: means of the beliefs about i before the game, in skill points.
        sigma_i: their standard deviations, > 0.
        mu_j: means of the beliefs about j.
        sigma_j: their standard deviations, > 0.
        outcome: +1 if i won, -1 if i lost, 0 for a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances closer than this are a draw, >= 0.

    Returns:
        ``(mu_i, sigma_i, mu_j, sigma_j)`` after the game, each of the broadcast shape.
        A sigma never grows.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, beta <= 0, a negative margin, an outcome
            other than +1, 0 and -1, a draw where the margin is 0 (it has probability 0), or
            scales so far apart (more than a hundred orders of magnitude) that float64 cannot
            hold the result.

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), with the square roots that are
    missing there; draws from Herbrich, Minka, Graepel (2006), section 3.
    """
    outcomes = as_float_array("outcome", outcome)
    known = (outcomes == 0.0) | (np.abs(outcomes) == 1.0)
    if not known.all():
        raise ValueError(f"outcome must be +1, 0 or -1, got {outcomes[~known].flat[0]!r}")
    margins = as_non_negative_array("draw_margin", draw_margin)
    arguments, shape = flattened(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        outcomes,
        as_positive_array("beta", beta),
        margins,
    )
    if bool(np.any((arguments[4] == 0.0) & (arguments[6] == 0.0))):
        raise ValueError(
            "outcome must be +1 or -1 where draw_margin is 0, got 0: a draw has probability 0 "
            "without a margin; give draw_margin > 0 (see draw_margin_from_probability)"
        )
    new_mu_i, new_sigma_i, new_mu_j, new_sigma_j = _update_loop(*arguments)
    if not (np.all(new_sigma_i > 0.0) and np.all(new_sigma_j > 0.0)):
        raise ValueError(
            "sigma_i, sigma_j, beta and draw_margin must not mix scales so far apart that float64 "
            "cannot hold the result"
        )
    return (
        shaped(new_mu_i, shape),
        shaped(new_sigma_i, shape),
        shaped(new_mu_j, shape),
        shaped(new_sigma_j, shape),
    )


_DENSITY, _QUALITY = range(2)
_WIN, _LOG_WIN, _DRAW, _LOG_DRAW = range(4)


def _even_game(
    which: int,
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
) -> Any:
    """How even games are, by the measure asked for."""
    arguments, shape = flattened(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
    )
    return shaped(_even_loop(which, *arguments), shape)


def _game_probability(
    which: int,
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike,
) -> Any:
    arguments, shape = flattened(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
        as_non_negative_array("draw_margin", draw_margin),
    )
    return shaped(_probability_loop(which, *arguments), shape)


@compiled
def _probability_loop(
    which: int,
    mu_i: Floats,
    sigma_i: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    beta: Floats,
    draw_margin: Floats,
) -> Floats:
    out = np.empty(mu_i.size)
    for k in range(mu_i.size):
        gap = mu_i[k] - mu_j[k]
        variance = total_variance(sigma_i[k], sigma_j[k], beta[k])
        if which == _WIN:
            out[k] = win_probability_of(gap, variance, draw_margin[k])
        elif which == _LOG_WIN:
            out[k] = log_win_probability_of(gap, variance, draw_margin[k])
        elif which == _DRAW:
            out[k] = draw_probability_of(gap, variance, draw_margin[k])
        else:
            out[k] = log_draw_probability_of(gap, variance, draw_margin[k])
    return out


@compiled
def _even_loop(
    which: int, mu_i: Floats, sigma_i: Floats, mu_j: Floats, sigma_j: Floats, beta: Floats
) -> Floats:
    out = np.empty(mu_i.size)
    for k in range(mu_i.size):
        gap = mu_i[k] - mu_j[k]
        variance = total_variance(sigma_i[k], sigma_j[k], beta[k])
        if which == _DENSITY:
            out[k] = draw_density_of(gap, variance)
        else:
            out[k] = match_quality_of(gap, variance, beta[k])
    return out


@compiled
def _update_loop(
    mu_i: Floats,
    sigma_i: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    outcome: Floats,
    beta: Floats,
    draw_margin: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    size = mu_i.size
    new_mu_i, new_sigma_i = np.empty(size), np.empty(size)
    new_mu_j, new_sigma_j = np.empty(size), np.empty(size)
    for k in range(size):
        new_mu_i[k], new_sigma_i[k], new_mu_j[k], new_sigma_j[k] = update_two(
            mu_i[k], sigma_i[k], mu_j[k], sigma_j[k], int(outcome[k]), beta[k], draw_margin[k]
        )
    return new_mu_i, new_sigma_i, new_mu_j, new_sigma_j
