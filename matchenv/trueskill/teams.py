"""Checks of teams and ranks, and their arrays for the compiled kernels.

A side is a list of (mu, sigma) pairs or an array of shape (members, 2). Weights are a list for each
side with a number for each member. The arrays of one game are

    players     (3, players): means, standard deviations and weights
    side_start  (sides + 1,): index of each side's first player
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_float_array, as_positive_array, refusal
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import is_positive, is_skill
from matchenv.trueskill.sides import LARGEST_WEIGHT, SMALLEST_WEIGHT

Pair = tuple[float, float]
Team = Sequence[Pair]
Weights = Sequence[Sequence[float]]
# A side's place, or the interval (first, last) of places that it can have.
Rank = float | tuple[float, float]

# Types whose order is no order of sides or ranks.
UNORDERED = (set, frozenset, dict)
ORDERED = frozenset((list, tuple, dict))
# Types of a rank that is an interval.
INTERVALS = frozenset((list, tuple))


def flatten_teams(teams: Iterable[Team], weights: Weights | None = None) -> tuple[Floats, Integers]:
    """Return the arrays of one game.

    Args:
        teams: two or more sides.
        weights: factor of each performance, for example the share of the game played, 0 or in
            [1e-6, 1e9], at least one of a side above 0; None for all 1.

    Returns:
        ``(players, side_start)``, new arrays.

    Raises:
        ValueError: for fewer than two sides, an empty side, NaN, infinity, sigma <= 0, or weights
            out of range, of another shape than the teams, or all 0 on a side.
    """
    sides = sides_of("teams", teams)
    rows = None
    if weights is not None:
        rows = sides_of("weights", weights)
    try:
        players, side_start = _arrays_of(sides, rows)
    except (TypeError, ValueError):
        pass
    else:
        if players.dtype.kind in "fiu":
            players = players.astype(np.float64, copy=False)
            if _are_valid(players, side_start):
                return players, side_start
    _refuse_bad(sides, rows)
    raise refusal("teams must hold lists of (mu, sigma) pairs", sides)


def _arrays_of(sides: list[Any], rows: list[Any] | None) -> tuple[NDArray[Any], Integers]:
    """Return the arrays of one game, of any type.

    Raises:
        TypeError: for sides or rows of weights that are no sequences.
        ValueError: for members that are no pairs, or rows of other lengths than the sides.
    """
    sizes = list(map(len, sides))
    mu, sigma = zip(*chain.from_iterable(sides), strict=True)
    if rows is None:
        weights = [1.0] * len(mu)
    else:
        weights = list(chain.from_iterable(rows))
        if list(map(len, rows)) != sizes:
            raise ValueError
    return np.array((mu, sigma, weights)), np.array([0, *accumulate(sizes)])


@compiled
def _are_valid(players: Floats, side_start: Integers) -> bool:
    """Return whether a game has two or more sides with members, and numbers within limits."""
    valid = side_start.size > 2
    for side in range(side_start.size - 1):
        largest = 0.0
        for m in range(side_start[side], side_start[side + 1]):
            mu, sigma, weight = players[0, m], players[1, m], players[2, m]
            valid &= is_skill(mu) and is_positive(sigma)
            valid &= weight == 0.0 or SMALLEST_WEIGHT <= weight <= LARGEST_WEIGHT
            largest = max(largest, weight)
        valid &= largest > 0.0  # False for a side without members
    return valid


def _refuse_bad(sides: list[Any], weights: list[Any] | None) -> None:
    """Raise ``ValueError`` for the first fault of teams and weights, if there is one."""
    if len(sides) < 2:
        raise refusal("teams must have at least two sides", sides)
    sizes = []
    for i, side in enumerate(sides):
        try:
            pairs = [(mu, sigma) for mu, sigma in side]
        except (TypeError, ValueError):
            raise refusal(f"teams[{i}] must be a list of (mu, sigma) pairs", side) from None
        if not pairs:
            raise ValueError(f"teams[{i}] must have at least one member, got none")
        as_float_array(f"mu of teams[{i}]", [mu for mu, _ in pairs])
        as_positive_array(f"sigma of teams[{i}]", [sigma for _, sigma in pairs])
        sizes.append((len(pairs),))
    if weights is None:
        return
    rows = [as_float_array(f"weights[{i}]", row) for i, row in enumerate(weights)]
    if [row.shape for row in rows] != sizes:
        raise refusal("weights must have one number for each member", weights)
    for i, row in enumerate(rows):
        good = (row == 0.0) | ((row >= SMALLEST_WEIGHT) & (row <= LARGEST_WEIGHT))
        if not good.all() or row.max() == 0.0:
            allowed = f"0 or in [{SMALLEST_WEIGHT:g}, {LARGEST_WEIGHT:g}], and not all 0"
            raise refusal(f"weights[{i}] must be {allowed}", row.tolist())


def sides_of(name: str, value: Any) -> list[Any]:
    """Return the list of sides, or of their weights, with lists in place of iterators.

    Raises:
        ValueError: if ``value`` is not iterable, or it or an entry has no order.
    """
    try:
        if isinstance(value, UNORDERED):
            raise TypeError
        sides = list(value)
        if not ORDERED.issuperset(map(type, sides)):
            for i, side in enumerate(sides):
                if isinstance(side, Iterator):
                    sides[i] = list(side)
                elif isinstance(side, set | frozenset):
                    raise TypeError
    except TypeError:
        raise refusal(f"{name} must have one entry for each side, in order", value) from None
    return sides


def as_ranks(ranks: Sequence[float], sides: int) -> Floats:
    """Return the place of each side among the distinct ranks, 0 for the best.

    Raises:
        ValueError: for another number of ranks, an interval, NaN or infinity.
    """
    places = dense_rank("ranks", ranks)
    _check_number_of_ranks(ranks, len(places), sides)
    return places.astype(np.float64)


def as_places(ranks: Sequence[Rank], sides: int) -> tuple[Floats, Floats]:
    """Return the best and the worst place that each side can have, among the distinct places.

    Args:
        ranks: for each side a number, or an interval (first, last) if its place is known in part.
        sides: number of sides.

    Returns:
        ``(first_place, last_place)``, each (sides,); 0 is the best place.

    Raises:
        ValueError: for another number of ranks, an interval whose first place is after its last,
            other types, NaN or infinity.
    """
    items = _as_items("ranks", ranks)
    if INTERVALS.isdisjoint(map(type, items)):
        places = as_ranks(items, sides)
        return places, places
    first = list(items)
    last = list(items)
    for index, rank in enumerate(items):
        if type(rank) in INTERVALS:
            if len(rank) != 2:
                raise refusal(f"ranks[{index}] must be a number or (first, last)", rank)
            first[index], last[index] = rank
    places = dense_rank("first and last places of ranks", first + last).astype(np.float64)
    _check_number_of_ranks(ranks, len(items), sides)
    first_place = places[: len(items)]
    last_place = places[len(items) :]
    backward = first_place > last_place
    if backward.any():
        index = int(np.argmax(backward))
        rule = f"ranks[{index}] must be an interval (first, last) with first <= last"
        raise refusal(rule, items[index])
    return first_place, last_place


def _check_number_of_ranks(ranks: Any, number: int, sides: int) -> None:
    if number != sides:
        raise refusal(f"ranks must have one number or interval for each of {sides} sides", ranks)


def dense_rank(name: str, values: ArrayLike | Iterable[Any]) -> Integers:
    """Return the place of each number among the distinct ones, 0 for the smallest.

    Args:
        name: the argument's name, for the message.
        values: finite numbers. They are compared exactly: integers beyond 2^53, for example
            timestamps in nanoseconds, keep their order.

    Raises:
        ValueError: for another number of dimensions, other types, NaN or infinity.
    """
    items = _as_items(name, values)
    plain = all(type(value) is int for value in items)  # skips the slower check
    if not plain and as_float_array(name, items).ndim != 1:
        raise refusal(f"{name} must be a row of real numbers", values)
    place_of = {value: place for place, value in enumerate(sorted(set(items)))}
    return np.array([place_of[value] for value in items], dtype=np.int64)


def _as_items(name: str, values: Any) -> list[Any]:
    """Return the entries of an array or an ordered iterable as Python objects.

    Raises:
        ValueError: for values that are not iterable or have no order.
    """
    try:
        if isinstance(values, UNORDERED):
            raise TypeError
        return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except TypeError:
        raise refusal(f"{name} must be a row of real numbers", values) from None
