"""Forecasts of games of sides: match quality, wins, draws, first places and whole rankings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_positive_number
from matchenv.trueskill.draw_margin import as_draw_margin, margin_between
from matchenv.trueskill.game import draw_probability_of, win_probability_of
from matchenv.trueskill.normal import INVERSE_SQRT_2PI
from matchenv.trueskill.sides import (
    FURTHEST,
    first_place_probability_of,
    log_quality_of_sides,
    performances,
)
from matchenv.trueskill.teams import Team, Weights, as_ranks, flatten_teams

# Nodes of a spline for one side's density, and the maximum number of such grids in a spline.
STANDARD_NODES = np.linspace(-FURTHEST, FURTHEST, 2001)
MOST_GRIDS = 15


def team_match_quality(teams: Iterable[Team], beta: float, weights: Weights | None = None) -> float:
    """Return the density of a draw of all sides, relative to that of an even game of known skills.

    For two sides of one player it is ``match_quality``. The sigmas should include any drift.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        weights: see ``rate``.

    Returns:
        The quality, in (0, 1], or 0 if it underflows.

    Raises:
        ValueError: for bad input.

    Source: a ratio of determinants; for two players, eq. (7) of Herbrich, Minka, Graepel (2006).
    """
    beta = as_positive_number("beta", beta)
    players, side_start = flatten_teams(teams, weights)
    return math.exp(log_quality_of_sides(*performances(players, side_start, beta)))


def team_win_probability(
    team_i: Team,
    team_j: Team,
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> float:
    """Return the probability that team i beats team j.

    With a margin, ``win + draw + loss = 1``, where loss is j's win probability against i and draw
    is ``team_draw_probability``.

    Args:
        team_i: the first side, a list of (mu, sigma) pairs or an array (members, 2).
        team_j: the second side.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: see ``rate``.
        draw_margin: see ``rate``.
        weights: see ``rate``.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2.
    """
    mean, variance, margin = _performances(
        [team_i, team_j], beta, draw_probability, draw_margin, weights
    )
    return win_probability_of(mean[0] - mean[1], variance.sum(), margin[0, 1])


def team_draw_probability(
    team_i: Team,
    team_j: Team,
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> float:
    """Return the probability that the performances of two teams differ by at most the margin.

    See ``team_win_probability`` for arguments and errors. The result is 0 without a margin.
    """
    mean, variance, margin = _performances(
        [team_i, team_j], beta, draw_probability, draw_margin, weights
    )
    return draw_probability_of(mean[0] - mean[1], variance.sum(), margin[0, 1])


def first_place_probability(
    teams: Iterable[Team],
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> list[float]:
    """Return, for each side, the probability that it beats every other side.

    A side does so if its performance exceeds that of each other side by more than the margin
    between the two. Without a margin the probabilities sum to 1. With one, the rest is the
    probability of a shared first place. For two sides it is ``team_win_probability``.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: see ``rate``.
        draw_margin: see ``rate``.
        weights: see ``rate``.

    Returns:
        A probability for each side, accurate to 1e-9.

    Raises:
        ValueError: for bad input.

    Source: the model of Herbrich, Minka, Graepel (2006), section 2: the integral of one side's
    density times the others' distribution functions.
    """
    mean, variance, margins = _performances(teams, beta, draw_probability, draw_margin, weights)
    probabilities = []
    for side in range(mean.size):
        probabilities.append(first_place_probability_of(side, mean, variance, margins[side]))
    return probabilities


def ranking_probability(
    teams: Iterable[Team],
    ranks: Sequence[float],
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> float:
    """Return the probability that a game ends in the given ranking.

    Let f_i be the density of the performance of side i, in order of rank, and h = 1 for the last
    side. Then::

        h_i(x) = integral of f_{i+1}(y) h_{i+1}(y) over y < x - margin     (i won)
                                           or over |x - y| <= margin       (a draw),

    and the probability is the integral of f_0 h_0.

    A draw of two neighbours in the ranking means only that they differ by at most the margin. So
    with three or more sides and a margin, the performances of one game can fit several rankings,
    and the probabilities of all rankings do not sum to 1 (footnote 1 of the paper). Sides that drew
    are neighbours in their order in ``teams``.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: see ``rate``.
        draw_margin: see ``rate``.
        weights: see ``rate``.

    Returns:
        The probability, accurate to 1e-9; 0 for a draw without a margin.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2, P(r | s, A) averaged over the belief.
    """
    mean, variance, margins = _performances(teams, beta, draw_probability, draw_margin, weights)
    places = as_ranks(ranks, mean.size)
    deviation = np.sqrt(variance)
    order = np.argsort(places, kind="stable")
    nodes = mean[:, None] + deviation[:, None] * STANDARD_NODES
    last = order[-1]
    grids = [nodes[last]]
    # The density of a side's performance times the probability of the ranking of worse sides.
    worse = _spline(nodes[last], mean[last], deviation[last], 1.0, 0.0)
    for side, other in reversed(list(itertools.pairwise(order))):
        margin = margins[side, other]
        is_draw = places[side] == places[other]
        # The integrand varies with the side's own density and with those of worse sides.
        near_grids = [nodes[side]]
        for grid in grids:
            near_grids.append(grid + margin)
            if is_draw:
                near_grids.append(grid - margin)
        grids = near_grids[:MOST_GRIDS]
        x = np.unique(np.concatenate(grids).clip(nodes[side, 0], nodes[side, -1]))
        # The other side's performance is in [low, high].
        start, end = worse.x[[0, -1]]
        high = np.clip(x - margin, start, end)
        low = np.full(x.size, start)
        if is_draw:
            high = np.clip(x + margin, start, end)
            low = np.clip(x - margin, start, end)
        below = worse.antiderivative()
        value = below(high) - below(low)
        slope = worse(high) - worse(low)
        worse = _spline(x, mean[side], deviation[side], value, slope)
    return min(1.0, max(0.0, float(worse.integrate(*worse.x[[0, -1]]))))


def _spline(x: Floats, mean: float, deviation: float, value: Any, slope: Any) -> Any:
    """Return the density of N(mean, deviation^2) times a function with these values and slopes."""
    from scipy.interpolate import CubicHermiteSpline

    z = (x - mean) / deviation
    density = INVERSE_SQRT_2PI * np.exp(-0.5 * z * z) / deviation
    return CubicHermiteSpline(x, density * value, density * (slope - z / deviation * value))


def _performances(
    teams: Iterable[Team],
    beta: float,
    draw_probability: float | None,
    draw_margin: float | None,
    weights: Weights | None,
) -> tuple[Floats, Floats, Floats]:
    """Return means and variances of the sides' performances, and (sides, sides) draw margins."""
    beta = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, beta)
    players, side_start = flatten_teams(teams, weights)
    mean, variance, _ = performances(players, side_start, beta)
    size = np.diff(side_start)
    margins = np.empty((size.size, size.size))
    for side, other in np.ndindex(margins.shape):
        count = int(size[side] + size[other])
        margins[side, other] = margin_between(margin.margin, margin.grows, count)
    return mean, variance, margins
