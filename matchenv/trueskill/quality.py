"""Before a game of teams: how even it is, and who is likely to win."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_positive_number
from matchenv.trueskill.game import draw_probability_of, win_probability_of
from matchenv.trueskill.limits import are_plain, is_positive
from matchenv.trueskill.sides import margin_between
from matchenv.trueskill.team_kernels import performances_of, quality_of_row, quality_of_teams
from matchenv.trueskill.teams import (
    FlatTeams,
    Team,
    Weights,
    as_draw_margin,
    flatten_teams,
    row_of_pairs,
)

Floats = NDArray[np.float64]


def performances(sides: FlatTeams, beta: float) -> tuple[Floats, Floats]:
    """Mean and variance of each side's performance, both of shape (sides,)."""
    mean, variance, _ = performances_of(*sides, beta)
    return mean, variance


def team_match_quality(teams: Iterable[Team], beta: float, weights: Weights | None = None) -> float:
    """The density of a draw of all sides relative to that of an even, certain game.

    For two sides of one player it is ``match_quality``. Drift is not added: give sigmas
    that hold it, if it matters.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        weights: for each side what each member's performance will count, in [0, 1e9], at least
            one of a side above 0; None for all 1.

    Returns:
        The quality, in (0, 1] (0 where it underflows).

    Raises:
        ValueError: for bad input.

    Source: a ratio of determinants; for two players it is eq. (7) of Herbrich, Minka, Graepel
    (2006).
    """
    good = are_plain(beta) and is_positive(beta)
    spread = beta if good else as_positive_number("beta", beta)
    row = row_of_pairs(teams) if weights is None else None
    if row is not None and isinstance(teams, list | tuple):
        quality = quality_of_row(row, len(teams), spread)
        if not math.isnan(quality):
            return quality
    return quality_of_teams(*flatten_teams(teams, weights), spread)


def team_win_probability(
    team_i: Team,
    team_j: Team,
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> float:
    """Probability that team i beats team j.

    With a margin, ``win + draw + loss = 1``, where loss is the win probability of j
    against i and draw is ``team_draw_probability``.

    Args:
        team_i: the first side, a list of (mu, sigma) pairs or an array (members, 2).
        team_j: the second side.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: of two even sides of known skill, in [0, 1), from which the margin
            follows as in ``rate``.
        draw_margin: the margin itself, in skill points, >= 0. Without either, no draws.
        weights: for each of the two sides what each member's performance will count, in
            [0, 1e9], at least one of a side above 0; None for all 1.

    Returns:
        A probability.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2.
    """
    gap, variance, margin = _difference(
        [team_i, team_j], beta, draw_probability, draw_margin, weights
    )
    return win_probability_of(gap, variance, margin)


def team_draw_probability(
    team_i: Team,
    team_j: Team,
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> float:
    """Probability that the performances of two teams differ by at most the margin.

    Arguments and errors as ``team_win_probability``. Exactly 0 without a margin.
    """
    gap, variance, margin = _difference(
        [team_i, team_j], beta, draw_probability, draw_margin, weights
    )
    return draw_probability_of(gap, variance, margin)


def _difference(
    teams: list[Team],
    beta: float,
    draw_probability: float | None,
    draw_margin: float | None,
    weights: Weights | None,
) -> tuple[float, float, float]:
    """Mean and variance of the difference of two sides' performances, and the margin."""
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    sides = flatten_teams(teams, weights)
    mean, variance = performances(sides, spread)
    return (
        float(mean[0] - mean[1]),
        float(variance[0] + variance[1]),
        margin_between(margin.margin, margin.grows, len(sides.mu)),
    )
