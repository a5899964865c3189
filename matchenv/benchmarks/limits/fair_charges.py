"""Fair charges of opponents, and the payments at the prevailing charge.

Player 0's skill is given here. Then the opponents are independent. Let a player pay a charge for
each game and receive its draw density. The fair charge of an opponent, after some games, is the
highest at which playing on, for as long as it pays, is no loss. The prevailing charge is the lowest
fair charge so far. A player who pays it never gains on average, however the games against this
opponent are interleaved with others.

The surplus after n games is the expected gain of playing on at the prevailing charge, for as long
as it pays and for N games in all. Charges paid, minus draw densities received, minus the surplus
are a martingale. Let F_j(k) be the sum of the prevailing charges of the first k games against j on
a sample path, minus the surplus after them. Then

    mean sum of a policy  =  mean of the sum of F_j(k_j), for k_j games against j
                         <=  mean of the largest such sum over all k with sum N.

A record of games against an opponent is (n, w): n games, w of them won. Records of fewer than
``depth`` games are stored in one row: (0, 0), (1, 0), (1, 1), (2, 0) and so on. After ``depth``
games the opponent's skill counts as known, which can only raise the bound. Charges are computed for
kinds of opponents; every opponent of an instance is interpolated between them.

Shapes: E paths with M opponents each, R = E M rows, path by path; horizon N, depth D; T kinds of
opponents, whose skills lie on a grid of G points; S records, P prices. A gap is player 0's skill
``skill_0`` minus an opponent's. ``beta`` is the standard deviation of one performance around skill.

Sources: Weber, "On the Gittins index for multiarmed bandits" (1992), for prevailing charges; Brown,
Smith and Sun, "Information relaxations and duality in stochastic dynamic programs" (2010), for
bounds that penalise foresight by a martingale.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from matchenv.envs.one_player.priors import (
    PRIOR_MEAN_VARIANCE,
    PRIOR_VARIANCE_HIGH,
    PRIOR_VARIANCE_LOW,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.compile import compiled
from matchenv.trueskill import true_draw_density

# The value function is convex in the price. Linear interpolation between prices raises the charges,
# and the bound by less than 0.01 over 500 games.
PRICES = 200

# Logarithm of a negligible probability: far below the 2e-9 beyond a grid, since a long run of luck
# makes the unlikely likely. Products of two such numbers are no denormals, which are slow.
NEGLIGIBLE = -340.0

# Deviations that a grid covers on either side; 2e-9 of the probability lies beyond.
REACH = 6.0
# Step of a grid in units of the smallest posterior deviation. Sums over a grid are exact to
# exp(-2 pi^2 / step^2) of a normal density, and to the fourth power of the step if a price cuts
# the density off.
STEP = 0.45
LARGEST_STEP = 0.125
# One even game adds about 1 / (3.3 beta^2) to the precision of an opponent's skill.
VARIANCE_OF_A_GAME = 3.3

# Distances of the prior mean from player 0's skill, in skill points. Opponents beyond the largest
# get its charges, which are higher.
GAP_STEP = 0.2
LARGEST_GAP = 10.0
GAPS = np.arange(0.0, LARGEST_GAP + 0.5 * GAP_STEP, GAP_STEP)
# Largest skill of player 0, four deviations out for the best of 50: all paths share one grid.
LARGEST_SKILL = 12.0
# Nodes in the prior variance. Hidden prior means add a variance of 4, so fewer nodes suffice.
VARIANCES = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 4)
VARIANCES_HIDDEN = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 3)
# Number of nodes of the cubic in the distance.
STENCIL = 4


class Kinds(NamedTuple):
    """T kinds of opponents, with expectations after each of S records of fewer than D games.

    ``known`` is the gain of all games after D games, w of them won, at each price, if the skill is
    then known.
    """

    prices: Floats  # ascending from 0, denser towards the highest draw density, shape (P,)
    chances: Floats  # probability that player 0 wins the next game, shape (T, S)
    densities: Floats  # expected draw density of the next game, shape (T, S)
    known: Floats  # shape (T, D + 1, P)
    charges: Floats  # fair charges, shape (T, S)


class Interpolation(NamedTuple):
    """Interpolation of R opponents between kinds."""

    nodes: Integers  # indices of kinds, shape (R, A)
    shares: Floats  # weights of these kinds, which sum to 1, shape (R, A)


@compiled
def first_record(games: int) -> int:
    """Return the index of the record (games, 0)."""
    return games * (games + 1) // 2


def kinds_of(gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int) -> Kinds:
    """Return kinds of opponents with their expectations and fair charges.

    The probability of a record depends on the gap only, so one matrix product per number of games
    serves all kinds. The grid of gaps, shape (G,), is evenly spaced; ``weights``, shape (T, G), are
    the probabilities of the gaps for each kind. ``horizon`` is N, and ``depth`` is D, in [1, N].
    """
    noise = math.sqrt(2.0) * beta
    log_win = log_ndtr(gaps / noise)
    log_loss = log_ndtr(-gaps / noise)
    densities = true_draw_density(gaps, 0.0, beta)

    def likelihoods(games: int) -> Floats:
        won = np.arange(games + 1.0)[:, None]
        return exponentials(won * log_win + (games - won) * log_loss)

    mass = np.concatenate([weights, weights * np.exp(log_win), weights * densities]).T.copy()
    shape = (len(weights), first_record(depth))
    chances = np.empty(shape)
    expected = np.empty(shape)
    for n in range(depth):
        whole, won, paid = np.split(product_of(likelihoods(n), mass), 3, axis=1)
        records = slice(first_record(n), first_record(n + 1))
        chances[:, records] = (won / whole).T
        expected[:, records] = (paid / whole).T
    prices = true_draw_density(0.0, 0.0, beta) * (1.0 - np.linspace(1.0, 0.0, PRICES + 1) ** 2)
    known = np.zeros((len(weights), depth + 1, prices.size))
    if depth < horizon:
        above = np.stack([part_above(densities, price) for price in prices], axis=1)
        for t, weight in enumerate(weights):
            posterior = likelihoods(depth) * weight
            posterior /= posterior.sum(axis=1, keepdims=True)
            known[t] = (horizon - depth) * product_of(posterior, above)
    kinds = Kinds(prices, chances, expected, known, charges=np.empty(shape))
    fill_charges(kinds)
    return kinds


def exponentials(logarithms: Floats) -> Floats:
    """Return exponentials, scaled to a maximum of 1 per row; negligible ones become 0."""
    below = logarithms - logarithms.max(axis=1, keepdims=True)
    return np.where(below > NEGLIGIBLE, np.exp(np.maximum(below, NEGLIGIBLE)), 0.0)


def part_above(densities: Floats, price: float) -> Floats:
    """Return max(0, density - price), corrected so that sums over a grid equal integrals.

    At a kink, x of the way from one node to the next, a sum over an even grid is off by
    (1/12 - x (1 - x) / 2) times the change of slope (Euler-Maclaurin). This error is subtracted at
    the neighbouring nodes.
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
    """Return the product of two matrices, bit-identical for any number of BLAS threads."""
    product = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[0]):
        for g in range(left.shape[1]):
            factor = left[k, g]
            if factor != 0.0:
                for t in range(right.shape[1]):
                    product[k, t] += factor * right[g, t]
    return product


