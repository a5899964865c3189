"""The belief that keeps covariances, ``belief="full"``: compiled kernels.

Every game involves player 0, and the prior has no covariances. So given the skill of player
0 the opponents stay independent for ever: the precision matrix is a star with player 0 in
the middle, and one number for each opponent holds all that the factorised belief forgets.
That number is the slack a_k: 1 while nothing ties k to player 0, towards 0 as games do. With
the prior variance P_k of opponent k:

    s_k given s_0  ~  N(mu_k + (1 - a_k) (s_0 - mu_0),  a_k P_k)
    Var(s_k)       =  (1 - a_k)^2 sigma_0^2 + a_k P_k
    Var(s_0 - s_k) =  a_k^2 sigma_0^2 + a_k P_k
    Cov(s_0 - s_k, s_0 - s_l) = a_k a_l sigma_0^2   for k != l

A game with j is a rank-one update of the dense covariance along s_0 - s_j. In these numbers
it changes mu, sigma_0 and a_j alone, and no term is a difference of large ones: variances
stay positive and exact over any number of games. Drift would break the star, since it frees
player 0 from all opponents at once; ``Settings`` refuses it.

Source: the Gaussian update of Herbrich, Minka, Graepel (2006), section 3, without the
factorisation between players.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.play import MU, SIGMA, TRUE_SKILL, game_outcome, report_game
from matchenv.trueskill.game import difference_moments, quality_per_density, total_variance

Floats = NDArray[np.float64]

# What is kept of the tie between player 0 and each opponent, row by row.
SLACK, PRIOR_VARIANCE = range(2)


@njit(cache=True, error_model="numpy")
def opponent_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Var(s_k) of an opponent."""
    return ((1.0 - slack) * sigma_0) ** 2 + slack * prior_variance


