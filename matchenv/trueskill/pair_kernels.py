"""Two players: compiled loops over arrays, and the same for one pair of plain floats.

The functions of ``two_player`` call these. Those of one pair check what they are given, and give
NaN for what is not allowed. Probabilities and measures of evenness have loops of their own: in one
loop for all six, win probabilities of arrays took a third longer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
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
from matchenv.trueskill.limits import is_non_negative, is_positive, is_skill

Floats = NDArray[np.float64]

DENSITY, QUALITY = range(2)
WIN, LOG_WIN, DRAW, LOG_DRAW = range(4)


@compiled
def _are_allowed(
    mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, beta: float, draw_margin: float
) -> bool:
    return (
        is_skill(mu_i)
        and is_positive(sigma_i)
        and is_skill(mu_j)
        and is_positive(sigma_j)
        and is_positive(beta)
        and is_non_negative(draw_margin)
    )


@compiled
def _probability(
    which: int,
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    beta: float,
    draw_margin: float,
) -> float:
    gap = mu_i - mu_j
    variance = total_variance(sigma_i, sigma_j, beta)
    if which == WIN:
        return win_probability_of(gap, variance, draw_margin)
    if which == LOG_WIN:
        return log_win_probability_of(gap, variance, draw_margin)
    if which == DRAW:
        return draw_probability_of(gap, variance, draw_margin)
    return log_draw_probability_of(gap, variance, draw_margin)


@compiled
def probabilities(
    which: int,
    mu_i: Floats,
    sigma_i: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    beta: Floats,
    draw_margin: Floats,
) -> Floats:
    """Probabilities of an outcome, or their logarithms, of checked numbers of one shape (K,)."""
    out = np.empty(mu_i.size)
    for k in range(mu_i.size):
        out[k] = _probability(
            which, mu_i[k], sigma_i[k], mu_j[k], sigma_j[k], beta[k], draw_margin[k]
        )
    return out


@compiled
def probability_of_pair(
    which: int,
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    beta: float,
    draw_margin: float,
) -> float:
    """``probabilities`` of one pair; NaN if a number is not allowed."""
    if _are_allowed(mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin):
        return _probability(which, mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin)
    return math.nan


@compiled
def _evenness(
    which: int, mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, beta: float
) -> float:
    gap = mu_i - mu_j
    variance = total_variance(sigma_i, sigma_j, beta)
    if which == DENSITY:
        return draw_density_of(gap, variance)
    return match_quality_of(gap, variance, beta)


@compiled
def evennesses(
    which: int, mu_i: Floats, sigma_i: Floats, mu_j: Floats, sigma_j: Floats, beta: Floats
) -> Floats:
    """Draw densities or match qualities of checked numbers of one shape (K,)."""
    out = np.empty(mu_i.size)
    for k in range(mu_i.size):
        out[k] = _evenness(which, mu_i[k], sigma_i[k], mu_j[k], sigma_j[k], beta[k])
    return out


@compiled
def evenness_of_pair(
    which: int, mu_i: float, sigma_i: float, mu_j: float, sigma_j: float, beta: float
) -> float:
    """``evennesses`` of one pair; NaN if a number is not allowed."""
    if _are_allowed(mu_i, sigma_i, mu_j, sigma_j, beta, 0.0):
        return _evenness(which, mu_i, sigma_i, mu_j, sigma_j, beta)
    return math.nan


@compiled
def true_density_of_pair(skill_i: float, skill_j: float, beta: float) -> float:
    """The draw density between known skills; NaN if a number is not allowed."""
    if is_skill(skill_i) and is_skill(skill_j) and is_positive(beta):
        return _evenness(DENSITY, skill_i, 0.0, skill_j, 0.0, beta)
    return math.nan


@compiled
def updates(
    mu_i: Floats,
    sigma_i: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    outcome: Floats,
    beta: Floats,
    draw_margin: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """``update_two`` of checked numbers of one shape (K,)."""
    size = mu_i.size
    new_mu_i, new_sigma_i = np.empty(size), np.empty(size)
    new_mu_j, new_sigma_j = np.empty(size), np.empty(size)
    for k in range(size):
        new_mu_i[k], new_sigma_i[k], new_mu_j[k], new_sigma_j[k] = update_two(
            mu_i[k], sigma_i[k], mu_j[k], sigma_j[k], int(outcome[k]), beta[k], draw_margin[k]
        )
    return new_mu_i, new_sigma_i, new_mu_j, new_sigma_j


@compiled
def update_of_pair(
    mu_i: float,
    sigma_i: float,
    mu_j: float,
    sigma_j: float,
    outcome: int,
    beta: float,
    draw_margin: float,
) -> tuple[float, float, float, float]:
    """``updates`` of one pair; the sigmas are not above 0, or NaN, for what is not allowed."""
    possible = outcome == 1 or outcome == -1 or (outcome == 0 and draw_margin > 0.0)
    if possible and _are_allowed(mu_i, sigma_i, mu_j, sigma_j, beta, draw_margin):
        return update_two(mu_i, sigma_i, mu_j, sigma_j, outcome, beta, draw_margin)
    return math.nan, math.nan, math.nan, math.nan
