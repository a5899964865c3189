"""What may be known of the opponents' skills at the start: probabilities on a grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from matchenv.envs.one_player.priors import PRIOR_MEAN_VARIANCE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The grid reaches so many deviations to either side: 2e-9 of the probability lies beyond.
REACH = 6.0
# Logarithm of what counts as 0: far below 2e-9, since a long run of luck makes the unlikely likely.
NEGLIGIBLE = -340.0
# Steps of the grid in units of the least deviation that games can leave. Sums over a grid are
# exact to exp(-2 pi^2 / step^2) of a normal density, and to the fourth power of the step where the
# density is cut off by a price.
STEP = 0.45
LARGEST_STEP = 0.125
# One even game adds about 1 / (3.3 beta^2) to the precision of an opponent's skill.
VARIANCE_OF_A_GAME = 3.3


def step_of(beta: float, horizon: int) -> float:
    """Distance of neighbouring grid points that is fine enough for so many games."""
    return beta * min(LARGEST_STEP, STEP * math.sqrt(VARIANCE_OF_A_GAME / horizon))


def grid_of_gaps(largest: float, deviation: float, step: float) -> Floats:
    """An even grid of gaps between player 0's skill and opponents', shape (G,).

    Args:
        largest: distance from 0 of the mean of any opponent's gap, at the most.
        deviation: the largest one of a gap.
        step: distance of grid points.
    """
    half = math.ceil((largest + REACH * deviation) / step)
    found: Floats = step * np.arange(-half, half + 1.0)
    return found


def informed_weights(gaps: Floats, mean: Floats, variance: Floats) -> Floats:
    """Opponents whose prior means are known.

    Args:
        gaps: the grid, shape (G,).
        mean: player 0's skill less the prior means, shape (T,).
        variance: of the priors, shape (T,).

    Returns:
        Probabilities of the gaps, shape (T, G); a row adds up to 1.
    """
    return _normalised(-0.5 * (gaps - mean[:, None]) ** 2 / variance[:, None])


def uninformed_weights(
    gaps: Floats, skill_0: float, mu_0: float, sides: Integers, variance: Floats
) -> Floats:
    """Opponents whose prior means are hidden, where player 0's place is known.

    The hidden mean is N(0, 4), cut at player 0's on the side that is known; the skill is
    N(mean, variance).

    Args:
        gaps: the grid, shape (G,).
        skill_0: player 0's skill.
        mu_0: the hidden prior mean of player 0.
        sides: shape (T,): -1 if the opponent's mean is below player 0's, +1 if above, 0 where
            nothing is known.
        variance: of the priors, shape (T,).

    Returns:
        As ``informed_weights``.
    """
    skills = skill_0 - gaps
    total = variance[:, None] + PRIOR_MEAN_VARIANCE
    share = PRIOR_MEAN_VARIANCE / total
    # Given the skill the hidden mean is normal too: how far player 0's is above it.
    above = (mu_0 - share * skills) / np.sqrt(share * variance[:, None])
    cut = np.where(sides[:, None] == 0, 0.0, log_ndtr(-sides[:, None] * above))
    return _normalised(-0.5 * skills**2 / total + cut)


def exponentials(logarithms: Floats) -> Floats:
    """Exponentials, the largest of a row 1, and 0 for what does not count beside it.

    Products of two of them stay in the range in which processors are quick.

    Args:
        logarithms: shape (K, G).
    """
    below = logarithms - logarithms.max(axis=1, keepdims=True)
    found: Floats = np.where(below > NEGLIGIBLE, np.exp(np.maximum(below, NEGLIGIBLE)), 0.0)
    return found


def _normalised(logarithms: Floats) -> Floats:
    weights = exponentials(logarithms)
    normalised: Floats = weights / weights.sum(axis=1, keepdims=True)
    return normalised
