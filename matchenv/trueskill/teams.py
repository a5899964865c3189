"""Teams as people write them, checked and flattened for the compiled kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.exact_order import places_in_order
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_number,
)
from matchenv.trueskill.draw_margin import draw_margin_from_probability
from matchenv.trueskill.sides import all_beliefs

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Pair = tuple[float, float]
Team = Sequence[Pair]
Weights = Sequence[Sequence[float]]

LISTS = (list, tuple)

# Seconds played fit in; squares of weights times squares of skills stay inside float64.
LARGEST_WEIGHT = 1e9


class FlatTeams(NamedTuple):
    """The teams of one game as flat arrays.

    Attributes:
        mu: (players,) means of the beliefs, team by team.
        sigma: (players,) their standard deviations.
        weight: (players,) what each performance counts, such as the share of the game played.
        side_start: (sides + 1,) where each side's players begin.
    """

    mu: Floats
    sigma: Floats
    weight: Floats
    side_start: Integers


def flatten_teams(teams: Iterable[Team], weights: Weights | None = None) -> FlatTeams:
    """Teams of (mu, sigma) pairs as flat arrays of their own.

    Args:
        teams: two or more sides; a side is a list of (mu, sigma) pairs or an array of
            shape (members, 2).
        weights: for each side what each member's performance counts, such as the share of the
            game that was played, in [0, 1e9], at least one of a side above 0; None for all 1.

    Raises:
        ValueError: for fewer than two sides, an empty side, NaN, infinity, sigma <= 0, or
            weights outside [0, 1e9], of another form than the teams, or all 0 on a side.
    """
    return flatten_read_teams(read_teams(teams), weights)


class GivenTeams(NamedTuple):
    """Teams as they were given, with their numbers in a row that nobody has checked.

    Attributes:
        sides: what was given for each side.
        flat: mean and deviation of one member behind the other.
        sizes: members of each side.
    """

    sides: list[Any]
    flat: list[Any]
    sizes: list[int]


def row_of_pairs(teams: Any, ranks: Any = ()) -> Floats | None:
    """Numbers, sizes and ranks as one row, for a whole game in one compiled call.

    Returns:
        Mean and deviation of one member behind the other, the size of each side, then the ranks,
        none of them checked. None for anything but lists or tuples of sides of pairs of floats.
    """
    if type(teams) not in LISTS or type(ranks) not in LISTS:
        return None
    flat: list[Any] = []
    try:
        sizes = list(map(len, teams))
        for side in teams:
            for mu, sigma in side:
                flat.append(mu)
                flat.append(sigma)
        row = np.array([*flat, *sizes, *ranks])
    except (TypeError, ValueError, OverflowError):
        return None
    return row if row.dtype == np.float64 and row.ndim == 1 else None


def read_teams(teams: Iterable[Team]) -> GivenTeams:
    """Teams gone through once: they may be a generator.

    Raises:
        ValueError: if they have not the form of teams.
    """
    sides = sides_of("teams", teams)
    try:
        flat = [number for side in sides for mu, sigma in side for number in (mu, sigma)]
        return GivenTeams(sides, flat, list(map(len, sides)))
    except (TypeError, ValueError):
        _explain(sides)
        raise


def flatten_read_teams(given: GivenTeams, weights: Weights | None) -> FlatTeams:
    """As ``flatten_teams``, of teams that were read before."""
    sides, flat, sizes = given
    numbers = np.array(flat)
    if numbers.dtype != np.float64 or numbers.ndim != 1:
        _explain(sides)
        numbers = np.array(flat, dtype=np.float64)
    if len(sizes) < 2 or 0 in sizes:
        _explain(sides)
    mu, sigma = numbers[0::2].copy(), numbers[1::2].copy()
    if not all_beliefs(mu, sigma):
        _explain(sides)
    side_start = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=side_start[1:])
    if weights is None:
        return FlatTeams(mu, sigma, np.ones(len(mu)), side_start)
    return FlatTeams(mu, sigma, flatten_weights(weights, sizes), side_start)


def sides_of(name: str, value: Any) -> list[Any]:
    """What is given for each side, side by side.

    Raises:
        ValueError: if ``value`` is nothing that can be gone through.
    """
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{name} must have one entry for each side, got {value!r}") from None


def flatten_weights(weights: Weights, sizes: Sequence[int]) -> Floats:
    """Weights of all members in a row; see ``flatten_teams``."""
    given = sides_of("weights", weights)
    rows = [as_float_array(f"weights[{i}]", row) for i, row in enumerate(given)]
    shapes = [row.shape for row in rows]
    if shapes != [(size,) for size in sizes]:
        raise ValueError(
            f"weights must have one number for each member, in sides of {list(sizes)}, "
            f"got shapes {shapes}"
        )
    for i, row in enumerate(rows):
        if ((row < 0.0) | (row > LARGEST_WEIGHT)).any():
            raise ValueError(f"weights[{i}] must be in [0, {LARGEST_WEIGHT:g}], got {row.tolist()}")
        if row.max() * row.max() == 0.0:
            raise ValueError(f"weights[{i}] must have a number above 0, got {row.tolist()}")
    return np.concatenate(rows)


def as_ranks(ranks: Sequence[float], sides: int) -> Floats:
    """The order of the sides, from one finite number for each: 0 for the best, equal for draws.

    Ranks are compared exactly, so that whole numbers of any size (times in nanoseconds) keep
    their order.

    Raises:
        ValueError: for another number of ranks, NaN or infinity.
    """
    places = places_in_order("ranks", ranks)
    if len(places) != sides:
        raise ValueError(f"ranks must have one number for each of {sides} sides, got {ranks!r}")
    return places.astype(np.float64)


class DrawMargin(NamedTuple):
    """A draw margin between two sides.

    Attributes:
        margin: the margin; where it grows, that of one player.
        grows: whether it is to be multiplied with the square root of the number of players.
    """

    margin: float
    grows: bool


@functools.lru_cache(maxsize=256, typed=True)
def _margin_of(draw_probability: Any, draw_margin: Any, beta: Any) -> DrawMargin:
    if draw_margin is not None:
        if draw_probability is not None:
            raise ValueError(
                "draw_margin must be left out where draw_probability is given, "
                f"got {draw_margin!r} and {draw_probability!r}"
            )
        return DrawMargin(as_non_negative_number("draw_margin", draw_margin), False)
    if draw_probability is None:
        return DrawMargin(0.0, False)
    margin = draw_margin_from_probability(draw_probability, beta, 2)
    return DrawMargin(margin / math.sqrt(2.0), True)


def as_draw_margin(draw_probability: Any, draw_margin: Any, beta: float) -> DrawMargin:
    """The margin between two sides from whichever of the two arguments was given.

    Args:
        draw_probability: of two even sides of known skill, in [0, 1); the margin between
            sides of n1 and n2 players is ``draw_margin_from_probability`` with n1 + n2
            players, however much of the game each played. Or None.
        draw_margin: the margin between any two sides, >= 0. Or None.
        beta: standard deviation of one performance.

    Raises:
        ValueError: if both are given, or one is out of range.
    """
    try:
        return _margin_of(draw_probability, draw_margin, beta)
    except TypeError:  # not hashable, such as an array
        return _margin_of.__wrapped__(draw_probability, draw_margin, beta)


def scales_too_far_apart() -> ValueError:
    """The refusal of beliefs for whose game float64 has no numbers."""
    return ValueError("teams must not mix scales so far apart that float64 cannot hold the result")


def _explain(sides: Sequence[Any]) -> None:
    """Raise for the first thing that is wrong with teams, if there is one."""
    if len(sides) < 2:
        raise ValueError(f"teams must have at least two sides, got {sides!r}")
    for i, side in enumerate(sides):
        try:
            members = list(side)
        except TypeError:
            raise ValueError(_form(f"teams[{i}]", side)) from None
        if not members:
            raise ValueError(f"teams[{i}] must have at least one member, got none")
        for k, member in enumerate(members):
            try:
                mu, sigma = member
            except (TypeError, ValueError):
                raise ValueError(_form(f"teams[{i}]", side)) from None
            as_number(f"mu of teams[{i}][{k}]", mu)
            as_positive_number(f"sigma of teams[{i}][{k}]", sigma)


def _form(name: str, value: Any) -> str:
    return f"{name} must be a list of (mu, sigma) pairs, got {value!r}"
