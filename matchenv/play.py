"""One game of player 0: true outcome, belief update, reward. Compiled and pure.

The way through the house in one function: ``play_game`` takes the beliefs and true skills
of the two players and the random numbers of the game, and gives the outcome and everything
after it. ``play_games`` does so for a batch of episodes and writes their observations. The
scalar environment is a batch of one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.trueskill.game import (
    density_at_zero,
    quality_per_density,
    total_variance,
    update_two,
)
from matchenv.trueskill.game import drifted as drifted

Floats = NDArray[np.float64]

# What is kept of each player, side by side.
MU, SIGMA, TRUE_SKILL = range(3)

# Rows of a report: what happened in the games just played.
DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY, SQUARED_ERROR, SKILL_DIFFERENCE = range(5)
REPORT_ROWS = ("draw_density", "match_quality", "true_draw_density", "squared_error",
               "skill_difference")  # fmt: skip


@njit(cache=True, error_model="numpy")
def game_outcome(
    skill_0: float, skill_j: float, noise: float, beta: float, draw_margin: float
) -> int:
    """Who wins: +1 player 0, -1 the opponent, 0 a draw.

    Args:
        skill_0: true skill of player 0.
        skill_j: true skill of the opponent.
        noise: a standard normal, the noise of the difference of the two performances.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    difference = skill_0 - skill_j + math.sqrt(2.0) * beta * noise
    if abs(difference) <= draw_margin and draw_margin > 0.0:
        return 0
    return 1 if difference > 0.0 else -1