@compiled
def charges_before(kinds: Kinds, t: int, value: Floats, games: int) -> Floats:
    """Return the fair charge of kind t after each record of ``games`` games, shape (games + 1,).

    ``value`` holds the gain of playing on at each price after records of one more game, shape
    (games + 2 or more, P). It is overwritten by the gain after these records.
    """
    prices = kinds.prices
    loss = np.empty(prices.size)
    charges = np.empty(games + 1)
    for w in range(games + 1):
        record = first_record(games) + w
        chance = kinds.chances[t, record]
        density = kinds.densities[t, record]
        for i in range(prices.size):
            won = value[w + 1, i]
            lost = value[w, i]
            loss[i] = prices[i] - density - lost - chance * (won - lost)
        # The gain is convex in the price, so the root of the chord is not below the charge.
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
        value = kinds.known[t].copy()
        for n in range(value.shape[0] - 2, -1, -1):
            records = slice(first_record(n), first_record(n + 1))
            kinds.charges[t, records] = charges_before(kinds, t, value, n)


@compiled
def surpluses_at(
    kinds: Kinds, interpolation: Interpolation, wins: Integers, lowest: Floats
) -> Floats:
    """Return the surplus of each opponent after 0 to D games, shape (D + 1, R).

    It is interpolated linearly between prices, like the charges. ``wins`` and ``lowest``, shape
    (D + 1, R), are the games won and the prevailing charge after 0 to D games.
    """
    prices = kinds.prices
    surplus = np.zeros(lowest.shape)
    for t in range(kinds.charges.shape[0]):
        rows, across = np.nonzero(interpolation.nodes == t)
        if rows.size == 0:
            continue
        value = kinds.known[t].copy()
        for n in range(value.shape[0] - 2, 0, -1):
            charges_before(kinds, t, value, n)
            for r, a in zip(rows, across):  # noqa: B905 (Numba does not support strict)
                charge = lowest[n, r]
                w = wins[n, r]
                i = min(max(np.searchsorted(prices, charge), 1), prices.size - 1)
                share = (charge - prices[i - 1]) / (prices[i] - prices[i - 1])
                line = value[w, i - 1] + share * (value[w, i] - value[w, i - 1])
                surplus[n, r] += interpolation.shares[r, a] * line
    return surplus


