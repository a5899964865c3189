"""Charges of kinds of opponents, between which every opponent of an instance lies."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from matchenv.benchmarks.limits.charges import (
    Known,
    add_surpluses,
    expectations_after,
    exponentials,
    fair_charges,
    lowest_charges,
    payments_before,
    prices_up_to_the_peak,
)
from matchenv.envs.one_player.priors import (
    PRIOR_MEAN_VARIANCE,
    PRIOR_VARIANCE_HIGH,
    PRIOR_VARIANCE_LOW,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

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
    """T kinds of opponents.

    Attributes:
        beta: standard deviation of one performance around skill.
        known: about each, after every record of games.
        charges: fair ones, shape (T, S).
    """

    beta: float
    known: list[Known]
    charges: Floats


class Places(NamedTuple):
    """Positions of R opponents among the kinds.

    Attributes:
        nodes: numbers of kinds, shape (R, A).
        shares: of each, shape (R, A); they add up to 1.
        mirrored: shape (R,): the kind is the opponent with wins and losses exchanged.
    """

    nodes: Integers
    shares: Floats
    mirrored: Flags


def kinds_of(gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int) -> Kinds:
    """Return expectations and charges; arguments as ``charges.expectations_after``."""
    known = expectations_after(gaps, weights, beta, horizon, depth)
    prices = prices_up_to_the_peak(beta)
    return Kinds(beta, known, np.array([fair_charges(each, prices) for each in known]))


@lru_cache(maxsize=1)
def informed_kinds(beta: float, horizon: int, depth: int) -> Kinds:
    """Return kinds whose prior mean is known, against a player of skill 0.

    Args:
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: games after which the skill is known.

    Returns:
        Kinds for every distance and, for each, every variance.
    """
    means, variances = np.repeat(GAPS, VARIANCES.size), np.tile(VARIANCES, GAPS.size)
    gaps = grid_of_gaps(LARGEST_GAP, math.sqrt(PRIOR_VARIANCE_HIGH), beta, depth)
    return kinds_of(gaps, informed_weights(gaps, means, variances), beta, horizon, depth)


def places_by_gap(gaps: Floats, variances: Floats) -> Places:
    """Return where opponents lie among ``informed_kinds``.

    Args:
        gaps: player 0's skill minus the prior mean, shape (R,).
        variances: of the priors, shape (R,).
    """
    distance = np.minimum(np.abs(gaps), LARGEST_GAP)
    first = np.clip((distance / GAP_STEP).astype(np.int64) - 1, 0, GAPS.size - STENCIL)
    across = first[:, None] + np.arange(STENCIL)
    by_gap = lagrange_shares(GAPS[across], distance)
    by_variance = lagrange_shares(np.tile(VARIANCES, (gaps.size, 1)), variances)
    nodes = across[:, :, None] * VARIANCES.size + np.arange(VARIANCES.size)
    shares = by_gap[:, :, None] * by_variance[:, None, :]
    count = gaps.size
    return Places(nodes.reshape(count, -1), shares.reshape(count, -1), gaps < 0.0)


def uninformed_kinds(
    skill_0: Floats, mu_0: Floats, sides: Integers, beta: float, horizon: int, depth: int
) -> Kinds:
    """Return kinds whose prior means are hidden, given player 0's skill and hidden mean.

    Args:
        skill_0: skill of player 0 on each of E paths, shape (E,).
        mu_0: the hidden prior mean, shape (E,).
        sides: those that are needed, rising, of -1, 0 and 1, as ``uninformed_weights``.
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: games after which the skill is known.

    Returns:
        Kinds for every path and, for each, every side and, for each, every variance.
    """
    deviation = math.sqrt(PRIOR_MEAN_VARIANCE + PRIOR_VARIANCE_HIGH)
    gaps = grid_of_gaps(max(LARGEST_SKILL, float(np.abs(skill_0).max())), deviation, beta, depth)
    each, variances = np.repeat(sides, VARIANCES_HIDDEN.size), np.tile(VARIANCES_HIDDEN, sides.size)
    weights = [
        uninformed_weights(gaps, skill, mean, each, variances)
        for skill, mean in zip(skill_0, mu_0, strict=True)
    ]
    return kinds_of(gaps, np.concatenate(weights), beta, horizon, depth)


def places_by_side(sides: Integers, known: Integers, variances: Floats) -> Places:
    """Return where opponents lie among ``uninformed_kinds``.

    Args:
        sides: of each opponent of each path, shape (E, M).
        known: those that the kinds were made for.
        variances: of the priors, shape (E, M).
    """
    path = np.arange(len(sides))[:, None] * known.size
    first = ((path + np.searchsorted(known, sides)) * VARIANCES_HIDDEN.size).ravel()
    nodes = first[:, None] + np.arange(VARIANCES_HIDDEN.size)
    shares = lagrange_shares(np.tile(VARIANCES_HIDDEN, (sides.size, 1)), variances.ravel())
    return Places(nodes, shares, np.zeros(sides.size, dtype=np.bool_))


def payments_of(kinds: Kinds, places: Places, won: Flags, densities: Floats) -> Floats:
    """Return F of each opponent of E paths, shape (E, M, N + 1).

    Args:
        kinds: between which the opponents lie.
        places: where; those of the first path first.
        won: shape (E, M, N), whether player 0 wins the first, second, ... game with each.
        densities: shape (E, M), the true draw densities.
    """
    paths, opponents, horizon = won.shape
    prices, depth = prices_up_to_the_peak(kinds.beta), len(kinds.known[0].told) - 1
    mirrored = won.reshape(-1, horizon) ^ places.mirrored[:, None]
    wins, lowest = lowest_charges(kinds.charges, depth, places.nodes, places.shares, mirrored)
    surplus = np.zeros(lowest.shape)
    for t, known in enumerate(kinds.known):
        who, across = np.nonzero(places.nodes == t)
        if who.size > 0:
            add_surpluses(known, prices, who, places.shares[who, across], wins, lowest, surplus)
    payments = payments_before(lowest, surplus, densities.ravel(), horizon)
    return payments.reshape(paths, opponents, horizon + 1)


def grid_of_gaps(largest: float, deviation: float, beta: float, depth: int) -> Floats:
    """Return an even grid of gaps between player 0's skill and opponents', shape (G,).

    Args:
        largest: distance from 0 of the mean of any opponent's gap, at most.
        deviation: the largest one of a gap.
        beta: standard deviation of one performance around skill.
        depth: games with an opponent that the grid must be fine enough for.
    """
    step = beta * min(LARGEST_STEP, STEP * math.sqrt(VARIANCE_OF_A_GAME / depth))
    half = math.ceil((largest + REACH * deviation) / step)
    found: Floats = step * np.arange(-half, half + 1.0)
    return found


def informed_weights(gaps: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return probabilities of gaps where prior means are known, shape (T, G).

    Args:
        gaps: the grid, shape (G,).
        mean: player 0's skill minus the prior means, shape (T,).
        variance: of the priors, shape (T,).
    """
    return _normalised(-0.5 * (gaps - mean[:, None]) ** 2 / variance[:, None])


