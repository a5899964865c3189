"""Probability of a whole ranking, by integration along the chain of neighbours.

In order of rank, each side's performance is compared with the next one's only. So the
probability is a chain of one-dimensional integrals (see ``chain_integral``), taken on ever finer
panels until the result stands still.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_positive_number
from matchenv.trueskill.chain_integral import integrate_chain
from matchenv.trueskill.factor_graph import (
    DRAWN,
    MARGIN,
    MEAN,
    TABLE_ROWS,
    VARIANCE,
    pass_messages,
)
from matchenv.trueskill.game import log_draw_probability_of, log_win_probability_of
from matchenv.trueskill.quality import performances
from matchenv.trueskill.sides import set_comparisons
from matchenv.trueskill.teams import Team, Weights, as_draw_margin, as_ranks, flatten_teams

Floats = NDArray[np.float64]

FEWEST_PANELS, MOST_PANELS = 8, 8192
# A draw sums over panels, so that its time grows with their square.
MOST_PANELS_WITH_DRAWS = 2048
# Bounds the time that a hopeless case takes: a few seconds.
MOST_PANELS_OF_ALL_SIDES = 1 << 17
ROUNDING = 1e-14
# Where a message's tolerance of 1e-3 leaves a window's centre, its width forgives.
WINDOW_TOLERANCE, WINDOW_ITERATIONS = 1e-3, 100


class RankingProbability(NamedTuple):
    """The probability of a ranking and how exact it is.

    Attributes:
        probability: in [0, 1]; 0 where it underflows.
        log_probability: its natural logarithm.
        error: relative difference between the last two grids of panels, an upper estimate
            of the relative error; 0 for two sides, which have a closed form, and infinite
            where the panels never were fine enough to say (gaps of hundreds of sigmas, or
            sides whose uncertainties differ by many orders of magnitude).
    """

    probability: float
    log_probability: float
    error: float


def ranking_probability(
    teams: Iterable[Team],
    ranks: Sequence[float],
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
    tolerance: float = 1e-9,
) -> RankingProbability:
    """Probability that a game ends in the given ranking.

    Two sides that are neighbours in the ranking and drew differ by at most the margin: that is
    all the model says of a draw. So with three or more sides and a margin, the performances of
    one game may fit several rankings, and the probabilities of all rankings do not add up to 1
    (footnote 1 of the paper). Without draws they do. Sides that drew are neighbours in the order
    in which they are given.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        weights: as in ``rate``.
        tolerance: relative error to reach; the result says what was reached.

    Returns:
        ``RankingProbability``; probability 0 for a draw without a margin.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2, P(r | s, A) averaged over the belief.
    """
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    bound = as_positive_number("tolerance", tolerance)
    flat = flatten_teams(teams, weights)
    sides = len(flat.side_start) - 1
    table, order = np.empty((TABLE_ROWS, sides)), np.empty(sides, dtype=np.int64)
    if set_comparisons(
        flat.side_start, as_ranks(ranks, sides), margin.margin, margin.grows, order, table
    ):
        return RankingProbability(0.0, -math.inf, 0.0)
    mean, variance = performances(flat, spread)
    table[MEAN], table[VARIANCE] = mean[order], variance[order]
    logarithm, error = _of_two(table) if sides == 2 else _of_many(table, bound)
    return RankingProbability(math.exp(logarithm), logarithm, error)


def _of_two(table: Floats) -> tuple[float, float]:
    gap, variance = table[MEAN, 0] - table[MEAN, 1], table[VARIANCE, 0] + table[VARIANCE, 1]
    kernel = log_draw_probability_of if table[DRAWN, 0] else log_win_probability_of
    return kernel(gap, variance, table[MARGIN, 0]), 0.0


def _of_many(table: Floats, tolerance: float) -> tuple[float, float]:
    """Logarithm of the probability, and its relative error, by ever finer panels."""
    sides = table.shape[1]
    pass_messages(table, sides, WINDOW_TOLERANCE, WINDOW_ITERATIONS)
    drawn = table[DRAWN, : sides - 1].any()
    finest = MOST_PANELS_WITH_DRAWS if drawn else MOST_PANELS
    most = min(finest, MOST_PANELS_OF_ALL_SIDES // sides)
    panels, error = FEWEST_PANELS, math.inf
    result = integrate_chain(table, panels)
    # The logarithm's own rounding is all that a very unlikely ranking can reach.
    while error > max(tolerance, ROUNDING * abs(result)) and 2 * panels <= most:
        panels *= 2
        previous, result = result, integrate_chain(table, panels)
        step = abs(previous - result)
        error = math.expm1(step) if step < 1.0 else math.inf
    return min(result, 0.0), error
