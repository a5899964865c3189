"""Two players in TrueSkill: probabilities, qualities and the update, for arrays.

Every argument broadcasts as NumPy's own functions do; results are float64, a scalar
where all arguments are. All are exact to the end of float64: a gap of 1000 sigma, a sigma
of 1e-6 or 1e6 and a draw between unequals give finite, correct numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from matchenv.runtime.checks import as_float_array, as_non_negative_array, as_positive_array
from matchenv.trueskill.broadcasting import flattened, shaped
from matchenv.trueskill.limits import are_plain
from matchenv.trueskill.pair_kernels import (
    DENSITY,
    DRAW,
    LOG_DRAW,
    LOG_WIN,
    QUALITY,
    WIN,
    evenness_of_pair,
    evennesses,
    probabilities,
    probability_of_pair,
    true_density_of_pair,
    update_of_pair,
    updates,
)


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
    return _game_probability(WIN, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


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
    return _game_probability(LOG_WIN, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


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
    return _game_probability(DRAW, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


def log_draw_probability(
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike = 0.0,
) -> Any:
    """Natural logarithm of ``draw_probability``; minus infinity without a margin."""
    return _game_probability(LOG_DRAW, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)


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
    return _even_game(DENSITY, mu_i, sigma_i, mu_j, sigma_j, beta)


def match_quality(
    mu_i: ArrayLike, sigma_i: ArrayLike, mu_j: ArrayLike, sigma_j: ArrayLike, beta: ArrayLike
) -> Any:
    """q~, the draw density relative to that of an even game between known skills, in (0, 1].

    Arguments, shapes and errors as ``draw_density``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (6); Herbrich, Minka, Graepel (2006), eq. (7).
    """
    return _even_game(QUALITY, mu_i, sigma_i, mu_j, sigma_j, beta)


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
    if are_plain(skill_i, skill_j, beta):
        density = true_density_of_pair(skill_i, skill_j, beta)
        if not math.isnan(density):
            return np.float64(density)
    arguments, shape = flattened(
        as_float_array("skill_i", skill_i),
        as_float_array("skill_j", skill_j),
        as_positive_array("beta", beta),
    )
    skills_i, skills_j, betas = arguments
    known = np.zeros_like(betas)
    return shaped(evennesses(DENSITY, skills_i, known, skills_j, known, betas), shape)


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
    plain = are_plain(mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)
    if plain and type(outcome) is int and -1 <= outcome <= 1:
        after = update_of_pair(mu_i, sigma_i, mu_j, sigma_j, outcome, beta, draw_margin)
        if after[1] > 0.0 and after[3] > 0.0:
            return tuple(map(np.float64, after))
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
    new_mu_i, new_sigma_i, new_mu_j, new_sigma_j = updates(*arguments)
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


def _even_game(
    which: int,
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
) -> Any:
    """How even games are, by the measure asked for."""
    if are_plain(mu_i, sigma_i, mu_j, sigma_j, beta):
        evenness = evenness_of_pair(which, mu_i, sigma_i, mu_j, sigma_j, beta)
        if not math.isnan(evenness):
            return np.float64(evenness)
    arguments, shape = flattened(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
    )
    return shaped(evennesses(which, *arguments), shape)


def _game_probability(
    which: int,
    mu_i: ArrayLike,
    sigma_i: ArrayLike,
    mu_j: ArrayLike,
    sigma_j: ArrayLike,
    beta: ArrayLike,
    draw_margin: ArrayLike,
) -> Any:
    if are_plain(mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin):
        probability = probability_of_pair(which, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)
        if not math.isnan(probability):
            return np.float64(probability)
    arguments, shape = flattened(
        as_float_array("mu_i", mu_i),
        as_positive_array("sigma_i", sigma_i),
        as_float_array("mu_j", mu_j),
        as_positive_array("sigma_j", sigma_j),
        as_positive_array("beta", beta),
        as_non_negative_array("draw_margin", draw_margin),
    )
    return shaped(probabilities(which, *arguments), shape)
