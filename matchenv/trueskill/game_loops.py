"""Many games of two at a time: the formulas of ``game``, in loops that do several games at once.

A loop with nothing but sums, products, roots and selections in it, over rows whose places the
compiler knows, is done for four or eight games at a time. The numbers are those of ``game`` to the
last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    standardised_lead,
    total_variance,
    update_two,
    updated_belief,
)
from matchenv.trueskill.normal import (
    TAIL_START,
    near_mills_ratio,
    normal_density,
    win_moments_from,
)

Floats = NDArray[np.float64]

# So many games are worked on at a time: what they need stays in the fastest memory.
PART = 64

# Where the numbers of games begin in a table of them, an array of TABLE numbers: what is believed
# before a game, who won (+1 i, -1 j, 0 a draw), the density of a draw, what is believed after it.
# One array, with places that the compiler knows, so that it sees that no two of them are the same.
(MU_I, SIGMA_I, MU_J, SIGMA_J, OUTCOME, DENSITY,
 NEW_MU_I, NEW_SIGMA_I, NEW_MU_J, NEW_SIGMA_J) = range(0, 10 * PART, PART)  # fmt: skip
TABLE = 10 * PART

# Below where the tail begins, so that one kind of sum serves all leads of a loop.
LARGEST_LEAD = np.nextafter(TAIL_START, 0.0)


@compiled(nogil=True, refcounted=False)
def densities_at_zero(gap: Floats, variance: Floats, density: Floats) -> None:
    """Write ``density_at_zero`` of each game.

    Args:
        gap: means of the differences of performances, shape (K,).
        variance: their variances, shape (K,).
        density: shape (K,), written.
    """
    for k in range(gap.size):
        density[k] = density_at_zero(gap[k], variance[k])


@compiled(nogil=True, refcounted=False)
def judge_games(games: Floats, count: int, beta: float) -> None:
    """Write DENSITY, ``density_at_zero`` before each game.

    Args:
        games: a table as above, shape (TABLE,).
        count: games in it, at most PART.
        beta: standard deviation of one performance around skill.
    """
    for k in range(min(count, PART)):  # the compiler must know that no place is beyond the next
        variance = total_variance(games[SIGMA_I + k], games[SIGMA_J + k], beta)
        games[DENSITY + k] = density_at_zero(games[MU_I + k] - games[MU_J + k], variance)


@compiled(nogil=True, refcounted=False)
def update_games(games: Floats, count: int, beta: float, draw_margin: float) -> None:
    """Write what is believed after each game, ``update_two``.

    Args:
        games: a table as above, shape (TABLE,).
        count: games in it, at most PART.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    others = 0
    for k in range(min(count, PART)):
        mu_i, sigma_i = games[MU_I + k], games[SIGMA_I + k]
        mu_j, sigma_j = games[MU_J + k], games[SIGMA_J + k]
        outcome = games[OUTCOME + k]
        variance = total_variance(sigma_i, sigma_j, beta)
        lead = standardised_lead(mu_i - mu_j, variance, outcome, draw_margin)
        others += (abs(lead) >= TAIL_START) | (outcome == 0.0)
        ratio = near_mills_ratio(min(abs(lead), LARGEST_LEAD))
        mean, _, rest = win_moments_from(lead, normal_density(lead), *ratio)
        v = outcome * mean
        games[NEW_MU_I + k], games[NEW_SIGMA_I + k] = updated_belief(
            mu_i, sigma_i, sigma_j, beta, variance, v, rest
        )
        games[NEW_MU_J + k], games[NEW_SIGMA_J + k] = updated_belief(
            mu_j, sigma_j, sigma_i, beta, variance, -v, rest
        )
    if others == 0:
        return
    # Draws and games of players far apart, one by one.
    for k in range(count):
        mu_i, sigma_i = games[MU_I + k], games[SIGMA_I + k]
        mu_j, sigma_j = games[MU_J + k], games[SIGMA_J + k]
        result = np.int64(games[OUTCOME + k])  # the type that other callers have: compiled once
        variance = total_variance(sigma_i, sigma_j, beta)
        lead = standardised_lead(mu_i - mu_j, variance, result, draw_margin)
        if abs(lead) >= TAIL_START or result == 0:
            after = update_two(mu_i, sigma_i, mu_j, sigma_j, result, beta, draw_margin)
            games[NEW_MU_I + k], games[NEW_SIGMA_I + k] = after[0], after[1]
            games[NEW_MU_J + k], games[NEW_SIGMA_J + k] = after[2], after[3]
