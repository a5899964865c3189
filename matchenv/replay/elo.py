"""Elo over a log of matches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog, largest_game
from matchenv.ratings.elo import LOGISTIC_RATE, as_k_factor, as_rate_of_gap, duel
from matchenv.replay.beliefs import set_sides
from matchenv.runtime.checks import as_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.sides import quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

# The Gaussian form whose win probability has the logistic form's slope at a gap of 0.
LOGISTIC_BETA = 2.0 / (LOGISTIC_RATE * math.sqrt(math.pi))


@dataclass(frozen=True, eq=False)
class EloReplay:
    """What Elo said before each game of a log, and after the last one.

    Attributes:
        team_rating: (teams,) mean of the members' ratings before the game.
        quality: (games,) match quality of each game before it, in (0, 1]: that of known
            skills, one player a side who has the side's mean rating.
        rating: (players,) ratings after the last game.
        games_played: (players,) number of games of each player.
        entry_rating: (entries,) rating of the entry's player right after the game, or an
            empty array if no history was asked for.
    """

    team_rating: Floats
    quality: Floats
    rating: Floats
    games_played: Integers
    entry_rating: Floats


def replay_elo(
    log: MatchLog,
    *,
    rating: float = 1200.0,
    beta: float = 200.0,
    alpha: float | None = None,
    k_factor: float | None = None,
    form: str = "gaussian",
    keep_history: bool = False,
) -> EloReplay:
    """Rate a log of matches with Elo, in order of play.

    Every game is one ``rate_elo``: the duelling heuristic for teams and many sides.

    Args:
        log: the matches.
        rating: rating of a player before the first game.
        beta: standard deviation of one performance around skill, > 0.
        alpha: weight of a new game, in (0, 1); 0.07 if neither it nor K is given.
        k_factor: K >= 0, in place of alpha.
        form: ``gaussian`` or ``logistic``.
        keep_history: whether to keep each rating after each game.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), sections 1 and 4.1.
    """
    start = as_number("rating", rating)
    logistic, rate_of_gap = as_rate_of_gap(form, beta)
    team_rating, quality, end_rating, entry_rating = _elo_loop(
        log.player,
        log.team_start,
        log.game_start,
        log.rank,
        np.full(log.num_players, start),
        as_k_factor(alpha, k_factor, beta),
        rate_of_gap,
        logistic,
        LOGISTIC_BETA if logistic else float(beta),
        keep_history,
    )
    return EloReplay(
        team_rating=team_rating,
        quality=quality,
        rating=end_rating,
        games_played=np.bincount(log.player, minlength=log.num_players),
        entry_rating=entry_rating,
    )


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _elo_loop(
    player: Indices,
    team_start: Integers,
    game_start: Integers,
    rank: Indices,
    rating: Floats,
    k_factor: float,
    rate_of_gap: float,
    logistic: bool,
    beta: float,
    keep_history: bool,
) -> tuple[Floats, ...]:
    num_teams, num_games = rank.size, game_start.size - 1
    team_rating, quality = np.empty(num_teams), np.empty(num_games)
    entry_rating = np.empty(player.size if keep_history else 0)

    most_teams, most_entries = largest_game(team_start, game_start)
    game_rating, delta = np.empty(most_entries), np.empty(most_entries)
    start, game_rank = np.empty(most_teams + 1, np.int64), np.empty(most_teams)
    noise = np.full(most_teams, beta * beta)

    for game in range(num_games):
        first_team, last_team = game_start[game], game_start[game + 1]
        first, last = team_start[first_team], team_start[last_team]
        set_sides(team_start, rank, first_team, last_team, start, game_rank)
        for team in range(first_team, last_team):
            total = 0.0
            for entry in range(team_start[team], team_start[team + 1]):
                game_rating[entry - first] = rating[player[entry]]
                total += rating[player[entry]]
            team_rating[team] = total / (team_start[team + 1] - team_start[team])
        sides = last_team - first_team
        quality[game] = quality_of_sides(team_rating[first_team:last_team], noise, noise)
        duel(
            game_rating,
            start[: sides + 1],
            game_rank[:sides],
            k_factor,
            rate_of_gap,
            logistic,
            delta,
        )
        for entry in range(first, last):
            rating[player[entry]] = game_rating[entry - first]
            if keep_history:
                entry_rating[entry] = game_rating[entry - first]
    return team_rating, quality, rating, entry_rating
