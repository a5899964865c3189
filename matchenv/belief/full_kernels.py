"""The numbers of ``belief="full"``: compiled kernels.

Every game involves player 0, and the prior has no covariances. So given the skill of player
0 the opponents stay independent for ever: the precision matrix is a star with player 0 in
the middle, and one number for each opponent holds all that the factorised belief forgets.
That number is the slack a_k: 1 before k has played, and nearer to 0 after each of k's games.
With the prior variance P_k of opponent k:

    s_k given s_0  ~  N(mu_k + (1 - a_k) (s_0 - mu_0),  a_k P_k)
    Var(s_k)       =  (1 - a_k)^2 sigma_0^2 + a_k P_k
    Var(s_0 - s_k) =  a_k^2 sigma_0^2 + a_k P_k
    Cov(s_0 - s_k, s_0 - s_l) = a_k a_l sigma_0^2   for k != l

A game with j is a rank-one update of the dense covariance along s_0 - s_j. In these numbers
it changes mu, sigma_0 and a_j alone, and no term is a difference of large ones: variances
stay positive and exact over any number of games. Drift of player 0's skill would
make the opponents dependent given that skill; ``FullBelief`` refuses it.

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.play import MU, SIGMA, report_belief
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import difference_moments, quality_per_density, total_variance

Floats = NDArray[np.float64]

# What is kept of each opponent's covariance with player 0, row by row.
SLACK, PRIOR_VARIANCE = range(2)


@compiled
def opponent_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Var(s_k) of an opponent."""
    return ((1.0 - slack) * sigma_0) ** 2 + slack * prior_variance


@compiled
def difference_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Var(s_0 - s_k)."""
    return (slack * sigma_0) ** 2 + slack * prior_variance


@compiled
def slack_of_deviations(sigma_0: float, sigma_k: float, difference_sigma: float) -> float:
    """The slack a_k that three standard deviations imply: Cov(s_0 - s_k, s_0) / sigma_0^2.

    Deviations that were rounded (observations are float32) may imply a number that no belief
    has; the nearest possible one is given.

    Args:
        sigma_0: standard deviation of player 0's skill.
        sigma_k: that of the opponent's.
        difference_sigma: that of their difference.
    """
    ratio_k, ratio_d = sigma_k / sigma_0, difference_sigma / sigma_0
    slack = 0.5 * (1.0 + (ratio_d - ratio_k) * (ratio_d + ratio_k))
    return max(0.0, min(slack, 1.0, ratio_d))


@compiled
def update_full(
    mu: Floats,
    sigma_0: float,
    memory: Floats,
    j: int,
    outcome: int,
    beta: float,
    draw_margin: float,
) -> float:
    """The belief after a game of player 0 with opponent j, in O(M).

    Args:
        mu: shape (M + 1,), means, player 0 first; changed.
        sigma_0: standard deviation of player 0's skill.
        memory: shape (2, M), rows SLACK and PRIOR_VARIANCE; the slack of j is changed.
        j: the opponent, 1 to M.
        outcome: +1 if player 0 won, -1 if not, 0 for a draw.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        The new sigma_0.
    """
    slack = memory[SLACK, j - 1]
    own = (slack * sigma_0) ** 2
    rest = slack * memory[PRIOR_VARIANCE, j - 1]
    noise = 2.0 * beta * beta
    variance = own + rest + noise
    v, complement = difference_moments(mu[0] - mu[j], variance, outcome, draw_margin)
    shift = v / math.sqrt(variance)
    shift_0 = slack * sigma_0 * sigma_0 * shift
    for k in range(1, mu.size):
        mu[k] += (1.0 - memory[SLACK, k - 1]) * shift_0
    mu[0] += shift_0
    mu[j] -= rest * shift
    # The outcome is worth an observation of s_0 - s_j with this precision.
    precision = max(0.0, 1.0 - complement) / (noise + (own + rest) * complement)
    memory[SLACK, j - 1] = slack / (1.0 + precision * rest)
    return sigma_0 * math.sqrt(min(1.0, (rest + noise + own * complement) / variance))


@compiled
def observe_full(
    row: int, players: Floats, memory: Floats, observation: NDArray[np.float32]
) -> None:
    """Bring the deviations of a row up to date and write all but the share of its observation.

    Args:
        row: the episode.
        players: shape (B, M + 1, 3); the opponents' SIGMA are written.
        memory: shape (B, 2, M).
        observation: shape (B, 3 M + 3), the row is written.
    """
    count = players.shape[1]
    sigma_0 = players[row, 0, SIGMA]
    observation[row, 0] = players[row, 0, MU]
    observation[row, count] = sigma_0
    for k in range(1, count):
        slack, prior_variance = memory[row, SLACK, k - 1], memory[row, PRIOR_VARIANCE, k - 1]
        sigma_k = math.sqrt(opponent_variance(sigma_0, slack, prior_variance))
        players[row, k, SIGMA] = sigma_k
        observation[row, k] = players[row, k, MU]
        observation[row, count + k] = sigma_k
        observation[row, 2 * count - 1 + k] = math.sqrt(
            difference_variance(sigma_0, slack, prior_variance)
        )


@compiled
def begin_full(
    rows: NDArray[np.int64], players: Floats, memory: Floats, observation: NDArray[np.float32]
) -> None:
    """Start without covariances and write observations of new episodes."""
    for row in rows:
        for k in range(1, players.shape[1]):
            memory[row, SLACK, k - 1] = 1.0
            memory[row, PRIOR_VARIANCE, k - 1] = players[row, k, SIGMA] ** 2
        observe_full(row, players, memory, observation)


@compiled(nogil=True)
def learn_full(
    players: Floats,
    memory: Floats,
    opponents: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``matchenv.belief.belief.Belief.learn``; beta and margin as ``update_full``."""
    noise = total_variance(0.0, 0.0, beta)
    quality = quality_per_density(beta)
    for b in range(players.shape[0]):
        j = opponents[b] + 1
        variance = noise + difference_variance(
            players[b, 0, SIGMA], memory[b, SLACK, j - 1], memory[b, PRIOR_VARIANCE, j - 1]
        )
        gap = players[b, 0, MU] - players[b, j, MU]
        report_belief(b, waiting[b], gap, variance, quality, report)
        if waiting[b]:
            continue
        outcome = np.int64(outcomes[b])  # the type that other callers have: compiled once
        players[b, 0, SIGMA] = update_full(
            players[b, :, MU], players[b, 0, SIGMA], memory[b], j, outcome, beta, draw_margin
        )
        observe_full(b, players, memory, observation)


