"""Settings of the ranking problem: the items, the game's noise, the goal and the games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.settings import LONGEST_HORIZON, Options, as_limit, option
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_positive_number,
)

# The whole order, the best k, the best one.
GOALS = ("order", "top", "best")
ORDER, TOP, BEST = GOALS

# The covariances of more items fit into no memory.
MOST_ITEMS = 10_000


def _as_pairs(name: str, value: Any) -> tuple[tuple[int, int], ...]:
    """Return pairs of different items, the lower index first, each once."""
    try:
        pairs = [(i, j) for i, j in value]
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold pairs of items as [(0, 3)], got {value!r}") from None
    found = set()
    for pair in pairs:
        i, j = sorted(as_integer(name, item, 0) for item in pair)
        if i == j:
            raise ValueError(f"{name} must hold pairs of different items, got {pair!r}")
        found.add((i, j))
    return tuple(sorted(found))


@dataclass(frozen=True)
class RankingSettings(Options):
    """The settings of ``Ranking-v0``; each option is described at its declaration.

    Raises:
        ValueError: for a value that is not allowed; it names the argument and what is.
    """

    sizes: ClassVar[tuple[str, ...]] = ("num_items", "horizon")

    num_items: int = option(20, as_integer, "items to be ranked", low=2, high=MOST_ITEMS)
    horizon: int = option(400, as_integer, "games in an episode", low=1, high=LONGEST_HORIZON)
    sigma: float = option(
        1.0, as_positive_number, "standard deviation of the prior of a skill, whose mean is 0"
    )
    beta: float = option(1.0, as_positive_number, "standard deviation of one performance")
    draw_margin: float = option(
        0.0, as_non_negative_number, "performances no further apart are a draw; 0: no draws"
    )
    goal: str = option(
        ORDER, as_choice, 'what has to be found: `"order"`, `"top"` or `"best"`', known=GOALS
    )
    k: int = option(1, as_integer, 'items at the top; `goal="best"` needs 1', low=1)
    cost: float = option(0.0, as_non_negative_number, "cost of a game, in misordered pairs")
    max_games_per_pair: int | None = option(
        None, as_limit, "games after which a pair cannot be chosen; None for no limit"
    )
    barred_pairs: Any = option((), _as_pairs, "pairs of items that never play, as `[(0, 3)]`")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k >= self.num_items:
            raise ValueError(f"k must be below num_items={self.num_items}, got {self.k!r}")
        if self.goal == BEST and self.k != 1:
            raise ValueError(f"k must be 1 with goal='best', got {self.k!r}")
        if any(j >= self.num_items for _, j in self.barred_pairs):
            raise ValueError(
                f"barred_pairs must hold items below num_items={self.num_items}, "
                f"got {self.barred_pairs!r}"
            )
        free = self.num_pairs - len(self.barred_pairs)
        if free == 0:
            raise ValueError("barred_pairs must leave at least one pair, they leave none")
        if 0 < self.limit * free < self.horizon:
            raise ValueError(
                "max_games_per_pair times the pairs that may play must be at least the horizon, "
                f"got {self.limit} times {free} for {self.horizon} games"
            )

    @property
    def num_pairs(self) -> int:
        """P = n (n - 1) / 2."""
        return self.num_items * (self.num_items - 1) // 2

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Items of each action, shape (P, 2): (0, 1), (0, 2), ..., (n - 2, n - 1)."""
        return np.stack(np.triu_indices(self.num_items, 1), axis=1)

    @property
    def cut(self) -> int:
        """Items above the border that counts: k, and 0 where the whole order counts."""
        return 0 if self.goal == ORDER else self.k

    @property
    def limit(self) -> int:
        """``max_games_per_pair``, 0 for none."""
        return self.max_games_per_pair or 0

    @property
    def noise(self) -> tuple[float, float]:
        """beta and the draw margin."""
        return self.beta, self.draw_margin

    @property
    def free_pairs(self) -> NDArray[np.bool_]:
        """Pairs that are not barred, shape (P,)."""
        free = np.ones((self.num_items, self.num_items), dtype=np.bool_)
        for i, j in self.barred_pairs:
            free[i, j] = False
        return free[np.triu_indices(self.num_items, 1)]

    @property
    def masks_change(self) -> bool:
        """True if the mask of allowed pairs changes."""
        return self.max_games_per_pair is not None or bool(self.barred_pairs)

    @property
    def observation_size(self) -> int:
        """Numbers in an observation: means, deviations, differences, the clock and the mask."""
        return 2 * self.num_items + (3 if self.masks_change else 2) * self.num_pairs + 1
