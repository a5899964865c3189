"""The parameters that a log may tell: scale, range, and where the search starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.replay.pairs import possible_and_found_draws

Floats = NDArray[np.float64]

# Skills have no scale of their own: the prior sets it.
MU, SIGMA = 25.0, 25.0 / 3.0

Scale = Literal["log", "logit", "plain"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of the model.

    Attributes:
        name: of the argument of ``replay_trueskill``.
        scale: in which the search moves and intervals are made.
        low: the smallest value of the search.
        high: the largest.
        start: where the search starts.
        step: a usual change on the scale.
        default: its value where the log cannot tell it, and before any fit.
    """

    name: str
    scale: Scale
    low: float
    high: float
    start: float
    step: float
    default: float

    def to_scale(self, value: float) -> float:
        """The value as the search sees it."""
        if self.scale == "log":
            return math.log(value)
        if self.scale == "logit":
            return math.log(value / (1.0 - value))
        return value

    def from_scale(self, place: float) -> float:
        """The value of a place of the search, within the range."""
        value = place
        if self.scale == "log":
            value = math.exp(place)
        elif self.scale == "logit":
            value = 1.0 / (1.0 + math.exp(-place))
        return min(max(value, self.low), self.high)

    def at_boundary(self, value: float) -> bool:
        """Whether a value is at an end of the range, or nearly."""
        place, ends = self.to_scale(value), (self.to_scale(self.low), self.to_scale(self.high))
        return min(abs(place - end) for end in ends) < 0.02 * abs(ends[1] - ends[0])


def parameters_of(log: MatchLog) -> tuple[list[Parameter], dict[str, str]]:
    """What a log may tell, and of what it cannot, why.

    Args:
        log: the games.

    Returns:
        ``(parameters, reasons)``, reasons by the names of the others.
    """
    possible, found = possible_and_found_draws(log.game_start, log.rank)
    draws = float(found.sum() / possible.sum())
    found_parameters = [
        Parameter("beta", "log", 0.02 * SIGMA, 20.0 * SIGMA, 25.0 / 6.0, 0.4, 25.0 / 6.0),
        Parameter("tau", "log", 1e-4 * SIGMA, SIGMA, 25.0 / 300.0, 1.0, 25.0 / 300.0),
    ]
    reasons: dict[str, str] = {}
    if draws > 0.0:
        share = min(max(draws, 2e-4), 0.9)
        found_parameters.append(
            Parameter("draw_probability", "logit", 1e-4, 0.95, share, 0.3, share)
        )
    else:
        reasons["draw_probability"] = "no game was drawn"
    if log.time is not None and log.time[-1] > log.time[0]:
        found_parameters.append(
            Parameter("time_drift", "log", 1e-5 * SIGMA, SIGMA, 2e-3 * SIGMA, 1.5, 0.0)
        )
    else:
        reasons["time_drift"] = "the log has no times"
    if log.neutral is not None and log.neutral.all():
        reasons["advantage"] = "all games are on neutral ground"
    elif (log.game_size == 2).all():
        found_parameters.append(
            Parameter("advantage", "plain", -3.0 * SIGMA, 3.0 * SIGMA, 0.0, 0.1 * SIGMA, 0.0)
        )
    else:
        reasons["advantage"] = "some games have more than two sides"
    size = log.team_size
    uneven = np.maximum.reduceat(size, log.game_start[:-1]) != np.minimum.reduceat(
        size, log.game_start[:-1]
    )
    if uneven.any():
        found_parameters.append(Parameter("team_exponent", "plain", 0.0, 2.0, 0.5, 0.3, 0.0))
    else:
        reasons["team_exponent"] = "all sides of a game have as many players"
    return found_parameters, reasons


def values_at(parameters: Sequence[Parameter], place: Floats) -> dict[str, float]:
    """The parameters by name at a place of the search."""
    return {each.name: each.from_scale(float(x)) for each, x in zip(parameters, place, strict=True)}


def place_of(parameters: Sequence[Parameter], values: Mapping[str, float]) -> Floats:
    """The place of the search of given values."""
    return np.array([each.to_scale(values[each.name]) for each in parameters])
