"""Teams as users write them: checked, and as arrays for the compiled kernels.

A side is a list of (mu, sigma) pairs or an array of shape (members, 2). Weights are for each side a
list with one number for each member. The arrays of one game are

    players     (3, players): means, standard deviations and weights, side by side
    side_start  (sides + 1,): where each side's players begin
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_float_array, as_number, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.dense_rank import dense_rank
from matchenv.trueskill.sides import LARGEST_WEIGHT, all_beliefs

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Pair = tuple[float, float]
Team = Sequence[Pair]
Weights = Sequence[Sequence[float]]

FLOAT64 = np.dtype(np.float64)


def flatten_teams(teams: Iterable[Team], weights: Weights | None = None) -> tuple[Floats, Integers]:
    """Return the arrays of one game.

    Args:
        teams: two or more sides.
        weights: factor of each performance, for example the share of the game played, in
            [0, 1e9], at least one of a side above 0; None for all 1.

    Returns:
        ``(players, side_start)``, new arrays.

    Raises:
        ValueError: for fewer than two sides, an empty side, NaN, infinity, sigma <= 0, or weights
            outside [0, 1e9], of another shape than the teams, or all 0 on a side.
    """
    sides = sides_of("teams", teams)
    rows = None if weights is None else sides_of("weights", weights)
    try:
        sizes = [len(side) for side in sides]
        numbers = [number for side in sides for mu, sigma in side for number in (mu, sigma)]
        if rows is None:
            flat = [1.0] * (len(numbers) // 2)
        elif [len(row) for row in rows] == sizes:
            flat = [weight for row in rows for weight in row]
        else:
            raise ValueError("weights must have one number for each member")
        players = np.array([*numbers[0::2], *numbers[1::2], *flat])
        if players.dtype is not FLOAT64 or players.ndim != 1:
            _refuse_bad(sides, rows)
            players = players.astype(np.float64)
        players = players.reshape(3, -1)
    except (TypeError, ValueError):
        _refuse_bad(sides, rows)
        raise
    side_start = np.array([0, *accumulate(sizes)])
    if not _are_allowed(players, side_start):
        _refuse_bad(sides, rows)
    return players, side_start


def sides_of(name: str, value: Any) -> list[Any]:
    """Return the entries for the sides as a list.

    Raises:
        ValueError: if ``value`` is not iterable.
    """
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{name} must have one entry for each side, got {value!r}") from None


def as_ranks(ranks: Sequence[float], sides: int) -> Floats:
    """Return the place of each side among the distinct ranks, 0 for the best.

    Ranks are compared exactly, so that integers of any size (for example nanoseconds) keep their
    order.

    Raises:
        ValueError: for another number of ranks, NaN or infinity.
    """
    places = dense_rank("ranks", ranks)
    if len(places) != sides:
        raise ValueError(f"ranks must have one number for each of {sides} sides, got {ranks!r}")
    return places.astype(np.float64)


def scales_too_far_apart() -> ValueError:
    """Return the error for beliefs whose game float64 cannot represent."""
    return ValueError("teams must not mix scales so far apart that float64 cannot hold the result")


@compiled
def _are_allowed(players: Floats, side_start: Integers) -> bool:
    """Return whether all numbers of a game are within limits."""
    sides = side_start.size - 1
    good = sides >= 2 and all_beliefs(players[0], players[1])
    for side in range(sides):
        largest = 0.0
        for m in range(side_start[side], side_start[side + 1]):
            good &= 0.0 <= players[2, m] <= LARGEST_WEIGHT
            largest = max(largest, players[2, m])
        good &= largest * largest > 0.0  # False for a side without members
    return good


def _refuse_bad(sides: list[Any], weights: list[Any] | None) -> None:
    """Raise ``ValueError`` for the first fault of teams and weights, if there is one."""
    if len(sides) < 2:
        raise ValueError(f"teams must have at least two sides, got {sides!r}")
    sizes = []
    for i, side in enumerate(sides):
        form = f"teams[{i}] must be a list of (mu, sigma) pairs, got {side!r}"
        try:
            pairs = [(mu, sigma) for mu, sigma in side]
        except (TypeError, ValueError):
            raise ValueError(form) from None
        if not pairs:
            raise ValueError(f"teams[{i}] must have at least one member, got none")
        for k, (mu, sigma) in enumerate(pairs):
            as_number(f"mu of teams[{i}][{k}]", mu)
            as_positive_number(f"sigma of teams[{i}][{k}]", sigma)
        sizes.append(len(pairs))
    if weights is None:
        return
    rows = [as_float_array(f"weights[{i}]", row) for i, row in enumerate(weights)]
    shapes = [row.shape for row in rows]
    if shapes != [(size,) for size in sizes]:
        raise ValueError(
            f"weights must have one number for each member, in sides of {sizes}, "
            f"got shapes {shapes}"
        )
    for i, row in enumerate(rows):
        if ((row < 0.0) | (row > LARGEST_WEIGHT)).any():
            raise ValueError(f"weights[{i}] must be in [0, {LARGEST_WEIGHT:g}], got {row.tolist()}")
        if row.max() * row.max() == 0.0:
            raise ValueError(f"weights[{i}] must have a number above 0, got {row.tolist()}")