def payments_of(
    kinds: Kinds, interpolation: Interpolation, won: Masks, densities: Floats
) -> Floats:
    """Return F of each opponent of E paths, shape (E, M, N + 1).

    ``won`` is whether player 0 wins the n-th game against each opponent, shape (E, M, N), and
    ``densities`` are the true draw densities, shape (E, M).
    """
    horizon = won.shape[2]
    depth = kinds.known.shape[1] - 1
    known = densities.ravel()
    wins = np.zeros((depth + 1, known.size), dtype=np.int64)
    wins[1:] = won.reshape(-1, horizon)[:, :depth].T.cumsum(axis=0)
    firsts = np.array([first_record(games) for games in range(depth)])
    records = firsts[:, None] + wins[:-1]
    fair = np.zeros(records.shape)
    for node, share in zip(interpolation.nodes.T, interpolation.shares.T, strict=True):
        fair += share * kinds.charges[node, records]
    lowest = np.concatenate([np.full((1, known.size), np.inf), np.minimum.accumulate(fair)])
    surplus = surpluses_at(kinds, interpolation, wins, lowest)
    # The fair charge of an opponent of known skill is the draw density.
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
    """Return the largest sum of payments, shape (M, N + 1), over all splits of N games."""
    games = payments.shape[1]
    best = payments[0].copy()
    for j in range(1, payments.shape[0]):
        before = best.copy()
        for k in range(1, games):
            more = payments[j, k]
            for n in range(k, games):
                best[n] = max(best[n], before[n - k] + more)
    return float(best[-1])


def opponents_of(
    settings: Settings, depth: int, players: Floats
) -> tuple[Kinds, Interpolation, Masks]:
    """Return the kinds of opponents, given player 0's skill and more than any policy knows.

    With informative priors the prior means are given. With equal priors they are hidden; then
    player 0's prior mean is given and, if its rank is fixed, which of the others are above it.
    Given these, the hidden means are independent.

    Args:
        settings: settings of the episodes.
        depth: D.
        players: the instances, shape (E, M + 1, 3).

    Returns:
        The kinds; the opponents between them; and whether wins and losses must be swapped, shape
        (E, M).
    """
    depth = min(depth, settings.horizon)
    if settings.prior == "informative":
        kinds = informed_kinds(settings.beta, settings.horizon, depth)
        gaps = players[:, :1, 2] - players[:, 1:, 0]
        variances = players[:, 1:, 1] ** 2
        interpolation = interpolation_by_gap(gaps.ravel(), variances.ravel())
        return kinds, interpolation, gaps < 0.0
    kinds, interpolation = _uninformed_opponents(settings, depth, players)
    return kinds, interpolation, np.zeros(players[:, 1:, 0].shape, dtype=np.bool_)


def _uninformed_opponents(
    settings: Settings, depth: int, players: Floats
) -> tuple[Kinds, Interpolation]:
    """Return ``opponents_of`` equal priors: a kind for each path, side and variance."""
    mu = players[:, :, 0]
    variances = players[:, 1:, 1] ** 2
    skill_0 = players[:, 0, 2]
    sides = np.sign(mu[:, 1:] - mu[:, :1]).astype(np.int64)
    if settings.rank is None:
        sides[:] = 0
    deviation = math.sqrt(PRIOR_MEAN_VARIANCE + PRIOR_VARIANCE_HIGH)
    largest = max(LARGEST_SKILL, float(np.abs(skill_0).max()))
    gaps = grid_of_gaps(largest, deviation, settings.beta, depth)
    distinct, side = np.unique(sides, return_inverse=True)
    shape = (len(sides), distinct.size, VARIANCES_HIDDEN.size)
    path, k, variance = np.indices(shape).reshape(3, -1)
    weights = uninformed_weights(
        gaps, skill_0[path], mu[path, 0], distinct[k], VARIANCES_HIDDEN[variance]
    )
    numbers = np.arange(path.size).reshape(shape)
    paths_of_opponents = np.indices(variances.shape)[0].ravel()
    nodes = numbers[paths_of_opponents, side.ravel()]
    shares = lagrange_shares(VARIANCES_HIDDEN, variances.ravel())
    kinds = kinds_of(gaps, weights, settings.beta, settings.horizon, depth)
    return kinds, Interpolation(nodes, shares)


