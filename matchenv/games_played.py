"""What one round of games gave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.play import (
    DRAW_DENSITY,
    MATCH_QUALITY,
    REPORT_ROWS,
    SKILL_DIFFERENCE,
    SQUARED_ERROR,
    TRUE_DRAW_DENSITY,
)

Floats = NDArray[np.float64]


class GamesPlayed(NamedTuple):
    """One game in each of B episodes, shape (B,) if not said.

    The vector environment gives fresh arrays; the scalar one writes every game into the same.

    Attributes:
        terminated: whether the episode ended with this game.
        report: shape (5, B), rows as ``matchenv.play.REPORT_ROWS``.
        outcomes: +1 player 0 won, -1 lost, 0 a draw, or no game because the episode waits.
        opponents: 0 to M - 1, as the actions named them.
    """

    terminated: NDArray[np.bool_]
    report: Floats
    outcomes: NDArray[np.int8]
    opponents: NDArray[np.int64]

    @classmethod
    def unwritten(cls, opponents: NDArray[np.int64]) -> GamesPlayed:
        """Arrays for games against these opponents, shape (B,), with nothing in them yet."""
        count = opponents.size
        return cls(
            np.empty(count, dtype=np.bool_),
            np.empty((len(REPORT_ROWS), count)),
            np.empty(count, dtype=np.int8),
            opponents,
        )

    def part(self, rows: slice) -> GamesPlayed:
        """Views of some rows, but for the report: a new array, as those rows lie apart in it."""
        count = rows.stop - rows.start
        return GamesPlayed(
            self.terminated[rows],
            np.empty((len(REPORT_ROWS), count)),
            self.outcomes[rows],
            self.opponents[rows],
        )

    @property
    def draw_density(self) -> Floats:
        """q under the belief before the game: eq. (5) of the 2011 paper."""
        return self.report[DRAW_DENSITY]

    @property
    def match_quality(self) -> Floats:
        """q relative to an even game of known skills: eq. (6)."""
        return self.report[MATCH_QUALITY]

    @property
    def true_draw_density(self) -> Floats:
        """q under the true skills: eq. (14)."""
        return self.report[TRUE_DRAW_DENSITY]

    @property
    def squared_error(self) -> Floats:
        """(mu_0 - s_0)^2 before the game."""
        return self.report[SQUARED_ERROR]

    @property
    def skill_difference(self) -> Floats:
        """s_0 less the opponent's true skill."""
        return self.report[SKILL_DIFFERENCE]
