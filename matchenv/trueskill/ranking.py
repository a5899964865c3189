"""The probability of a whole ranking, by integration along the chain of neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import LARGEST_SKILL, as_positive_number
from matchenv.trueskill.draw_margin import as_draw_margin
from matchenv.trueskill.game import log_outcome_probability_of
from matchenv.trueskill.normal import LOG_SQRT_2PI
from matchenv.trueskill.sides import (
    DRAWN,
    FROM_BETTER,
    FROM_WORSE,
    MARGIN,
    MEAN,
    ORDER,
    PRECISION,
    SHIFT,
    TABLE_ROWS,
    VARIANCE,
    Constants,
    pass_messages,
    performances,
    set_comparisons,
)
from matchenv.trueskill.teams import Team, Weights, as_ranks, flatten_teams

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NODES = 12  # of each panel
# Panels for each side.
FEWEST_PANELS, MOST_PANELS = 8, 1024
# Bounds the time that a hopeless case takes: a few seconds.
MOST_PANELS_OF_ALL_SIDES = 1 << 15
ROUNDING = 1e-14
# The windows are wide enough for messages of this tolerance.
WINDOW_TOLERANCE, WINDOW_ITERATIONS = 1e-3, 100

_X, _W = np.polynomial.legendre.leggauss(NODES)
# Values at the nodes -> coefficients of the Legendre series through them.
_TO_SERIES = np.polynomial.legendre.legvander(_X, NODES - 1) * np.multiply.outer(
    _W, np.arange(NODES) + 0.5
)
# Half as many nodes integrate that series exactly.
_HALF_X, _HALF_W = np.polynomial.legendre.leggauss(NODES // 2)


class RankingProbability(NamedTuple):
    """The probability of a ranking and its precision.

    Attributes:
        probability: in [0, 1]; 0 where it underflows.
        log_probability: its natural logarithm.
        error: estimate of the relative error, from grids of two sizes; 0 for two sides, which have
            a closed form, and infinite where no grid was fine enough to say (gaps of hundreds of
            sigmas, or sides whose uncertainties differ by many orders of magnitude).
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
    """Return the probability that a game ends in the given ranking.

    With f_i the density of the performance of side i, in order of rank, and h = 1 for the last
    side::

        h_i(x) = integral of f_{i+1}(y) h_{i+1}(y) over y < x - margin     (i won)
                                           or over |x - y| <= margin       (a draw),

    and the probability is the integral of f_0 h_0. It is computed on ever finer grids.

    A draw of two neighbours in the ranking means only that they differ by at most the margin. So
    with three or more sides and a margin, the performances of one game may fit several rankings,
    and the probabilities of all rankings do not add up to 1 (footnote 1 of the paper). Sides that
    drew are neighbours in the order in which they are given.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        weights: as in ``rate``.
        tolerance: relative error to reach; the result has the one that was reached.

    Returns:
        ``RankingProbability``; probability 0 for a draw without a margin.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), section 2, P(r | s, A) averaged over the belief.
    """
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    bound = as_positive_number("tolerance", tolerance)
    players, side_start = flatten_teams(teams, weights)
    sides = len(side_start) - 1
    table, model = (
        np.empty((TABLE_ROWS, sides)),
        Constants(spread, 0.0, *margin, WINDOW_TOLERANCE, 1),
    )
    set_comparisons(side_start, as_ranks(ranks, sides), model, table)
    if margin.margin == 0.0 and table[DRAWN, : sides - 1].any():
        return RankingProbability(0.0, -math.inf, 0.0)
    mean, variance, _ = performances(players, side_start, spread)
    order = table[ORDER].astype(np.int64)
    table[MEAN], table[VARIANCE] = mean[order], variance[order]
    if sides > 2:
        logarithm, error = _log_ranking_probability(table, bound)
    else:
        gap, outcome = mean[order[0]] - mean[order[1]], 1 - int(table[DRAWN, 0])
        logarithm = log_outcome_probability_of(gap, variance.sum(), outcome, table[MARGIN, 0])
        error = 0.0
    return RankingProbability(math.exp(logarithm), logarithm, error)


