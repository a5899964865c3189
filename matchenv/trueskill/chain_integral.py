"""Integrals along a ranking's chain of neighbours, on many small panels: compiled kernels.

With f_i the density of the performance of side i, in order of rank, and starting from h = 1 at
the last side,

    h_i(x) = integral of f_{i+1}(y) h_{i+1}(y) over y < x - margin     (i won)
                                       or over |x - y| <= margin       (a draw),

the probability of the ranking is the integral of f_0 h_0. Every integrand is kept as a Legendre
series on each panel. The panels lie where the ranking, once it has happened, puts the
performances, which expectation propagation says well enough; so no order is too unlikely.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.factor_graph import (
    BETTER_PRECISION,
    BETTER_SHIFT,
    DRAWN,
    MARGIN,
    MEAN,
    VARIANCE,
    WORSE_PRECISION,
    WORSE_SHIFT,
)
from matchenv.trueskill.normal import LOG_SQRT_2PI

Floats = NDArray[np.float64]

NODES = 12

_X, _W = np.polynomial.legendre.leggauss(NODES)
# Values at the nodes -> coefficients of the Legendre series through them.
_TO_SERIES = (np.polynomial.legendre.legvander(_X, NODES - 1) * _W[:, None]).T * (
    np.arange(NODES)[:, None] + 0.5
)
# Half as many nodes integrate that series exactly.
_HALF_X, _HALF_W = np.polynomial.legendre.leggauss(NODES // 2)


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


def integrate_chain(table: Floats, panels: int) -> float:
    """Logarithm of the ranking's probability; minus infinity where no panel holds any of it.

    Args:
        table: as ``pass_messages`` left it; one column a side, in order of rank.
        panels: how many panels each side's performance gets for itself.
    """
    edges, series = np.array([0.0, 1.0]), np.zeros((1, NODES))
    scale, before = np.zeros(1), np.zeros(2)
    log_factor = 0.0
    for i in range(table.shape[1] - 1, -1, -1):
        with np.errstate(over="ignore", invalid="ignore"):
            own_edges = _panel_edges(table, i, panels)
        if len(own_edges) < 2 or not np.isfinite(own_edges).all():
            # Scales so far apart that float64 cannot tell the edges from each other.
            return -math.inf
        series, scale, before = _integrate_side(table, i, own_edges, edges, series, scale, before)
        edges = own_edges
        log_factor -= LOG_SQRT_2PI + 0.5 * math.log(table[VARIANCE, i])
    result = float(log_factor + before[-1])
    return -math.inf if math.isnan(result) else result


@compiled
def _log_sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


@compiled
def _series_at(series: Floats, x: float) -> float:
    """A Legendre series at x in [-1, 1], by the three-term recurrence."""
    before, now = 1.0, x
    total = series[0] + series[1] * x
    for n in range(2, series.size):
        before, now = now, ((2 * n - 1) * x * now - (n - 1) * before) / n
        total += series[n] * now
    return total


@compiled
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


@compiled
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


@compiled
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


@compiled
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


@compiled
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
