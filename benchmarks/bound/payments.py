"""What games with the opponents of a path pay, less the surplus that is left: compiled.

With F_j(k) the prevailing charges of the first k games with j on this path, less the surplus after
them, the mean total of a policy that plays k_j games with j is the mean of the sum of F_j(k_j). So

    mean total of a policy  <=  mean of the largest sum of F_j(k_j) over all k with sum N,

and for each policy the sum of F_j(k_j) less its own total has mean 0 and goes up and down with the
luck of the path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.charges import add_surpluses
from matchenv.benchmarks.bound.kinds import Kinds, Places
from matchenv.benchmarks.bound.prices import prices_up_to_the_peak
from matchenv.benchmarks.bound.records import first_record
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def payments_of(
    kinds: Kinds, places: Places, won: Flags, densities: Floats
) -> tuple[Floats, Floats]:
    """F of each opponent of E paths, and luck of each path whose mean is 0.

    The luck is what the opponents' charges above one price come to, less its mean; the price is the
    best one that is fixed before the games.

    Args:
        kinds: between which the opponents lie.
        places: where; those of the first path first.
        won: shape (E, M, N), whether player 0 wins the first, second, ... game with each.
        densities: shape (E, M), the true draw densities.

    Returns:
        Shapes (E, M, N + 1) and (E,).
    """
    paths, opponents, horizon = won.shape
    known, prices = kinds.known, prices_up_to_the_peak(kinds.beta)
    mirrored = won.reshape(-1, horizon) ^ places.mirrored[:, None]
    depth = known.told.shape[1] - 1
    wins, lowest = lowest_charges(kinds.charges, depth, places.nodes, places.shares, mirrored)
    surplus = np.zeros(lowest.shape)
    for t in range(len(kinds.charges)):
        who, across = np.nonzero(places.nodes == t)
        if who.size > 0:
            add_surpluses(
                known.chances[t], known.densities[t], known.told[t], prices,
                who, places.shares[who, across], wins, lowest, surplus,
            )  # fmt: skip
    payments = payments_before(lowest, surplus, densities.ravel(), horizon)
    luck = np.empty(paths)
    for e in range(paths):
        span = slice(e * opponents, (e + 1) * opponents)
        worth = worth_of(kinds.worths, places.nodes[span], places.shares[span])
        price = int(np.argmin(horizon * prices + worth))
        above = charges_above(prices[price], lowest[:, span], densities[e], horizon)
        luck[e] = above - worth[price]
    return payments.reshape(paths, opponents, horizon + 1), luck


@compiled
def lowest_charges(
    charges: Floats, depth: int, nodes: Integers, shares: Floats, won: Flags
) -> tuple[NDArray[np.int32], Floats]:
    """Games won among the first n, and the lowest fair charge before game n.

    Args:
        charges: of the kinds, shape (T, S).
        depth: games after which the skill is told.
        nodes: shape (R, A), kinds between which each opponent lies.
        shares: shape (R, A), by which it is interpolated.
        won: shape (R, N).

    Returns:
        Both of shape (depth + 1, R).
    """
    opponents = nodes.shape[0]
    wins = np.zeros((depth + 1, opponents), dtype=np.int32)
    lowest = np.full((depth + 1, opponents), np.inf)
    for r in range(opponents):
        for n in range(depth):
            at = first_record(n) + wins[n, r]
            charge = 0.0
            for a in range(nodes.shape[1]):
                charge += shares[r, a] * charges[nodes[r, a], at]
            lowest[n + 1, r] = min(lowest[n, r], charge)
            wins[n + 1, r] = wins[n, r] + won[r, n]
    return wins, lowest


@compiled
def payments_before(lowest: Floats, surplus: Floats, densities: Floats, horizon: int) -> Floats:
    """F of each opponent, shape (R, N + 1).

    Args:
        lowest: lowest fair charge before game n, shape (depth + 1, R); once the skill is told, the
            draw density is the fair charge.
        surplus: before game n, the same shape.
        densities: the true draw densities, shape (R,).
        horizon: N.
    """
    depth = lowest.shape[0] - 1
    payments = np.zeros((densities.size, horizon + 1))
    for r in range(densities.size):
        paid = 0.0
        for n in range(1, depth + 1):
            paid += lowest[n, r]
            if n < depth:
                payments[r, n] = paid - surplus[n, r]
        charge = lowest[depth, r]
        for n in range(depth, horizon + 1):
            if n > depth:
                charge = min(charge, densities[r])
                paid += charge
            payments[r, n] = paid - max(0.0, densities[r] - charge) * (horizon - n)
    return payments


@compiled
def worth_of(worths: Floats, nodes: Integers, shares: Floats) -> Floats:
    """What the opponents of a path are worth at each price, shape (prices,).

    Args:
        worths: of the kinds, shape (T, prices).
        nodes: shape (M, A), as ``kinds.Places``.
        shares: shape (M, A).
    """
    worth = np.zeros(worths.shape[1])
    for j in range(nodes.shape[0]):
        for i in range(worth.size):
            playing = 0.0
            for a in range(nodes.shape[1]):
                playing += shares[j, a] * worths[nodes[j, a], i]
            worth[i] += max(0.0, playing)
    return worth


@compiled
def charges_above(price: float, lowest: Floats, densities: Floats, horizon: int) -> float:
    """The parts of all charges of a path above a price; arguments as ``payments_before``."""
    depth = lowest.shape[0] - 1
    above = 0.0
    for j in range(densities.size):
        for n in range(1, depth + 1):
            above += max(0.0, lowest[n, j] - price)
        told = min(lowest[depth, j], densities[j])
        above += (horizon - depth) * max(0.0, told - price)
    return above


@compiled
def best_split(payments: Floats) -> float:
    """The largest sum of payments for N games in all.

    Args:
        payments: shape (M, N + 1), for 0 to N games with each opponent.
    """
    games = payments.shape[1]
    best = payments[0].copy()
    for j in range(1, payments.shape[0]):
        before = best.copy()
        for k in range(1, games):
            more = payments[j, k]
            for n in range(k, games):
                best[n] = max(best[n], before[n - k] + more)
    largest: float = best[games - 1]
    return largest


@compiled
def payments_of_counts(payments: Floats, counts: Integers) -> float:
    """The sum of the payments for so many games with each opponent, shape (M,)."""
    total = 0.0
    for j in range(counts.size):
        total += payments[j, counts[j]]
    return total
