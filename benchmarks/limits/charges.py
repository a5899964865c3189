"""Fair charges of an opponent, and what games at the prevailing charge pay: compiled.

Player 0's skill is known here. The opponents then are independent: games with one tell nothing
about another. Let a player pay a charge for each game and keep the draw density. The fair charge
of an opponent, after some games with them, is the highest at which it is still no loss to play on,
for as long as it pays. The prevailing charge is the lowest fair charge so far: a player who pays
it never gains on average, however games with this opponent are mixed with games with others.

After n games at the prevailing charge there may be something left to gain: the surplus, which is
what playing on at this charge brings on average, for as long as it pays and N games in all.
Charges paid, minus draw densities received, minus the surplus are a martingale. With F_j(k) the
prevailing charges of the first k games with j on a sample path, minus the surplus after them,

    mean total of a policy  =  mean of the sum of F_j(k_j), where it plays k_j games with j
                           <=  mean of the largest such sum over all k with sum N.

A record of games with an opponent is (n, w): n games, w of them won. Records of fewer than
``depth`` games stand in one row, (0, 0), (1, 0), (1, 1), (2, 0) and so on. After ``depth`` games
the opponent's skill counts as known, which can only be worth something.

Sources: Weber, "On the Gittins index for multiarmed bandits" (1992), for prevailing charges; Brown,
Smith and Sun, "Information relaxations and duality in stochastic dynamic programs" (2010), for a
bound by a martingale that whoever knows the future must pay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, total_variance, win_probability_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Between two prices what an opponent is worth lies below a straight line, so that charges come out
# too high, and the bound with them: by less than 0.01 over 500 games with so many prices.
PRICES = 200

# Logarithm of what counts as 0: far below the 2e-9 that lies beyond a grid, since a long run of
# luck makes the unlikely likely.
NEGLIGIBLE = -340.0


class Known(NamedTuple):
    """Expectations about an opponent, after each of the S records of fewer than ``depth`` games.

    Attributes:
        chances: of a win of player 0 in the next game, shape (S,).
        densities: expected draw density of the next game, shape (S,).
        told: expected part of the draw density above each price after ``depth`` games, w of them
            won, in all games that remain, shape (depth + 1, prices).
    """

    chances: Floats
    densities: Floats
    told: Floats


@compiled
def first_record(games: int) -> int:
    """Return the place of the record of so many games, none of them won."""
    return games * (games + 1) // 2


@compiled
def prices_up_to_the_peak(beta: float) -> Floats:
    """Return prices of a game, rising from 0, denser towards the highest draw density there is."""
    peak = density_at_zero(0.0, total_variance(0.0, 0.0, beta))
    share = 1.0 - np.arange(PRICES + 1) / PRICES
    found: Floats = peak * (1.0 - share**2)
    return found


def part_above(densities: Floats, price: float) -> Floats:
    """Return draw densities minus a price, where above 0, so that sums over a grid are integrals.

    A sum over an even grid is off by (1/12 - x (1 - x) / 2) times the change of slope where the
    function has a kink, x of the way from one node to the next (Euler-Maclaurin).

    Args:
        densities: at the nodes of an even grid, shape (G,).
        price: of a game.

    Returns:
        Shape (G,); next to a kink with that error subtracted.
    """
    gain = densities - price
    left, right = gain[:-1], gain[1:]
    kinks = np.flatnonzero(left * right < 0.0)
    slope = np.abs(right - left)[kinks]
    share = np.abs(left)[kinks] / slope
    error = slope * (1.0 / 12.0 - 0.5 * share * (1.0 - share))
    above = np.maximum(gain, 0.0)
    above[kinks] += 0.5 * error
    above[kinks + 1] += 0.5 * error
    return above


@compiled
def games_at(gaps: Floats, beta: float) -> tuple[Floats, Floats, Floats]:
    """Return the chances that player 0 and the opponent win, and the draw density.

    Args:
        gaps: player 0's skill minus the opponent's, shape (G,).
        beta: standard deviation of one performance around skill.

    Returns:
        Three arrays of shape (G,).
    """
    found = np.empty((3, gaps.size))
    variance = total_variance(0.0, 0.0, beta)
    for g in range(gaps.size):
        found[0, g] = win_probability_of(gaps[g], variance, 0.0)
        found[1, g] = win_probability_of(-gaps[g], variance, 0.0)
        found[2, g] = density_at_zero(gaps[g], variance)
    return found[0], found[1], found[2]


def expectations_after(
    gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int
) -> list[Known]:
    """Return what is expected of opponents after every record.

    The probability of a record depends on the gap alone, so that all opponents together take one
    product of matrices for each number of games.

    Args:
        gaps: player 0's skill minus an opponent's: an even grid, shape (G,).
        weights: probabilities of the gaps, for each opponent, shape (T, G).
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: games after which the skill is known, 1 to the horizon.
    """
    wins, losses, densities = games_at(gaps, beta)
    least = np.finfo(np.float64).tiny
    log_win, log_loss = np.log(np.maximum(wins, least)), np.log(np.maximum(losses, least))

    def likelihoods(games: int) -> Floats:
        won = np.arange(games + 1.0)[:, None]
        return exponentials(won * log_win + (games - won) * log_loss)

    count = len(weights)
    mass = np.concatenate([weights, weights * wins, weights * densities]).T.copy()
    found = np.empty((2, count, first_record(depth)))
    for n in range(depth):
        whole, won, paid = np.split(product_of(likelihoods(n), mass), 3, axis=1)
        span = slice(first_record(n), first_record(n + 1))
        found[0, :, span], found[1, :, span] = (won / whole).T, (paid / whole).T
    prices = prices_up_to_the_peak(beta)
    told = np.zeros((count, depth + 1, prices.size))
    if depth < horizon:
        above = np.stack([part_above(densities, price) for price in prices], axis=1)
        for t in range(count):
            posterior = likelihoods(depth) * weights[t]
            posterior /= posterior.sum(axis=1, keepdims=True)
            told[t] = (horizon - depth) * product_of(posterior, above)
    return [Known(*each) for each in zip(*found, told, strict=True)]


def exponentials(logarithms: Floats) -> Floats:
    """Return exponentials, the largest of a row 1, and 0 for what is negligible beside it.

    Products of two of them stay in the range in which processors are quick.

    Args:
        logarithms: shape (K, G).
    """
    below = logarithms - logarithms.max(axis=1, keepdims=True)
    found: Floats = np.where(below > NEGLIGIBLE, np.exp(np.maximum(below, NEGLIGIBLE)), 0.0)
    return found


@compiled
def product_of(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, the same digits however many threads numpy's has.

    Args:
        left: shape (K, G).
        right: shape (G, T).
    """
    found = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[0]):
        for g in range(left.shape[1]):
            factor = left[k, g]
            if factor != 0.0:
                for t in range(right.shape[1]):
                    found[k, t] += factor * right[g, t]
    return found


