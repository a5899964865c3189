"""Rate one game of any number of sides of any size."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_positive_array,
    as_positive_number,
    check_shapes,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import as_draw_margin, margin_between
from matchenv.trueskill.game import drifted, is_positive, is_skill
from matchenv.trueskill.partial_order import rate_partial_order
from matchenv.trueskill.sides import (
    MAX_ITERATIONS,
    TABLE_ROWS,
    TOLERANCE,
    Constants,
    Teams,
    rate_sides,
)
from matchenv.trueskill.teams import (
    UNORDERED,
    Rank,
    Team,
    Weights,
    as_places,
    flatten_teams,
    sides_of,
)
from matchenv.trueskill.two_player import UPDATE, game_or_nan


class Rating(NamedTuple):
    """A normal belief about a player's skill.

    Attributes:
        mu: mean, in skill points.
        sigma: standard deviation, > 0.
    """

    mu: float
    sigma: float


class ConvergenceWarning(UserWarning):
    """Expectation propagation stopped at its maximum number of iterations."""


def rate(
    teams: Iterable[Team],
    ranks: Sequence[Rank],
    *,
    beta: float,
    tau: float = 0.0,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
    tolerance: float = TOLERANCE,
) -> list[list[Rating]]:
    """Return the beliefs about all players after a game of two or more sides.

    A side's performance is the weighted sum of its members' performances. Only neighbours in rank
    are compared, as in the paper. Two sides have a closed form, which for two players is
    ``update``. With more sides, expectation propagation runs until no belief about a side moves by
    more than ``tolerance``.

    A place can be known only in part: ``ranks=[1, (2, 3), (2, 3)]`` is a winner and two losers
    whose order is unknown. An interval (first, last) of places is better than another if its last
    place is before the other's first, and there is a comparison for each such pair that does not
    follow from others. Other pairs count as unknown: they are neither compared nor draws. A race
    with two finishers and two who gave up is ``[1, 2, (3, 4), (3, 4)]``.

    Args:
        teams: the sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw. An interval
            (first, last) for a side whose place is known only in part.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift; tau^2 is added to every member's variance
            before the game.
        draw_probability: probability that two even sides of known skill draw, in [0, 1). The margin
            between neighbours of n1 and n2 players is ``draw_margin_from_probability`` with n1 + n2
            players, whatever their weights.
        draw_margin: the margin between any two neighbours, in skill points, in place of
            ``draw_probability``. Without either there are no draws.
        weights: factor of each member's performance, a list for each side, for example the share of
            the game played: 0 or in [1e-6, 1e9], with at least one member of a side above 0. A
            member of weight 0 only drifts.
        tolerance: convergence criterion. In the last iteration no message moved its side's mean by
            more than this share of the performance's standard deviation, or its variance by more
            than this share. After 100 iterations a ``ConvergenceWarning`` is issued.

    Returns:
        The same sides, each a list of ``Rating(mu, sigma)``.

    Raises:
        ValueError: for bad input, an interval whose first place is after its last, or a draw with
            a margin of 0.

    Source: Herbrich, Minka, Graepel (2006), sections 2 and 3, Figure 1 and Table 1.
    """
    options = (beta, tau, draw_probability, draw_margin, tolerance)
    try:
        model = _constants(*options)
    except TypeError:  # not hashable, for example an array
        model = _constants.__wrapped__(*options)
    sides = sides_of("teams", teams)
    if weights is None:
        rated = _rate_two_players(sides, ranks, model)
        if rated is not None:
            return rated
    players, side_start = flatten_teams(sides, weights)
    first_place, last_place = as_places(ranks, len(side_start) - 1)
    if model.draw_margin == 0.0 and _has_draws(first_place, last_place):
        raise ValueError(
            "ranks must not be equal, since draws have probability 0: set draw_probability or "
            "draw_margin above 0"
        )
    change = _rate_players(players, side_start, first_place, last_place, model)
    if math.isnan(change):
        raise ValueError(
            "teams must not mix scales so far apart that float64 cannot hold the result"
        )
    if change > model.tolerance:
        warnings.warn(
            f"no convergence to tolerance {model.tolerance:g} within {model.max_iterations} "
            f"iterations: beliefs can be off by {change:g} of their standard deviation",
            ConvergenceWarning,
            stacklevel=2,
        )
    ratings = list(map(Rating, *players[:2].tolist()))
    return [ratings[first:last] for first, last in itertools.pairwise(side_start.tolist())]


def _has_draws(first_place: Floats, last_place: Floats) -> bool:
    single_places = first_place[first_place == last_place].tolist()
    return len(set(single_places)) < len(single_places)


@functools.lru_cache(maxsize=256, typed=True)
def _constants(
    beta: Any, tau: Any, draw_probability: Any, draw_margin: Any, tolerance: Any
) -> Constants:
    beta = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, beta)
    return Constants(
        beta=beta,
        tau=as_non_negative_number("tau", tau),
        draw_margin=margin.margin,
        margin_grows=margin.grows,
        tolerance=as_positive_number("tolerance", tolerance),
        max_iterations=MAX_ITERATIONS,
    )


def _rate_two_players(sides: list[Any], ranks: Any, model: Constants) -> list[list[Rating]] | None:
    """Rate a game of two players without arrays; None for any other game or bad input."""
    if isinstance(ranks, UNORDERED):
        return None
    try:
        ((mu_i, sigma_i),), ((mu_j, sigma_j),) = sides
        rank_i, rank_j = ranks
    except (TypeError, ValueError):
        return None
    types = list(map(type, (mu_i, sigma_i, mu_j, sigma_j, rank_i, rank_j)))
    if types != [float, float, float, float, int, int]:
        return None
    sigma_i = drifted(sigma_i, model.tau)
    sigma_j = drifted(sigma_j, model.tau)
    margin = margin_between(model.draw_margin, model.margin_grows, 2)
    outcome = float((rank_i < rank_j) - (rank_i > rank_j))
    mu_i, sigma_i, mu_j, sigma_j = game_or_nan(
        UPDATE, mu_i, sigma_i, mu_j, sigma_j, model.beta, margin, outcome
    )
    if math.isnan(mu_i):
        return None
    return [[Rating(mu_i, sigma_i)], [Rating(mu_j, sigma_j)]]


@compiled
def _rate_players(
    players: Floats,
    side_start: Integers,
    first_place: Floats,
    last_place: Floats,
    model: Constants,
) -> float:
    """Return the largest change, or NaN if a belief exceeds the limits; ``players`` is changed."""
    teams = Teams(players[0], players[1], players[2], side_start)
    if np.all(first_place == last_place):
        change = rate_sides(teams, first_place, model, np.empty((TABLE_ROWS, first_place.size)))
    else:
        change, _ = rate_partial_order(teams, first_place, last_place, model)
    for m in range(teams.mu.size):
        if not (is_skill(teams.mu[m]) and is_positive(teams.sigma[m])):
            return math.nan
    return change


def expose(mu: Any, sigma: Any, k: float = 3.0) -> Any:
    """Return the conservative skill estimate of leaderboards, mu - k sigma.

    With k = 3 it is the 0.135 % quantile of the belief. The paper says 1 %, which is
    mu - 2.33 sigma.

    Args:
        mu: means, in skill points.
        sigma: standard deviations, > 0.
        k: number of standard deviations subtracted, >= 0.

    Returns:
        float64 of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0, k < 0 or shapes that do not broadcast.

    Source: Herbrich, Minka, Graepel (2006), section 4.2.
    """
    times = as_non_negative_number("k", k)
    means = as_float_array("mu", mu)
    deviations = as_positive_array("sigma", sigma)
    check_shapes(("mu", "sigma"), means, deviations)
    return (means - times * deviations)[()]
