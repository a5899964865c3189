"""Before a game of sides: match quality, win, draw and first-place probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import LARGEST_SKILL, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import as_draw_margin, margin_between
from matchenv.trueskill.game import draw_probability_of, win_probability_of
from matchenv.trueskill.normal import INVERSE_SQRT_2PI, normal_probability
from matchenv.trueskill.sides import performances, quality_of_sides
from matchenv.trueskill.teams import Team, Weights, flatten_teams

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# First places: nodes for each panel, panels of a side's own density and of each narrower side, and
# the half width of both in standard deviations; what lies outside is below 1e-18.
NODES = 12
OWN_PANELS, OTHER_PANELS = 24, 12
HALF_WIDTH = 9.0

_X, _W = np.polynomial.legendre.leggauss(NODES)


def team_match_quality(teams: Iterable[Team], beta: float, weights: Weights | None = None) -> float:
    """Return the density of a draw of all sides, relative to that of an even game of known skills.

    For two sides of one player it is ``match_quality``. Drift is not added: give sigmas that
    include it, if it matters.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        weights: as in ``rate``.

    Returns:
        The quality, in (0, 1] (0 where it underflows).

    Raises:
        ValueError: for bad input.

    Source: a ratio of determinants; for two players it is eq. (7) of Herbrich, Minka, Graepel
    (2006).
    """
    plain = type(beta) is float and 1.0 / LARGEST_SKILL <= beta <= LARGEST_SKILL
    spread = beta if plain else as_positive_number("beta", beta)
    return _quality_of_players(*flatten_teams(teams, weights), spread)


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

    With a margin, ``win + draw + loss = 1``, where loss is the win probability of j against i and
    draw is ``team_draw_probability``.

    Args:
        team_i: the first side, a list of (mu, sigma) pairs or an array (members, 2).
        team_j: the second side.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        weights: as in ``rate``.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2.
    """
    game = _difference([team_i, team_j], beta, draw_probability, draw_margin, weights)
    return win_probability_of(*game)


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

    Arguments and errors as ``team_win_probability``. Exactly 0 without a margin.
    """
    game = _difference([team_i, team_j], beta, draw_probability, draw_margin, weights)
    return draw_probability_of(*game)


def _difference(
    teams: list[Team],
    beta: float,
    draw_probability: float | None,
    draw_margin: float | None,
    weights: Weights | None,
) -> tuple[float, float, float]:
    """Return mean and variance of the difference of two sides' performances, and the margin."""
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    players, side_start = flatten_teams(teams, weights)
    mean, variance, _ = performances(players, side_start, spread)
    return (
        float(mean[0] - mean[1]),
        float(variance[0] + variance[1]),
        margin_between(*margin, players.shape[1]),
    )


def first_place_probability(
    teams: Iterable[Team],
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> list[float]:
    """Return, for each side, the probability that it beats every other side.

    Side i comes first alone if its performance exceeds that of each other side by more than the
    margin between the two. Without a margin the probabilities add up to 1; with one, the rest is
    the probability of a shared first place. For two sides it is ``team_win_probability``.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        weights: as in ``rate``.

    Returns:
        One probability for each side, within 1e-10.

    Raises:
        ValueError: for bad input.

    Source: the model of Herbrich, Minka, Graepel (2006), section 2: the integral of one side's
    density times the others' distribution functions.
    """
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    players, side_start = flatten_teams(teams, weights)
    mean, variance, _ = performances(players, side_start, spread)
    deviation, size = np.sqrt(variance), np.diff(side_start)
    chances = []
    for side in range(len(size)):
        level = mean + [margin_between(*margin, int(n)) for n in size + size[side]]
        # The integrand changes with the side's own density and, faster, with the distribution
        # functions of narrower sides.
        own = np.linspace(-HALF_WIDTH, HALF_WIDTH, OWN_PANELS + 1)
        step = np.linspace(-HALF_WIDTH, HALF_WIDTH, OTHER_PANELS + 1)
        narrower = np.flatnonzero(deviation < deviation[side])
        edges = np.concatenate([own, *(
            (level[other] - mean[side] + step * deviation[other]) / deviation[side]
            for other in narrower
        )])  # fmt: skip
        edges = np.unique(edges[np.abs(edges) <= HALF_WIDTH])
        chances.append(min(1.0, _first_place(side, edges, mean, level, deviation)))
    return chances


@compiled
def _quality_of_players(players: Floats, side_start: Integers, beta: float) -> float:
    return quality_of_sides(*performances(players, side_start, beta))


@compiled
def _first_place(side: int, edges: Floats, mean: Floats, level: Floats, deviation: Floats) -> float:
    """Return the integral of the side's density times the others' distribution functions.

    Args:
        side: the side.
        edges: edges of panels, in standard deviations from the side's mean.
        mean: (sides,) means of the performances.
        level: (sides,) means of the others plus the margin to this side.
        deviation: (sides,) standard deviations of the performances.
    """
    total = 0.0
    for panel in range(edges.size - 1):
        half = 0.5 * (edges[panel + 1] - edges[panel])
        middle = 0.5 * (edges[panel + 1] + edges[panel])
        for k in range(NODES):
            z = middle + half * _X[k]
            product = half * _W[k] * INVERSE_SQRT_2PI * math.exp(-0.5 * z * z)
            for other in range(mean.size):
                if other != side:
                    gap = mean[side] + z * deviation[side] - level[other]
                    product *= normal_probability(gap / deviation[other])
            total += product
    return total
