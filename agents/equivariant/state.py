"""The observation of the full belief as seen from player 0: one row for each opponent.

No number of an opponent depends on the order or number of the others, on the zero of the scale of
skills, or on which end of the scale player 0 is at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import BELIEFS, FullBelief
from matchenv.belief.full import ROUNDING, slack_of_deviations
from matchenv.priors import FIELD_VARIANCE, PRIOR_MEAN_VARIANCE
from matchenv.runtime.compile import compiled
from matchenv.settings import PAPER_BETA

Singles = NDArray[np.float32]

# What is said of each opponent, and of the whole state.
GAP, VARIANCE, COUPLING = range(3)
OWN_VARIANCE, MISSING_VARIANCE, SHARE_LEFT, GAMES_LEFT = range(4)
OPPONENT_NUMBERS, STATE_NUMBERS = 3, 4

# If the means of opponents hardly played vary by less than EQUAL_MEANS, the prior is taken for
# the equal one. Half an opponent with the usual spread is added, so that two opponents who happen
# to be near each other are not.
EQUAL_MEANS, USUAL_WEIGHT = 0.5, 0.5

# A first observation does not say how long the episode is: the paper's horizon is assumed.
USUAL_HORIZON = 500.0
SHORTEST_HORIZON, LONGEST_HORIZON = 20.0, 5000.0

# What one even game adds to the precision of s_0 - s_k is 1 / (8.2 (1 + 0.07 Var(s_0 - s_k)))
# to a few per cent, w / (c^2 - w Var) in full, where skills are in the paper's units.
GAMES_PER_PRECISION, GAMES_PER_DOUBT = 8.2, 0.07


@dataclass(frozen=True)
class StateBatch:
    """What a batch of observations says.

    Attributes:
        opponents: shape (n, 3, M): mu_0 - mu_k, Var(s_0 - s_k) and the coupling 1 - a_k, which is 0
            for an opponent never met and goes to 1 with games (a_k as in
            ``matchenv.belief.full``).
        state: shape (n, 4): Var(s_0); the variance that the skills of the field have and the
            belief does not know of; the share of games left; an estimate of their number.
    """

    opponents: Singles
    state: Singles


def state_of_observations(observations: NDArray[Any], beta: float = PAPER_BETA) -> StateBatch:
    """Read observations of the full belief.

    Args:
        observations: shape (n, 3 M + 3), as the environment gives them.
        beta: standard deviation of one performance; all skills are scaled so that it is the
            paper's.

    Raises:
        ValueError: for a shape that no environment with the full belief gives.
    """
    array = np.ascontiguousarray(observations)
    width = array.shape[1] if array.ndim == 2 else 0
    count = BELIEFS[FullBelief.name].num_opponents_of(width)
    if count is None:
        raise ValueError(
            f"observations must have shape (n, 3 * num_opponents + 3), got {array.shape}"
        )
    opponents = np.empty((array.shape[0], OPPONENT_NUMBERS, count), dtype=np.float32)
    state = np.empty((array.shape[0], STATE_NUMBERS), dtype=np.float32)
    _read(array, unit_of(beta), opponents, state, np.empty((2, count)))
    return StateBatch(opponents, state)


def unit_of(beta: float) -> float:
    """What skills are multiplied by, so that beta is the paper's."""
    return PAPER_BETA / beta


@compiled(refcounted=False)
def are_of_belief(observations: Any) -> bool:
    """Whether ``KnowledgeState.from_observation`` takes these observations of the full belief.

    Args:
        observations: float32, shape (n, 3 M + 3).
    """
    count = (observations.shape[1] - 3) // 3
    bad = 0
    for row in range(observations.shape[0]):
        sigma_0 = float(observations[row, count + 1])
        bad += not 0.0 < sigma_0 < np.inf
        bad += not math.isfinite(observations[row, 0])
        bad += not math.isfinite(observations[row, 3 * count + 2])
        for k in range(1, count + 1):
            sigma = float(observations[row, count + 1 + k])
            difference = float(observations[row, 2 * count + 1 + k])
            total = sigma_0 + sigma
            slip = ROUNDING * total
            near = (difference >= abs(sigma_0 - sigma) - slip) & (difference <= total + slip)
            bad += not (
                near
                & (difference > 0.0)
                & (sigma > 0.0)
                & (sigma < np.inf)
                & (abs(observations[row, k]) < np.inf)
            )
    return bad == 0


