"""How well a model foresaw the games of a log, game by game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.replay.fitting.parameters import MU, SIGMA
from matchenv.replay.forecasts import gaussian_log_probabilities
from matchenv.replay.pairs import Pairs
from matchenv.replay.trueskill import replay_trueskill

Floats = NDArray[np.float64]


def pair_losses(log: MatchLog, pairs: Pairs, values: Mapping[str, float]) -> Floats:
    """Minus the log probability of what happened, for each pair of sides, before its game.

    Args:
        log: the games in order of play.
        pairs: all pairs of sides of the log.
        values: arguments of ``replay_trueskill`` by name.

    Returns:
        Shape (pairs,).
    """
    log_probability = forecast(log, pairs, values)
    column = 1 - pairs.outcome.astype(np.int64)
    losses: Floats = -np.take_along_axis(log_probability, column[:, None], axis=1)[:, 0]
    return losses


def forecast(log: MatchLog, pairs: Pairs, values: Mapping[str, float]) -> Floats:
    """Log probabilities of a win, a draw and a loss of each pair's first side, (pairs, 3)."""
    given: dict[str, Any] = {"mu": MU, "sigma": SIGMA, "draw_probability": 0.0, **values}
    draws = given["draw_probability"]
    replay = replay_trueskill(log, **given)
    return gaussian_log_probabilities(
        pairs, replay.team_mean, replay.team_variance, log.team_size, given["beta"], draws
    )


def constant_losses(pairs: Pairs, before: int) -> tuple[Floats, Floats]:
    """Losses of forecasts that never change, for each pair.

    Args:
        pairs: all pairs of sides.
        before: shares are counted in the games before this one.

    Returns:
        ``(even, by_side)``: both sides with the same chance, as
        ``matchenv.replay.calibration.constant_log_loss`` has it, and each outcome of the
        first side with its own share.
    """
    outcome = pairs.outcome.astype(np.int64)
    seen = outcome[pairs.game < before]
    counts = np.array([(seen == value).sum() for value in (1, 0, -1)]) + 0.5
    shares = counts / counts.sum()
    even = np.array([0.5 * (1.0 - shares[1]), shares[1], 0.5 * (1.0 - shares[1])])
    with np.errstate(divide="ignore"):
        return -np.log(even[1 - outcome]), -np.log(shares[1 - outcome])


def by_game(losses: Floats, pairs: Pairs, games: int) -> Floats:
    """Sums over the pairs of each game, shape (games,)."""
    sums: Floats = np.bincount(pairs.game, weights=losses, minlength=games).astype(np.float64)
    return sums
