"""The choice of pairs: batches, and who is named first."""

from __future__ import annotations

from collections import Counter

import numpy as np

from matchenv.baselines.ranking import KNOWLEDGE, WIDEST
from matchenv.ranking.dense import DenseBelief, Goal, Pair
from matchenv.ranking.sparse import SparseBelief
from matchenv.runtime.arrays import Integers, Masks
from matchenv.runtime.random import uniform

# A batch plays rarer pairs with at least this share of the best score.
SPREAD = 0.5


class Sides:
    """Who is named first: balanced within pairs, then for items, then by chance.

    Attributes:
        batch: pairs that were added, by the order of their items.

    Args:
        first_counts: recorded games of each pair, by the order of its items.
        balance: of each item, recorded games in which it was first minus those in which it was not.
        seed: decides where all else is equal.
    """

    def __init__(self, first_counts: Counter[Pair], balance: Counter[int], seed: int) -> None:
        self._earlier = first_counts, balance
        self.batch: Counter[Pair] = Counter()
        self._balance: Counter[int] = Counter()
        self._key = np.uint64(seed)

    def add(self, i: int, j: int) -> None:
        """Count a game in which i is first."""
        self.batch[i, j] += 1
        self._balance[i] += 1
        self._balance[j] -= 1

    def times(self, i: int, j: int) -> int:
        """Return how often a pair was added."""
        return self.batch[i, j] + self.batch[j, i]

    def ordered(self, i: int, j: int) -> Pair:
        """Return the pair with the item first that should be named first."""
        counts, balance = self._earlier
        i_first = counts[i, j] + self.batch[i, j]
        j_first = counts[j, i] + self.batch[j, i]
        if i_first != j_first:
            return (i, j) if i_first < j_first else (j, i)
        i_lead = balance[i] + self._balance[i]
        j_lead = balance[j] + self._balance[j]
        if i_lead != j_lead:
            return (i, j) if i_lead < j_lead else (j, i)
        games = i_first + j_first
        number = uniform(self._key, np.int64(i), np.int64(j) * 1_000_000 + games)
        return (i, j) if number < 0.5 else (j, i)


class Batch:
    """Pairs that are chosen one after another, each given the games of those before it.

    Args:
        belief: learns what games of the pairs are expected to teach; changed.
        goal: what is to be settled.
        active: items that can play, ascending.
        barred: pairs that are never chosen, the smaller index first.
        sides: who is named first.
        disjoint: whether an item plays one game at a time.
    """

    def __init__(
        self,
        belief: DenseBelief | SparseBelief,
        goal: Goal,
        active: Integers,
        barred: set[Pair],
        sides: Sides,
        *,
        disjoint: bool,
    ) -> None:
        self._belief = belief
        self._goal = goal
        self._active = active
        self._barred = barred
        self._sides = sides
        self._disjoint = disjoint
        self._free = np.ones(belief.num_items, dtype=np.bool_)

    def add_running(self, i: int, j: int) -> None:
        """Add a pair whose game is running."""
        self._add(i, j)
        self._belief.expect((i, j), first=True)

    def chosen(self, count: int) -> list[Pair]:
        """Return pairs, the first to be named first; fewer if there are no more."""
        pairs: list[Pair] = []
        while len(pairs) < count:
            best = self._best_pair()
            if best is None:
                break
            i, j = self._sides.ordered(*best)
            self._add(i, j)
            pairs.append((i, j))
            if len(pairs) < count:
                self._belief.expect((i, j), first=True)
        return pairs

    def _add(self, i: int, j: int) -> None:
        self._sides.add(i, j)
        if self._disjoint:
            self._free[[i, j]] = False

    def _best_pair(self) -> Pair | None:
        """Return the pair with the best score, or a near one that is rarer in the batch."""
        is_empty = not self._sides.batch
        # All scores are needed where the best pair may not be playable.
        is_restricted = self._disjoint or bool(self._barred)
        floor = 0.0
        if not is_restricted:
            floor = 1.0 if is_empty else SPREAD
        pairs, scores = self._belief.scores(KNOWLEDGE, self._goal, self._active, floor)
        if is_restricted:
            playable = self._is_playable(pairs)
            if not playable.any():
                return None
            if self._disjoint and scores[playable].max() < 0.0:  # none counts for the goal
                pairs, scores = self._belief.scores(WIDEST, self._goal, self._active)
            scores[~playable] = -np.inf
        best = int(scores.argmax())
        if not is_empty and scores[best] > 0.0:
            near = np.flatnonzero(scores >= SPREAD * scores[best])
            times = np.array([self._sides.times(i, j) for i, j in pairs[near].tolist()])
            best = int(near[np.lexsort((-scores[near], times))[0]])
        i, j = pairs[best].tolist()
        return i, j

    def _is_playable(self, pairs: Integers) -> Masks:
        playable = self._free[pairs[:, 0]] & self._free[pairs[:, 1]]
        if self._barred:
            size = self._belief.num_items
            barred = np.array([i * size + j for i, j in self._barred])
            codes = pairs.min(axis=1) * size + pairs.max(axis=1)
            playable &= ~np.isin(codes, barred)
        return playable
