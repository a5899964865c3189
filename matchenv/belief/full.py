"""``belief="full"``: covariances between players are kept.

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
from typing import Any, ClassVar

import numpy as np

from matchenv.belief.belief import (
    DRAW_DENSITY,
    MATCH_QUALITY,
    MU,
    SIGMA,
    Belief,
    Floats,
    GameConstants,
    GamesPlayed,
    Integers,
    Observations,
)
from matchenv.runtime.checks import as_positive_array
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    quality_per_density,
    total_variance,
)

# Observations are float32: three deviations of one belief may disagree by this much of their sum.
ROUNDING = 1e-5

# The memory of each opponent's covariance with player 0, row by row.
SLACK, PRIOR_VARIANCE = range(2)


class FullBelief(Belief):
    """Normal skills with all covariances that games with player 0 can make.

    An observation shows, besides mu and sigma, the standard deviations of s_0 - s_1 to s_0 - s_M:
    together they determine all covariances, since the opponents are independent given s_0.
    """

    name: ClassVar[str] = "full"
    memory_rows: ClassVar[int] = 2
    extra_rows: ClassVar[int] = 1
    extra_name: ClassVar[str] = "difference_sigma"

    def check_constants(self, constants: GameConstants) -> None:
        """Refuse drift, which would make the opponents dependent on each other."""
        if constants.tau > 0.0:
            raise ValueError(
                "tau must be 0 with belief='full', which keeps the opponents independent given "
                f"player 0's skill, as they no longer are once that skill drifts, "
                f"got {constants.tau!r}"
            )

    def begin(self, players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
        """Start without covariances."""
        begin_full(players, memory, shown, rows)

    def learn(
        self,
        players: Floats,
        memory: Floats,
        shown: Observations,
        games: GamesPlayed,
        constants: GameConstants,
    ) -> None:
        """Update all players; q uses the variance of the difference."""
        learn_full(players, memory, shown, tuple(games), tuple(constants))

    def extra(self, players: Floats, memory: Floats) -> Floats:
        """Return the standard deviations of s_0 - s_k, shape (B, M)."""
        deviations: Floats = np.sqrt(difference_variances(players, memory))
        return deviations

    def memory_of(self, sigma: Floats, extra: Floats) -> Floats:
        """Return slack and prior variance that the deviations imply, shape (B, 2, M)."""
        return memory_of_deviations(sigma, extra)

    def difference_variance(self, sigma: Any, extra: Any) -> Any:
        """Return the squares of the shown deviations."""
        del sigma
        return extra**2

    def paired_sigma(self, sigma: Floats, extra: Floats) -> Floats:
        """Return 0 for player 0 and the whole deviation of the difference for the opponent."""
        del sigma
        return np.concatenate((np.zeros((*extra.shape[:-1], 1)), extra), axis=-1)

    def drawn_skills(
        self, mu: Floats, sigma: Floats, extra: Floats, normals: Floats, spread: float
    ) -> Floats:
        """Draw jointly: player 0's skill, then each opponent's given it."""
        return joint_draws(mu, sigma, extra, normals, spread)

    def check_extra(self, sigma: Floats, extra: Floats) -> None:
        """Refuse deviations of s_0 - s_k that no covariance gives."""
        as_positive_array(self.extra_name, extra)
        total = sigma[..., :1] + sigma[..., 1:]
        least = np.abs(sigma[..., :1] - sigma[..., 1:])
        slip = ROUNDING * total
        good = (extra >= least - slip) & (extra <= total + slip)
        if not good.all():
            index = tuple(int(k) for k in np.argwhere(~good)[0])
            raise ValueError(
                "difference_sigma must lie between |sigma_0 - sigma_k| and sigma_0 + sigma_k, "
                f"got {float(extra[index])!r} at index {index}"
            )


@compiled
def opponent_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Return Var(s_k) of an opponent."""
    return ((1.0 - slack) * sigma_0) ** 2 + slack * prior_variance


@compiled
def difference_variance(sigma_0: float, slack: float, prior_variance: float) -> float:
    """Return Var(s_0 - s_k)."""
    return (slack * sigma_0) ** 2 + slack * prior_variance


