"""The online Bayesian ratings of Weng and Lin (2011), for any number of sides of any size.

Two of their models: ``bradley-terry`` compares every pair of sides (full pairs), and
``plackett-luce`` draws the sides one after the other, best first. A side's strength is the sum of
its members' skills. The updates are closed forms, without iteration, and free of patents.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_choice, as_non_negative_number, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import drifted
from matchenv.trueskill.rating import Rating
from matchenv.trueskill.teams import Team, as_ranks, flatten_teams

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MODELS = ("bradley-terry", "plackett-luce")
KAPPA = 1e-4


def rate_weng_lin(
    teams: Iterable[Team],
    ranks: Sequence[float],
    *,
    model: str = "bradley-terry",
    beta: float = 25.0 / 6.0,
    tau: float = 0.0,
    kappa: float = KAPPA,
) -> list[list[Rating]]:
    """Beliefs about all players after a game of two or more sides.

    Args:
        teams: the sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        model: ``bradley-terry`` or ``plackett-luce``.
        beta: how much a side's performance varies, > 0.
        tau: standard deviation of the skill's drift before the game, >= 0.
        kappa: the least share of a variance that one game leaves, > 0.

    Returns:
        The same sides, each a list of ``Rating(mu, sigma)``.

    Raises:
        ValueError: for bad input.

    Source: Weng, Lin (2011), A Bayesian approximation method for online ranking, JMLR 12,
    Algorithms 1 and 4, with gamma_q = sigma_i / c.
    """
    plackett_luce = as_choice("model", model, MODELS) == "plackett-luce"
    spread = as_positive_number("beta", beta)
    drift = as_non_negative_number("tau", tau)
    least = as_positive_number("kappa", kappa)
    players, side_start = flatten_teams(teams)
    sides = len(side_start) - 1
    update_weng_lin(
        players[0],
        players[1],
        side_start,
        as_ranks(ranks, sides),
        spread,
        drift,
        least,
        plackett_luce,
        np.empty((4, sides)),
    )
    ratings = list(map(Rating, players[0].tolist(), players[1].tolist()))
    return [ratings[a:b] for a, b in itertools.pairwise(side_start.tolist())]


@compiled
def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    share = math.exp(x)
    return share / (1.0 + share)


@compiled
def strength_of_side(
    mu: Floats, sigma: Floats, tau: float, first: int, last: int
) -> tuple[float, float]:
    """Mean and variance of the sum of the skills of members first to last - 1, after the drift."""
    mean, variance = 0.0, 0.0
    for m in range(first, last):
        mean += mu[m]
        variance += sigma[m] * sigma[m] + tau * tau
    return mean, variance


@compiled
def _compare_pairs(rank: Floats, beta: float, table: Floats) -> None:
    """Algorithm 1: omega into row 2 and delta into row 3, from mean and variance in 0 and 1."""
    for i in range(rank.size):
        omega, delta = 0.0, 0.0
        for q in range(rank.size):
            if q == i:
                continue
            c = math.sqrt(table[1, i] + table[1, q] + 2.0 * beta * beta)
            chance = logistic((table[0, i] - table[0, q]) / c)
            score = 0.5 if rank[i] == rank[q] else (1.0 if rank[i] < rank[q] else 0.0)
            share = table[1, i] / c
            gamma = math.sqrt(table[1, i]) / c
            omega += share * (score - chance)
            delta += gamma * share / c * chance * (1.0 - chance)
        table[2, i], table[3, i] = omega, delta


@compiled
def _compare_rankings(rank: Floats, beta: float, table: Floats) -> None:
    """Algorithm 4; rows as in ``_compare_pairs``."""
    sides = rank.size
    square, most = 0.0, table[0, 0]
    for i in range(sides):
        square += table[1, i] + beta * beta
        most = max(most, table[0, i])
        table[2, i], table[3, i] = 0.0, 0.0
    c = math.sqrt(square)
    for q in range(sides):
        total, equals = 0.0, 0
        for s in range(sides):
            # Strengths are taken from the largest one, so that no exponential overflows.
            total += math.exp((table[0, s] - most) / c) if rank[s] >= rank[q] else 0.0
            equals += 1 if rank[s] == rank[q] else 0
        for i in range(sides):
            if rank[q] <= rank[i] and total > 0.0:
                chance = math.exp((table[0, i] - most) / c) / total
                table[2, i] += ((1.0 if i == q else 0.0) - chance) / equals
                table[3, i] += chance * (1.0 - chance) / equals
    for i in range(sides):
        gamma = math.sqrt(table[1, i]) / c
        table[2, i] *= table[1, i] / c
        table[3, i] *= gamma * table[1, i] / square


@compiled
def update_weng_lin(
    mu: Floats,
    sigma: Floats,
    side_start: Integers,
    rank: Floats,
    beta: float,
    tau: float,
    kappa: float,
    plackett_luce: bool,
    table: Floats,
) -> None:
    """Update the beliefs about all players of one game, in place.

    Args:
        mu: (players,) means, read and written.
        sigma: (players,) standard deviations, read and written.
        side_start: (sides + 1,) where each side's players begin.
        rank: (sides,) lower is better, equal is a draw.
        beta: how much a side's performance varies.
        tau: standard deviation of the drift before the game.
        kappa: the least share of a variance that is left.
        plackett_luce: which of the two models.
        table: (4, >= sides) scratch; rows 0 and 1 are the sides' means and variances after.
    """
    sides = rank.size
    for i in range(sides):
        table[0, i], table[1, i] = strength_of_side(
            mu, sigma, tau, side_start[i], side_start[i + 1]
        )
    if plackett_luce:
        _compare_rankings(rank, beta, table)
    else:
        _compare_pairs(rank, beta, table)
    for i in range(sides):
        for m in range(side_start[i], side_start[i + 1]):
            wide = drifted(sigma[m], tau)
            share = wide * wide / table[1, i]
            mu[m] += share * table[2, i]
            sigma[m] = wide * math.sqrt(max(1.0 - share * table[3, i], kappa))