@compiled
def estimated_games_left(share: float, games_played: float) -> float:
    """Games left, from their share and an estimate of the games played."""
    horizon = USUAL_HORIZON
    if share < 1.0:
        horizon = games_played / (1.0 - share)
        horizon = min(max(horizon, SHORTEST_HORIZON), LONGEST_HORIZON)
    return share * horizon


@compiled(refcounted=False)
def _read(
    observations: Any, unit: float, opponents: Singles, state: Singles, work: NDArray[np.float64]
) -> None:
    """Read all rows."""
    for row in range(observations.shape[0]):
        read_row(observations[row], unit, opponents[row], state[row], work)


@compiled(refcounted=False)
def read_row(
    observation: Any, unit: float, opponents: Singles, state: Singles, work: NDArray[np.float64]
) -> None:
    """Read one observation. Loops are short and write one row each, so that they are vectorised.

    Args:
        observation: shape (3 M + 3,).
        unit: of skill, in the observation's.
        opponents: shape (3, M), written.
        state: shape (4,), written.
        work: shape (2, M), written.
    """
    count = opponents.shape[1]
    slacks, games = work[0], work[1]
    mu_0 = unit * float(observation[0])
    sigma_0 = unit * float(observation[count + 1])
    mu = observation[1 : count + 1]
    sigma = observation[count + 2 : 2 * count + 2]
    difference = observation[2 * count + 2 : 3 * count + 2]
    gaps, variances, couplings = opponents[GAP], opponents[VARIANCE], opponents[COUPLING]
    for k in range(count):
        gaps[k] = mu_0 - unit * float(mu[k])
    for k in range(count):
        variances[k] = (unit * float(difference[k])) ** 2
    for k in range(count):
        slacks[k] = slack_of_deviations(
            sigma_0, unit * float(sigma[k]), unit * float(difference[k])
        )  # fmt: skip
    for k in range(count):
        couplings[k] = 1.0 - slacks[k]
    for k in range(count):
        variance = (unit * float(difference[k])) ** 2
        own = _own_variance(variance, slacks[k], sigma_0)
        games[k] = (1.0 - slacks[k]) / own * (1.0 + GAMES_PER_DOUBT * variance)
    share = float(observation[3 * count + 2])
    state[OWN_VARIANCE] = sigma_0 * sigma_0
    state[MISSING_VARIANCE] = _missing_variance(mu, difference, slacks, sigma_0, unit)
    state[SHARE_LEFT] = share
    state[GAMES_LEFT] = estimated_games_left(share, GAMES_PER_PRECISION * _sum(games))


@compiled(refcounted=False)
def _sum(values: NDArray[np.float64]) -> float:
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@compiled(refcounted=False)
def _own_variance(variance: float, slack: float, sigma_0: float) -> float:
    """Variance of s_k given s_0; rounding must not take all of it."""
    return max(variance - (slack * sigma_0) ** 2, 1e-6 * variance)


@compiled(refcounted=False)
def _missing_variance(mu: Any, difference: Any, slacks: Any, sigma_0: float, unit: float) -> float:
    """The variance that the skills of the field have and the belief does not know of."""
    weights, means, squares = 0.0, 0.0, 0.0
    for k in range(slacks.size):
        # Opponents that were hardly played still show the prior.
        mu_k, weight = unit * float(mu[k]), slacks[k] ** 4
        weights += weight
        means += weight * mu_k
        squares += weight * mu_k * mu_k
    if weights <= 0.0:
        return 0.0
    squares -= means * means / weights
    spread = squares + USUAL_WEIGHT * PRIOR_MEAN_VARIANCE
    if spread >= EQUAL_MEANS * (weights + USUAL_WEIGHT):
        return 0.0
    variances = 0.0
    for k in range(slacks.size):
        if slacks[k] > 0.0:
            own = _own_variance((unit * float(difference[k])) ** 2, slacks[k], sigma_0)
            variances += slacks[k] ** 3 * own
    return max(0.0, FIELD_VARIANCE - variances / weights)
