"""Rate one game of any number of sides of any size."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import (
    LARGEST_SKILL,
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_positive_array,
    as_positive_number,
)
from matchenv.trueskill.factor_graph import TABLE_ROWS
from matchenv.trueskill.sides import all_beliefs, margin_between, rate_pair, rate_sides
from matchenv.trueskill.team_kernels import rate_doubles, rate_row
from matchenv.trueskill.teams import (
    DrawMargin,
    Team,
    Weights,
    as_draw_margin,
    as_ranks,
    flatten_read_teams,
    read_teams,
    row_of_pairs,
    scales_too_far_apart,
)

Floats = NDArray[np.float64]

TOLERANCE = 1e-8
MAX_ITERATIONS = 100

EIGHT_FLOATS = (float,) * 8


class Rating(NamedTuple):
    """A belief about a player's skill: a normal of this mean and standard deviation.

    Attributes:
        mu: mean, in skill points.
        sigma: standard deviation, > 0.
    """

    mu: float
    sigma: float


# Half the time of Rating(mu, sigma).
_new_rating: Callable[[tuple[float, float]], Rating] = functools.partial(tuple.__new__, Rating)


class ConvergenceWarning(UserWarning):
    """Expectation propagation met its cap on iterations, or float64's digits, before its tolerance.

    The digits end where a game was next to impossible (such as a win by more than the draw margin
    of a side whose weights are all below 1e-9), so that it moves a belief by millions of its
    standard deviations, or hangs on a margin that is far wider than what a side varies by.
    """


class _Settings(NamedTuple):
    beta: float
    tau: float
    draw_margin: DrawMargin
    tolerance: float
    max_iterations: int


@functools.lru_cache(maxsize=256, typed=True)
def _settings(
    beta: Any,
    tau: Any,
    draw_probability: Any,
    draw_margin: Any,
    tolerance: Any,
    max_iterations: Any,
) -> _Settings:
    beta = as_positive_number("beta", beta)
    return _Settings(
        beta,
        as_non_negative_number("tau", tau),
        as_draw_margin(draw_probability, draw_margin, beta),
        as_positive_number("tolerance", tolerance),
        as_integer("max_iterations", max_iterations, 1),
    )


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
    max_iterations: int = MAX_ITERATIONS,
) -> list[list[Rating]]:
    """Beliefs about all players after a game of two or more sides.

    A side's performance is the sum of its members' performances, each times the member's
    weight. Only neighbours in rank are compared, as in the paper. Two sides are exact (the
    closed form of ``update`` for two players); with more, expectation propagation runs
    until no belief about a side moves by more than ``tolerance``.

    Args:
        teams: the sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift; tau^2 is added to every member's
            variance before the game.
        draw_probability: of two even sides of known skill, in [0, 1). The margin between
            neighbours of n1 and n2 players is ``draw_margin_from_probability`` with
            n1 + n2 players; members who played in part count whole.
        draw_margin: the margin between any two neighbours, in skill points, in place of
            ``draw_probability``. Without either there are no draws.
        weights: for each side what each member's performance counts, such as the share of
            the game that was played, in [0, 1e9]; at least one member of a side above 0.
            A member of weight 0 only drifts.
        tolerance: convergence means that in one iteration no message moved its side's mean
            by more than this share of the performance's standard deviation, nor its
            variance by more than this share.
        max_iterations: the cap; runs that meet it emit ``ConvergenceWarning``, as do games
            that move a belief so far that rounding alone is a millionth of its deviation.

    Returns:
        The same sides, each a list of ``Rating(mu, sigma)``.

    Raises:
        ValueError: for bad input, or a draw where the draw margin is 0.

    Source: Herbrich, Minka, Graepel (2006), sections 2 and 3, Figure 1 and Table 1.
    """
    try:
        settings = _settings(beta, tau, draw_probability, draw_margin, tolerance, max_iterations)
    except TypeError:  # not hashable, such as an array
        settings = _settings.__wrapped__(
            beta, tau, draw_probability, draw_margin, tolerance, max_iterations
        )
    if weights is None:
        result = _rate_duel(teams, ranks, settings) or _rate_doubles(teams, ranks, settings)
        if result is not None:
            return result
    return _rate_many(teams, ranks, weights, settings)


def _rate_duel(teams: Any, ranks: Any, settings: _Settings) -> list[list[Rating]] | None:
    """The commonest game, one against one, without arrays; None for any other input."""
    try:
        if len(teams) != 2 or len(teams[0]) != 1:
            return None
        ((mu_i, sigma_i),), ((mu_j, sigma_j),) = teams
        rank_i, rank_j = ranks
        outcome = (rank_i < rank_j) - (rank_i > rank_j)
        if not (
            type(mu_i) is type(sigma_i) is type(mu_j) is type(sigma_j) is float
            and type(rank_i) is type(rank_j) is int
            and -LARGEST_SKILL <= mu_i <= LARGEST_SKILL
            and -LARGEST_SKILL <= mu_j <= LARGEST_SKILL
            and 1.0 / LARGEST_SKILL <= sigma_i <= LARGEST_SKILL
            and 1.0 / LARGEST_SKILL <= sigma_j <= LARGEST_SKILL
        ):
            return None
    except (TypeError, ValueError, KeyError):
        return None
    margin = settings.draw_margin
    if outcome == 0 and margin.margin == 0.0:
        raise _impossible_draw()
    mu_i, sigma_i, mu_j, sigma_j = rate_pair(
        mu_i,
        sigma_i,
        mu_j,
        sigma_j,
        outcome,
        settings.beta,
        settings.tau,
        margin_between(margin.margin, margin.grows, 2),
    )
    # Comparisons are False for NaN.
    if not (sigma_i >= 1.0 / LARGEST_SKILL and sigma_j >= 1.0 / LARGEST_SKILL):
        raise scales_too_far_apart()
    return [[Rating(mu_i, sigma_i)], [Rating(mu_j, sigma_j)]]


def _rate_doubles(teams: Any, ranks: Any, settings: _Settings) -> list[list[Rating]] | None:
    """Two against two without arrays; None for any other input, or if anything is to be said."""
    try:
        if not (len(teams) == 2 and len(teams[0]) == len(teams[1]) == 2):
            return None
        ((a, b), (c, d)), ((e, f), (g, h)) = teams
        first, second = ranks
        place = float((first < second) - (first > second))
    except (TypeError, ValueError, KeyError):
        return None
    kinds = type(a), type(b), type(c), type(d), type(e), type(f), type(g), type(h)
    if kinds != EIGHT_FLOATS or not type(first) is type(second) is int:
        return None
    beta, tau, (margin, grows), tolerance, _ = settings
    change, a, b, c, d, e, f, g, h = rate_doubles(
        a, b, c, d, e, f, g, h, place, beta, tau, margin, grows
    )
    if not change <= tolerance:  # False for NaN
        return None
    new = _new_rating
    return [[new((a, b)), new((c, d))], [new((e, f)), new((g, h))]]


def _rate_many(
    teams: Iterable[Team], ranks: Sequence[float], weights: Weights | None, settings: _Settings
) -> list[list[Rating]]:
    if weights is None:
        result = _rate_row(teams, ranks, settings)
        if result is not None:
            return result
    given = read_teams(teams)
    mu, sigma, weight, side_start = flatten_read_teams(given, weights)
    sides = len(side_start) - 1
    change, impossible = rate_sides(
        mu,
        sigma,
        weight,
        side_start,
        as_ranks(ranks, sides),
        settings.beta,
        settings.tau,
        settings.draw_margin.margin,
        settings.draw_margin.grows,
        settings.tolerance,
        settings.max_iterations,
        np.empty(sides, dtype=np.int64),
        np.empty(len(mu)),
        np.empty((TABLE_ROWS, sides)),
    )
    if impossible:
        raise _impossible_draw()
    if not all_beliefs(mu, sigma):
        raise scales_too_far_apart()
    if not change <= settings.tolerance:
        warnings.warn(
            f"no convergence to tolerance {settings.tolerance:g} within "
            f"{settings.max_iterations} iterations: a belief may still be off by {change:g} of "
            "its standard deviation",
            ConvergenceWarning,
            stacklevel=3,
        )
    return _in_sides(np.stack((mu, sigma), axis=1).ravel().tolist(), given.sizes)


def _rate_row(teams: Any, ranks: Any, settings: _Settings) -> list[list[Rating]] | None:
    """A game of floats in one compiled call; None if anything is to be said about it."""
    row = row_of_pairs(teams, ranks)
    if row is None or len(ranks) != len(teams):
        return None
    sizes = list(map(len, teams))
    beta, tau, (margin, grows), tolerance, max_iterations = settings
    change = rate_row(row, len(sizes), beta, tau, margin, grows, tolerance, max_iterations)
    if not change <= tolerance:  # False for NaN
        return None
    return _in_sides(row[: 2 * sum(sizes)].tolist(), sizes)


def _in_sides(flat: list[float], sizes: list[int]) -> list[list[Rating]]:
    """Mean and deviation of one member behind the other, as ratings side by side."""
    numbers = iter(flat)
    ratings = list(map(_new_rating, zip(numbers, numbers, strict=False)))
    sides, first = [], 0
    for size in sizes:
        sides.append(ratings[first : first + size])
        first += size
    return sides


def _impossible_draw() -> ValueError:
    return ValueError(
        "ranks must not be equal where draws have probability 0: give draw_probability or "
        "draw_margin above 0"
    )


def expose(mu: Any, sigma: Any, k: float = 3.0) -> Any:
    """The conservative skill that leaderboards sort by: mu - k sigma.

    With k = 3 it is the 0.135 % quantile of the belief (the paper says 1 %, which is
    mu - 2.33 sigma).

    Args:
        mu: means, in skill points.
        sigma: standard deviations, > 0.
        k: how many of them are taken off, >= 0.

    Returns:
        float64 of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, sigma <= 0 or k < 0.

    Source: Herbrich, Minka, Graepel (2006), section 4.2.
    """
    times = as_non_negative_number("k", k)
    return (as_float_array("mu", mu) - times * as_positive_array("sigma", sigma))[()]