def uninformed_weights(
    gaps: Floats, skill_0: float, mu_0: float, sides: Integers, variance: Floats
) -> Floats:
    """Return probabilities of gaps where prior means are hidden, shape (T, G).

    The hidden mean is N(0, 4), cut at player 0's on the side that is known; the skill is
    N(mean, variance).

    Args:
        gaps: the grid, shape (G,).
        skill_0: player 0's skill.
        mu_0: the hidden prior mean of player 0.
        sides: shape (T,): -1 if the opponent's mean is below player 0's, +1 if above, 0 where
            nothing is known.
        variance: of the priors, shape (T,).
    """
    skills = skill_0 - gaps
    total = variance[:, None] + PRIOR_MEAN_VARIANCE
    share = PRIOR_MEAN_VARIANCE / total
    # Given the skill the hidden mean is normal too: how far player 0's is above it.
    above = (mu_0 - share * skills) / np.sqrt(share * variance[:, None])
    cut = np.where(sides[:, None] == 0, 0.0, log_ndtr(-sides[:, None] * above))
    return _normalised(-0.5 * skills**2 / total + cut)


def lagrange_shares(points: Floats, at: Floats) -> Floats:
    """Return shares of values at some points in the polynomial through them, shape (M, P).

    Args:
        points: shape (M, P).
        at: where the polynomial is read, shape (M,).
    """
    count = points.shape[1]
    shares = np.ones(points.shape)
    for i in range(count):
        for k in range(count):
            if k != i:
                shares[:, i] *= (at - points[:, k]) / (points[:, i] - points[:, k])
    return shares


def _normalised(logarithms: Floats) -> Floats:
    weights = exponentials(logarithms)
    normalised: Floats = weights / weights.sum(axis=1, keepdims=True)
    return normalised
