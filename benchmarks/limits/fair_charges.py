"""Fair charges of opponents, and what games at the prevailing charge pay.

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
the opponent's skill counts as known, which can only be worth something. Charges are computed for
kinds of opponents, between which every opponent of an instance is interpolated.

Shapes: E paths with M opponents each, R = E M of them in all, the first path's first; horizons of N
games, depths of D; T kinds of opponents, whose skills lie on a grid of G points, S records, P
prices. A gap is player 0's skill ``skill_0`` minus an opponent's. ``beta`` is the standard
deviation of one performance around skill.

Sources: Weber, "On the Gittins index for multiarmed bandits" (1992), for prevailing charges; Brown,
Smith and Sun, "Information relaxations and duality in stochastic dynamic programs" (2010), for a
bound by a martingale that whoever knows the future must pay.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from matchenv.envs.one_player.priors import (
    PRIOR_MEAN_VARIANCE,
    PRIOR_VARIANCE_HIGH,
    PRIOR_VARIANCE_LOW,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.compile import compiled
from matchenv.trueskill import true_draw_density

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Between two prices what an opponent is worth lies below a straight line, so that charges come out
# too high, and the bound with them: by less than 0.01 over 500 games with so many prices.
PRICES = 200

# Logarithm of what counts as 0: far below the 2e-9 that lies beyond a grid, since a long run of
# luck makes the unlikely likely. Products of two such numbers stay where processors are quick.
NEGLIGIBLE = -340.0

# A grid reaches so many deviations to either side: 2e-9 of the probability lies beyond.
REACH = 6.0
# Steps of a grid in units of the least deviation that games can leave. Sums over a grid are exact
# to exp(-2 pi^2 / step^2) of a normal density, and to the fourth power of the step where the
# density is cut off by a price.
STEP, LARGEST_STEP = 0.45, 0.125
# One even game adds about 1 / (3.3 beta^2) to the precision of an opponent's skill.
VARIANCE_OF_A_GAME = 3.3

# Distances of the prior mean from player 0's skill: every so many skill points, up to the largest.
# Opponents beyond are given the charges of the largest, which are higher.
GAP_STEP, LARGEST_GAP = 0.2, 10.0
GAPS = np.arange(0.0, LARGEST_GAP + 0.5 * GAP_STEP, GAP_STEP)
# Of player 0, four deviations out even for the best of 50: all paths have the same grid.
LARGEST_SKILL = 12.0
# Variances of priors between which is interpolated, by the polynomial through them; where the
# prior mean is hidden the skill varies by another 4, so that fewer will do.
VARIANCES = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 4)
VARIANCES_HIDDEN = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 3)
# Nodes of the cubic in the distance.
STENCIL = 4


class Kinds(NamedTuple):
    """T kinds of opponents, with expectations after each of S records of fewer than D games.

    Attributes:
        prices: of a game, rising from 0, denser towards the highest draw density, shape (P,).
        chances: of a win of player 0 in the next game, shape (T, S).
        densities: expected draw density of the next game, shape (T, S).
        told: expected part of the draw density above each price in all games that remain after D
            games, w of them won, shape (T, D + 1, P).
        charges: fair ones, shape (T, S).
    """

    prices: Floats
    chances: Floats
    densities: Floats
    told: Floats
    charges: Floats


class Places(NamedTuple):
    """Positions of R opponents among the kinds.

    Attributes:
        nodes: numbers of kinds, shape (R, A).
        shares: of each, shape (R, A); they add up to 1.
    """

    nodes: Integers
    shares: Floats


@compiled
def first_record(games: int) -> int:
    """Return the place of the record of so many games, none of them won."""
    return games * (games + 1) // 2


def kinds_of(gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int) -> Kinds:
    """Return what is expected of kinds of opponents, and their fair charges.

    The probability of a record depends on the gap alone, so that all kinds together take one
    product of matrices for each number of games.

    Args:
        gaps: an even grid, shape (G,).
        weights: probabilities of the gaps, for each kind, shape (T, G).
        beta: as above.
        horizon: N.
        depth: D, 1 to the horizon.
    """
    log_win, log_loss = (log_ndtr(sign * gaps / (math.sqrt(2.0) * beta)) for sign in (1.0, -1.0))
    densities = true_draw_density(gaps, 0.0, beta)

    def likelihoods(games: int) -> Floats:
        won = np.arange(games + 1.0)[:, None]
        return exponentials(won * log_win + (games - won) * log_loss)

    mass = np.concatenate([weights, weights * np.exp(log_win), weights * densities]).T.copy()
    found = np.empty((2, len(weights), first_record(depth)))
    for n in range(depth):
        whole, won, paid = np.split(product_of(likelihoods(n), mass), 3, axis=1)
        span = slice(first_record(n), first_record(n + 1))
        found[0, :, span], found[1, :, span] = (won / whole).T, (paid / whole).T
    prices = true_draw_density(0.0, 0.0, beta) * (1.0 - np.linspace(1.0, 0.0, PRICES + 1) ** 2)
    told = np.zeros((len(weights), depth + 1, prices.size))
    if depth < horizon:
        above = np.stack([part_above(densities, price) for price in prices], axis=1)
        for t, weight in enumerate(weights):
            posterior = likelihoods(depth) * weight
            posterior /= posterior.sum(axis=1, keepdims=True)
            told[t] = (horizon - depth) * product_of(posterior, above)
    kinds = Kinds(prices, found[0], found[1], told, np.empty(found[0].shape))
    fill_charges(kinds)
    return kinds


def exponentials(logarithms: Floats) -> Floats:
    """Return exponentials, the largest of a row 1, and 0 for what is negligible beside it."""
    below = logarithms - logarithms.max(axis=1, keepdims=True)
    found: Floats = np.where(below > NEGLIGIBLE, np.exp(np.maximum(below, NEGLIGIBLE)), 0.0)
    return found


def part_above(densities: Floats, price: float) -> Floats:
    """Return draw densities minus a price, where above 0, so that sums over a grid are integrals.

    A sum over an even grid is off by (1/12 - x (1 - x) / 2) times the change of slope where the
    function has a kink, x of the way from one node to the next (Euler-Maclaurin). Next to a kink
    that error is subtracted.
    """
    gain = densities - price
    kinks = np.flatnonzero(gain[:-1] * gain[1:] < 0.0)
    slope = np.abs(gain[kinks + 1] - gain[kinks])
    share = np.abs(gain[kinks]) / slope
    error = slope * (1.0 / 12.0 - 0.5 * share * (1.0 - share))
    above = np.maximum(gain, 0.0)
    above[kinks] += 0.5 * error
    above[kinks + 1] += 0.5 * error
    return above


@compiled
def product_of(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, the same digits however many threads numpy's has."""
    found = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[0]):
        for g in range(left.shape[1]):
            factor = left[k, g]
            if factor != 0.0:
                for t in range(right.shape[1]):
                    found[k, t] += factor * right[g, t]
    return found