@njit(cache=True, error_model="numpy")
def difference_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Var(s_0 - s_k)."""
    return (slack * sigma_0) ** 2 + slack * prior_variance


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def update_full(
    mu: Floats,
    sigma_0: float,
    ties: Floats,
    j: int,
    outcome: int,
    beta: float,
    draw_margin: float,
) -> float:
    """The belief after a game of player 0 with opponent j, in O(M).

    Args:
        mu: shape (M + 1,), means, player 0 first; changed.
        sigma_0: standard deviation of player 0's skill.
        ties: shape (2, M), rows SLACK and PRIOR_VARIANCE; the slack of j is changed.
        j: the opponent, 1 to M.
        outcome: +1 if player 0 won, -1 if not, 0 for a draw.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        The new sigma_0.
    """
    slack = ties[SLACK, j - 1]
    own = (slack * sigma_0) ** 2
    rest = slack * ties[PRIOR_VARIANCE, j - 1]
    noise = 2.0 * beta * beta
    variance = own + rest + noise
    v, complement = difference_moments(mu[0] - mu[j], variance, outcome, draw_margin)
    shift = v / math.sqrt(variance)
    shift_0 = slack * sigma_0 * sigma_0 * shift
    for k in range(1, mu.size):
        mu[k] += (1.0 - ties[SLACK, k - 1]) * shift_0
    mu[0] += shift_0
    mu[j] -= rest * shift
    # The outcome is worth an observation of s_0 - s_j with this precision.
    precision = max(0.0, 1.0 - complement) / (noise + (own + rest) * complement)
    ties[SLACK, j - 1] = slack / (1.0 + precision * rest)
    return sigma_0 * math.sqrt(min(1.0, (rest + noise + own * complement) / variance))


@njit(cache=True, error_model="numpy")
def report_full_games(
    players: Floats,
    ties: Floats,
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    beta: float,
    report: Floats,
) -> None:
    """Judge the games about to be played; arguments as ``play_full_games``."""
    true_variance = total_variance(0.0, 0.0, beta)
    quality = quality_per_density(beta)
    for b in range(players.shape[0]):
        if waiting[b]:
            report[:, b] = 0.0
            continue
        i = opponents[b]
        variance = difference_variance(
            players[b, 0, SIGMA], ties[b, SLACK, i], ties[b, PRIOR_VARIANCE, i]
        )
        variance += true_variance
        report_game(players, b, i + 1, variance, true_variance, quality, report)


@njit(cache=True, error_model="numpy")
def observe_full(
    row: int, players: Floats, ties: Floats, left: float, observation: NDArray[np.float32]
) -> None:
    """Bring the deviations of a row up to date and write its whole observation.

    Args:
        row: the episode.
        players: shape (B, M + 1, 3); the opponents' SIGMA are written.
        ties: shape (B, 2, M).
        left: games left / horizon.
        observation: shape (B, 3 M + 3), the row is written.
    """
    count = players.shape[1]
    sigma_0 = players[row, 0, SIGMA]
    observation[row, 0] = players[row, 0, MU]
    observation[row, count] = sigma_0
    for k in range(1, count):
        slack, prior_variance = ties[row, SLACK, k - 1], ties[row, PRIOR_VARIANCE, k - 1]
        sigma_k = math.sqrt(opponent_variance(sigma_0, slack, prior_variance))
        players[row, k, SIGMA] = sigma_k
        observation[row, k] = players[row, k, MU]
        observation[row, count + k] = sigma_k
        observation[row, 2 * count - 1 + k] = math.sqrt(
            difference_variance(sigma_0, slack, prior_variance)
        )
    observation[row, 3 * count - 1] = left


@njit(cache=True, error_model="numpy")
def begin_full(
    rows: NDArray[np.int64], players: Floats, ties: Floats, observation: NDArray[np.float32]
) -> None:
    """Tie nobody to player 0 and write whole observations of new episodes."""
    for row in rows:
        for k in range(1, players.shape[1]):
            ties[row, SLACK, k - 1] = 1.0
            ties[row, PRIOR_VARIANCE, k - 1] = players[row, k, SIGMA] ** 2
        observe_full(row, players, ties, 1.0, observation)


@njit(cache=True, error_model="numpy")
def play_full_games(
    players: Floats,
    ties: Floats,
    noise: Floats,
    games_played: NDArray[np.int64],
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    horizon: int,
    beta: float,
    draw_margin: float,
    observation: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    report: Floats,
    outcomes: NDArray[np.int8],
) -> None:
    """``matchenv.play.play_games`` for this belief; arguments as there, and ``ties``.

    Args:
        players: shape (B, M + 1, 3), changed.
        ties: shape (B, 2, M), rows SLACK and PRIOR_VARIANCE, changed.
        noise: shape (K, 1, at least B).
        games_played: shape (B,), changed.
        opponents: shape (B,).
        waiting: shape (B,).
        horizon: games in an episode.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        observation: shape (B, 3 M + 3), changed.
        terminated: shape (B,), written.
        report: shape (5, B), written.
        outcomes: shape (B,), written.
    """
    report_full_games(players, ties, opponents, waiting, beta, report)
    block = noise.shape[0]
    for b in range(players.shape[0]):
        if waiting[b]:
            terminated[b] = False
            outcomes[b] = 0
            continue
        j = opponents[b] + 1
        n = games_played[b]
        outcome = game_outcome(
            players[b, 0, TRUE_SKILL], players[b, j, TRUE_SKILL], noise[n % block, 0, b],
            beta, draw_margin,
        )  # fmt: skip
        players[b, 0, SIGMA] = update_full(
            players[b, :, MU], players[b, 0, SIGMA], ties[b], j, outcome, beta, draw_margin
        )
        outcomes[b] = outcome
        games_played[b] = n + 1
        terminated[b] = n + 1 == horizon
        observe_full(b, players, ties, (horizon - n - 1) / horizon, observation)


@njit(cache=True, error_model="numpy")
def difference_deviations(sigma_0: Floats, ties: Floats) -> Floats:
    """Standard deviations of s_0 - s_k, shapes (B,) and (B, 2, M) to (B, M)."""
    deviations = np.empty((ties.shape[0], ties.shape[2]))
    for b in range(ties.shape[0]):
        for k in range(ties.shape[2]):
            deviations[b, k] = math.sqrt(
                difference_variance(sigma_0[b], ties[b, SLACK, k], ties[b, PRIOR_VARIANCE, k])
            )
    return deviations
