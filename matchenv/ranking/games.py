"""Recorded games, and their counts by players and outcome."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from matchenv.belief.joint import NOBODY, Results, Sites, new_sites
from matchenv.runtime.arrays import Floats, Integers


class Game(NamedTuple):
    """One recorded game.

    Attributes:
        first: the item that was named first, or played at home.
        second: the other item.
        outcome: +1 if ``first`` won, -1 if ``second`` won, 0 for a draw.
        neutral: whether nobody was first, so that ``first`` has no advantage.
        cluster: games with equal names are not independent, for example votes on one prompt.
    """

    first: str
    second: str
    outcome: int
    neutral: bool = False
    cluster: str | None = None


class IndexedGame(NamedTuple):
    """A game with items and cluster by index."""

    i: int
    j: int
    outcome: int
    advantage: int  # 1 if i was first, 0 if nobody was
    cluster: int  # NOBODY for a game on its own


class GameTable:
    """Games in the order in which they were recorded, with the sites of their belief.

    Games with equal players, sides and outcome share a row and a site.

    Attributes:
        games: the games.
        row: row of each game.
    """

    def __init__(self) -> None:
        self.games: list[IndexedGame] = []
        self.row: list[int] = []
        self._row_of: dict[tuple[int, int, int, int], int] = {}
        self._count: list[int] = []
        self._sites = new_sites(0)
        self._results: Results | None = None

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: IndexedGame) -> None:
        """Record a game."""
        i, j, outcome, advantage, _ = game
        if advantage == 0 and i > j:
            i, j, outcome = j, i, -outcome
        key = (i, j, outcome, advantage)
        row = self._row_of.setdefault(key, len(self._count))
        if row == len(self._count):
            self._count.append(0)
        self._count[row] += 1
        self.games.append(game)
        self.row.append(row)
        self._results = None

    def remove(self, index: int) -> IndexedGame:
        """Remove a game by its index, and return it."""
        self._count[self.row.pop(index)] -= 1
        self._results = None
        return self.games.pop(index)

    def results(self, num_items: int, *, has_advantage: bool) -> Results:
        """Return the counted games.

        Args:
            num_items: number of items.
            has_advantage: whether the advantage of the first item is coordinate ``num_items``.
        """
        if self._results is None:
            keys = np.array(list(self._row_of), dtype=np.int64).reshape(-1, 4)
            i, j, outcome, advantage = np.ascontiguousarray(keys.T)
            coordinate = np.full(i.size, NOBODY)
            if has_advantage:
                coordinate[advantage == 1] = num_items
            count = np.array(self._count, dtype=np.float64)
            self._results = Results(i, j, outcome, coordinate, count)
        return self._results

    def forget_results(self) -> None:
        """Rebuild the counts at the next call, after the number of items has changed."""
        self._results = None

    def sites(self) -> Sites:
        """Return the sites of the rows; those of new rows have no information."""
        missing = len(self._count) - self._sites.precision.size
        if missing:
            padded = [np.append(array, np.zeros(missing)) for array in self._sites]
            self._sites = Sites(*padded)
        return self._sites

    def games_of_items(self, num_items: int) -> Integers:
        """Return the number of games of each item, shape (n,)."""
        players = [player for game in self.games for player in (game.i, game.j)]
        return np.bincount(np.array(players, dtype=np.int64), minlength=num_items)

    def first_counts(self) -> Counter[tuple[int, int]]:
        """Return how often each item was first against each other one."""
        return Counter((game.i, game.j) for game in self.games)

    @property
    def draws(self) -> int:
        """Number of draws."""
        draws = 0
        for (_, _, outcome, _), row in self._row_of.items():
            if outcome == 0:
                draws += self._count[row]
        return draws

    def columns(self) -> tuple[Integers, Integers, Integers, Integers, Integers]:
        """Return the games' fields, each of shape (G,)."""
        fields = np.array(self.games, dtype=np.int64).reshape(-1, 5)
        i, j, outcome, advantage, cluster = np.ascontiguousarray(fields.T)
        return i, j, outcome, advantage, cluster

    def unit_sites(self) -> tuple[Floats, Floats]:
        """Return precision and shift of each game's site, as seen by i, shape (G,)."""
        sites = self.sites()
        rows = np.array(self.row, dtype=np.int64)
        i, j, _, advantage, _ = self.columns()
        swapped = (advantage == 0) & (i > j)
        shift = np.where(swapped, -sites.shift[rows], sites.shift[rows])
        return sites.precision[rows], shift