@compiled
def charges_before(kinds: Kinds, t: int, value: Floats, games: int) -> Floats:
    """Return the fair charge of kind t after each record of so many games, shape (games + 1,).

    ``value`` holds the gain of playing on, for as long as it pays, after records of one game more,
    at each price, shape (games + 2 or more, P); it is overwritten by that of these records.
    """
    prices = kinds.prices
    loss, charges = np.empty(prices.size), np.empty(games + 1)
    for w in range(games + 1):
        at = first_record(games) + w
        chance, density = kinds.chances[t, at], kinds.densities[t, at]
        for i in range(prices.size):
            won, lost = value[w + 1, i], value[w, i]
            loss[i] = prices[i] - density - lost - chance * (won - lost)
        # The gain is convex in the price: the line between two prices is 0 at too high a price.
        high = min(int(np.searchsorted(loss, 0.0)), prices.size - 1)
        low = high - 1
        share = loss[low] / (loss[low] - loss[high])
        charges[w] = prices[low] + (prices[high] - prices[low]) * share
        for i in range(prices.size):
            value[w, i] = max(0.0, -loss[i])
    return charges


@compiled
def fill_charges(kinds: Kinds) -> None:
    """Write the fair charges of all kinds."""
    for t in range(kinds.charges.shape[0]):
        value = kinds.told[t].copy()
        for n in range(value.shape[0] - 2, -1, -1):
            span = slice(first_record(n), first_record(n + 1))
            kinds.charges[t, span] = charges_before(kinds, t, value, n)


