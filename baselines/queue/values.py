"""The value of a game to two waiting players: match quality, and what the game would teach.

Values are in match quality, for each of the two. All functions are compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.knowledge_gradient_rule import look_ahead, read_opponents
from matchenv.belief import GameConstants
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import match_quality_of, quality_per_density, total_variance

Floats = NDArray[np.float64]

# Opponents on either side that a player looks ahead to, in the order of the means.
REACH = 10


@compiled
def information_gain(mu: Floats, sigma: Floats, i: int, j: int, game: GameConstants) -> float:
    """Return by how much the best match quality that i can expect grows with a game against j.

    KG's F_j minus the best draw density now, in match quality. As in the paper, player i looks
    ahead as though the same opponents were there after the game: j, and the nearest in the line.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        i: the player who gains.
        j: the opponent.
        game: constants of the games.

    Source: Ryzhov, Tariq, Powell (2011), section 3, misprints corrected.
    """
    near = np.arange(max(0, i - REACH), min(mu.size, i + REACH + 1))
    near = near[(near != i) & (near != j)]
    players = np.concatenate((np.array([i, j]), near))
    opponents = read_opponents(mu[players], sigma[players], np.empty(0), game)
    gain = look_ahead(opponents, 0, game) - opponents.densities.max()
    return gain * quality_per_density(game.beta)


@compiled
def pair_value(
    mu: Floats, sigma: Floats, i: int, j: int, multipliers: tuple[float, float], game: GameConstants
) -> float:
    """Return match quality plus the gains of i and of j, each times its multiplier."""
    variance = total_variance(sigma[i], sigma[j], game.beta)
    value = match_quality_of(mu[i] - mu[j], variance, game.beta)
    if multipliers[0] > 0.0:
        value += multipliers[0] * information_gain(mu, sigma, i, j, game)
    if multipliers[1] > 0.0:
        value += multipliers[1] * information_gain(mu, sigma, j, i, game)
    return value


@compiled
def band_values(
    mu: Floats, sigma: Floats, width: int, multiplier: float, game: GameConstants
) -> Floats:
    """Return match quality + multiplier x the mean of both gains, up to ``width`` places apart.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        width: W, places that two players may be apart.
        multiplier: number of games to come for which a player's gain counts, >= 0.
        game: constants of the games.

    Returns:
        Shape (n, W), entry (i, d - 1) of players i and i + d; 0 beyond the last player.
    """
    values = np.zeros((mu.size, width))
    each = (0.5 * multiplier, 0.5 * multiplier)
    for i in range(mu.size):
        for d in range(1, min(width, mu.size - 1 - i) + 1):
            values[i, d - 1] = pair_value(mu, sigma, i, i + d, each, game)
    return values


@compiled
def candidate_values(
    mu: Floats, sigma: Floats, multipliers: tuple[float, float], game: GameConstants
) -> Floats:
    """Return the value of the first player's game with each of the others, shape (n - 1,).

    Args:
        mu: shape (n,), means in any order.
        sigma: shape (n,), standard deviations.
        multipliers: of the gains of the first player and of the other.
        game: constants of the games.
    """
    order = np.argsort(mu, kind="mergesort")
    place = np.empty(mu.size, dtype=np.int64)
    place[order] = np.arange(mu.size)
    means, deviations = mu[order], sigma[order]
    values = np.empty(mu.size - 1)
    for k in range(values.size):
        values[k] = pair_value(means, deviations, place[0], place[k + 1], multipliers, game)
    return values
