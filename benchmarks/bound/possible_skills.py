"""What may be known of the opponents' skills at the start: probabilities on a grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from matchenv.priors import PRIOR_MEAN_VARIANCE

Floats = NDArray[np.float64]

# The grid reaches so many deviations to either side: 2e-9 of the probability lies beyond.
REACH = 6.0
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


def informed_skills(mu: Floats, sigma: Floats, step: float) -> tuple[Floats, Floats]:
    """Skills of opponents whose prior means are known: N(mu, sigma^2).

    Args:
        mu: prior means, shape (M,).
        sigma: prior deviations, shape (M,).
        step: distance of grid points, at the most.

    Returns:
        ``(skills, weights)``, both of shape (M, G); weights of a row add up to 1.
    """
    offsets = _offsets(float(sigma.max()), step)
    skills = mu[:, None] + sigma[:, None] * offsets
    return skills, _normalised(np.broadcast_to(-0.5 * offsets**2, skills.shape))


def uninformed_skills(
    sigma: Floats, mu_0: float, sides: NDArray[np.int64], step: float
) -> tuple[Floats, Floats]:
    """Skills of opponents whose prior means are hidden, where player 0's place is known.

    The hidden mean is N(0, 4), cut at player 0's on the side that is known; the skill is
    N(mean, sigma^2).

    Args:
        sigma: prior deviations, shape (M,).
        mu_0: the hidden prior mean of player 0.
        sides: shape (M,): -1 if the opponent's mean is below player 0's, +1 if above, 0 where
            nothing is known.
        step: distance of grid points, at the most.

    Returns:
        As ``informed_skills``.
    """
    total = np.sqrt(sigma**2 + PRIOR_MEAN_VARIANCE)[:, None]
    offsets = _offsets(float(total.max()), step)
    skills = total * offsets
    share = PRIOR_MEAN_VARIANCE / total**2
    deviation = np.sqrt(share) * sigma[:, None]
    # Given the skill the hidden mean is normal too: how far player 0's is above it.
    above = (mu_0 - share * skills) / deviation
    cut = np.where(sides[:, None] == 0, 0.0, log_ndtr(-sides[:, None] * above))
    return skills, _normalised(-0.5 * offsets**2 + cut)


def _offsets(deviation: float, step: float) -> Floats:
    half = math.ceil(REACH * deviation / step)
    return np.linspace(-REACH, REACH, 2 * half + 1)


def _normalised(logarithms: Floats) -> Floats:
    weights = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    normalised: Floats = weights / weights.sum(axis=1, keepdims=True)
    return normalised
