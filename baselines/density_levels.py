"""How high the best draw density can be after a game, on the full belief (compiled).

On the full belief a game moves the gap to every opponent k by L_k s, and takes L_k^2 l from the
variance V_k of the difference of performances, with s and l the same for all. Less a constant,
minus twice the logarithm of the density against k is then

    E_k(s, l) = log V_k + log(1 - x) + y / (1 - x),    x = L_k^2 l / V_k,  y = (g_k + L_k s)^2 / V_k
             >= log V_k + y + x (y - 1) - x^2 / (2 (1 - x)).

But for the last term this is linear in l, and a parabola in s whose curvature is at most
C = rho (1 + rho^2), where rho is the largest L_k^2 / V_k and l <= rho. So the least E_k of all
opponents is tabulated on even nodes s, for l = 0 and l = rho. Between two nodes at a distance h the
least of all chords is concave, so it is at least linear interpolation, and a parabola with the
fraction f of the way behind it is below its chord by C h^2 f (1 - f).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.runtime.compile import compiled

# Nodes on each side of s = 0, and the largest s in units of sqrt(rho): a shift of more deviations
# of the difference is as good as impossible.
HALF = 12
NODES = 2 * HALF + 1
FURTHEST = 6.0

# Below this rho all is exact to the last bit, and divisions by it are not.
LEAST_RATE = 1e-30


class DensityLevels(NamedTuple):
    """Lower bounds of E, less E of the best density before the game.

    Attributes:
        still: shape (NODES,), at l = 0.
        learned: shape (NODES,), at l = rho.
        within: shape (HALF + 1,), factors on the best density before the game that bound the best
            one after it, for any l and an abs(s) up to the i-th node from the middle on.
    """

    still: Floats
    learned: Floats
    within: Floats


@compiled
def new_levels() -> DensityLevels:
    """Working arrays."""
    return DensityLevels(np.empty(NODES), np.empty(NODES), np.empty(HALF + 1))


@compiled
def tabulate_levels(
    levels: DensityLevels,
    variances: Floats,
    leads: Floats,
    rates: Floats,
    first: int,
    rho: float,
    reach: float,
) -> None:
    """Write the levels.

    Args:
        levels: written.
        variances: shape (M,), V_k.
        leads: shape (M,), g_k / sqrt(V_k).
        rates: shape (M,), L_k / sqrt(V_k).
        first: the opponent with the best density before the game.
        rho: the largest square of a rate.
        reach: s of the last node.
    """
    still, learned, within = levels
    still[:] = np.inf
    learned[:] = np.inf
    step = reach / HALF
    # For all s within reach nobody who is above this is the least.
    highest = (1.0 + rho * rho) * (abs(leads[first]) + rates[first] * reach) ** 2 + rho * rho
    for k in range(variances.size):
        nearest = max(0.0, abs(leads[k]) - rates[k] * reach)
        # log x >= 1 - 1 / x.
        if k != first and 1.0 - variances[first] / variances[k] + nearest * nearest > highest:
            continue
        level = math.log(variances[k] / variances[first])
        lead, rate = leads[k] - rates[k] * reach, rates[k] * step
        share = rho * rates[k] * rates[k]
        for i in range(NODES):
            distance = lead + rate * i
            square = distance * distance
            still[i] = min(still[i], level + square)
            learned[i] = min(learned[i], level - share + (1.0 + share) * square)
    least = np.inf
    before = leads[first] * leads[first]
    slack = 0.25 * rho * (1.0 + rho * rho) * step * step + lost_square(rho * rho, rho)
    for i in range(NODES):
        still[i] -= before
        learned[i] -= before
    for i in range(HALF + 1):
        for node in (HALF - i, HALF + i):
            least = min(least, still[node], learned[node])
        within[i] = math.exp(-0.5 * (least - slack))


@compiled
def lost_square(share: float, rho: float) -> float:
    """The last term of the bound, x^2 / (2 (1 - x)), for x up to ``share`` <= rho^2."""
    return 0.5 * share * share / (1.0 - rho * rho)


@compiled
def factor_within(levels: DensityLevels, shift: float, reach: float) -> float:
    """An upper bound of the best density after a game, over that before it.

    Args:
        levels: tabulated.
        shift: the largest abs(s).
        reach: s of the last node.
    """
    place = shift * HALF / reach
    if not place < HALF:
        return np.inf
    return levels.within[int(place) + 1]


@compiled
def factor_after(
    levels: DensityLevels, shift: float, loss: float, rho: float, reach: float
) -> float:
    """An upper bound of the best density after an outcome, over that before it.

    Args:
        levels: tabulated.
        shift: s.
        loss: l.
        rho: the largest square of a rate.
        reach: s of the last node.
    """
    step = reach / HALF
    place = (shift + reach) / step
    if not 0.0 <= place < NODES - 1:
        return np.inf
    node = int(place)
    offset = place - node
    low, high = levels.still[node], levels.learned[node]
    low += offset * (levels.still[node + 1] - low)
    high += offset * (levels.learned[node + 1] - high)
    level = low + loss / rho * (high - low)
    level -= rho * (1.0 + rho * rho) * step * step * offset * (1.0 - offset)
    level -= lost_square(rho * loss, rho)
    half = 0.5 * level
    if half < -0.5:
        return math.exp(-half)
    # exp(x) is at least these terms of its series.
    return 1.0 / (1.0 + half * (1.0 + half * (0.5 + half / 6.0)))
