"""Charges of kinds of opponents, between which every opponent of an instance lies."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.charges import fair_charges, game_against, prices_up_to_the_peak
from matchenv.benchmarks.bound.possible_skills import (
    informed_skills,
    step_of,
    uninformed_skills,
)
from matchenv.compilation import compiled
from matchenv.priors import PRIOR_VARIANCE_HIGH, PRIOR_VARIANCE_LOW

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Distances of the prior mean from player 0's skill: every so many skill points, up to the largest.
# Whoever is further is given the charges of the largest, which are higher.
GAP_STEP = 0.25
LARGEST_GAP = 10.0
# Variances of priors between which is interpolated, by the parabola through them.
VARIANCES = np.array(
    [PRIOR_VARIANCE_LOW, 0.5 * (PRIOR_VARIANCE_LOW + PRIOR_VARIANCE_HIGH), PRIOR_VARIANCE_HIGH]
)
# Nodes of the cubic in the distance.
STENCIL = 4
# What is known of an opponent's hidden mean: below player 0's, nothing, above.
SIDES = np.array([-1, 0, 1])


class Kinds(NamedTuple):
    """T kinds of opponents.

    Attributes:
        tables: charges, shape (T, depth, depth), as ``charges.fair_charges``.
        worths: shape (T, prices).
    """

    tables: Floats
    worths: Floats


class Places(NamedTuple):
    """Where the M opponents of an instance lie among the kinds.

    Attributes:
        nodes: numbers of kinds, shape (M, A).
        shares: of each, shape (M, A); they add up to 1.
        mirrored: shape (M,): the kind is the opponent with wins and losses exchanged.
    """

    nodes: Integers
    shares: Floats
    mirrored: Flags


@lru_cache(maxsize=2)
def informed_kinds(beta: float, horizon: int, depth: int) -> Kinds:
    """Opponents whose prior mean is known, against a player of skill 0.

    Args:
        beta: standard deviation of one performance around skill.
        horizon: the most games.
        depth: as ``charges.fair_charges``.

    Returns:
        Kinds for every distance and, for each, every variance.
    """
    gaps = np.repeat(_gaps(), VARIANCES.size)
    sigma = np.sqrt(np.tile(VARIANCES, _gaps().size))
    skills, weights = informed_skills(-gaps, sigma, step_of(beta, depth))
    return kinds_of(0.0, skills, weights, beta, horizon, depth)


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
    skill_0: float, mu_0: float, beta: float, horizon: int, depth: int, sides: Integers
) -> Kinds:
    """Opponents whose prior means are hidden, where player 0's skill and hidden mean are known.

    Args:
        skill_0: skill of player 0.
        mu_0: the hidden prior mean.
        beta: as ``informed_kinds``, and so are the next two.
        horizon: as there.
        depth: as there.
        sides: those that are needed, rising, out of ``SIDES``.

    Returns:
        Kinds for every side and, for each, every variance.
    """
    sigma = np.sqrt(np.tile(VARIANCES, sides.size))
    each = np.repeat(sides, VARIANCES.size)
    skills, weights = uninformed_skills(sigma, mu_0, each, step_of(beta, depth))
    return kinds_of(skill_0, skills, weights, beta, horizon, depth)


def places_by_side(sides: Integers, known: Integers, variances: Floats) -> Places:
    """Where opponents lie among ``uninformed_kinds``.

    Args:
        sides: of each opponent, shape (M,).
        known: those that the kinds were made for.
        variances: of the priors, shape (M,).
    """
    first = np.searchsorted(known, sides) * VARIANCES.size
    points = np.broadcast_to(VARIANCES, (sides.size, VARIANCES.size))
    nodes = first[:, None] + np.arange(VARIANCES.size)
    return Places(nodes, lagrange_shares(points, variances), np.zeros(sides.size, dtype=np.bool_))


@compiled
def kinds_of(
    skill_0: float, skills: Floats, weights: Floats, beta: float, horizon: int, depth: int
) -> Kinds:
    """Charges and worths of opponents.

    Args:
        skill_0: skill of player 0.
        skills: shape (T, G), possible skills of each.
        weights: shape (T, G), their probabilities.
        beta: as ``informed_kinds``, and so are the next two.
        horizon: as there.
        depth: as there.
    """
    prices = prices_up_to_the_peak(beta)
    tables = np.empty((skills.shape[0], depth, depth))
    worths = np.empty((skills.shape[0], prices.size))
    for t in range(skills.shape[0]):
        wins, densities = game_against(skill_0, skills[t], beta)
        tables[t], worths[t] = fair_charges(weights[t], wins, densities, depth, horizon, prices)
    return Kinds(tables, worths)


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