@compiled
def charges_before(known: Known, prices: Floats, value: Floats, games: int) -> Floats:
    """Return the fair charge after each record of so many games, shape (games + 1,).

    Args:
        known: about the opponent.
        prices: rising, from one that everybody is worth to one that nobody is, shape (P,).
        value: gain of playing on, for as long as it pays, after records of one game more, at each
            price, shape (games + 2 or more, P); is overwritten by that of these records.
        games: in the records.
    """
    gain, charges = np.empty(prices.size), np.empty(games + 1)
    for w in range(games + 1):
        at = first_record(games) + w
        chance, density = known.chances[at], known.densities[at]
        for i in range(prices.size):
            won, lost = value[w + 1, i], value[w, i]
            gain[i] = density - prices[i] + lost + chance * (won - lost)
        # Convex in the price: the line between two prices is 0 at too high a price.
        low, high = 0, prices.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            if gain[middle] > 0.0:
                low = middle
            else:
                high = middle
        share = gain[low] / (gain[low] - gain[high])
        charges[w] = prices[low] + (prices[high] - prices[low]) * share
        for i in range(prices.size):
            value[w, i] = max(0.0, gain[i])
    return charges


@compiled
def fair_charges(known: Known, prices: Floats) -> Floats:
    """Return the fair charge after every record of games with an opponent, shape (S,)."""
    value, charges = known.told.copy(), np.empty(known.chances.size)
    for n in range(known.told.shape[0] - 2, -1, -1):
        charges[first_record(n) : first_record(n + 1)] = charges_before(known, prices, value, n)
    return charges


@compiled
def lowest_charges(
    charges: Floats, depth: int, nodes: Integers, shares: Floats, won: Flags
) -> tuple[NDArray[np.int32], Floats]:
    """Return games won among the first n, and the lowest fair charge before game n.

    Args:
        charges: of kinds of opponents, shape (T, S).
        depth: games after which the skill is known.
        nodes: shape (R, A), kinds between which each opponent lies.
        shares: shape (R, A), the weights of the interpolation.
        won: shape (R, N).

    Returns:
        Two arrays of shape (depth + 1, R).
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
def add_surpluses(
    known: Known,
    prices: Floats,
    who: Integers,
    shares: Floats,
    wins: NDArray[np.int32],
    lowest: Floats,
    surplus: Floats,
) -> None:
    """Add a kind's share in the surplus of opponents, which lie between several kinds.

    Args:
        known: about the kind.
        prices: as ``charges_before``.
        who: numbers of those opponents, shape (K,).
        shares: the kind's share in each, shape (K,).
        wins: shape (depth + 1, R), games won among the first n.
        lowest: shape (depth + 1, R), lowest fair charge before game n.
        surplus: is added to, shape (depth + 1, R), from the first game on and before the skill is
            known: after n games at that charge. Linear between two prices, as the charges are.
    """
    value = known.told.copy()
    for n in range(known.told.shape[0] - 2, 0, -1):
        charges_before(known, prices, value, n)
        for k in range(who.size):
            r = who[k]
            charge, w = lowest[n, r], wins[n, r]
            i = min(max(np.searchsorted(prices, charge), 1), prices.size - 1)
            across = (charge - prices[i - 1]) / (prices[i] - prices[i - 1])
            line = value[w, i - 1] + across * (value[w, i] - value[w, i - 1])
            surplus[n, r] += shares[k] * line


@compiled
def payments_before(lowest: Floats, surplus: Floats, densities: Floats, horizon: int) -> Floats:
    """Return F of each opponent, shape (R, N + 1).

    Args:
        lowest: lowest fair charge before game n, shape (depth + 1, R); once the skill is known, the
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
def best_split(payments: Floats) -> float:
    """Return the largest sum of payments for N games in all.

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