@compiled
def difference_variances(players: Floats, memory: Floats) -> Floats:
    """Var(s_0 - s_k), shapes (B, M + 1, 3) and (B, 2, M) to (B, M)."""
    variances = np.empty((memory.shape[0], memory.shape[2]))
    for b in range(memory.shape[0]):
        for k in range(memory.shape[2]):
            variances[b, k] = difference_variance(
                players[b, 0, SIGMA], memory[b, SLACK, k], memory[b, PRIOR_VARIANCE, k]
            )
    return variances


@compiled
def memory_of_deviations(sigma: Floats, difference_sigma: Floats) -> Floats:
    """The memory that deviations imply, shapes (B, M + 1) and (B, M) to (B, 2, M)."""
    memory = np.zeros((sigma.shape[0], 2, difference_sigma.shape[1]))
    for b in range(sigma.shape[0]):
        for k in range(difference_sigma.shape[1]):
            deviation = difference_sigma[b, k]
            slack = slack_of_deviations(sigma[b, 0], sigma[b, k + 1], deviation)
            rest = max(0.0, deviation * deviation - (slack * sigma[b, 0]) ** 2)
            memory[b, SLACK, k] = slack
            if slack > 0.0:
                memory[b, PRIOR_VARIANCE, k] = rest / slack
    return memory


@compiled
def joint_draws(
    mu: Floats, sigma: Floats, differences: Floats, normals: Floats, spread: float
) -> Floats:
    """Skills of all players drawn from the full belief: player 0's, then each one given it.

    Args:
        mu: shape (B, M + 1), means of the beliefs, player 0 first.
        sigma: shape (B, M + 1), their standard deviations.
        differences: shape (B, M), standard deviations of s_0 - s_k.
        normals: shape (B, M + 1), standard normal.
        spread: factor on every deviation from the mean.

    Returns:
        Skills of shape (B, M + 1).
    """
    skills = np.empty(mu.shape)
    for b in range(mu.shape[0]):
        sigma_0 = sigma[b, 0]
        shift = spread * sigma_0 * normals[b, 0]
        skills[b, 0] = mu[b, 0] + shift
        for k in range(1, mu.shape[1]):
            deviation = differences[b, k - 1]
            slack = slack_of_deviations(sigma_0, sigma[b, k], deviation)
            rest = math.sqrt(max(0.0, deviation**2 - (slack * sigma_0) ** 2))
            skills[b, k] = mu[b, k] + (1.0 - slack) * shift + spread * rest * normals[b, k]
    return skills
