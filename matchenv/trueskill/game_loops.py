"""Many games of two at a time: the formulas of ``game``, one short loop after another.

One loop with everything in it would wait for each exponential and each guess about who won; in
short loops the processor works on several games at once. The numbers are those of ``game`` to the
last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    standardised_lead,
    total_variance,
    updated_belief,
)
from matchenv.trueskill.normal import (
    TAIL_START,
    mills_ratio,
    normal_density,
    win_moments_from,
)

Floats = NDArray[np.float64]
Outcomes = NDArray[np.int8]

# Below where the tail begins, so that one kind of sum serves all leads of a loop.
LARGEST_LEAD = np.nextafter(TAIL_START, 0.0)


@compiled(nogil=True, makes_arrays=False)
def densities_at_zero(gap: Floats, variance: Floats, density: Floats) -> None:
    """Write ``density_at_zero`` of each game.

    Args:
        gap: means of the differences of performances, shape (K,).
        variance: their variances, shape (K,).
        density: shape (K,), written.
    """
    for k in range(gap.size):
        density[k] = density_at_zero(gap[k], variance[k])


@compiled(nogil=True, makes_arrays=False)
def total_variances(sigma_i: Floats, sigma_j: Floats, beta: float, variance: Floats) -> None:
    """Write ``total_variance`` of each game, all of shape (K,)."""
    for k in range(variance.size):
        variance[k] = total_variance(sigma_i[k], sigma_j[k], beta)


@compiled(nogil=True, makes_arrays=False)
def all_moments(
    gap: Floats, variance: Floats, outcome: Outcomes, draw_margin: float, v: Floats, rest: Floats
) -> None:
    """Write ``difference_moments`` of each game: v, and the variance 1 - w that is left.

    Args:
        gap: as ``densities_at_zero``, and so is ``variance``.
        variance: as there.
        outcome: +1 if i won, -1 if i lost, 0 for a draw, shape (K,).
        draw_margin: performances no further apart than this are a draw.
        v: shape (K,), written.
        rest: shape (K,), written.
    """
    others = 0
    for k in range(gap.size):
        lead = standardised_lead(gap[k], variance[k], outcome[k], draw_margin)
        others += (abs(lead) >= TAIL_START) | (outcome[k] == 0)
        v[k] = lead
    for k in range(gap.size):
        rest[k] = mills_ratio(min(abs(v[k]), LARGEST_LEAD))
    for k in range(gap.size):
        lead = v[k]
        mean, _, rest[k] = win_moments_from(lead, normal_density(lead), rest[k])
        v[k] = outcome[k] * mean
    if others == 0:
        return
    for k in range(gap.size):
        lead = standardised_lead(gap[k], variance[k], outcome[k], draw_margin)
        if abs(lead) >= TAIL_START or outcome[k] == 0:
            result = np.int64(outcome[k])  # the type that other callers have: compiled once
            v[k], rest[k] = difference_moments(gap[k], variance[k], result, draw_margin)


@compiled(nogil=True)
def update_games(
    mu_i: Floats,
    sigma_i: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    outcome: Outcomes,
    beta: float,
    draw_margin: float,
) -> None:
    """``update_two`` of each game; the four beliefs, shape (K,) each, are changed."""
    work = np.empty((4, mu_i.size))
    gap, variance, v, rest = work[0], work[1], work[2], work[3]
    for k in range(gap.size):
        gap[k] = mu_i[k] - mu_j[k]
    total_variances(sigma_i, sigma_j, beta, variance)
    all_moments(gap, variance, outcome, draw_margin, v, rest)
    for k in range(gap.size):
        before_i, before_j = sigma_i[k], sigma_j[k]
        mu_i[k], sigma_i[k] = updated_belief(
            mu_i[k], before_i, before_j, beta, variance[k], v[k], rest[k]
        )
        mu_j[k], sigma_j[k] = updated_belief(
            mu_j[k], before_j, before_i, beta, variance[k], -v[k], rest[k]
        )
