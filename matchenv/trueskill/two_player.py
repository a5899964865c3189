"""Two players in TrueSkill: probabilities, qualities and the update, for arrays.

Every argument broadcasts as NumPy's own functions do; results are float64, a scalar
where all arguments are. All are exact to the end of float64: a gap of 1000 sigma, a sigma
of 1e-6 or 1e6 and a draw between unequals give finite, correct numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from matchenv.trueskill.game import (
    density_at_zero,
    draw_probability_of,
    log_draw_probability_of,
    log_win_probability_of,
    quality_per_density,
    total_variance,
    update_two,
    win_probability_of,
)
from matchenv.trueskill.normal import draw_moments, win_moments
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
    arguments, shape = _flatten(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
    )
    return _shaped(_draw_density_loop(*arguments), shape)


def match_quality(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """q~, the draw density relative to that of an even game between known skills, in (0, 1].

    Arguments, shapes and errors as ``draw_density``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (6); Herbrich, Minka, Graepel (2006), eq. (7).
    """
    density = draw_density(mu_i, sigma_i, mu_j, sigma_j, beta)
    return density * quality_per_density(1.0) * np.asarray(beta, dtype=np.float64)


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
    arguments, shape = _flatten(
        as_float_array("skill_i", skill_i),
        as_float_array("skill_j", skill_j),
        as_positive_array("beta", beta),
    )
    return _shaped(_true_draw_density_loop(*arguments), shape)


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
            other than +1, 0 and -1, or a draw where the margin is 0 (it has probability 0).

    Source: Ryzhov, Tariq, Powell (2011), eq. (1) and (2), with the square roots that are
    missing there; draws from Herbrich, Minka, Graepel (2006), section 3.
    """
    outcomes = as_float_array("outcome", outcome)
    known = (outcomes == 0.0) | (np.abs(outcomes) == 1.0)
    if not known.all():
        raise ValueError(f"outcome must be +1, 0 or -1, got {outcomes[~known].flat[0]!r}")
    margins = as_non_negative_array("draw_margin", draw_margin)
    arguments, shape = _flatten(
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
    return (
        _shaped(new_mu_i, shape),
        _shaped(new_sigma_i, shape),
        _shaped(new_mu_j, shape),
        _shaped(new_sigma_j, shape),
    )


def win_correction(t: ArrayLike, margin: ArrayLike = 0.0) -> tuple[Any, Any]:
    """v and w of a win: the additive and the multiplicative correction.

    v is the derivative of log Phi(t - margin) with respect to t, and w is minus the
    derivative of v.

    Args:
        t: standardised gap, (mu_winner - mu_loser) / c.
        margin: standardised draw margin, draw_margin / c, >= 0.

    Returns:
        ``(v, w)``, each of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity or a negative margin.

    Source: Herbrich, Minka, Graepel (2006), section 3.
    """
    arguments, shape = _flatten(as_float_array("t", t), as_non_negative_array("margin", margin))
    v, w = _win_correction_loop(*arguments)
    return _shaped(v, shape), _shaped(w, shape)


def draw_correction(t: ArrayLike, margin: ArrayLike) -> tuple[Any, Any]:
    """v and w of a draw; arguments and returns as ``win_correction``, margin > 0.

    v is the derivative of log(Phi(margin - t) - Phi(-margin - t)) with respect to t, and w
    is minus the derivative of v. The paper prints the two functions with the indicator's
    inequality turned round.

    Source: Herbrich, Minka, Graepel (2006), section 3.
    """
    arguments, shape = _flatten(as_float_array("t", t), as_positive_array("margin", margin))
    v, w = _draw_correction_loop(*arguments)
    return _shaped(v, shape), _shaped(w, shape)


_WIN, _LOG_WIN, _DRAW, _LOG_DRAW = range(4)


def _game_probability(
    which: int,
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike,
) -> Any:
    arguments, shape = _flatten(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
        as_non_negative_array("draw_margin", draw_margin),
    )
    return _shaped(_probability_loop(which, *arguments), shape)


def _flatten(*arrays: Floats) -> tuple[list[Floats], tuple[int, ...]]:
    broadcast = np.broadcast_arrays(*arrays)
    return [np.ascontiguousarray(array).ravel() for array in broadcast], broadcast[0].shape


def _shaped(flat: Floats, shape: tuple[int, ...]) -> Any:
    return flat.reshape(shape)[()]


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def _draw_density_loop(
    mu_i: Floats, sigma_i: Floats, mu_j: Floats, sigma_j: Floats, beta: Floats
) -> Floats:
    out = np.empty(mu_i.size)
    for k in range(mu_i.size):
        variance = total_variance(sigma_i[k], sigma_j[k], beta[k])
        out[k] = density_at_zero(mu_i[k] - mu_j[k], variance)
    return out


@njit(cache=True, error_model="numpy")
def _true_draw_density_loop(skill_i: Floats, skill_j: Floats, beta: Floats) -> Floats:
    out = np.empty(skill_i.size)
    for k in range(skill_i.size):
        out[k] = density_at_zero(skill_i[k] - skill_j[k], total_variance(0.0, 0.0, beta[k]))
    return out


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def _win_correction_loop(t: Floats, margin: Floats) -> tuple[Floats, Floats]:
    v, w = np.empty(t.size), np.empty(t.size)
    for k in range(t.size):
        v[k], w[k], _ = win_moments(t[k] - margin[k])
    return v, w


@njit(cache=True, error_model="numpy")
def _draw_correction_loop(t: Floats, margin: Floats) -> tuple[Floats, Floats]:
    v, w = np.empty(t.size), np.empty(t.size)
    for k in range(t.size):
        v[k], w[k], _ = draw_moments(t[k], margin[k])
    return v, w
