"""Prices of a game, and what draw densities come to above a price."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, total_variance

Floats = NDArray[np.float64]

# Between two prices what an opponent is worth lies below a straight line, so that charges come out
# too high, and the bound with them: by less than 0.01 over 500 games with so many prices.
PRICES = 200


@compiled
def prices_up_to_the_peak(beta: float) -> Floats:
    """Prices of a game, denser towards the highest draw density there is.

    Args:
        beta: standard deviation of one performance around skill.

    Returns:
        Shape (PRICES + 1,), rising from 0.
    """
    peak = density_at_zero(0.0, total_variance(0.0, 0.0, beta))
    share = 1.0 - np.arange(PRICES + 1) / PRICES
    found: Floats = peak * (1.0 - share**2)
    return found


@compiled
def part_above(densities: Floats, price: float) -> Floats:
    """Draw densities less a price, where above 0, so that sums over the grid are integrals.

    A sum over an even grid is off by (1/12 - x (1 - x) / 2) times the change of slope where the
    function has a kink, x of the way from one node to the next (Euler-Maclaurin).

    Args:
        densities: at the nodes of an even grid, shape (G,).
        price: what is taken off.

    Returns:
        Shape (G,); next to a kink with that error taken off.
    """
    above = np.maximum(densities - price, 0.0)
    for g in range(densities.size - 1):
        left, right = densities[g] - price, densities[g + 1] - price
        if left * right < 0.0:
            slope = abs(right - left)
            share = abs(left) / slope
            error = slope * (1.0 / 12.0 - 0.5 * share * (1.0 - share))
            above[g] += 0.5 * error
            above[g + 1] += 0.5 * error
    return above