@njit(cache=True, error_model="numpy")
def play_game(
    mu_0: float,
    sigma_0: float,
    mu_j: float,
    sigma_j: float,
    skill_0: float,
    skill_j: float,
    noise: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> tuple[int, float, float, float, float]:
    """A game between player 0 and j, and the beliefs after it.

    Args:
        mu_0: mean of the belief about player 0 before the game.
        sigma_0: its standard deviation.
        mu_j: mean of the belief about the opponent.
        sigma_j: its standard deviation.
        skill_0: true skill of player 0 in this game (after its drift).
        skill_j: true skill of the opponent in this game.
        noise: a standard normal for the difference of performances.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of the drift before the game.

    Returns:
        ``(outcome, mu_0, sigma_0, mu_j, sigma_j)`` with the outcome +1, 0 or -1.
    """
    outcome = game_outcome(skill_0, skill_j, noise, beta, draw_margin)
    mu_0, sigma_0, mu_j, sigma_j = update_two(
        mu_0, drifted(sigma_0, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
    )
    return outcome, mu_0, sigma_0, mu_j, sigma_j


@njit(cache=True, error_model="numpy")
def store_noise(rows: NDArray[np.int64], fresh: Floats, noise: Floats) -> None:
    """Put fresh noise where ``play_games`` looks for it.

    Args:
        rows: episodes, shape (R,).
        fresh: shape (at least R, K, C), the noise of each.
        noise: shape (K, C, at least B), written at ``rows``.
    """
    for n in range(noise.shape[0]):
        for channel in range(noise.shape[1]):
            for i in range(rows.size):
                noise[n, channel, rows[i]] = fresh[i, n, channel]


@njit(cache=True, error_model="numpy")
def drift_skills(
    players: Floats,
    noise: Floats,
    games_played: NDArray[np.int64],
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    tau: float,
) -> None:
    """Move the true skills of those who are about to play; arguments as ``play_games``."""
    block = noise.shape[0]
    for b in range(players.shape[0]):
        if not waiting[b]:
            entry = games_played[b] % block
            players[b, 0, TRUE_SKILL] += tau * noise[entry, 1, b]
            players[b, opponents[b] + 1, TRUE_SKILL] += tau * noise[entry, 2, b]


@njit(cache=True, error_model="numpy")
def report_game(
    players: Floats,
    row: int,
    j: int,
    variance: float,
    true_variance: float,
    quality: float,
    report: Floats,
) -> None:
    """Judge one game about to be played.

    Args:
        players: as ``play_games``.
        row: the episode.
        j: the opponent, 1 to M.
        variance: of the difference of the performances, under the belief.
        true_variance: of that difference, had both skills been known.
        quality: match quality per draw density.
        report: shape (5, B), the column ``row`` is written.
    """
    mu_0, skill_0 = players[row, 0, MU], players[row, 0, TRUE_SKILL]
    mu_j, skill_j = players[row, j, MU], players[row, j, TRUE_SKILL]
    density = density_at_zero(mu_0 - mu_j, variance)
    report[DRAW_DENSITY, row] = density
    report[MATCH_QUALITY, row] = quality * density
    report[TRUE_DRAW_DENSITY, row] = density_at_zero(skill_0 - skill_j, true_variance)
    report[SQUARED_ERROR, row] = (mu_0 - skill_0) ** 2
    report[SKILL_DIFFERENCE, row] = skill_0 - skill_j


@njit(cache=True, error_model="numpy")
def report_games(
    players: Floats,
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    beta: float,
    report: Floats,
) -> None:
    """Judge the games about to be played, by belief and by truth; arguments as ``play_games``."""
    true_variance = total_variance(0.0, 0.0, beta)
    quality = quality_per_density(beta)
    for b in range(players.shape[0]):
        if waiting[b]:
            report[:, b] = 0.0
            continue
        j = opponents[b] + 1
        variance = total_variance(players[b, 0, SIGMA], players[b, j, SIGMA], beta)
        report_game(players, b, j, variance, true_variance, quality, report)


@njit(cache=True, error_model="numpy")
def play_games(
    players: Floats,
    noise: Floats,
    games_played: NDArray[np.int64],
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    horizon: int,
    beta: float,
    draw_margin: float,
    tau: float,
    observation: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    report: Floats,
    outcomes: NDArray[np.int8],
) -> None:
    """Play one game in every episode that is not waiting for a reset.

    Args:
        players: shape (B, M + 1, 3), changed; entries MU, SIGMA and TRUE_SKILL side by side,
            since a game touches all three of two players and nothing else.
        noise: shape (K, 1, at least B), or (K, 3, at least B) with drift: performance noise,
            drift of player 0, drift of the opponent; game n uses entry n modulo K. They lie by
            episode, side by side, since most episodes play the same n at a time.
        games_played: shape (B,), changed.
        opponents: shape (B,), opponent 0 to M - 1 as an action names them.
        waiting: shape (B,), episodes that are over: nothing happens there.
        horizon: games in an episode.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before each of the player's games.
        observation: shape (B, 2 (M + 1) + 1), changed in the four beliefs and the games left.
        terminated: shape (B,), written.
        report: shape (5, B), written; rows as ``REPORT_ROWS``, 0 where waiting.
        outcomes: shape (B,), written, 0 where waiting.
    """
    if tau > 0.0:
        drift_skills(players, noise, games_played, opponents, waiting, tau)
    report_games(players, opponents, waiting, beta, report)
    count = players.shape[1]
    block = noise.shape[0]
    for b in range(players.shape[0]):
        if waiting[b]:
            terminated[b] = False
            outcomes[b] = 0
            continue
        j = opponents[b] + 1
        n = games_played[b]
        mu_0, sigma_0, skill_0 = players[b, 0, MU], players[b, 0, SIGMA], players[b, 0, TRUE_SKILL]
        mu_j, sigma_j, skill_j = players[b, j, MU], players[b, j, SIGMA], players[b, j, TRUE_SKILL]
        outcomes[b], mu_0, sigma_0, mu_j, sigma_j = play_game(
            mu_0, sigma_0, mu_j, sigma_j, skill_0, skill_j, noise[n % block, 0, b],
            beta, draw_margin, tau,
        )  # fmt: skip
        players[b, 0, MU], players[b, 0, SIGMA] = mu_0, sigma_0
        players[b, j, MU], players[b, j, SIGMA] = mu_j, sigma_j
        games_played[b] = n + 1
        terminated[b] = n + 1 == horizon
        observation[b, 0] = mu_0
        observation[b, j] = mu_j
        observation[b, count] = sigma_0
        observation[b, count + j] = sigma_j
        observation[b, 2 * count] = (horizon - n - 1) / horizon


@njit(cache=True, error_model="numpy")
def observe(rows: NDArray[np.int64], players: Floats, observation: NDArray[np.float32]) -> None:
    """Write whole observations of the given rows at the start of their episodes."""
    count = players.shape[1]
    for row in rows:
        for i in range(count):
            observation[row, i] = players[row, i, MU]
            observation[row, count + i] = players[row, i, SIGMA]
        observation[row, 2 * count] = 1.0