def _log_ranking_probability(table: Floats, tolerance: float) -> tuple[float, float]:
    """Return the logarithm of the probability and its relative error, by ever finer panels."""
    sides = table.shape[1]
    pass_messages(table, sides, WINDOW_TOLERANCE, WINDOW_ITERATIONS)
    most = min(MOST_PANELS, MOST_PANELS_OF_ALL_SIDES // sides)
    panels, error = FEWEST_PANELS, math.inf
    result = _integrate_chain(table, panels)
    # A very unlikely ranking can reach no more than its logarithm's own rounding.
    while error > max(tolerance, ROUNDING * abs(result)) and 2 * panels <= most:
        panels *= 2
        previous, result = result, _integrate_chain(table, panels)
        step = abs(previous - result)
        error = math.expm1(step) if step < 1.0 else math.inf
    return min(result, 0.0), error


class _Panels(NamedTuple):
    """f_i h_i of one side on P panels, each with a scale of its own against underflow.

    Attributes:
        edges: (P + 1,) edges of the panels.
        series: (P, NODES) Legendre coefficients of the scaled integrand.
        scale: (P,) logarithm of the scale.
        below: (P + 1,) logarithm of the integral up to each edge.
        above: (P + 1,) that of the integral from each edge on.
    """

    edges: Floats
    series: Floats
    scale: Floats
    below: Floats
    above: Floats


@np.errstate(all="ignore")
def _integrate_chain(table: Floats, panels: int) -> float:
    """Return the logarithm of the ranking's probability; minus infinity if no panel has any of it.

    Args:
        table: as ``pass_messages`` left it; one column a side, in order of rank.
        panels: panels of each side's own performance.
    """
    result, worse = 0.0, None
    for i in range(table.shape[1] - 1, -1, -1):
        edges = _panel_edges(table, i, panels)
        if len(edges) < 2 or not np.isfinite(edges).all():
            return -math.inf  # scales so far apart that float64 cannot separate the edges
        half = 0.5 * np.diff(edges)
        x = (0.5 * (edges[1:] + edges[:-1]))[:, None] + half[:, None] * _X
        value = -0.5 * (x - table[MEAN, i]) ** 2 / table[VARIANCE, i]
        if worse is not None and table[DRAWN, i]:
            value += _log_around(worse, x.ravel(), table[MARGIN, i]).reshape(x.shape)
        elif worse is not None:
            value += _log_below(worse, x.ravel() - table[MARGIN, i]).reshape(x.shape)
        scale = value.max(axis=1)
        scale[~np.isfinite(scale)] = -LARGEST_SKILL
        series = np.exp(value - scale[:, None]) @ _TO_SERIES
        whole = scale + np.log(np.maximum(0.0, series[:, 0] * 2.0 * half))
        below = np.concatenate([[-math.inf], np.logaddexp.accumulate(whole)])
        above = np.concatenate([np.logaddexp.accumulate(whole[::-1])[::-1], [-math.inf]])
        worse = _Panels(edges, series, scale, below, above)
        result -= LOG_SQRT_2PI + 0.5 * math.log(table[VARIANCE, i])
    result += float(below[-1])
    return -math.inf if math.isnan(result) else result


def _window(table: Floats, i: int) -> tuple[float, float]:
    """Return centre and half width of where side i performs, given the ranking.

    The density is log-concave and falls at least as fast as the prior does, which bounds the mass
    outside: below 1e-15 of the whole, by the smaller of the two widths.
    """
    precision = table[FROM_BETTER + PRECISION, i] + table[FROM_WORSE + PRECISION, i]
    shift = table[FROM_BETTER + SHIFT, i] + table[FROM_WORSE + SHIFT, i]
    total = 1.0 + table[VARIANCE, i] * precision
    spread = math.sqrt(table[VARIANCE, i] / total)
    half = min(40.0 * spread, 8.5 * math.sqrt(table[VARIANCE, i]) + 3.0 * spread)
    return table[MEAN, i] + table[VARIANCE, i] * shift / total, half


def _panel_edges(table: Floats, i: int, panels: int) -> Floats:
    """Return the edges of side i's panels: its own grid and, moved by the margin, its neighbour's.

    The integrand changes wherever the next side's density does, which may be far narrower.
    """
    centre, half = _window(table, i)
    own = np.linspace(centre - half, centre + half, panels + 1)
    if i + 1 == table.shape[1]:
        return own
    centre, half = _window(table, i + 1)
    other = np.linspace(centre - half, centre + half, panels + 1)
    grids = [own, other + table[MARGIN, i]]
    if table[DRAWN, i]:
        grids.append(other - table[MARGIN, i])
    edges = np.concatenate(grids)
    return np.unique(edges[(edges >= own[0]) & (edges <= own[-1])])


def _log_part(panels: _Panels, n: Integers, middle: Floats, half: Floats) -> Floats:
    """Return the logarithms of integrals over [middle - half, middle + half] on panels n.

    The half widths may be far below the rounding of the limits.
    """
    left = panels.edges[n][:, None]
    stretch = 2.0 / (panels.edges[n + 1][:, None] - left)
    x = (middle[:, None] + half[:, None] * _HALF_X - left) * stretch - 1.0
    powers = np.polynomial.legendre.legvander(x, NODES - 1)
    values = (powers @ panels.series[n][:, :, None])[:, :, 0]
    return panels.scale[n] + np.log(np.maximum(0.0, values @ _HALF_W * half))


def _panel_of(panels: _Panels, x: Floats) -> Integers:
    """Return the panel of each x; the nearest one for x outside all."""
    return np.clip(np.searchsorted(panels.edges, x, "right") - 1, 0, len(panels.scale) - 1)


def _log_below(panels: _Panels, high: Floats) -> Floats:
    """Return the logarithm of the integral up to each ``high``."""
    high = np.minimum(high, panels.edges[-1])
    n = _panel_of(panels, high)
    left = panels.edges[n]
    part = _log_part(panels, n, 0.5 * (left + high), 0.5 * (high - left))
    return np.where(high <= panels.edges[0], -math.inf, np.logaddexp(panels.below[n], part))


def _log_around(panels: _Panels, middle: Floats, margin: float) -> Floats:
    """Return the logarithm of the integral over [middle - margin, middle + margin] for each middle.

    Both ends are integrated on their panels, so that a thin interval keeps its digits. The whole
    panels between are a difference of integrals from the side where they are smaller.
    """
    edges, below, above = panels.edges, panels.below, panels.above
    low, high = np.maximum(middle - margin, edges[0]), np.minimum(middle + margin, edges[-1])
    first, last = _panel_of(panels, low), _panel_of(panels, high)
    inside = (low > edges[0]) & (high < edges[-1])
    thin = _log_part(
        panels,
        first,
        np.where(inside, middle, 0.5 * (low + high)),
        np.where(inside, margin, 0.5 * (high - low)),
    )
    right, left = edges[first + 1], edges[last]
    ends = np.logaddexp(
        _log_part(panels, first, 0.5 * (low + right), 0.5 * (right - low)),
        _log_part(panels, last, 0.5 * (left + high), 0.5 * (high - left)),
    )
    from_left = below[last] < above[first + 1]
    most = np.where(from_left, below[last], above[first + 1])
    least = np.where(from_left, below[first + 1], above[last])
    between = np.where(last > first + 1, most + np.log(-np.expm1(least - most)), -math.inf)
    wide = np.logaddexp(ends, np.where(np.isnan(between), -math.inf, between))
    outside = (high <= edges[0]) | (low >= edges[-1])
    return np.where(outside, -math.inf, np.where(first == last, thin, wide))
