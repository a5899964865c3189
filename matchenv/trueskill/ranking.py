"""Probability of a whole ranking, by integration along the chain of neighbours.

In order of rank, each side's performance is compared with the next one's only. So the
probability is a chain of one-dimensional integrals: with f_i the density of side i's
performance, and starting from h = 1 at the last side,

    h_i(x) = integral of f_{i+1}(y) h_{i+1}(y) over y < x - margin     (i won)
                                       or over |x - y| <= margin       (a draw),

and the probability is the integral of f_0 h_0. Every integrand is kept as a Legendre
series on each of many small panels. The panels lie where the ranking, once it has happened,
puts the performances, which expectation propagation says well enough; so no order is too
unlikely. The panels are halved until the result stands still.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.trueskill.factor_graph import (
    BETTER_PRECISION,
    BETTER_SHIFT,
    DRAWN,
    MARGIN,
    MEAN,
    TABLE_ROWS,
    VARIANCE,
    WORSE_PRECISION,
    WORSE_SHIFT,
    pass_messages,
)
from matchenv.trueskill.game import log_draw_probability_of, log_win_probability_of
from matchenv.trueskill.normal import LOG_SQRT_2PI
from matchenv.trueskill.quality import performances
from matchenv.trueskill.sides import set_comparisons
from matchenv.trueskill.teams import Team, Weights, as_draw_margin, as_ranks, flatten_teams
from matchenv.validation import as_positive_number

Floats = NDArray[np.float64]

NODES = 12
FEWEST_PANELS, MOST_PANELS = 8, 8192
# A draw sums over panels, so that its time grows with their square.
MOST_PANELS_WITH_DRAWS = 2048
# Bounds the time that a hopeless case takes: a few seconds.
MOST_PANELS_OF_ALL_SIDES = 1 << 17
ROUNDING = 1e-14
# Where a message's tolerance of 1e-3 leaves a window's centre, its width forgives.
WINDOW_TOLERANCE, WINDOW_ITERATIONS = 1e-3, 100

_X, _W = np.polynomial.legendre.leggauss(NODES)
# Values at the nodes -> coefficients of the Legendre series through them.
_TO_SERIES = (np.polynomial.legendre.legvander(_X, NODES - 1) * _W[:, None]).T * (
    np.arange(NODES)[:, None] + 0.5
)
# Half as many nodes integrate that series exactly.
_HALF_X, _HALF_W = np.polynomial.legendre.leggauss(NODES // 2)


class RankingProbability(NamedTuple):
    """The probability of a ranking and how exact it is.

    Attributes:
        probability: in [0, 1]; 0 where it underflows.
        log_probability: its natural logarithm.
        error: relative difference between the last two grids of panels, an upper estimate
            of the relative error; 0 for two sides, which have a closed form, and infinite
            where the panels never were fine enough to say (gaps of hundreds of sigmas).
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

    With ties this is the model's own event: neighbours in the given order differ by at
    most the margin. It knows no order among sides that drew, so with three or more sides
    and a margin the events of all rankings overlap and their probabilities do not add up
    to 1 (footnote 1 of the paper); without draws they do. Ties stand in order of
    appearance.

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
    result = _integrate_chain(table, panels)
    # The logarithm's own rounding is all that a very unlikely ranking can reach.
    while error > max(tolerance, ROUNDING * abs(result)) and 2 * panels <= most:
        panels *= 2
        previous, result = result, _integrate_chain(table, panels)
        step = abs(previous - result)
        error = math.expm1(step) if step < 1.0 else math.inf
    return min(result, 0.0), error


def _window(table: Floats, i: int) -> tuple[float, float]:
    """Where side i's performance lies, given the ranking: a centre and a half width.

    The density is log-concave and falls at least as fast as the prior does, which bounds
    what is left outside: below 1e-15 of the whole, by the smaller of the two widths.
    """
    precision = table[BETTER_PRECISION, i] + table[WORSE_PRECISION, i]
    shift = table[BETTER_SHIFT, i] + table[WORSE_SHIFT, i]
    total = 1.0 + table[VARIANCE, i] * precision
    spread = math.sqrt(table[VARIANCE, i] / total)
    half = min(40.0 * spread, 8.5 * math.sqrt(table[VARIANCE, i]) + 3.0 * spread)
    return table[MEAN, i] + table[VARIANCE, i] * shift / total, half


def _panel_edges(table: Floats, i: int, panels: int) -> Floats:
    """Edges of side i's panels: its own grid and, moved by the margin, its neighbour's.

    The integrand changes wherever the next side's density does, which may be far narrower.
    """
    centre, half = _window(table, i)
    own = np.linspace(centre - half, centre + half, panels + 1)
    if i + 1 == table.shape[1]:
        return own
    next_centre, next_half = _window(table, i + 1)
    other = np.linspace(next_centre - next_half, next_centre + next_half, panels + 1)
    grids = [own, other + table[MARGIN, i]]
    if table[DRAWN, i]:
        grids.append(other - table[MARGIN, i])
    edges = np.concatenate(grids)
    return np.unique(edges[(edges >= own[0]) & (edges <= own[-1])])


def _integrate_chain(table: Floats, panels: int) -> float:
    """Logarithm of the ranking's probability, on a grid of so many panels a side."""
    edges, series = np.array([0.0, 1.0]), np.zeros((1, NODES))
    scale, before = np.zeros(1), np.zeros(2)
    log_factor = 0.0
    for i in range(table.shape[1] - 1, -1, -1):
        own_edges = _panel_edges(table, i, panels)
        series, scale, before = _integrate_side(table, i, own_edges, edges, series, scale, before)
        edges = own_edges
        log_factor -= LOG_SQRT_2PI + 0.5 * math.log(table[VARIANCE, i])
    return float(log_factor + before[-1])