@compiled
def slack_of_deviations(sigma_0: float, sigma_k: float, difference_sigma: float) -> float:
    """Return the slack a_k of three standard deviations: Cov(s_0 - s_k, s_0) / sigma_0^2.

    Deviations that were rounded (observations are float32) may imply a number that no belief
    has; the nearest possible one is returned.

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
    mu: Floats, sigma_0: float, memory: Floats, j: int, outcome: int, constants: GameConstants
) -> float:
    """Update the belief after a game of player 0 with opponent j, in O(M).

    Args:
        mu: shape (M + 1,), means, player 0 first; changed.
        sigma_0: standard deviation of player 0's skill.
        memory: shape (2, M), rows SLACK and PRIOR_VARIANCE; the slack of j is changed.
        j: the opponent, 1 to M.
        outcome: +1 if player 0 won, -1 if not, 0 for a draw.
        constants: of the game.

    Returns:
        The new sigma_0.
    """
    slack = memory[SLACK, j - 1]
    own = (slack * sigma_0) ** 2
    rest = slack * memory[PRIOR_VARIANCE, j - 1]
    noise = 2.0 * constants.beta * constants.beta
    variance = own + rest + noise
    v, complement = difference_moments(mu[0] - mu[j], variance, outcome, constants.draw_margin)
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
def show_full(players: Floats, memory: Floats, shown: Observations, row: int) -> None:
    """Bring the deviations of a row up to date, and all but the last number of its observation.

    Args:
        players: shape (B, M + 1, 3); SIGMA of the opponents is written.
        memory: shape (B, 2, M).
        shown: shape (B, 3 M + 3), the row is written.
        row: the episode.
    """
    count = players.shape[1]
    sigma_0 = players[row, 0, SIGMA]
    shown[row, 0] = players[row, 0, MU]
    shown[row, count] = sigma_0
    for k in range(1, count):
        slack, prior_variance = memory[row, SLACK, k - 1], memory[row, PRIOR_VARIANCE, k - 1]
        sigma_k = math.sqrt(opponent_variance(sigma_0, slack, prior_variance))
        players[row, k, SIGMA] = sigma_k
        shown[row, k] = players[row, k, MU]
        shown[row, count + k] = sigma_k
        shown[row, 2 * count - 1 + k] = math.sqrt(
            difference_variance(sigma_0, slack, prior_variance)
        )


@compiled
def begin_full(players: Floats, memory: Floats, shown: Observations, rows: Integers) -> None:
    """Start episodes without covariances; arguments as ``Belief.begin``."""
    for row in rows:
        for k in range(1, players.shape[1]):
            memory[row, SLACK, k - 1] = 1.0
            memory[row, PRIOR_VARIANCE, k - 1] = players[row, k, SIGMA] ** 2
        show_full(players, memory, shown, row)


@compiled
def learn_full(
    players: Floats,
    memory: Floats,
    shown: Observations,
    all_games: tuple[Any, ...],
    all_constants: tuple[float, float, float],
) -> None:
    """Update as ``Belief.learn`` does; the last two as plain tuples, which Numba takes faster."""
    games, constants = GamesPlayed(*all_games), GameConstants(*all_constants)
    noise = total_variance(0.0, 0.0, constants.beta)
    quality = quality_per_density(constants.beta)
    for b in range(games.running.size):
        if not games.running[b]:
            continue
        j = games.opponents[b] + 1
        variance = noise + difference_variance(
            players[b, 0, SIGMA], memory[b, SLACK, j - 1], memory[b, PRIOR_VARIANCE, j - 1]
        )
        density = density_at_zero(players[b, 0, MU] - players[b, j, MU], variance)
        games.measures[DRAW_DENSITY, b] = density
        games.measures[MATCH_QUALITY, b] = quality * density
        outcome = np.int64(games.outcomes[b])
        players[b, 0, SIGMA] = update_full(
            players[b, :, MU], players[b, 0, SIGMA], memory[b], j, outcome, constants
        )
        show_full(players, memory, shown, b)


@compiled
def difference_variances(players: Floats, memory: Floats) -> Floats:
    """Return Var(s_0 - s_k), shapes (B, M + 1, 3) and (B, 2, M) to (B, M)."""
    variances = np.empty((memory.shape[0], memory.shape[2]))
    for b in range(memory.shape[0]):
        for k in range(memory.shape[2]):
            variances[b, k] = difference_variance(
                players[b, 0, SIGMA], memory[b, SLACK, k], memory[b, PRIOR_VARIANCE, k]
            )
    return variances


@compiled
def memory_of_deviations(sigma: Floats, difference_sigma: Floats) -> Floats:
    """Return the memory of deviations, shapes (B, M + 1) and (B, M) to (B, 2, M)."""
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
    """Draw skills of all players from the full belief: player 0's, then each given it.

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
