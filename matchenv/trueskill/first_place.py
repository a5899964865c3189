"""Before a game of many sides: how likely each one is to come first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import INVERSE_SQRT_2PI, normal_probability
from matchenv.trueskill.quality import performances
from matchenv.trueskill.sides import margin_between
from matchenv.trueskill.team_kernels import LEAST_VARIANCE
from matchenv.trueskill.teams import Team, Weights, as_draw_margin, flatten_teams

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# In standard deviations; what lies outside is below 1e-18.
HALF_WIDTH = 9.0
OWN_PANELS, OTHER_PANELS = 24, 12
_X, _W = np.polynomial.legendre.leggauss(12)


def first_place_probability(
    teams: Iterable[Team],
    beta: float,
    *,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    weights: Weights | None = None,
) -> list[float]:
    """Probability, for each side, that it beats every other side.

    Side i comes first alone if its performance exceeds that of each other side by more than the
    margin between the two. Without a margin the probabilities add up to 1; with one, what is
    missing is the probability that the first place is shared. For two sides it is
    ``team_win_probability``.

    Args:
        teams: two or more sides, each a list of (mu, sigma) pairs or an array (members, 2).
        beta: standard deviation of one performance around skill, > 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        weights: as in ``rate``.

    Returns:
        One probability for each side, within 1e-10.

    Raises:
        ValueError: for bad input.

    Source: the model of Herbrich, Minka, Graepel (2006), section 2: the integral of one side's
    density times the others' distribution functions.
    """
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    flat = flatten_teams(teams, weights)
    mean, variance = performances(flat, spread)
    # A weight next to nothing must not make a variance 0.
    deviation = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    size = np.diff(flat.side_start)
    chances = []
    for side in range(len(size)):
        margins = np.array(
            [margin_between(margin.margin, margin.grows, int(n)) for n in size + size[side]]
        )
        edges = _panel_edges(side, mean, mean + margins, deviation)
        chances.append(min(1.0, _integrate(side, edges, mean, mean + margins, deviation, _X, _W)))
    return chances


def _panel_edges(side: int, mean: Floats, level: Floats, deviation: Floats) -> Floats:
    """Edges of panels in standard deviations from the side's mean.

    The integrand changes where the side's density does and, faster, wherever a narrower side's
    distribution function does.
    """
    own = np.linspace(-HALF_WIDTH, HALF_WIDTH, OWN_PANELS + 1)
    grids = [own]
    step = np.linspace(-HALF_WIDTH, HALF_WIDTH, OTHER_PANELS + 1)
    for other in np.flatnonzero(deviation < deviation[side]):
        centre = (level[other] - mean[side]) / deviation[side]
        grids.append(centre + step * (deviation[other] / deviation[side]))
    edges = np.concatenate(grids)
    return np.unique(edges[(edges >= own[0]) & (edges <= own[-1])])


@compiled
def _integrate(
    side: int, edges: Floats, mean: Floats, level: Floats, deviation: Floats, x: Floats, w: Floats
) -> float:
    """Integral of the side's density times the others' distribution functions."""
    total = 0.0
    for panel in range(edges.size - 1):
        half = 0.5 * (edges[panel + 1] - edges[panel])
        middle = 0.5 * (edges[panel + 1] + edges[panel])
        for k in range(x.size):
            z = middle + half * x[k]
            product = half * w[k] * INVERSE_SQRT_2PI * np.exp(-0.5 * z * z)
            for other in range(mean.size):
                if other != side:
                    gap = mean[side] - level[other]
                    product *= normal_probability((gap + z * deviation[side]) / deviation[other])
            total += product
    return total
