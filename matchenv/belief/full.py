"""``belief="full"``: a belief with all covariances between players.

Every game involves player 0 and the prior has no covariances, so the opponents stay independent
given the skill of player 0. The precision matrix is a star with player 0 in the centre, and one
number for each opponent determines all covariances: the slack a_k, which is 1 before k has played
and falls towards 0 with each of k's games. With the prior variance P_k of opponent k:

    s_k given s_0  ~  N(mu_k + (1 - a_k) (s_0 - mu_0),  a_k P_k)
    Var(s_k)       =  (1 - a_k)^2 sigma_0^2 + a_k P_k
    Var(s_0 - s_k) =  a_k^2 sigma_0^2 + a_k P_k
    Cov(s_0 - s_k, s_0 - s_l) = a_k a_l sigma_0^2   for k != l

A game with j is a rank-one update of the dense covariance along s_0 - s_j. In these parameters it
changes only mu, sigma_0 and a_j, and subtracts no large terms: variances stay positive and accurate
over any number of games. Drift of player 0's skill would make the opponents dependent given that
skill, so ``FullBelief`` refuses it.

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from matchenv.belief.belief import (
    DRAW_DENSITY,
    MATCH_QUALITY,
    MU,
    SIGMA,
    Belief,
    BeliefArrays,
    GameConstants,
    GamesPlayed,
)
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import refusal
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    performance_variance,
    quality_per_density,
)

# Rows of ``BeliefArrays.memory``.
SLACK, PRIOR_VARIANCE = range(2)


class FullBelief(Belief):
    """Normal skills with all covariances that games with player 0 create.

    Observations also show the standard deviations of s_0 - s_1 to s_0 - s_M. With mu and sigma they
    determine all covariances, since the opponents are independent given s_0.
    """

    name: ClassVar[str] = "full"
    memory_rows: ClassVar[int] = 2
    shows_differences: ClassVar[bool] = True

    def check_constants(self, constants: GameConstants) -> None:
        """Refuse drift, which would make the opponents dependent on each other."""
        if constants.tau > 0.0:
            why = "drift of player 0's skill would make the opponents dependent on each other"
            raise refusal(f"tau must be 0 with belief='full', since {why}", constants.tau)

    def learn(self, beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants) -> None:
        """Update all players; q uses the variance of the difference."""
        learn_full(beliefs, games, constants)

    def difference_sigma(self, players: Floats, memory: Floats) -> Floats:
        """Return the standard deviations of s_0 - s_k, shape (B, M)."""
        slack = memory[:, SLACK]
        return np.sqrt((slack * players[:, :1, SIGMA]) ** 2 + slack * memory[:, PRIOR_VARIANCE])

    def memory_of(self, sigma: Floats, difference_sigma: Floats | None = None) -> Floats:
        """Return the slack and prior variance that deviations imply, shape (K, 2, M)."""
        if difference_sigma is None:
            return np.stack((np.ones_like(sigma[:, 1:]), sigma[:, 1:] ** 2), axis=1)
        slack, own_variance = star_of(sigma, difference_sigma)
        prior_variance = np.zeros_like(own_variance)
        np.divide(own_variance, slack, out=prior_variance, where=slack > 0.0)
        return np.stack((slack, prior_variance), axis=1)


def star_of(sigma: Floats, difference_sigma: Floats) -> tuple[Floats, Floats]:
    """Return the slack of each opponent and Var(s_k) given s_0, from the deviations.

    Rounded deviations (observations are float32) can imply an impossible slack, which is clipped to
    the nearest possible one.

    Args:
        sigma: shape (..., M + 1).
        difference_sigma: standard deviations of s_0 - s_k, shape (..., M).
    """
    sigma_0 = sigma[..., :1]
    ratio_k = sigma[..., 1:] / sigma_0
    ratio_d = difference_sigma / sigma_0
    slack = 0.5 * (1.0 + (ratio_d - ratio_k) * (ratio_d + ratio_k))
    slack = np.clip(slack, 0.0, np.minimum(ratio_d, 1.0))
    return slack, np.maximum(difference_sigma**2 - (slack * sigma_0) ** 2, 0.0)


@compiled(refcounted=False)
def learn_full(beliefs: BeliefArrays, games: GamesPlayed, constants: GameConstants) -> None:
    """Update beliefs like ``Belief.learn``."""
    players, memory, observation = beliefs
    count = players.shape[1]
    noise = performance_variance(constants.beta)
    quality = quality_per_density(constants.beta)
    for b in range(games.running.size):
        if not games.running[b]:
            continue
        j = games.opponents[b] + 1
        sigma_0 = players[b, 0, SIGMA]
        slack = memory[b, SLACK, j - 1]
        shared = (slack * sigma_0) ** 2
        own = slack * memory[b, PRIOR_VARIANCE, j - 1]
        variance = shared + own + noise
        gap = players[b, 0, MU] - players[b, j, MU]
        density = density_at_zero(gap, variance)
        games.measures[b, DRAW_DENSITY] = density
        games.measures[b, MATCH_QUALITY] = quality * density
        v, complement = difference_moments(
            gap, variance, np.int64(games.outcomes[b]), constants.draw_margin
        )
        shift = v / math.sqrt(variance)
        shift_0 = slack * sigma_0 * sigma_0 * shift
        for k in range(1, count):
            players[b, k, MU] += (1.0 - memory[b, SLACK, k - 1]) * shift_0
        players[b, 0, MU] += shift_0
        players[b, j, MU] -= own * shift
        # The outcome is equivalent to an observation of s_0 - s_j with this precision.
        precision = max(0.0, 1.0 - complement) / (noise + (shared + own) * complement)
        memory[b, SLACK, j - 1] /= 1.0 + precision * own
        narrower = min(1.0, (own + noise + shared * complement) / variance)
        sigma_0 = sigma_0 * math.sqrt(narrower)
        players[b, 0, SIGMA] = sigma_0
        observation[b, 0] = players[b, 0, MU]
        observation[b, count] = sigma_0
        for k in range(1, count):
            slack = memory[b, SLACK, k - 1]
            own = slack * memory[b, PRIOR_VARIANCE, k - 1]
            sigma_k = math.sqrt(((1.0 - slack) * sigma_0) ** 2 + own)
            players[b, k, SIGMA] = sigma_k
            observation[b, k] = players[b, k, MU]
            observation[b, count + k] = sigma_k
            observation[b, 2 * count - 1 + k] = math.sqrt((slack * sigma_0) ** 2 + own)
