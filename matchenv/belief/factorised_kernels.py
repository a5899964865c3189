"""The games of ``belief="factorised"``: compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.play import (
    DRAW_DENSITY,
    MATCH_QUALITY,
    MU,
    SIGMA,
    drift_skills,
    play_few,
    play_part,
    report_belief,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    drifted,
    quality_per_density,
    total_variance,
    update_two,
)
from matchenv.trueskill.game_loops import (
    DENSITY,
    MU_I,
    MU_J,
    NEW_MU_I,
    NEW_MU_J,
    NEW_SIGMA_I,
    NEW_SIGMA_J,
    OUTCOME,
    PART,
    SIGMA_I,
    SIGMA_J,
    TABLE,
    judge_games,
    update_games,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled(nogil=True)
def play_factorised(
    players: Floats,
    noise: Floats,
    games_played: Integers,
    opponents: Integers,
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
    """``drift_skills``, ``play_games`` and ``learn_factorised``.

    Part by part, so that what one of them has fetched lies near for the next.

    Args:
        players: as ``play_games``, and so are the others.
        noise: as there.
        games_played: as there.
        opponents: as there.
        waiting: as there.
        horizon: as there.
        beta: as there.
        draw_margin: as there.
        tau: as ``drift_skills``.
        observation: as ``play_games``; also brought up to date otherwise.
        terminated: as there.
        report: shape (5, B), written.
        outcomes: as there.
    """
    games = np.empty(TABLE)
    if tau > 0.0:
        drift_skills(players, noise, games_played, opponents, waiting, tau)
    for first in range(0, waiting.size, PART):
        count = min(PART, waiting.size - first)
        play_part(
            first,
            count,
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
        learn_part(
            first, count, games, players, opponents, outcomes, waiting, beta, draw_margin, tau,
            report, observation,
        )  # fmt: skip


@compiled(refcounted=False)
def play_few_factorised(
    players: Floats,
    noise: Floats,
    games_played: Integers,
    opponents: Integers,
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
    """As ``play_factorised``, game by game: what one environment has no use for takes no time."""
    if tau > 0.0:
        drift_skills(players, noise, games_played, opponents, waiting, tau)
    play_few(
        players, noise, games_played, opponents, waiting, horizon, beta, draw_margin, observation,
        terminated, report, outcomes,
    )  # fmt: skip
    learn_from_few(
        players, opponents, outcomes, waiting, beta, draw_margin, tau, report, observation
    )  # fmt: skip


@compiled(nogil=True)
def learn_factorised(
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``Belief.learn``; the constants are those of ``GameConstants``."""
    games = np.empty(TABLE)
    for first in range(0, waiting.size, PART):
        learn_part(
            first, min(PART, waiting.size - first), games, players, opponents, outcomes, waiting,
            beta, draw_margin, tau, report, observation,
        )  # fmt: skip


@compiled(inline=True, refcounted=False)
def learn_part(
    first: int,
    count: int,
    games: Floats,
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """``learn_factorised`` of ``count`` rows from ``first`` on, at most PART.

    ``games`` is room to work, as ``update_games`` says; all else is as there.
    """
    # Four numbers of each game lie apart from each other: fetched in one go, they are waited
    # for together.
    for k in range(count):
        b = first + k
        j = opponents[b] + 1
        games[MU_I + k], games[SIGMA_I + k] = players[b, 0, MU], players[b, 0, SIGMA]
        games[MU_J + k], games[SIGMA_J + k] = players[b, j, MU], players[b, j, SIGMA]
        games[OUTCOME + k] = outcomes[b]
    quality = quality_per_density(beta)
    judge_games(games, count, beta)
    for k in range(count):
        b = first + k
        density = 0.0 if waiting[b] else games[DENSITY + k]
        report[DRAW_DENSITY, b] = density
        report[MATCH_QUALITY, b] = quality * density
    if tau > 0.0:
        for k in range(count):
            games[SIGMA_I + k] = drifted(games[SIGMA_I + k], tau)
            games[SIGMA_J + k] = drifted(games[SIGMA_J + k], tau)
    update_games(games, count, beta, draw_margin)
    for k in range(count):
        b = first + k
        if not waiting[b]:
            place_beliefs(
                b, opponents[b] + 1, games[NEW_MU_I + k], games[NEW_SIGMA_I + k],
                games[NEW_MU_J + k], games[NEW_SIGMA_J + k], players, observation,
            )  # fmt: skip


@compiled(refcounted=False)
def learn_from_few(
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``learn_factorised``, game by game: what one environment has no use for takes no time."""
    quality = quality_per_density(beta)
    for b in range(players.shape[0]):
        j = opponents[b] + 1
        mu_0, sigma_0 = players[b, 0, MU], players[b, 0, SIGMA]
        mu_j, sigma_j = players[b, j, MU], players[b, j, SIGMA]
        variance = total_variance(sigma_0, sigma_j, beta)
        report_belief(b, waiting[b], mu_0 - mu_j, variance, quality, report)
        if waiting[b]:
            continue
        outcome = np.int64(outcomes[b])  # the type that other callers have: compiled once
        mu_0, sigma_0, mu_j, sigma_j = update_two(
            mu_0, drifted(sigma_0, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
        )
        place_beliefs(b, j, mu_0, sigma_0, mu_j, sigma_j, players, observation)


@compiled(inline=True, refcounted=False)
def place_beliefs(
    b: int,
    j: int,
    mu_0: float,
    sigma_0: float,
    mu_j: float,
    sigma_j: float,
    players: Floats,
    observation: NDArray[np.float32],
) -> None:
    """Put the beliefs of the two who played into their places.

    Args:
        b: the episode.
        j: the opponent, 1 to M.
        mu_0: mean of player 0.
        sigma_0: deviation of player 0.
        mu_j: mean of the opponent.
        sigma_j: deviation of the opponent.
        players: as ``Belief``, changed.
        observation: changed.
    """
    count = players.shape[1]
    players[b, 0, MU], players[b, 0, SIGMA] = mu_0, sigma_0
    players[b, j, MU], players[b, j, SIGMA] = mu_j, sigma_j
    observation[b, 0] = mu_0
    observation[b, j] = mu_j
    observation[b, count] = sigma_0
    observation[b, count + j] = sigma_j
