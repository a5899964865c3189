"""Games of teams: performances and quality, and whole calls of floats in one compiled function.

A call of the second kind hands over one row: mean and deviation of one member behind the other,
the size of each side, and the sides' ranks. It checks what it is given, and gives NaN for what is
not allowed; ``matchenv.trueskill.teams`` then says what is wrong.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.factor_graph import TABLE_ROWS
from matchenv.trueskill.sides import all_beliefs, quality_of_sides, rate_sides, side_performance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_VARIANCE = 1e-300

# From here on, whole numbers may have become others when they were made floats.
FIRST_INEXACT = 2.0**53


@compiled
def performances_of(
    mu: Floats, sigma: Floats, weight: Floats, side_start: Integers, beta: float
) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of each side's performance, and its own noise's part of the variance.

    Args:
        mu: (players,) means of the beliefs.
        sigma: (players,) their standard deviations.
        weight: (players,) what each performance counts.
        side_start: (sides + 1,) where each side's players begin.
        beta: standard deviation of one performance.
    """
    sides = side_start.size - 1
    mean, variance, noise = np.empty(sides), np.empty(sides), np.zeros(sides)
    for side in range(sides):
        first, last = side_start[side], side_start[side + 1]
        mean[side], variance[side] = side_performance(mu, sigma, weight, beta, 0.0, first, last)
        for m in range(first, last):
            noise[side] += (weight[m] * beta) ** 2
    return mean, variance, noise


@compiled
def quality_of_teams(
    mu: Floats, sigma: Floats, weight: Floats, side_start: Integers, beta: float
) -> float:
    """Match quality; arguments as ``performances_of``."""
    mean, variance, noise = performances_of(mu, sigma, weight, side_start, beta)
    # A weight next to nothing must not make a variance 0.
    return quality_of_sides(
        mean, np.maximum(variance, LEAST_VARIANCE), np.maximum(noise, LEAST_VARIANCE)
    )


@compiled
def _teams_of_row(row: Floats, players: int, sides: int) -> tuple[Floats, Floats, Integers, bool]:
    """Means, deviations, where each side's players begin, and whether all that is allowed."""
    mu, sigma = row[0 : 2 * players : 2].copy(), row[1 : 2 * players : 2].copy()
    side_start = np.zeros(sides + 1, dtype=np.int64)
    good = sides >= 2
    for side in range(sides):
        size = row[2 * players + side]
        good &= size >= 1.0
        side_start[side + 1] = side_start[side] + int(size)
    return mu, sigma, side_start, good and all_beliefs(mu, sigma)


@compiled
def quality_of_row(row: Floats, sides: int, beta: float) -> float:
    """Match quality of teams of whole weight; NaN if a number is not allowed.

    Args:
        row: mean and deviation of each member, then the size of each side.
        sides: their number.
        beta: standard deviation of one performance.
    """
    mu, sigma, side_start, good = _teams_of_row(row, (row.size - sides) // 2, sides)
    if not good:
        return math.nan
    return quality_of_teams(mu, sigma, np.ones(mu.size), side_start, beta)


@compiled
def rate_row(
    row: Floats,
    sides: int,
    beta: float,
    tau: float,
    draw_margin: float,
    margin_grows: bool,
    tolerance: float,
    max_iterations: int,
) -> float:
    """Beliefs after a game of teams of whole weight, in place.

    Args:
        row: mean and deviation of each member, which are changed, then the size of each side,
            then the sides' ranks.
        sides: their number.
        beta: as in ``rate_sides``, and so are all others.
        tau: as there.
        draw_margin: as there.
        margin_grows: as there.
        tolerance: as there.
        max_iterations: as there.

    Returns:
        The largest move of the last iteration; NaN for what is not allowed, for a draw without
        margin, and where float64 cannot hold the result.
    """
    players = (row.size - 2 * sides) // 2
    mu, sigma, side_start, good = _teams_of_row(row, players, sides)
    rank = row[2 * players + sides :]
    for side in range(sides):
        good &= abs(rank[side]) < FIRST_INEXACT
    if not good:
        return math.nan
    # One array for all that is needed meanwhile: to allocate costs as much as a game.
    scratch = np.ones(2 * players + TABLE_ROWS * sides)
    weight, new_sigma = scratch[:players], scratch[players : 2 * players]
    table = scratch[2 * players :].reshape(TABLE_ROWS, sides)
    change, impossible = rate_sides(
        mu, sigma, weight, side_start, rank, beta, tau, draw_margin, margin_grows,
        tolerance, max_iterations, np.empty(sides, dtype=np.int64), new_sigma, table,
    )  # fmt: skip
    if impossible or not all_beliefs(mu, sigma):
        return math.nan
    for m in range(players):
        row[2 * m], row[2 * m + 1] = mu[m], sigma[m]
    return change


@compiled
def rate_doubles(
    mu_1: float,
    sigma_1: float,
    mu_2: float,
    sigma_2: float,
    mu_3: float,
    sigma_3: float,
    mu_4: float,
    sigma_4: float,
    place: float,
    beta: float,
    tau: float,
    draw_margin: float,
    margin_grows: bool,
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """``rate_row`` of the commonest game of teams, 1 and 2 against 3 and 4, in plain numbers.

    To lay them out as an array in Python and back takes longer than the rest of the call.

    Args:
        mu_1: mean of the belief about a member, and so are the others.
        sigma_1: its standard deviation, and so are the others.
        mu_2: as there.
        sigma_2: as there.
        mu_3: as there.
        sigma_3: as there.
        mu_4: as there.
        sigma_4: as there.
        place: rank of the second side where the first side has rank 0.
        beta: as there.
        tau: as there.
        draw_margin: as there.
        margin_grows: as there.

    Returns:
        What ``rate_row`` returns, then means and deviations.
    """
    row = np.array(
        (mu_1, sigma_1, mu_2, sigma_2, mu_3, sigma_3, mu_4, sigma_4, 2.0, 2.0, 0.0, place)
    )
    # Two sides need no iteration.
    change = rate_row(row, 2, beta, tau, draw_margin, margin_grows, 1.0, 1)
    return change, row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
