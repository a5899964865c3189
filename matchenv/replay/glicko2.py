"""Glicko-2 over a log of matches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog, largest_game
from matchenv.rating_models.glicko2 import (
    DEVIATION,
    RATING,
    SCALE,
    TAU,
    VOLATILITY,
    period,
)
from matchenv.runtime.checks import as_number, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.sides import quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

# On the internal scale; the normal whose win probability has the logistic one's slope at 0.
PERFORMANCE_VARIANCE = 4.0 / math.pi


@dataclass(frozen=True, eq=False)
class Glicko2Replay:
    """What Glicko-2 said before each game of a log, and after the last one.

    Attributes:
        team_rating: (teams,) mean of the members' ratings before the game.
        team_deviation: (teams,) root mean square of their deviations.
        quality: (games,) match quality before the game, one player a side.
        rating: (players,) ratings after the last game.
        deviation: (players,) their standard deviations.
        volatility: (players,) volatilities.
        games_played: (players,) number of games of each player.
        entry_rating: (entries,) rating of the entry's player right after the game, or an empty
            array if no history was asked for.
    """

    team_rating: Floats
    team_deviation: Floats
    quality: Floats
    rating: Floats
    deviation: Floats
    volatility: Floats
    games_played: Integers
    entry_rating: Floats


def replay_glicko2(
    log: MatchLog,
    *,
    rating: float = RATING,
    deviation: float = DEVIATION,
    volatility: float = VOLATILITY,
    tau: float = TAU,
    keep_history: bool = False,
) -> Glicko2Replay:
    """Rate a log of matches with Glicko-2, in order of play; every game is a rating period.

    Glicko-2 is for two players. In a game of many sides or of teams, a player plays once against
    each other side, as if that were one player who has the mean of its members' ratings and the
    root mean square of their deviations.

    Args:
        log: the matches.
        rating: of a newcomer.
        deviation: of a newcomer, > 0.
        volatility: of a newcomer, > 0.
        tau: as in ``rate_glicko2``.
        keep_history: whether to keep each rating after each game.

    Raises:
        ValueError: for bad input.

    Source: Glickman (2013); teams are this project's choice.
    """
    results = _glicko2_loop(
        log.player,
        log.team_start,
        log.game_start,
        log.rank,
        np.full(log.num_players, as_number("rating", rating) / SCALE),
        np.full(log.num_players, as_positive_number("deviation", deviation) / SCALE),
        np.full(log.num_players, as_positive_number("volatility", volatility)),
        as_positive_number("tau", tau),
        keep_history,
    )
    team_mu, team_phi, quality, mu, phi, sigma, entry_mu = results
    return Glicko2Replay(
        team_rating=team_mu * SCALE,
        team_deviation=team_phi * SCALE,
        quality=quality,
        rating=mu * SCALE,
        deviation=phi * SCALE,
        volatility=sigma,
        games_played=np.bincount(log.player, minlength=log.num_players),
        entry_rating=entry_mu * SCALE,
    )


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _glicko2_loop(
    player: Indices,
    team_start: Integers,
    game_start: Integers,
    rank: Indices,
    mu: Floats,
    phi: Floats,
    sigma: Floats,
    tau: float,
    keep_history: bool,
) -> tuple[Floats, ...]:
    num_teams, num_games = rank.size, game_start.size - 1
    team_mu, team_phi, quality = np.empty(num_teams), np.empty(num_teams), np.empty(num_games)
    entry_mu = np.empty(player.size if keep_history else 0)
    most_teams, _ = largest_game(team_start, game_start)
    other_mu, other_phi, score = np.empty(most_teams), np.empty(most_teams), np.empty(most_teams)
    noise = np.full(most_teams, PERFORMANCE_VARIANCE)

    for game in range(num_games):
        first_team, last_team = game_start[game], game_start[game + 1]
        for team in range(first_team, last_team):
            total, square = 0.0, 0.0
            for entry in range(team_start[team], team_start[team + 1]):
                total += mu[player[entry]]
                square += phi[player[entry]] ** 2
            size = team_start[team + 1] - team_start[team]
            team_mu[team], team_phi[team] = total / size, math.sqrt(square / size)
        quality[game] = quality_of_sides(
            team_mu[first_team:last_team],
            team_phi[first_team:last_team] ** 2 + PERFORMANCE_VARIANCE,
            noise[: last_team - first_team],
        )
        for team in range(first_team, last_team):
            rivals = 0
            for other in range(first_team, last_team):
                if other != team:
                    other_mu[rivals], other_phi[rivals] = team_mu[other], team_phi[other]
                    score[rivals] = 0.5 * (1.0 + np.sign(rank[other] - rank[team]))
                    rivals += 1
            for entry in range(team_start[team], team_start[team + 1]):
                k = player[entry]
                mu[k], phi[k], sigma[k] = period(
                    mu[k],
                    phi[k],
                    sigma[k],
                    other_mu[:rivals],
                    other_phi[:rivals],
                    score[:rivals],
                    tau,
                )
                if keep_history:
                    entry_mu[entry] = mu[k]
    return team_mu, team_phi, quality, mu, phi, sigma, entry_mu