@njit(cache=True, error_model="numpy")
def _log_sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


@njit(cache=True, error_model="numpy")
def _series_at(series: Floats, x: float) -> float:
    """A Legendre series at x in [-1, 1], by the three-term recurrence."""
    before, now = 1.0, x
    total = series[0] + series[1] * x
    for n in range(2, series.size):
        before, now = now, ((2 * n - 1) * x * now - (n - 1) * before) / n
        total += series[n] * now
    return total


@njit(cache=True, error_model="numpy")
def _log_part(
    series: Floats, scale: float, left: float, right: float, middle: float, half: float
) -> float:
    """Logarithm of the integral over [middle - half, middle + half] on one panel.

    Args:
        series: (NODES,) the integrand's Legendre coefficients on the panel.
        scale: logarithm of what they are to be multiplied with.
        left: the panel's left edge.
        right: its right edge.
        middle: middle of the interval.
        half: half its width, which may be far below the rounding of its limits.
    """
    stretch = 2.0 / (right - left)
    total = 0.0
    for k in range(_HALF_X.size):
        x = (middle + half * _HALF_X[k] - left) * stretch - 1.0
        total += _HALF_W[k] * _series_at(series, x)
    return scale + math.log(total * half) if total > 0.0 and half > 0.0 else -math.inf


@njit(cache=True, error_model="numpy")
def _panel_of(edges: Floats, x: float) -> int:
    """The panel that x lies in; the nearest one for x outside all."""
    low, high = 0, edges.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy")
def _log_below(edges: Floats, series: Floats, scale: Floats, before: Floats, high: float) -> float:
    """Logarithm of the integral up to ``high``; ``before`` has those up to each edge."""
    high = min(high, edges[-1])
    if high <= edges[0]:
        return -math.inf
    n = _panel_of(edges, high)
    left = edges[n]
    part = _log_part(
        series[n], scale[n], left, edges[n + 1], 0.5 * (left + high), 0.5 * (high - left)
    )
    return _log_sum(before[n], part)


@njit(cache=True, error_model="numpy")
def _log_around(edges: Floats, series: Floats, scale: Floats, middle: float, half: float) -> float:
    """Logarithm of the integral over [middle - half, middle + half].

    It is summed from the panels and no difference of two integrals up to a limit: the
    interval may lie in a thin tail, or be thin itself.
    """
    low, high = max(middle - half, edges[0]), min(middle + half, edges[-1])
    if high <= edges[0] or low >= edges[-1]:
        return -math.inf
    first, last = _panel_of(edges, low), _panel_of(edges, high)
    if first == last and low > edges[0] and high < edges[-1]:
        return _log_part(series[first], scale[first], edges[first], edges[first + 1], middle, half)
    total = -math.inf
    for n in range(first + 1, last):
        whole = series[n, 0] * (edges[n + 1] - edges[n])
        if whole > 0.0:
            total = _log_sum(total, scale[n] + math.log(whole))
    for n in range(first, last + 1, max(1, last - first)):
        left, right = max(low, edges[n]), min(high, edges[n + 1])
        part = _log_part(
            series[n], scale[n], edges[n], edges[n + 1], 0.5 * (left + right), 0.5 * (right - left)
        )
        total = _log_sum(total, part)
    return total


@njit(cache=True, error_model="numpy")
def _integrate_side(
    table: Floats,
    i: int,
    own_edges: Floats,
    edges: Floats,
    series: Floats,
    scale: Floats,
    before: Floats,
) -> tuple[Floats, Floats, Floats]:
    """f_i h_i as a series on each of side i's panels, from that of the next side.

    Each panel has a scale of its own, for the integrand of an unlikely ranking runs
    through more orders of magnitude than float64 holds.

    Args:
        table: as ``pass_messages`` left it.
        i: the side, in order of rank.
        own_edges: (own panels + 1,) its panels' edges.
        edges: (panels + 1,) the next side's.
        series: (panels, NODES) the next side's series.
        scale: (panels,) logarithms of what they are to be multiplied with.
        before: (panels + 1,) logarithms of the integrals up to each edge.

    Returns:
        ``(series, scale, before)`` of side i.
    """
    count = own_edges.size - 1
    own_series, own_scale = np.zeros((count, NODES)), np.empty(count)
    own_before = np.full(count + 1, -math.inf)
    value = np.empty(NODES)
    margin, drawn = table[MARGIN, i], table[DRAWN, i] != 0.0
    for panel in range(count):
        middle = 0.5 * (own_edges[panel] + own_edges[panel + 1])
        half = 0.5 * (own_edges[panel + 1] - own_edges[panel])
        largest = -math.inf
        for k in range(NODES):
            x = middle + half * _X[k]
            gap = x - table[MEAN, i]
            value[k] = -0.5 * gap * gap / table[VARIANCE, i]
            if i + 1 < table.shape[1]:
                if drawn:
                    value[k] += _log_around(edges, series, scale, x, margin)
                else:
                    value[k] += _log_below(edges, series, scale, before, x - margin)
            largest = max(largest, value[k])
        own_scale[panel] = largest
        if largest > -math.inf:
            for k in range(NODES):
                weight = math.exp(value[k] - largest)
                for n in range(NODES):
                    own_series[panel, n] += _TO_SERIES[n, k] * weight
        whole = own_series[panel, 0] * 2.0 * half
        own_before[panel + 1] = own_before[panel]
        if whole > 0.0:
            own_before[panel + 1] = _log_sum(own_before[panel], largest + math.log(whole))
    return own_series, own_scale, own_before
