"""Charges of kinds of opponents, between which every opponent of an instance lies."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.charges import fair_charges
from matchenv.benchmarks.bound.possible_skills import (
    grid_of_gaps,
    informed_weights,
    step_of,
    uninformed_weights,
)
from matchenv.benchmarks.bound.prices import prices_up_to_the_peak
from matchenv.benchmarks.bound.records import Expectations, expectations_after
from matchenv.envs.one_player.priors import (
    PRIOR_MEAN_VARIANCE,
    PRIOR_VARIANCE_HIGH,
    PRIOR_VARIANCE_LOW,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Distances of the prior mean from player 0's skill: every so many skill points, up to the largest.
# Whoever is further is given the charges of the largest, which are higher.
GAP_STEP = 0.2
LARGEST_GAP = 10.0
# Of player 0, four deviations out even for the best of 50: all paths have the same grid.
LARGEST_SKILL = 12.0
# Variances of priors between which is interpolated, by the polynomial through them.
VARIANCES = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 4)
# The same where the prior mean is hidden, so that the skill varies by another 4: fewer will do.
VARIANCES_HIDDEN = np.linspace(PRIOR_VARIANCE_LOW, PRIOR_VARIANCE_HIGH, 3)
# Nodes of the cubic in the distance.
STENCIL = 4
# What is known of an opponent's hidden mean: below player 0's, nothing, above.
SIDES = np.array([-1, 0, 1])


class Kinds(NamedTuple):
    """T kinds of opponents.

    Attributes:
        beta: standard deviation of one performance around skill.
        known: after every record of games.
        charges: fair ones, shape (T, S).
        worths: shape (T, prices), of a first game and then as long as it pays.
    """

    beta: float
    known: Expectations
    charges: Floats
    worths: Floats


class Places(NamedTuple):
    """Where R opponents lie among the kinds.

    Attributes:
        nodes: numbers of kinds, shape (R, A).
        shares: of each, shape (R, A); they add up to 1.
        mirrored: shape (R,): the kind is the opponent with wins and losses exchanged.
    """

    nodes: Integers
    shares: Floats
    mirrored: Flags


@lru_cache(maxsize=1)
def informed_kinds(beta: float, horizon: int, depth: int) -> Kinds:
    """Opponents whose prior mean is known, against a player of skill 0.

    Args:
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: as ``charges.fair_charges``.

    Returns:
        Kinds for every distance and, for each, every variance.
    """
    means = np.repeat(_gaps(), VARIANCES.size)
    variances = np.tile(VARIANCES, _gaps().size)
    gaps = grid_of_gaps(LARGEST_GAP, math.sqrt(PRIOR_VARIANCE_HIGH), step_of(beta, depth))
    return kinds_of(gaps, informed_weights(gaps, means, variances), beta, horizon, depth)


def places_by_gap(gaps: Floats, variances: Floats) -> Places:
    """Where opponents lie among ``informed_kinds``.

    Args:
        gaps: player 0's skill less the prior mean, shape (M,).
        variances: of the priors, shape (M,).
    """
    knots = _gaps()
    distance = np.minimum(np.abs(gaps), LARGEST_GAP)
    first = np.clip((distance / GAP_STEP).astype(np.int64) - 1, 0, knots.size - STENCIL)
    across = first[:, None] + np.arange(STENCIL)
    by_gap = lagrange_shares(knots[across], distance)
    by_variance = lagrange_shares(np.broadcast_to(VARIANCES, (gaps.size, VARIANCES.size)),
                                  variances)  # fmt: skip
    nodes = across[:, :, None] * VARIANCES.size + np.arange(VARIANCES.size)
    shares = by_gap[:, :, None] * by_variance[:, None, :]
    count = gaps.size
    return Places(nodes.reshape(count, -1), shares.reshape(count, -1), gaps < 0.0)


def uninformed_kinds(
    skill_0: Floats, mu_0: Floats, sides: Integers, beta: float, horizon: int, depth: int
) -> Kinds:
    """Opponents whose prior means are hidden, where player 0's skill and hidden mean are known.

    Args:
        skill_0: skill of player 0 on each of E paths, shape (E,).
        mu_0: the hidden prior mean, shape (E,).
        sides: those that are needed, rising, out of ``SIDES``.
        beta: as ``informed_kinds``, and so are the next two.
        horizon: as there.
        depth: as there.

    Returns:
        Kinds for every path and, for each, every side and, for each, every variance.
    """
    deviation = math.sqrt(PRIOR_MEAN_VARIANCE + PRIOR_VARIANCE_HIGH)
    largest = max(LARGEST_SKILL, float(np.abs(skill_0).max()))
    gaps = grid_of_gaps(largest, deviation, step_of(beta, depth))
    each, variances = np.repeat(sides, VARIANCES_HIDDEN.size), np.tile(VARIANCES_HIDDEN, sides.size)
    weights = [
        uninformed_weights(gaps, skill, mean, each, variances)
        for skill, mean in zip(skill_0, mu_0, strict=True)
    ]
    return kinds_of(gaps, np.concatenate(weights), beta, horizon, depth)


def places_by_side(sides: Integers, known: Integers, variances: Floats) -> Places:
    """Where opponents lie among ``uninformed_kinds``.

    Args:
        sides: of each opponent of each path, shape (E, M).
        known: those that the kinds were made for.
        variances: of the priors, shape (E, M).
    """
    path = np.arange(len(sides))[:, None] * known.size
    first = ((path + np.searchsorted(known, sides)) * VARIANCES_HIDDEN.size).ravel()
    points = np.broadcast_to(VARIANCES_HIDDEN, (sides.size, VARIANCES_HIDDEN.size))
    nodes = first[:, None] + np.arange(VARIANCES_HIDDEN.size)
    shares = lagrange_shares(points, variances.ravel())
    return Places(nodes, shares, np.zeros(sides.size, dtype=np.bool_))


def kinds_of(gaps: Floats, weights: Floats, beta: float, horizon: int, depth: int) -> Kinds:
    """Expectations, charges and worths of opponents.

    Args:
        gaps: player 0's skill less an opponent's: an even grid, shape (G,).
        weights: probabilities of the gaps, for each opponent, shape (T, G).
        beta: as ``informed_kinds``, and so are the next two.
        horizon: as there.
        depth: as there.
    """
    known = expectations_after(gaps, weights, beta, horizon, depth)
    prices = prices_up_to_the_peak(beta)
    found = [fair_charges(*each, prices) for each in zip(*known, strict=True)]
    charges, worths = (np.array(each) for each in zip(*found, strict=True))
    return Kinds(beta, known, charges, worths)


def lagrange_shares(points: Floats, at: Floats) -> Floats:
    """Shares of values at some points in the polynomial through them.

    Args:
        points: shape (M, P).
        at: where the polynomial is read, shape (M,).

    Returns:
        Shape (M, P).
    """
    count = points.shape[1]
    shares = np.ones(points.shape)
    for i in range(count):
        for k in range(count):
            if k != i:
                shares[:, i] *= (at - points[:, k]) / (points[:, i] - points[:, k])
    return shares


def _gaps() -> Floats:
    return np.arange(0.0, LARGEST_GAP + 0.5 * GAP_STEP, GAP_STEP)
