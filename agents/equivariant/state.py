"""The observation of the full belief as seen from player 0: one row for each opponent.

No number of an opponent depends on the order or number of the others, on the zero of the scale of
skills, or on which end of the scale player 0 is at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import BELIEFS, FullBelief
from matchenv.belief.full_kernels import slack_of_deviations
from matchenv.compilation import compiled
from matchenv.priors import PRIOR_MEAN_VARIANCE, PRIOR_VARIANCE_HIGH, PRIOR_VARIANCE_LOW
from matchenv.settings import PAPER_BETA

Singles = NDArray[np.float32]

# What is said of each opponent, and of the whole state.
GAP, VARIANCE, COUPLING = range(3)
OWN_VARIANCE, MISSING_VARIANCE, SHARE_LEFT, GAMES_LEFT = range(4)
OPPONENT_NUMBERS, STATE_NUMBERS = 3, 4

# The variance of skills in a field, by the paper's priors: variance of the prior means plus the
# mean prior variance. If the means vary by less than EQUAL_MEANS, the prior is taken for the equal
# one. Half an opponent with the usual spread is added, so that two opponents who happen to be
# near each other are not.
FIELD_VARIANCE = PRIOR_MEAN_VARIANCE + 0.5 * (PRIOR_VARIANCE_LOW + PRIOR_VARIANCE_HIGH)
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
            ``matchenv.belief.full_kernels``).
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
    _read(array, PAPER_BETA / beta, opponents, state)
    return StateBatch(opponents, state)


@compiled
def estimated_games_left(share: float, games_played: float) -> float:
    """Games left, from their share and an estimate of the games played."""
    horizon = USUAL_HORIZON
    if share < 1.0:
        horizon = games_played / (1.0 - share)
        horizon = min(max(horizon, SHORTEST_HORIZON), LONGEST_HORIZON)
    return share * horizon


@compiled
def _read(observations: Any, unit: float, opponents: Singles, state: Singles) -> None:
    players = opponents.shape[2] + 1
    for row in range(observations.shape[0]):
        observation = observations[row]
        mu_0 = unit * float(observation[0])
        sigma_0 = unit * float(observation[players])
        weights, means, squares, variances, games = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(1, players):
            mu_k = unit * float(observation[k])
            difference = unit * float(observation[2 * players - 1 + k])
            slack = slack_of_deviations(sigma_0, unit * float(observation[players + k]), difference)
            variance = difference * difference
            # Variance of s_k given s_0; rounding must not take all of it.
            own = max(variance - (slack * sigma_0) ** 2, 1e-6 * variance)
            opponents[row, GAP, k - 1] = mu_0 - mu_k
            opponents[row, VARIANCE, k - 1] = variance
            opponents[row, COUPLING, k - 1] = 1.0 - slack
            games += (1.0 - slack) / own * (1.0 + GAMES_PER_DOUBT * variance)
            # Opponents that were hardly played still show the prior.
            weight = slack**4
            weights += weight
            means += weight * mu_k
            squares += weight * mu_k * mu_k
            if slack > 0.0:
                variances += weight * own / slack
        missing = 0.0
        if weights > 0.0:
            squares -= means * means / weights
            spread = squares + USUAL_WEIGHT * PRIOR_MEAN_VARIANCE
            if spread < EQUAL_MEANS * (weights + USUAL_WEIGHT):
                missing = max(0.0, FIELD_VARIANCE - variances / weights)
        share = float(observation[3 * players - 1])
        state[row, OWN_VARIANCE] = sigma_0 * sigma_0
        state[row, MISSING_VARIANCE] = missing
        state[row, SHARE_LEFT] = share
        state[row, GAMES_LEFT] = estimated_games_left(share, GAMES_PER_PRECISION * games)
