"""Pairs of sides that met in a game, the unit in which predictions are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Every pair of sides of every game.

    Attributes:
        first: (pairs,), one side of each pair.
        second: (pairs,), the other.
        game: (pairs,), the game in which they met.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 if even.
    """

    first: Ints
    second: Ints
    game: Ints
    outcome: NDArray[np.int8]


def pairs_of_sides(game_start: Ints, rank: NDArray[np.signedinteger]) -> Pairs:
    """All pairs of sides within each game, game by game.

    Args:
        game_start: (games + 1,), where each game's sides begin.
        rank: (sides,), low is good, equal is a draw.
    """
    sizes = np.diff(game_start)
    counts = sizes * (sizes - 1) // 2
    begins = np.concatenate([[0], np.cumsum(counts)])
    first = np.empty(begins[-1], dtype=np.int64)
    second = np.empty(begins[-1], dtype=np.int64)
    for size in np.unique(sizes):
        games = np.flatnonzero(sizes == size)
        low, high = np.triu_indices(size, 1)
        place = begins[games][:, None] + np.arange(len(low))
        first[place] = game_start[games][:, None] + low
        second[place] = game_start[games][:, None] + high
    game = np.repeat(np.arange(len(sizes)), counts)
    return Pairs(first, second, game, np.sign(rank[second] - rank[first]).astype(np.int8))


def possible_and_found_draws(
    game_start: Ints, rank: NDArray[np.signedinteger]
) -> tuple[Ints, Ints]:
    """How many draws each game could have had between neighbours in rank, and had.

    A game of k sides has k - 1 pairs of neighbours when its sides are sorted by rank.

    Args:
        game_start: (games + 1,), where each game's sides begin.
        rank: (sides,), low is good, equal is a draw.

    Returns:
        ``(possible, found)``, each (games,).
    """
    sizes = np.diff(game_start)
    game = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rank, game))
    drawn = (np.diff(rank[order]) == 0) & (np.diff(game[order]) == 0)
    return sizes - 1, np.bincount(game[order][1:][drawn], minlength=len(sizes))
