"""Fair charges of an opponent, and the bound of one path that follows from them: compiled.

Player 0's skill is known here. The opponents then are independent: games with one teach nothing
about another. Let a player pay a charge for each game and keep the draw density. The fair charge
of an opponent, after some games with them, is the highest at which it is still no loss to play on,
for as long as it pays. The prevailing charge is the lowest fair charge so far: whoever pays that
one never gains on average, however games with this opponent are mixed with games with others. So

    mean total of a policy  <=  mean total of the prevailing charges that it pays
                            <=  mean of the N highest prevailing charges of all opponents,

since the prevailing charges of an opponent only fall. For an infinite discounted horizon this is
the proof that indices are optimal; here, with N games, it is a bound.

Sources: Weber, "On the Gittins index for multiarmed bandits" (1992); Whittle (1980) for the sum of
worths at one price, which is the same bound with the price fixed beforehand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.trueskill.game import density_at_zero, total_variance, win_probability_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

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
def game_against(skill_0: float, skills: Floats, beta: float) -> tuple[Floats, Floats]:
    """Chance that player 0 wins and true draw density, for each possible skill of an opponent.

    Args:
        skill_0: skill of player 0.
        skills: shape (G,).
        beta: standard deviation of one performance around skill.

    Returns:
        Both of shape (G,).
    """
    wins, densities = np.empty(skills.size), np.empty(skills.size)
    variance = total_variance(0.0, 0.0, beta)
    for g in range(skills.size):
        gap = skill_0 - skills[g]
        wins[g] = win_probability_of(gap, variance, 0.0)
        densities[g] = density_at_zero(gap, variance)
    return wins, densities


@compiled
def expectations_after(
    weights: Floats, wins: Floats, densities: Floats, depth: int
) -> tuple[Floats, Floats, Floats]:
    """Chance of a win and expected draw density after n games, w of them won.

    Args:
        weights: shape (G,), prior probabilities of the opponent's possible skills.
        wins: shape (G,), chance of a win at each.
        densities: shape (G,), true draw density at each.
        depth: the largest n.

    Returns:
        Chance and density, both of shape (depth + 1, depth + 1), entry [n, w] for w <= n; and
        what is known of the skill after ``depth`` games, shape (depth + 1, G).
    """
    size = weights.size
    chance = np.zeros((depth + 1, depth + 1))
    reward = np.zeros((depth + 1, depth + 1))
    posterior = np.empty((depth + 1, size))
    posterior[0] = weights
    for n in range(depth + 1):
        for w in range(n + 1):
            total, win, density = 0.0, 0.0, 0.0
            for g in range(size):
                weight = posterior[w, g]
                total += weight
                win += weight * wins[g]
                density += weight * densities[g]
            chance[n, w] = win / total
            reward[n, w] = density / total
            # Kept near 1: hundreds of factors would leave float64.
            for g in range(size):
                posterior[w, g] /= total
        if n < depth:
            for g in range(size):
                posterior[n + 1, g] = posterior[n, g] * wins[g]
            for w in range(n + 1):
                for g in range(size):
                    posterior[w, g] *= 1.0 - wins[g]
    return chance, reward, posterior


@compiled
def fair_charges(
    weights: Floats, wins: Floats, densities: Floats, depth: int, horizon: int, prices: Floats
) -> tuple[Floats, Floats]:
    """The fair charge after every record of games with an opponent.

    After ``depth`` games the opponent's skill is told, which can only be worth something.

    Args:
        weights: as ``expectations_after``.
        wins: as there.
        densities: as there.
        depth: 1 to the horizon.
        horizon: the most games.
        prices: rising, from one that everybody is worth to one that nobody is.

    Returns:
        Charges, shape (depth, depth), entry [n, w] after n games, w of them won; and what it is
        worth at each price to play a first game and then as long as it pays, shape (prices,).
    """
    chance, reward, posterior = expectations_after(weights, wins, densities, depth)
    charges = np.zeros((depth, depth))
    before = np.ones((depth, depth))
    worth = np.empty(prices.size)
    value = np.empty(depth + 1)
    for i in range(prices.size):
        price = prices[i]
        told = part_above(densities, price)
        for w in range(depth + 1):
            value[w] = 0.0
            for g in range(densities.size):
                value[w] += (horizon - depth) * posterior[w, g] * told[g]
        for n in range(depth - 1, -1, -1):
            for w in range(n + 1):
                p = chance[n, w]
                later = p * value[w + 1] + (1.0 - p) * value[w]
                playing = reward[n, w] - price + later
                # Convex in the price: the line between two prices is 0 at too high a price.
                if playing <= 0.0 and before[n, w] > 0.0 and i > 0:
                    share = before[n, w] / (before[n, w] - playing)
                    charges[n, w] = prices[i - 1] + (price - prices[i - 1]) * share
                before[n, w] = playing
                value[w] = max(0.0, playing)
        worth[i] = before[0, 0]
    return charges, worth


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


@compiled
def bound_of_path(
    tables: Floats,
    worths: Floats,
    nodes: Integers,
    shares: Floats,
    won: Flags,
    densities: Floats,
    prices: Floats,
) -> tuple[float, float]:
    """The N highest prevailing charges of one path, and a number of mean 0 that goes with them.

    The mean of the first over all paths is at least any policy's mean total of true q. The second
    is what the opponents' charges above one price come to, less its mean; the price is the best
    one that is fixed before the games.

    Args:
        tables: shape (T, depth, depth), charges of opponents of T kinds, as ``fair_charges``.
        worths: shape (T, prices), their worths.
        nodes: shape (M, A), kinds between which each opponent lies.
        shares: shape (M, A), by which it is interpolated.
        won: shape (M, N), whether player 0 wins the first, second, ... game with each.
        densities: shape (M,), the true draw density of each.
        prices: of ``worths``.

    Returns:
        ``(bound, control)``.
    """
    opponents, horizon = won.shape
    depth = tables.shape[1]
    worth = np.zeros(prices.size)
    charges = np.empty((opponents, horizon))
    for j in range(opponents):
        for i in range(prices.size):
            playing = 0.0
            for a in range(nodes.shape[1]):
                playing += shares[j, a] * worths[nodes[j, a], i]
            worth[i] += max(0.0, playing)
        least, games_won = np.inf, 0
        for n in range(horizon):
            charge = densities[j]
            if n < depth:
                charge = 0.0
                for a in range(nodes.shape[1]):
                    charge += shares[j, a] * tables[nodes[j, a], n, games_won]
            least = min(least, charge)
            charges[j, n] = least
            games_won += won[j, n]
    merged = charges.ravel()
    highest = np.partition(merged, merged.size - horizon)[merged.size - horizon :]
    best = int(np.argmin(horizon * prices + worth))
    above = 0.0
    for charge in merged:
        above += max(0.0, charge - prices[best])
    return highest.sum(), above - worth[best]
