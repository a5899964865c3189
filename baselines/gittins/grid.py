"""The grid of states of one opponent, and interpolation between its nodes.

Player 0 against one opponent is two numbers: the distance |mu_0 - mu_k| and the variance of
s_0 - s_k. Both are measured in performances here: 2 beta^2 = 1. With C that variance, the
coordinates are z = distance / sqrt(C + 1), in which the draw density is a normal one, and
log C. Interpolation is cubic in both, on nodes that are even in asinh(z) and in log C.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.runtime.compile import compiled

# The furthest z of the grid, and how much denser its nodes are at 0 than evenly spread ones.
FURTHEST = 8.0
STRETCH = 2.5

# The largest C of the grid: two players with sigma = 10 beta each.
WIDEST = 100.0

SIXTH = 1.0 / 6.0

# A stencil: the nodes that a cubic takes.
STENCIL = 4

# No value of a cubic through four nodes of height 1 leaves [-this, this] between any two of them.
LEBESGUE = 1.632


class Grid(NamedTuple):
    """Nodes z_j = sinh(j stretch) / scale, j < gaps, and C_i = exp(lowest + i step).

    Attributes:
        gaps: number of nodes in z.
        stretch: as above.
        scale: as above.
        variances: number of nodes in C.
        lowest: logarithm of the smallest C.
        step: between logarithms.
    """

    gaps: int
    stretch: float
    scale: float
    variances: int
    lowest: float
    step: float


def new_grid(gaps: int, smallest: float, step: float) -> Grid:
    """A grid.

    Args:
        gaps: number of nodes in z, >= 4.
        smallest: the smallest C, > 0.
        step: between logarithms of C, nearly.
    """
    stretch = STRETCH / (gaps - 1)
    span = math.log(WIDEST / smallest)
    variances = max(STENCIL, math.ceil(span / step) + 1)
    return Grid(
        gaps=gaps,
        stretch=stretch,
        scale=math.sinh(STRETCH) / FURTHEST,
        variances=variances,
        lowest=math.log(smallest),
        step=span / (variances - 1),
    )


@compiled
def gap_at(grid: Grid, j: int) -> float:
    """z of node j."""
    return math.sinh(j * grid.stretch) / grid.scale


@compiled
def variance_at(grid: Grid, i: int) -> float:
    """C of node i."""
    return math.exp(grid.lowest + i * grid.step)


@compiled
def cubic_weights(offset: float) -> tuple[float, float, float, float]:
    """Lagrange's weights of the nodes 0, 1, 2 and 3 at ``offset``."""
    a, b, c, d = offset, offset - 1.0, offset - 2.0, offset - 3.0
    first, last = a * b, c * d
    return -SIXTH * b * last, 0.5 * a * last, -0.5 * first * d, SIXTH * first * c


@compiled
def gap_stencil(grid: Grid, gap: float) -> tuple[int, float]:
    """Where to interpolate in z.

    Arrays over z have one entry more at their start, the mirror of z_1, since all that is
    interpolated is even in z. Beyond the last node its own value is taken.

    Args:
        grid: the grid.
        gap: z, >= 0.

    Returns:
        ``(first, offset)``: first entry of the stencil, counted with the mirror, and the place
        in it.
    """
    scaled = gap * grid.scale
    # asinh, but for the last digits near 0, which place in a cell does not feel.
    stretched = math.log(scaled + math.sqrt(1.0 + scaled * scaled))
    place = min(stretched * (1.0 / grid.stretch), grid.gaps - 1.0)
    first = min(int(place), grid.gaps - STENCIL + 1)
    return first, place + 1.0 - first


@compiled
def variance_stencil(grid: Grid, variance: float) -> tuple[int, float]:
    """Where to interpolate in C: first node of the stencil and the place in it.

    Outside the grid the value at its end is taken.
    """
    place = (math.log(variance) - grid.lowest) * (1.0 / grid.step)
    place = min(max(place, 0.0), grid.variances - 1.0)
    first = min(max(int(place) - 1, 0), grid.variances - STENCIL)
    return first, place - first


@compiled
def read(values: Floats, first_variance: int, down: float, first_gap: int, across: float) -> float:
    """Interpolate.

    Args:
        values: shape (variances, gaps + 1), with the mirror.
        first_variance: from ``variance_stencil``.
        down: as there.
        first_gap: from ``gap_stencil``.
        across: as there.
    """
    a, b, c, d = cubic_weights(across)
    total = 0.0
    for r, weight in enumerate(cubic_weights(down)):
        row = values[first_variance + r]
        total += weight * (
            a * row[first_gap]
            + b * row[first_gap + 1]
            + c * row[first_gap + 2]
            + d * row[first_gap + 3]
        )
    return total


@compiled
def with_mirror(grid: Grid) -> Floats:
    """Zeros for all nodes and the mirror, shape (variances, gaps + 1)."""
    return np.zeros((grid.variances, grid.gaps + 1))
