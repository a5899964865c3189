"""Ranks of the sides of games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.arrays import Integers, Masks
from matchenv.trueskill.teams import dense_rank

Indices = NDArray[np.int32]


def ranks_from_scores(score: ArrayLike | Sequence[Any], game_start: ArrayLike) -> Indices:
    """Return the rank of each team in its game: the number of teams with a higher score.

    Args:
        score: (teams,) finite numbers, compared exactly; the higher one wins.
        game_start: (games + 1,) first team of each game.

    Returns:
        (teams,) int32; 0 is best, equal scores have equal ranks.

    Raises:
        ValueError: for NaN, infinity, or anything else than a number.
    """
    level = dense_rank("score", score)
    start = np.asarray(game_start)
    game = np.repeat(np.arange(len(start) - 1), np.diff(start))
    # By game, and by falling score within each.
    order = game * (level.max(initial=0) + 1) - level
    _, position, count = np.unique(order, return_inverse=True, return_counts=True)
    before = np.cumsum(count) - count
    return (before[position] - start[game]).astype(np.int32)


def sides_of_equal_rank(rank: Indices, game_start: Integers) -> Integers:
    """Return (teams,) the number of sides of the same game with the rank of each side.

    Args:
        rank: (teams,) number of sides of the same game that did better.
        game_start: (games + 1,) first team of each game.
    """
    start_of_team = np.repeat(game_start[:-1], np.diff(game_start))
    position = start_of_team + rank  # of the first side with this rank, in order of rank
    return np.bincount(position, minlength=len(rank))[position]


def known_neighbours(rank: Indices, game_start: Integers, unordered: Masks | None) -> Integers:
    """Return (games,) the number of pairs of neighbours in rank whose places are both known.

    A game of k sides has k - 1 pairs of neighbours. Sides of unknown order, for example losers of
    a game whose log names only the winner, have no known place.
    """
    sides = np.diff(game_start)
    if unordered is None:
        return sides - 1
    game = np.repeat(np.arange(len(sides)), sides)
    order = np.lexsort((unordered, rank, game))
    known = ~unordered[order]
    both = known[1:] & known[:-1] & (game[order][1:] == game[order][:-1])
    return np.bincount(game[order][1:][both], minlength=len(sides))