@compiled
def surpluses_at(kinds: Kinds, places: Places, wins: Integers, lowest: Floats) -> Floats:
    """Return the surplus of each opponent after n games at the prevailing charge, shape (D + 1, R).

    It is linear between two prices, as the charges are. After n games, ``wins`` of them won, the
    prevailing charge is ``lowest``, both of shape (D + 1, R).
    """
    prices, surplus = kinds.prices, np.zeros(lowest.shape)
    for t in range(kinds.charges.shape[0]):
        who, across = np.nonzero(places.nodes == t)
        value = kinds.told[t].copy()
        for n in range(value.shape[0] - 2, 0, -1) if who.size > 0 else range(0):
            charges_before(kinds, t, value, n)
            for r, a in zip(who, across):  # noqa: B905 (strict is unknown to Numba)
                charge, w = lowest[n, r], wins[n, r]
                i = min(max(np.searchsorted(prices, charge), 1), prices.size - 1)
                share = (charge - prices[i - 1]) / (prices[i] - prices[i - 1])
                line = value[w, i - 1] + share * (value[w, i] - value[w, i - 1])
                surplus[n, r] += places.shares[r, a] * line
    return surplus


def payments_of(kinds: Kinds, places: Places, won: Flags, densities: Floats) -> Floats:
    """Return F of each opponent of E paths, shape (E, M, N + 1).

    Args:
        kinds: between which the opponents lie.
        places: where.
        won: shape (E, M, N), whether player 0 wins the first, second, ... game with each kind.
        densities: shape (E, M), the true draw densities.
    """
    horizon, depth = won.shape[2], kinds.told.shape[1] - 1
    known, results = densities.ravel(), won.reshape(-1, horizon)
    wins = np.zeros((depth + 1, known.size), dtype=np.int64)
    wins[1:] = results[:, :depth].T.cumsum(axis=0)
    firsts = np.array([first_record(games) for games in range(depth)])
    at = firsts[:, None] + wins[:-1]
    fair = sum(share * kinds.charges[node, at]
               for node, share in zip(places.nodes.T, places.shares.T, strict=True))  # fmt: skip
    lowest = np.concatenate([np.full((1, known.size), np.inf), np.minimum.accumulate(fair)])
    surplus = surpluses_at(kinds, places, wins, lowest)
    # Once the skill is known, the draw density is the fair charge.
    last = lowest[depth]
    later = np.tile(np.minimum(last, known), (horizon - depth, 1))
    payments = np.zeros((known.size, horizon + 1))
    payments[:, 1:] = np.concatenate([lowest[1:], later]).cumsum(axis=0).T
    payments[:, 1:depth] -= surplus[1:depth].T
    left = np.arange(horizon - depth, -1, -1)
    payments[:, depth:] -= np.maximum(0.0, known - last)[:, None] * left
    return payments.reshape(*densities.shape, horizon + 1)


@compiled
def best_split(payments: Floats) -> float:
    """Return the largest sum of payments, shape (M, N + 1), for N games in all."""
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


def opponents_of(
    settings: Settings, depth: int, players: Floats
) -> tuple[Kinds, Places, NDArray[np.bool_]]:
    """Return the opponents' charges, given more than any policy knows at the start.

    That is player 0's skill, and the prior means. With equal priors policies do not know those;
    then it is player 0's hidden mean, and whose is above it and whose below, where player 0's
    place is by the means. Given these, the other means are independent.

    Args:
        settings: of the episodes.
        depth: D.
        players: the instances, shape (E, M + 1, 3).

    Returns:
        Kinds; places of the opponents among them; and, shape (E, M), of which opponents wins and
        losses are to be exchanged.
    """
    sizes = settings.beta, settings.horizon, min(depth, settings.horizon)
    mu, variances, skill_0 = players[:, :, 0], players[:, 1:, 1] ** 2, players[:, 0, 2]
    if settings.prior == "informative":
        gaps = skill_0[:, None] - mu[:, 1:]
        return informed_kinds(*sizes), places_by_gap(gaps.ravel(), variances.ravel()), gaps < 0.0
    sides = np.zeros(variances.shape, dtype=np.int64)
    if settings.rank is not None:
        sides[:] = np.sign(mu[:, 1:] - mu[:, :1])
    deviation = math.sqrt(PRIOR_MEAN_VARIANCE + PRIOR_VARIANCE_HIGH)
    largest = max(LARGEST_SKILL, float(np.abs(skill_0).max()))
    gaps = grid_of_gaps(largest, deviation, settings.beta, sizes[-1])
    # A kind for every path and, for each, every side and, for each, every variance.
    known, side = np.unique(sides, return_inverse=True)
    paths, of_side = len(sides), VARIANCES_HIDDEN.size
    path, each, variance = np.indices((paths, known.size, of_side)).reshape(3, -1)
    weights = uninformed_weights(
        gaps, skill_0[path], mu[path, 0], known[each], VARIANCES_HIDDEN[variance]
    )
    first = np.arange(paths)[:, None] * known.size + side.reshape(sides.shape)
    nodes = first.ravel()[:, None] * of_side + np.arange(of_side)
    places = Places(nodes, lagrange_shares(VARIANCES_HIDDEN, variances.ravel()))
    return kinds_of(gaps, weights, *sizes), places, np.zeros(sides.shape, dtype=np.bool_)


