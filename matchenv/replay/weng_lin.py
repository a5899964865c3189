"""The ratings of Weng and Lin over a log of matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.match_log import MatchLog, largest_game
from matchenv.rating_models.weng_lin import KAPPA, MODELS, strength_of_side, update_weng_lin
from matchenv.trueskill.sides import quality_of_sides
from matchenv.validation import (
    as_choice,
    as_non_negative_number,
    as_number,
    as_positive_number,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class WengLinReplay:
    """What a model of Weng and Lin believed before each game of a log, and after the last one.

    Attributes:
        team_mean: (teams,) mean of each team's strength before its game, the sum of its members'.
        team_variance: (teams,) its variance, with the drift and without the performance's.
        quality: (games,) match quality before the game, one performance of beta a side.
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        games_played: (players,) number of games of each player.
        entry_mu: (entries,) mean of the belief about the entry's player right after the game, or
            an empty array if no history was asked for.
        entry_sigma: (entries,) its standard deviation, or empty.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    games_played: Integers
    entry_mu: Floats
    entry_sigma: Floats


def replay_weng_lin(
    log: MatchLog,
    *,
    model: str = "bradley-terry",
    mu: float = 25.0,
    sigma: float = 25.0 / 3.0,
    beta: float = 25.0 / 6.0,
    tau: float = 25.0 / 300.0,
    kappa: float = KAPPA,
    keep_history: bool = False,
) -> WengLinReplay:
    """Rate a log of matches with a model of Weng and Lin, in order of play.

    Args:
        log: the matches.
        model: as in ``rate_weng_lin``.
        mu: mean of the belief about a player before the first game.
        sigma: its standard deviation, > 0.
        beta: as in ``rate_weng_lin``.
        tau: as in ``rate_weng_lin``, before each game of a player.
        kappa: as in ``rate_weng_lin``.
        keep_history: whether to keep each belief after each game.

    Raises:
        ValueError: for bad input.

    Source: Weng, Lin (2011).
    """
    results = _weng_lin_loop(
        log.player,
        log.team_start,
        log.game_start,
        log.rank,
        np.full(log.num_players, as_number("mu", mu)),
        np.full(log.num_players, as_positive_number("sigma", sigma)),
        as_positive_number("beta", beta),
        as_non_negative_number("tau", tau),
        as_positive_number("kappa", kappa),
        as_choice("model", model, MODELS) == "plackett-luce",
        keep_history,
    )
    team_mean, team_variance, quality, end_mu, end_sigma, entry_mu, entry_sigma = results
    return WengLinReplay(
        team_mean=team_mean,
        team_variance=team_variance,
        quality=quality,
        mu=end_mu,
        sigma=end_sigma,
        games_played=np.bincount(log.player, minlength=log.num_players),
        entry_mu=entry_mu,
        entry_sigma=entry_sigma,
    )


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _weng_lin_loop(
    player: Indices,
    team_start: Integers,
    game_start: Integers,
    rank: Indices,
    mu: Floats,
    sigma: Floats,
    beta: float,
    tau: float,
    kappa: float,
    plackett_luce: bool,
    keep_history: bool,
) -> tuple[Floats, ...]:
    num_teams, num_games = rank.size, game_start.size - 1
    team_mean, team_variance = np.empty(num_teams), np.empty(num_teams)
    quality = np.empty(num_games)
    history = player.size if keep_history else 0
    entry_mu, entry_sigma = np.empty(history), np.empty(history)

    most_teams, most_entries = largest_game(team_start, game_start)
    game_mu, game_sigma = np.empty(most_entries), np.empty(most_entries)
    start, game_rank = np.empty(most_teams + 1, np.int64), np.empty(most_teams)
    table = np.empty((4, most_teams))
    noise = np.full(most_teams, beta * beta)

    for game in range(num_games):
        first_team, last_team = game_start[game], game_start[game + 1]
        first, last = team_start[first_team], team_start[last_team]
        for entry in range(first, last):
            game_mu[entry - first] = mu[player[entry]]
            game_sigma[entry - first] = sigma[player[entry]]
        start[0] = 0
        for team in range(first_team, last_team):
            side = team - first_team
            start[side + 1] = team_start[team + 1] - first
            game_rank[side] = rank[team]
            team_mean[team], team_variance[team] = strength_of_side(
                game_mu, game_sigma, tau, start[side], start[side + 1]
            )
        sides = last_team - first_team
        quality[game] = quality_of_sides(
            team_mean[first_team:last_team],
            team_variance[first_team:last_team] + beta * beta,
            noise[:sides],
        )
        update_weng_lin(
            game_mu,
            game_sigma,
            start[: sides + 1],
            game_rank[:sides],
            beta,
            tau,
            kappa,
            plackett_luce,
            table,
        )
        for entry in range(first, last):
            mu[player[entry]] = game_mu[entry - first]
            sigma[player[entry]] = game_sigma[entry - first]
            if keep_history:
                entry_mu[entry] = game_mu[entry - first]
                entry_sigma[entry] = game_sigma[entry - first]
    return team_mean, team_variance, quality, mu, sigma, entry_mu, entry_sigma
