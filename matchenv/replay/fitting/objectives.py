"""What a fit makes as likely as can be: games not yet seen, or the whole log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.replay.fitting.intervals import normal_spread, spread_of
from matchenv.replay.fitting.likelihood import by_game, pair_losses
from matchenv.replay.fitting.parameters import MU, SIGMA
from matchenv.replay.pairs import pairs_of_sides
from matchenv.replay.smoothing import smooth

Floats = NDArray[np.float64]

ObjectiveName = Literal["predictive", "evidence"]

# Where messages have all but settled, the evidence does not feel what they lack: its error is the
# square of theirs, some millionths of a nat.
SETTLED_ENOUGH = 1e-3


class Objective(Protocol):
    """What a search makes small, and how sure its minimum is."""

    def loss(self, values: Mapping[str, float]) -> float:
        """What is made small."""
        ...

    def losses(self, values: Mapping[str, float]) -> Floats:
        """The same without a divisor, in parts whose sum counts."""
        ...

    def spread(
        self, slopes: Floats, curvature: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Where the minimum might lie: as ``spread_of``."""
        ...


class Predictive:
    """Each pair of sides is foreseen from the games before.

    Args:
        log: the games.

    Source: Dawid (1984), "The prequential approach".
    """

    def __init__(self, log: MatchLog) -> None:
        self._log = log
        self._pairs = pairs_of_sides(log.game_start, log.rank)

    def loss(self, values: Mapping[str, float]) -> float:
        """For each pair."""
        return float(pair_losses(self._log, self._pairs, values).mean())

    def losses(self, values: Mapping[str, float]) -> Floats:
        """(games,) sums over the pairs of each game."""
        losses = pair_losses(self._log, self._pairs, values)
        return by_game(losses, self._pairs, self._log.num_games)

    def spread(
        self, slopes: Floats, curvature: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """A bootstrap over blocks of games."""
        return spread_of(slopes, curvature, rng)


class Evidence:
    """The whole log at a time: the likelihood of the parameters, with all skills integrated out.

    Args:
        log: the games.

    Source: Dangauthier, Herbrich, Minka, Graepel (2008), TrueSkill Through Time.
    """

    def __init__(self, log: MatchLog) -> None:
        self._log = log

    def loss(self, values: Mapping[str, float]) -> float:
        """For each game."""
        return float(self.losses(values)[0]) / self._log.num_games

    def losses(self, values: Mapping[str, float]) -> Floats:
        """(1,) for all games."""
        given: dict[str, Any] = {"mu": MU, "sigma": SIGMA, "draw_probability": 0.0, **values}
        return np.array([-smooth(self._log, **given, tolerance=SETTLED_ENOUGH).log_evidence])

    def spread(
        self, slopes: Floats, curvature: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """The normal that the likelihood's curvature gives."""
        del slopes
        return normal_spread(curvature, rng)


OBJECTIVES: dict[str, type[Predictive] | type[Evidence]] = {
    "predictive": Predictive,
    "evidence": Evidence,
}
