"""Rows of a ranking, and the places of its items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchenv.ranking.dense import DenseBelief
from matchenv.ranking.sparse import SparseBelief
from matchenv.runtime.arrays import Floats, Integers

DRAWS = 4000  # posterior draws for places; a probability of 0.95 has an error of 0.004
MANY_ITEMS, FEWER_DRAWS = 2_000, 200  # with more items there are so many draws


class Ranked(NamedTuple):
    """A row of a ranking; intervals have 95 % probability under the normal approximation.

    Skills are relative to the mean of the items, or to a reference. Games show differences only.

    Attributes:
        place: 1 for the largest posterior mean; 0 for retired items, which come last.
        item: name.
        mean: posterior mean of the skill.
        deviation: posterior standard deviation of the skill.
        low: lower end of the interval of the skill.
        high: upper end of the interval of the skill.
        elo: posterior mean in Elo points: the expected score of an even game has the same slope.
        elo_low: lower end of the interval in Elo points.
        elo_high: upper end of the interval in Elo points.
        best_place: upper end of the interval of the true place.
        worst_place: lower end of the interval of the true place.
        top: probability of being among the best k.
        games: games played.
    """

    place: int
    item: str
    mean: float
    deviation: float
    low: float
    high: float
    elo: float
    elo_low: float
    elo_high: float
    best_place: int
    worst_place: int
    top: float
    games: int


class Places(NamedTuple):
    """Places of all items, each of shape (n,), 0 for items that are not active.

    Attributes:
        best: upper ends of the 95 % intervals.
        worst: lower ends of the 95 % intervals.
        top: probabilities of being among the best k.
    """

    best: Integers
    worst: Integers
    top: Floats


def places_by_draws(belief: DenseBelief | SparseBelief, active: Integers, k: int) -> Places:
    """Return the places of the active items, from posterior draws."""
    size = belief.num_items
    count = DRAWS if size <= MANY_ITEMS else FEWER_DRAWS
    draws = belief.draws(active, count)
    places = np.empty(draws.shape, dtype=np.int32)
    ranks = np.arange(1, active.size + 1, dtype=np.int32)
    for row, draw in zip(places, draws, strict=True):
        row[np.argsort(-draw)] = ranks
    best = np.zeros(size, dtype=np.int64)
    worst = np.zeros(size, dtype=np.int64)
    top = np.zeros(size)
    limits = np.quantile(places, [0.025, 0.975], axis=0, method="inverted_cdf")
    best[active], worst[active] = limits
    top[active] = np.mean(places <= k, axis=0)
    return Places(best, worst, top)
