"""Games of player 0 as they truly go: who wins, and how even they are. Compiled and pure.

``play_games`` plays one game in each episode of a batch from true skills and random numbers;
what is believed after it is for ``matchenv.belief`` to say. The scalar environment is a batch
of one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, total_variance
from matchenv.trueskill.game_loops import PART, TABLE

Floats = NDArray[np.float64]

# So few are played one by one: there is nothing to do at the same time.
FEW = 4

# Where the numbers of ``play_part`` begin in its table (``matchenv.trueskill.game_loops``): the
# noise, then who won; the error of mu_0; the true difference; the true density of a draw.
LUCK, ERROR, DIFFERENCE, TRUE_DENSITY = range(0, 4 * PART, PART)

# What is kept of each player, side by side.
MU, SIGMA, TRUE_SKILL = range(3)

# Rows of a report: what happened in the games just played.
DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY, SQUARED_ERROR, SKILL_DIFFERENCE = range(5)
REPORT_ROWS = ("draw_density", "match_quality", "true_draw_density", "squared_error",
               "skill_difference")  # fmt: skip


@compiled
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
    return outcome_of_difference(skill_0 - skill_j, noise, beta, draw_margin)


@compiled(inline=True, refcounted=False)
def outcome_of_difference(
    skill_difference: float, noise: float, beta: float, draw_margin: float
) -> int:
    """``game_outcome`` from player 0's true skill less the opponent's."""
    difference = skill_difference + math.sqrt(2.0) * beta * noise
    # By selection: a processor would guess a branch wrongly half the time.
    draw = (abs(difference) <= draw_margin) & (draw_margin > 0.0)
    return 0 if draw else (1 if difference > 0.0 else -1)


@compiled
def begin_games(
    rows: NDArray[np.int64],
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
    players: Floats,
    games_played: NDArray[np.int64],
    observation: NDArray[np.float32],
) -> None:
    """Put players where ``play_games`` looks for them, before their first game.

    Args:
        rows: episodes, shape (K,).
        mu: means of the beliefs, shape (K, M + 1).
        sigma: standard deviations of the beliefs, the same shape.
        true_skill: true skills, the same shape.
        players: as ``play_games``, and the next two; written at ``rows``.
        games_played: becomes 0.
        observation: the share of games left becomes 1.
    """
    for k in range(rows.size):
        row = rows[k]
        games_played[row] = 0
        observation[row, observation.shape[1] - 1] = 1.0
        for i in range(mu.shape[1]):
            players[row, i, MU] = mu[k, i]
            players[row, i, SIGMA] = sigma[k, i]
            players[row, i, TRUE_SKILL] = true_skill[k, i]


@compiled(nogil=True)
def drift_skills(
    players: Floats,
    noise: Floats,
    games_played: NDArray[np.int64],
    opponents: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    tau: float,
) -> None:
    """Move the true skills of those who are about to play.

    Args:
        players: as ``play_games``, changed; the others as there.
        noise: shape (B, K, 3).
        games_played: shape (B,).
        opponents: shape (B,).
        waiting: shape (B,).
        tau: standard deviation of a skill's drift before each of the player's games.
    """
    block = noise.shape[1]
    for b in range(players.shape[0]):
        if not waiting[b]:
            entry = games_played[b] % block
            players[b, 0, TRUE_SKILL] += tau * noise[b, entry, 1]
            players[b, opponents[b] + 1, TRUE_SKILL] += tau * noise[b, entry, 2]


@compiled
def report_belief(
    row: int, waiting: bool, gap: float, variance: float, quality: float, report: Floats
) -> None:
    """Judge one game about to be played, by a belief.

    Args:
        row: the episode.
        waiting: whether no game is played there: then all is 0.
        gap: mean of the difference of the performances.
        variance: its variance.
        quality: match quality per draw density.
        report: shape (5, B), DRAW_DENSITY and MATCH_QUALITY of the row are written.
    """
    density = 0.0 if waiting else density_at_zero(gap, variance)
    report[DRAW_DENSITY, row] = density
    report[MATCH_QUALITY, row] = quality * density


@compiled(nogil=True)
def play_games(
    players: Floats,
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
    """Play one game in every episode that is not waiting for a reset; beliefs learn later.

    Args:
        players: shape (B, M + 1, 3); entries MU, SIGMA and TRUE_SKILL side by side, since a
            game touches all three of two players and nothing else.
        noise: shape (B, K, 1), or (B, K, 3) with drift: performance noise, drift of player 0,
            drift of the opponent; game n uses entry n modulo K.
        games_played: shape (B,), changed.
        opponents: shape (B,), opponent 0 to M - 1 as an action names them.
        waiting: shape (B,), episodes that are over: nothing happens there.
        horizon: games in an episode.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        observation: shape (B, K), changed in its last number, the share of games left.
        terminated: shape (B,), written.
        report: shape (5, B), written in its last three rows, 0 where waiting; rows as
            ``REPORT_ROWS``.
        outcomes: shape (B,), written, 0 where waiting.
    """
    games = np.empty(TABLE)
    for first in range(0, waiting.size, PART):
        play_part(
            first,
            min(PART, waiting.size - first),
            games,
            players,
            noise,
            games_played,
            opponents,
            waiting,
            horizon,
            beta,
            draw_margin,
            observation,
            terminated,
            report,
            outcomes,
        )


@compiled(inline=True, refcounted=False)
def play_part(
    first: int,
    count: int,
    games: Floats,
    players: Floats,
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
    """``play_games`` of ``count`` rows from ``first`` on, at most PART.

    ``games`` is room to work, shape (TABLE,); all else is as there.
    """
    # What players are lies far apart: fetched in a loop of its own, it is waited for together.
    for k in range(count):
        b = first + k
        mu, skill = players[b, 0, MU], players[b, 0, TRUE_SKILL]
        games[LUCK + k] = noise[b, _entry(games_played[b], noise.shape[1]), 0]
        games[ERROR + k] = mu - skill
        games[DIFFERENCE + k] = skill - players[b, opponents[b] + 1, TRUE_SKILL]
    _decide_games(games, count, beta, draw_margin)
    for k in range(count):
        b = first + k
        outcome, density = np.int64(games[LUCK + k]), games[TRUE_DENSITY + k]
        _report_game(
            b, outcome, density, games[ERROR + k], games[DIFFERENCE + k], games_played, waiting,
            horizon, observation, terminated, report, outcomes,
        )  # fmt: skip


@compiled(nogil=True, refcounted=False)
def _decide_games(games: Floats, count: int, beta: float, draw_margin: float) -> None:
    """What becomes of games, several at a time: who wins, and how even they are."""
    variance = total_variance(0.0, 0.0, beta)
    for k in range(min(count, PART)):
        difference, luck = games[DIFFERENCE + k], games[LUCK + k]
        games[LUCK + k] = outcome_of_difference(difference, luck, beta, draw_margin)
        games[ERROR + k] = games[ERROR + k] * games[ERROR + k]
        games[TRUE_DENSITY + k] = density_at_zero(difference, variance)


@compiled(refcounted=False)
def play_few(
    players: Floats,
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
    """As ``play_games``, game by game: what one environment has no use for takes no time."""
    variance = total_variance(0.0, 0.0, beta)
    for b in range(waiting.size):
        luck = noise[b, _entry(games_played[b], noise.shape[1]), 0]
        skill = players[b, 0, TRUE_SKILL]
        error = players[b, 0, MU] - skill
        difference = skill - players[b, opponents[b] + 1, TRUE_SKILL]
        outcome = outcome_of_difference(difference, luck, beta, draw_margin)
        density = density_at_zero(difference, variance)
        _report_game(
            b, outcome, density, error * error, difference, games_played, waiting,
            horizon, observation, terminated, report, outcomes,
        )  # fmt: skip


@compiled(inline=True, refcounted=False)
def _entry(game: int, block: int) -> int:
    """Where the noise of a game lies in its block."""
    return game if game < block else game % block  # to divide takes as long as half a game


@compiled(inline=True, refcounted=False)
def _report_game(
    b: int,
    outcome: int,
    true_density: float,
    squared_error: float,
    difference: float,
    games_played: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    horizon: int,
    observation: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    report: Floats,
    outcomes: NDArray[np.int8],
) -> None:
    """Write what one game gave, and count it; nothing happens where an episode waits."""
    playing = not waiting[b]
    left = horizon - games_played[b] - 1
    outcomes[b] = outcome if playing else 0
    report[TRUE_DRAW_DENSITY, b] = true_density if playing else 0.0
    report[SQUARED_ERROR, b] = squared_error if playing else 0.0
    report[SKILL_DIFFERENCE, b] = difference if playing else 0.0
    terminated[b] = playing & (left == 0)
    if playing:
        games_played[b] += 1
        observation[b, observation.shape[1] - 1] = left / horizon
