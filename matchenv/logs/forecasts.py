"""Forecasts of pairs of sides: their probabilities, log loss and calibration.

A forecast is about two sides that met in a game, as if they had met alone. Log probabilities have
shape (pairs, 3): of a win, a draw and a loss of the first side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.match_log import MatchLog
from matchenv.logs.pairs import Outcomes
from matchenv.logs.ranks import known_neighbours, sides_of_equal_rank
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import draw_margin_from_probability
from matchenv.trueskill.game import log_outcome_probability_of

# Bins of a calibration.
BINS = 20


def draws_of_games(log: MatchLog) -> Integers:
    """Return (games,) the number of draws between neighbours in rank.

    A game of k sides has k - 1 pairs of neighbours. Sides of unknown order draw with nobody.
    """
    equal = sides_of_equal_rank(log.rank, log.game_start)
    drawn = equal > 1
    if log.unordered is not None:
        drawn &= ~log.unordered
    # n sides of equal rank are n - 1 draws: each counts as (n - 1) / n.
    share = np.where(drawn, 1.0 - 1.0 / equal, 0.0)
    return np.rint(np.bincount(log.team_game, share, log.num_games)).astype(np.int64)


def share_of_draws(log: MatchLog) -> float:
    """Return the share of draws among all pairs of neighbours in rank whose places are known.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'empirical draw probability'.
    """
    pairs = known_neighbours(log.rank, log.game_start, log.unordered)
    return float(draws_of_games(log).sum() / max(1, pairs.sum()))


def gaussian_log_probabilities(
    gap: Floats, variance: Floats, players: Integers, beta: float, draw_probability: float
) -> Floats:
    """Return log probabilities, (pairs, 3), for normal differences of performances.

    The draw margin grows with the square root of the number of players.

    Args:
        gap: (pairs,) means of the differences.
        variance: (pairs,) their variances.
        players: (pairs,) number of players of both sides.
        beta: standard deviation of one player's performance around skill.
        draw_probability: of two even sides of known skill, in [0, 1).
    """
    distinct, position = np.unique(players, return_inverse=True)
    margins = [draw_margin_from_probability(draw_probability, beta, int(n)) for n in distinct]
    return _log_probabilities(gap, variance, np.array(margins)[position])


@compiled
def _log_probabilities(gap: Floats, variance: Floats, margin: Floats) -> Floats:
    out = np.empty((gap.size, 3))
    for k in range(gap.size):
        for column, outcome in enumerate((1, 0, -1)):
            out[k, column] = log_outcome_probability_of(gap[k], variance[k], outcome, margin[k])
    return out


def log_losses(log_probability: Floats, outcome: Outcomes) -> Floats:
    """Return (pairs,) log losses, infinite for a probability of 0, from (pairs, 3) and (pairs,)."""
    return -log_probability[np.arange(len(outcome)), 1 - outcome.astype(np.int64)]


def pair_costs(gap: Floats, outcome: Outcomes) -> Floats:
    """Return (pairs,) 0 for the right order, 1 for the wrong one or a forecast draw, NaN for draws.

    ``gap`` is (pairs,) the forecast strength of the first side minus that of the second.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    return np.where(outcome == 0, np.nan, np.where(np.sign(gap) == outcome, 0.0, 1.0))


def mean_over_pairs(value: Floats, game: Integers) -> tuple[float, float]:
    """Return the mean of values (pairs,), without NaN, and its standard error; NaN for none.

    Pairs of one game share players, so each game counts as one observation; one has no error.
    """
    counted = ~np.isnan(value)
    if not counted.any():
        return math.nan, math.nan
    mean = float(value[counted].mean())
    by_game = np.bincount(game[counted], weights=value[counted] - mean)
    games = np.unique(game[counted]).size
    if games == 1:
        return mean, math.nan
    total = np.sum(by_game**2) * (games / (games - 1))
    return mean, float(np.sqrt(total) / np.count_nonzero(counted))


def constant_log_loss(outcome: Outcomes) -> float:
    """Return the log loss of a constant forecast: the share of draws, and equal sides."""
    draw = float(np.mean(outcome == 0))
    win = 0.5 * (1.0 - draw)
    return sum(p * -np.log(q) for p, q in ((draw, draw), (1.0 - draw, win)) if p > 0.0)


def calibrations(log_probability: Floats, outcome: Outcomes) -> dict[str, Any]:
    """Compare the probabilities of wins and draws with their frequencies.

    Each pair counts as a forecast of a win for both of its sides. Arguments as for ``log_losses``.

    Returns:
        For ``wins`` and ``draws``: the ``edges`` of ``BINS`` bins of equal width, which include
        their lower edges, up to 1 or the largest probability of a draw; for each bin the ``count``
        of forecasts, their mean ``stated`` probability and the ``observed`` frequency, NaN for
        none; and the ``error``, the mean of |stated - observed| over forecasts.
    """
    win, draw, loss = np.exp(log_probability.T)
    won = np.concatenate((outcome == 1, outcome == -1))
    return {
        "wins": _calibration(np.concatenate((win, loss)), won, 1.0),
        "draws": _calibration(draw, outcome == 0, float(draw.max(initial=0.0)) or 1.0),
    }


def _calibration(probability: Floats, happened: NDArray[np.bool_], end: float) -> dict[str, Any]:
    """Return one of ``calibrations``, with bins from 0 to ``end``."""
    edges = np.linspace(0.0, end, BINS + 1)
    bin_number = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, BINS - 1)
    count = np.bincount(bin_number, minlength=BINS)
    with np.errstate(invalid="ignore"):
        stated = np.bincount(bin_number, probability, BINS) / count
        observed = np.bincount(bin_number, happened, BINS) / count
        filled = count > 0
        error = np.dot(np.abs(stated - observed)[filled], count[filled]) / np.float64(count.sum())
    return {
        "edges": edges,
        "count": count,
        "stated": stated,
        "observed": observed,
        "error": float(error),
    }
