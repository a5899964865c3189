"""Pairs of sides that met in a game."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.arrays import Floats, Integers, Masks

Outcomes = NDArray[np.int8]

# Most pairs of sides in a log.
MOST_PAIRS = 100_000_000


class Pairs(NamedTuple):
    """Pairs of sides of games; arrays of shape (pairs,)."""

    first: Integers  # one side of each pair
    second: Integers  # the other side
    game: Integers  # their game
    outcome: Outcomes  # +1 if the first side did better, -1 if the second, 0 for a draw

    def gap(self, value: Floats) -> Floats:
        """Return (pairs,) differences of values of shape (sides,), first minus second."""
        return value[self.first] - value[self.second]

    def sum(self, value: NDArray[Any]) -> NDArray[Any]:
        """Return (pairs,) sums of values of shape (sides,)."""
        return value[self.first] + value[self.second]


def pairs_of_sides(
    game_start: Integers, rank: NDArray[np.signedinteger], unordered: Masks | None = None
) -> Pairs:
    """Return all pairs of sides within each game whose order is known, game by game.

    Args:
        game_start: see ``MatchLog``.
        rank: see ``MatchLog``.
        unordered: see ``MatchLog``; sides of one rank that are in an unknown order are no pair.

    Raises:
        ValueError: for more than ``MOST_PAIRS``.
    """
    sizes = np.diff(game_start)
    count = int((sizes * (sizes - 1) // 2).sum())
    if count > MOST_PAIRS:
        raise ValueError(
            f"log must have at most {MOST_PAIRS:,} pairs of sides that met, which take 20 GB of "
            f"memory, it has {count:,}; the largest game has {sizes.max():,} sides"
        )
    later = np.repeat(game_start[1:], sizes) - np.arange(len(rank)) - 1  # later sides of the game
    first = np.repeat(np.arange(len(rank)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    game = np.repeat(np.arange(len(sizes)), sizes * (sizes - 1) // 2)
    outcome = np.sign(rank[second] - rank[first]).astype(np.int8)
    pairs = Pairs(first, second, game, outcome)
    if unordered is None:
        return pairs
    known = (outcome != 0) | ~unordered[first]
    return Pairs(first[known], second[known], game[known], outcome[known])
