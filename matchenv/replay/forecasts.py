"""Probabilities of a win, a draw and a loss that a system forecasts for pairs of sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.ratings.elo import elo_log_probabilities
from matchenv.replay.pairs import Pairs
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import draw_margin_from_probability
from matchenv.trueskill.game import log_draw_probability_of, log_win_probability_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def gaussian_log_probabilities(
    pairs: Pairs,
    mean: Floats,
    variance: Floats,
    players: Ints,
    beta: float,
    draw_probability: float,
) -> Floats:
    """Log probabilities where the sides' performances are normal.

    Each pair is judged as if it met alone; the draw margin grows with the root of the
    number of players.

    Args:
        pairs: the pairs of sides.
        mean: (teams,), means of the sides' performances.
        variance: (teams,), their variances.
        players: (teams,), how many players make up each performance.
        beta: standard deviation of one player's performance around skill.
        draw_probability: of two even sides of known skill, in [0, 1).

    Returns:
        (pairs, 3), natural logarithms for a win, a draw and a loss of the first side.
    """
    distinct, place = np.unique(players[pairs.first] + players[pairs.second], return_inverse=True)
    margins = [draw_margin_from_probability(draw_probability, beta, int(n)) for n in distinct]
    return _log_probabilities(
        mean[pairs.first] - mean[pairs.second],
        variance[pairs.first] + variance[pairs.second],
        np.array(margins)[place],
    )


def logistic_log_probabilities(
    pairs: Pairs, rating: Floats, players: Ints, draw_probability: float
) -> Floats:
    """Log probabilities where the win probability is logistic in the ratings' difference.

    The performance of a side of several players spreads wider than that of one, by the root of
    their number.

    Args:
        pairs: the pairs of sides.
        rating: (teams,), ratings of the sides.
        players: (teams,), how many players make up each.
        draw_probability: of two even sides, in [0, 1).

    Returns:
        As ``gaussian_log_probabilities``.
    """
    gap = rating[pairs.first] - rating[pairs.second]
    gap = gap * np.sqrt(2.0 / (players[pairs.first] + players[pairs.second]))
    return elo_log_probabilities(gap, draw_probability)


@compiled
def _log_probabilities(gap: Floats, variance: Floats, margin: Floats) -> Floats:
    out = np.empty((gap.size, 3))
    for k in range(gap.size):
        out[k, 0] = log_win_probability_of(gap[k], variance[k], margin[k])
        out[k, 1] = log_draw_probability_of(gap[k], variance[k], margin[k])
        out[k, 2] = log_win_probability_of(-gap[k], variance[k], margin[k])
    return out
