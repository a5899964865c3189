"""Fair charges of an opponent, and what is left to gain at a price: compiled.

Player 0's skill is known here. The opponents then are independent: games with one teach nothing
about another. Let a player pay a charge for each game and keep the draw density. The fair charge
of an opponent, after some games with them, is the highest at which it is still no loss to play on,
for as long as it pays. The prevailing charge is the lowest fair charge so far: whoever pays that
one never gains on average, however games with this opponent are mixed with games with others.

After n games at the prevailing charge there may be something left to gain: the surplus, what
playing on at this charge brings on average, for as long as it pays and N games in all. Charges
paid, less draw densities got, less the surplus are a martingale. So when a policy ends,

    its mean total  =  mean of the charges that it paid, less the surplus that is left.

``payments`` makes a bound of it.

Sources: Weber, "On the Gittins index for multiarmed bandits" (1992), for prevailing charges; Brown,
Smith and Sun, "Information relaxations and duality in stochastic dynamic programs" (2010), for a
bound by a martingale that whoever knows the future must pay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.records import first_record
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled(refcounted=False)
def gain_of_playing(
    chance: float, density: float, prices: Floats, won: Floats, lost: Floats, gain: Floats
) -> None:
    """What the next game and those after it bring, at each price.

    Args:
        chance: of a win.
        density: expected draw density of the game.
        prices: shape (prices,), and so are the next three.
        won: what playing on or stopping brings after a win.
        lost: the same after a loss.
        gain: is overwritten.
    """
    for i in range(prices.size):
        gain[i] = density - prices[i] + lost[i] + chance * (won[i] - lost[i])


@compiled
def fair_charges(
    chances: Floats, densities: Floats, told: Floats, prices: Floats
) -> tuple[Floats, Floats]:
    """The fair charge after every record of games with an opponent.

    After ``depth`` games the opponent's skill is told, which can only be worth something.

    Args:
        chances: shape (S,), as ``records.Expectations``, and so are the next two.
        densities: shape (S,).
        told: shape (depth + 1, prices).
        prices: rising, from one that everybody is worth to one that nobody is.

    Returns:
        Charges, shape (S,); and what it is worth at each price to play a first game and then as
        long as it pays, shape (prices,).
    """
    value, gain = told.copy(), np.empty(prices.size)
    charges = np.empty(chances.size)
    for n in range(told.shape[0] - 2, -1, -1):
        for w in range(n + 1):
            at = first_record(n) + w
            gain_of_playing(chances[at], densities[at], prices, value[w + 1], value[w], gain)
            # Convex in the price: the line between two prices is 0 at too high a price.
            low, high = 0, prices.size - 1
            while high - low > 1:
                middle = (low + high) // 2
                if gain[middle] > 0.0:
                    low = middle
                else:
                    high = middle
            share = gain[low] / (gain[low] - gain[high])
            charges[at] = prices[low] + (prices[high] - prices[low]) * share
            for i in range(prices.size):
                value[w, i] = max(0.0, gain[i])
    return charges, gain


@compiled
def add_surpluses(
    chances: Floats,
    densities: Floats,
    told: Floats,
    prices: Floats,
    who: Integers,
    shares: Floats,
    wins: NDArray[np.int32],
    lowest: Floats,
    surplus: Floats,
) -> None:
    """Add an opponent's share in the surplus of others, of which it is one of several kinds.

    Args:
        chances: as ``fair_charges``, and so are the next three.
        densities: as there.
        told: as there.
        prices: as there.
        who: numbers of those others, shape (K,).
        shares: this one's share in each, shape (K,).
        wins: shape (depth + 1, R), games won among the first n.
        lowest: shape (depth + 1, R), lowest fair charge before game n.
        surplus: is added to, shape (depth + 1, R), from the first game on and before the skill is
            told: after n games at that charge. Linear between two prices, as the charges are.
    """
    value, gain = told.copy(), np.empty(prices.size)
    for n in range(told.shape[0] - 2, 0, -1):
        for w in range(n + 1):
            at = first_record(n) + w
            gain_of_playing(chances[at], densities[at], prices, value[w + 1], value[w], gain)
            for i in range(prices.size):
                value[w, i] = max(0.0, gain[i])
        for k in range(who.size):
            r = who[k]
            charge, w = lowest[n, r], wins[n, r]
            i = min(max(np.searchsorted(prices, charge), 1), prices.size - 1)
            across = (charge - prices[i - 1]) / (prices[i] - prices[i - 1])
            line = value[w, i - 1] + across * (value[w, i] - value[w, i - 1])
            surplus[n, r] += shares[k] * line