@lru_cache(maxsize=1)
def informed_kinds(beta: float, horizon: int, depth: int) -> Kinds:
    """Return a kind for every distance of prior means and, for each, every variance."""
    means, variances = np.repeat(GAPS, VARIANCES.size), np.tile(VARIANCES, GAPS.size)
    gaps = grid_of_gaps(LARGEST_GAP, math.sqrt(PRIOR_VARIANCE_HIGH), beta, depth)
    return kinds_of(gaps, weights_of(gaps, means, variances), beta, horizon, depth)


def places_by_gap(gaps: Floats, variances: Floats) -> Places:
    """Return where opponents lie among ``informed_kinds``.

    By player 0's skill minus the prior mean, and by the variance of the prior, both of shape (R,).
    """
    distance = np.minimum(np.abs(gaps), LARGEST_GAP)
    first = np.clip((distance / GAP_STEP).astype(np.int64) - 1, 0, GAPS.size - STENCIL)
    across = first[:, None] + np.arange(STENCIL)
    by_gap = lagrange_shares(GAPS[across], distance)
    by_variance = lagrange_shares(VARIANCES, variances)
    nodes = across[:, :, None] * VARIANCES.size + np.arange(VARIANCES.size)
    shares = by_gap[:, :, None] * by_variance[:, None, :]
    return Places(nodes.reshape(gaps.size, -1), shares.reshape(gaps.size, -1))


def grid_of_gaps(largest: float, deviation: float, beta: float, depth: int) -> Floats:
    """Return an even grid of gaps, shape (G,), fine enough for D games with an opponent.

    The means of the opponents' gaps are no further from 0 than ``largest``, and the gaps deviate
    from them by ``deviation`` at most.
    """
    step = beta * min(LARGEST_STEP, STEP * math.sqrt(VARIANCE_OF_A_GAME / depth))
    half = math.ceil((largest + REACH * deviation) / step)
    found: Floats = step * np.arange(-half, half + 1.0)
    return found


def weights_of(
    gaps: Floats, mean: Floats, variance: Floats, log_factor: Floats | float = 0.0
) -> Floats:
    """Return probabilities of gaps, shape (T, G): a normal density, perhaps times a factor.

    Of mean player 0's skill minus the opponent's mean, and the variance of the opponent's skill,
    both of shape (T,); the factor's logarithm has shape (T, G).
    """
    weights = exponentials(-0.5 * (gaps - mean[:, None]) ** 2 / variance[:, None] + log_factor)
    return weights / weights.sum(axis=1, keepdims=True)


def uninformed_weights(
    gaps: Floats, skill_0: Floats, mu_0: Floats, sides: Integers, variance: Floats
) -> Floats:
    """Return probabilities of gaps where prior means are hidden, shape (T, G).

    The hidden mean is N(0, 4), cut at player 0's, ``mu_0``, on the side that is known: -1 below it,
    +1 above, 0 where nothing is known. The skill is N(mean, variance). All have shape (T,).
    """
    total = variance + PRIOR_MEAN_VARIANCE
    share = PRIOR_MEAN_VARIANCE / total
    # Given the skill the hidden mean is normal too: how far player 0's is above it.
    above = mu_0[:, None] - share[:, None] * (skill_0[:, None] - gaps)
    above /= np.sqrt(share * variance)[:, None]
    cut = np.where(sides[:, None] == 0, 0.0, log_ndtr(-sides[:, None] * above))
    return weights_of(gaps, skill_0, total, cut)


def lagrange_shares(points: Floats, at: Floats) -> Floats:
    """Return shares of values at some points in the polynomial through them, shape (R, K).

    It is read ``at`` places of shape (R,); points have shape (R, K), or (K,) for all.
    """
    points = np.broadcast_to(points, (at.size, points.shape[-1]))
    shares = np.ones(points.shape)
    for i, k in np.ndindex(points.shape[1], points.shape[1]):
        if k != i:
            shares[:, i] *= (at - points[:, k]) / (points[:, i] - points[:, k])
    return shares
