"""Rate one game of any number of sides of any size."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_positive_array,
    as_positive_number,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import as_draw_margin, margin_between
from matchenv.trueskill.game import is_positive, is_skill
from matchenv.trueskill.sides import (
    SMALLEST_REST,
    TABLE_ROWS,
    Constants,
    Teams,
    all_beliefs,
    comparison_message,
    rate_sides,
    updated_member,
)
from matchenv.trueskill.teams import Team, Weights, as_ranks, flatten_teams

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOLERANCE = 1e-8
MAX_ITERATIONS = 100

# Games of two sides with more players than this are faster in one call for arrays.
MOST_PLAYERS_ONE_BY_ONE = 16


class Rating(NamedTuple):
    """A normal belief about a player's skill.

    Attributes:
        mu: mean, in skill points.
        sigma: standard deviation, > 0.
    """

    mu: float
    sigma: float


# Half the time of Rating(mu, sigma).
_new_rating: Callable[[tuple[float, float]], Rating] = functools.partial(tuple.__new__, Rating)


class ConvergenceWarning(UserWarning):
    """Expectation propagation stopped at its cap on iterations."""


def rate(
    teams: Iterable[Team],
    ranks: Sequence[float],
    *,
    beta: float,
    tau: float = 0.0,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
    tolerance: float = TOLERANCE,
) -> list[list[Rating]]:
    """Return the beliefs about all players after a game of two or more sides.

    A side's performance is the sum of its members' performances, each times the member's weight.
    Only neighbours in rank are compared, as in the paper. Two sides have a closed form and are
    exact (for two players it is ``update``); with more, expectation propagation runs until no
    belief about a side moves by more than ``tolerance``.

    Args:
        teams: the sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift; tau^2 is added to every member's variance
            before the game.
        draw_probability: of two even sides of known skill, in [0, 1). The margin between neighbours
            of n1 and n2 players is ``draw_margin_from_probability`` with n1 + n2 players, whatever
            their weights.
        draw_margin: the margin between any two neighbours, in skill points, in place of
            ``draw_probability``. Without either there are no draws.
        weights: for each side the factor of each member's performance, for example the share of the
            game played, 0 or in [1e-6, 1e9]; at least one member of a side above 0. A member of
            weight 0 only drifts.
        tolerance: messages have converged when in one iteration none moved its side's mean by more
            than this share of the performance's standard deviation, nor its variance by more than
            this share. After 100 iterations a ``ConvergenceWarning`` is issued.

    Returns:
        The same sides, each a list of ``Rating(mu, sigma)``.

    Raises:
        ValueError: for bad input, or a draw where the draw margin is 0.

    Source: Herbrich, Minka, Graepel (2006), sections 2 and 3, Figure 1 and Table 1.
    """
    given = (beta, tau, draw_probability, draw_margin, tolerance)
    try:
        model = _constants(*given)
    except TypeError:  # not hashable, for example an array
        model = _constants.__wrapped__(*given)
    rated = _rate_two_sides(teams, ranks, model) if weights is None else None
    return _rate_any(teams, ranks, weights, model) if rated is None else rated


@functools.lru_cache(maxsize=256, typed=True)
def _constants(
    beta: Any, tau: Any, draw_probability: Any, draw_margin: Any, tolerance: Any
) -> Constants:
    spread = as_positive_number("beta", beta)
    return Constants(
        spread,
        as_non_negative_number("tau", tau),
        *as_draw_margin(draw_probability, draw_margin, spread),
        as_positive_number("tolerance", tolerance),
        MAX_ITERATIONS,
    )


def _rate_two_sides(teams: Any, ranks: Any, model: Constants) -> list[list[Rating]] | None:
    """Rate a game of two small sides in closed form, without arrays.

    Returns:
        None for anything but (mu, sigma) pairs of floats and integer ranks, and wherever
        ``_rate_any`` refuses something or is more exact.
    """
    beta, tau, margin, grows, _, _ = model
    drift = tau * tau
    try:
        if len(teams) != 2 or len(ranks) != 2:
            return None
        (first, second), (rank_1, rank_2) = teams, ranks
        players = len(first) + len(second)
        small = first and second and players <= MOST_PLAYERS_ONE_BY_ONE
        if not (small and type(rank_1) is type(rank_2) is int):
            return None
        # Sums of each side apart, so that the order of the sides does not matter.
        mean_1 = mean_2 = square_1 = square_2 = 0.0
        for mu, sigma in first:
            if not type(mu) is type(sigma) is float:
                return None
            mean_1 += mu
            square_1 += sigma * sigma
        for mu, sigma in second:
            if not type(mu) is type(sigma) is float:
                return None
            mean_2 += mu
            square_2 += sigma * sigma
        gap, variance = mean_1 - mean_2, square_1 + square_2 + players * (drift + beta * beta)
        outcome = (rank_1 < rank_2) - (rank_1 > rank_2)
        message, shift = _message_of_two(gap, variance, outcome, margin, grows, players)
    except (TypeError, ValueError, KeyError):
        return None
    rated = []
    for side in (first, second):
        ratings = []
        for mu, sigma in side:
            belief = _member_or_nan(mu, sigma, drift, variance, message, shift)
            if belief[1] != belief[1]:
                return None
            ratings.append(_new_rating(belief))
        rated.append(ratings)
        shift = -shift  # seen from the second side
    return rated


@compiled
def _message_of_two(
    gap: float, variance: float, outcome: int, margin: float, grows: bool, players: int
) -> tuple[float, float]:
    """Return precision and shift of the message about the difference of two performances.

    NaN for a draw without a margin.
    """
    sign, width = -1.0 if outcome < 0 else 1.0, margin_between(margin, grows, players)
    if outcome == 0 and width == 0.0:
        return math.nan, math.nan
    target, noise = comparison_message(sign * gap, variance, width, 0.0 if outcome else 1.0)
    return 1.0 / noise, (sign * target - gap) / noise


@compiled
def _member_or_nan(
    mu: float, sigma: float, drift: float, variance: float, precision: float, shift: float
) -> tuple[float, float]:
    """Return ``updated_member`` of weight 1, for a message about the difference of two sides.

    NaN for numbers that are not allowed, and where the rest of the side is nearly nothing.
    """
    own = sigma * sigma + drift
    rest = variance - own
    if rest > SMALLEST_REST * variance and is_skill(mu) and is_positive(sigma):
        new_mu, new_sigma = updated_member(mu, sigma, 1.0, drift, rest, precision, shift)
        if is_skill(new_mu) and is_positive(new_sigma):
            return new_mu, new_sigma
    return math.nan, math.nan


def _rate_any(
    teams: Iterable[Team], ranks: Sequence[float], weights: Weights | None, model: Constants
) -> list[list[Rating]]:
    """Rate any game by expectation propagation."""
    players, side_start = flatten_teams(teams, weights)
    places = as_ranks(ranks, len(side_start) - 1)
    if model.draw_margin == 0.0 and len(set(places.tolist())) < len(places):
        raise ValueError(
            "ranks must not be equal where draws have probability 0: give draw_probability or "
            "draw_margin above 0"
        )
    change = _rate_players(players, side_start, places, model)
    if math.isnan(change):
        raise ValueError(
            "teams must not mix scales so far apart that float64 cannot hold the result"
        )
    if change > model.tolerance:
        warnings.warn(
            f"no convergence to tolerance {model.tolerance:g} within {model.max_iterations} "
            f"iterations: a belief may still be off by {change:g} of its standard deviation",
            ConvergenceWarning,
            stacklevel=3,
        )
    mu, sigma = players[:2].tolist()
    ratings = list(map(_new_rating, zip(mu, sigma, strict=True)))
    return [ratings[first:last] for first, last in itertools.pairwise(side_start.tolist())]


@compiled
def _rate_players(players: Floats, side_start: Integers, rank: Floats, model: Constants) -> float:
    """Return ``rate_sides``, NaN if a new belief is not within limits; ``players`` is written."""
    teams = Teams(players[0], players[1], players[2], side_start)
    change = rate_sides(teams, rank, model, np.empty((TABLE_ROWS, rank.size)))
    return change if all_beliefs(teams.mu, teams.sigma) else math.nan


def expose(mu: Any, sigma: Any, k: float = 3.0) -> Any:
    """Return the conservative skill that leaderboards sort by, mu - k sigma.

    With k = 3 it is the 0.135 % quantile of the belief (the paper says 1 %, which is
    mu - 2.33 sigma).

    Args:
        mu: means, in skill points.
        sigma: standard deviations, > 0.
        k: number of standard deviations subtracted, >= 0.

    Returns:
        float64 of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0 or k < 0.

    Source: Herbrich, Minka, Graepel (2006), section 4.2.
    """
    times = as_non_negative_number("k", k)
    return (as_float_array("mu", mu) - times * as_positive_array("sigma", sigma))[()]