@lru_cache(maxsize=1)
def informed_kinds(beta: float, horizon: int, depth: int) -> Kinds:
    """Return one kind for each distance in ``GAPS`` and prior variance in ``VARIANCES``."""
    means = np.repeat(GAPS, VARIANCES.size)
    variances = np.tile(VARIANCES, GAPS.size)
    gaps = grid_of_gaps(LARGEST_GAP, math.sqrt(PRIOR_VARIANCE_HIGH), beta, depth)
    return kinds_of(gaps, weights_of(gaps, means, variances), beta, horizon, depth)


def interpolation_by_gap(gaps: Floats, variances: Floats) -> Interpolation:
    """Return opponents between ``informed_kinds``.

    ``gaps`` are player 0's skill minus prior means; they and the prior variances have shape (R,).
    """
    distance = np.minimum(np.abs(gaps), LARGEST_GAP)
    first = np.clip((distance / GAP_STEP).astype(np.int64) - 1, 0, GAPS.size - STENCIL)
    across = first[:, None] + np.arange(STENCIL)
    by_gap = lagrange_shares(GAPS[across], distance)
    by_variance = lagrange_shares(VARIANCES, variances)
    nodes = across[:, :, None] * VARIANCES.size + np.arange(VARIANCES.size)
    shares = by_gap[:, :, None] * by_variance[:, None, :]
    return Interpolation(nodes.reshape(gaps.size, -1), shares.reshape(gaps.size, -1))


def grid_of_gaps(largest: float, deviation: float, beta: float, depth: int) -> Floats:
    """Return an evenly spaced grid of gaps, shape (G,), fine enough for D games per opponent.

    ``largest`` is the largest absolute mean of a gap, and ``deviation`` its largest deviation.
    """
    step = beta * min(LARGEST_STEP, STEP * math.sqrt(VARIANCE_OF_A_GAME / depth))
    half = math.ceil((largest + REACH * deviation) / step)
    return step * np.arange(-half, half + 1.0)


def weights_of(
    gaps: Floats, mean: Floats, variance: Floats, log_factor: Floats | float = 0.0
) -> Floats:
    """Return probabilities of gaps, shape (T, G): a normal density times an optional factor.

    ``mean`` and ``variance`` of the gap have shape (T,), and ``log_factor`` has shape (T, G).
    """
    weights = exponentials(-0.5 * (gaps - mean[:, None]) ** 2 / variance[:, None] + log_factor)
    return weights / weights.sum(axis=1, keepdims=True)


def uninformed_weights(
    gaps: Floats, skill_0: Floats, mu_0: Floats, sides: Integers, variance: Floats
) -> Floats:
    """Return probabilities of gaps for hidden prior means, shape (T, G).

    The hidden mean is N(0, 4), truncated at player 0's mean ``mu_0``. It is below it for a side of
    -1, above it for +1, and not truncated for 0. The skill is N(mean, variance). Arguments other
    than ``gaps`` have shape (T,).
    """
    total = variance + PRIOR_MEAN_VARIANCE
    share = PRIOR_MEAN_VARIANCE / total
    # The hidden mean is normal given the skill too; standardise mu_0 by it.
    above = mu_0[:, None] - share[:, None] * (skill_0[:, None] - gaps)
    above /= np.sqrt(share * variance)[:, None]
    cut = np.where(sides[:, None] == 0, 0.0, log_ndtr(-sides[:, None] * above))
    return weights_of(gaps, skill_0, total, cut)


def lagrange_shares(points: Floats, at: Floats) -> Floats:
    """Return the Lagrange weights of K points for interpolation ``at`` R values, shape (R, K).

    ``at`` has shape (R,), and ``points`` (R, K), or (K,) for all rows.
    """
    points = np.broadcast_to(points, (at.size, points.shape[-1]))
    shares = np.ones(points.shape)
    for i, k in np.ndindex(points.shape[1], points.shape[1]):
        if k != i:
            shares[:, i] *= (at - points[:, k]) / (points[:, i] - points[:, k])
    return shares
