"""Rating systems over a log of matches, in order of play.

``replay_trueskill`` and ``replay_elo`` are compiled. ``replay_system`` replays any other system
that rates one game in Python, for example those of ``matchenv.ratings.openskill``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.games import (
    Games,
    Stated,
    constants_of,
    entry_starts,
    games_of,
    new_room,
    only_pairs,
    rate_game,
    rate_two,
    set_sides,
    variance_of_time_away,
)
from matchenv.logs.match_log import MatchLog
from matchenv.ratings.elo import LOGISTIC_RATE, as_k_factor, as_rate_of_gap, duel
from matchenv.runtime.checks import as_number, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import drifted
from matchenv.trueskill.rating import MAX_ITERATIONS, TOLERANCE
from matchenv.trueskill.sides import Constants, quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The Gaussian form whose win probability has the logistic form's slope at a gap of 0.
LOGISTIC_BETA = 2.0 / (LOGISTIC_RATE * math.sqrt(math.pi))


@dataclass(frozen=True, eq=False, kw_only=True)
class BeliefReplay:
    """Beliefs with a mean and a deviation before each game of a log, and after the last one.

    Attributes:
        team_mean: (teams,) mean of each team before its game: the sum of its members' mu, each
            times its weight if the log has weights.
        team_variance: (teams,) its variance: for TrueSkill the sum of sigma^2 + tau^2 + beta^2,
            each times the square of its weight; for other systems the sum of sigma^2 + tau^2.
        quality: (games,) match quality of each game before it, in (0, 1].
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        games_played: (players,) number of games of each player.
        entry_mu: (entries,) mean of the belief about the entry's player right after the
            game, or an empty array without history.
        entry_sigma: (entries,) its standard deviation, or empty.
        unconverged: games whose expectation propagation reached its cap before its tolerance.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    games_played: Integers
    entry_mu: Floats
    entry_sigma: Floats
    unconverged: Integers


TrueSkillReplay = BeliefReplay


def replay_trueskill(
    log: MatchLog,
    *,
    mu: float = 25.0,
    sigma: float = 25.0 / 3.0,
    beta: float = 25.0 / 6.0,
    tau: float = 25.0 / 300.0,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    keep_history: bool = False,
    time_drift: float = 0.0,
    advantage: float = 0.0,
    team_exponent: float = 0.0,
) -> BeliefReplay:
    """Rate a log of matches with TrueSkill, in order of play.

    Every game is one ``rate``; tau^2 is added to the players of a game just before it.

    Args:
        log: the matches.
        mu: mean of the belief about a player before the first game.
        sigma: its standard deviation, > 0.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift before each game of a player, >= 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        tolerance: as in ``rate``.
        max_iterations: as in ``rate``; games that reach it are listed as ``unconverged``.
        keep_history: whether to keep each belief after each game.
        time_drift: standard deviation of a skill's drift over a day without a game, >= 0;
            time_drift^2 times the days since the player's last game is added before a game.
        advantage: by how much the first side of a game is stronger, in skill points, except on
            neutral ground.
        team_exponent: a side of n players is as strong as the sum of their performances over n
            to this power, >= 0: 0 for the sum, 1 for the mean.

    Raises:
        ValueError: for bad input, a log with draws where the draw margin is 0, or a drift over
            time for a log without times.

    Source: Herbrich, Minka, Graepel (2006).
    """
    means = np.full(log.num_players, as_number("mu", mu))
    deviations = np.full(log.num_players, as_positive_number("sigma", sigma))
    constants = constants_of(
        log,
        beta=beta,
        tau=tau,
        draw_probability=draw_probability,
        draw_margin=draw_margin,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    away = np.sqrt(variance_of_time_away(log, time_drift))
    stated = Stated(
        team_mean=np.empty(log.num_teams),
        team_variance=np.empty(log.num_teams),
        quality=np.empty(log.num_games),
        change=np.zeros(log.num_games),
        log_probability=np.empty(0),
    )
    history = np.empty((len(log.player) if keep_history else 0, 2))
    games = games_of(log, advantage, team_exponent)
    _replay(games, constants, away, means, deviations, stated, history)
    return BeliefReplay(
        team_mean=stated.team_mean,
        team_variance=stated.team_variance,
        quality=stated.quality,
        mu=means,
        sigma=deviations,
        games_played=log.games_played,
        entry_mu=history[:, 0].copy(),
        entry_sigma=history[:, 1].copy(),
        unconverged=np.flatnonzero(~(stated.change <= constants.tolerance)),
    )


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _replay(
    games: Games, constants: Constants, away: Floats, mu: Floats, sigma: Floats, stated: Stated,
    history: Floats,
) -> None:  # fmt: skip
    room, pairs = new_room(games), only_pairs(games)
    # Arrays are taken out of their tuples before the loop: each time counts a reference.
    player, begins, game_mu, game_sigma = games.player, entry_starts(games), room.mu, room.sigma
    for game in range(begins.size - 1):
        first, last = begins[game], begins[game + 1]
        for entry in range(first, last):
            k = player[entry]
            game_mu[entry - first], game_sigma[entry - first] = mu[k], sigma[k]
            if away[entry] > 0.0:
                game_sigma[entry - first] = drifted(sigma[k], away[entry])
        if pairs:
            rate_two(games, constants, game, room, stated)
        else:
            rate_game(games, constants, game, room, stated)
        for entry in range(first, last):
            k = player[entry]
            mu[k], sigma[k] = game_mu[entry - first], game_sigma[entry - first]
            if history.size:
                history[entry, 0], history[entry, 1] = mu[k], sigma[k]


@dataclass(frozen=True, eq=False)
class EloReplay:
    """Elo's ratings before each game of a log, and after the last one.

    Attributes:
        team_rating: (teams,) mean of the members' ratings before the game.
        quality: (games,) match quality of each game before it, in (0, 1]: that of known
            skills, one player a side who has the side's mean rating.
        rating: (players,) ratings after the last game.
        games_played: (players,) number of games of each player.
        entry_rating: (entries,) rating of the entry's player right after the game, or an
            empty array without history.
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
    logistic, rate_of_gap = as_rate_of_gap(form, beta)
    ratings = np.full(log.num_players, as_number("rating", rating))
    history = np.empty(len(log.player) if keep_history else 0)
    team_rating = _replay_elo(
        games_of(log),
        as_k_factor(alpha, k_factor, beta),
        rate_of_gap,
        logistic,
        ratings,
        history,
    )
    spread = LOGISTIC_BETA if logistic else float(beta)
    return EloReplay(
        team_rating=team_rating,
        quality=known_qualities(log, team_rating, np.full(log.num_teams, spread * spread)),
        rating=ratings,
        games_played=log.games_played,
        entry_rating=history,
    )


@compiled(nogil=True)
def _replay_elo(
    games: Games, k_factor: float, rate_of_gap: float, logistic: bool, rating: Floats,
    history: Floats,
) -> Floats:  # fmt: skip
    """Rate all games; return (teams,) the mean rating of each side before its game."""
    team_rating = np.zeros(games.rank.size)
    player, team_start, game_start, begins = (
        games.player, games.team_start, games.game_start, entry_starts(games),
    )  # fmt: skip
    room = new_room(games)
    game_rating, start, rank, delta = room.mu, room.start, room.rank, room.sigma
    for game in range(begins.size - 1):
        first, sides = begins[game], game_start[game + 1] - game_start[game]
        set_sides(games, game, start, rank)
        for team in range(game_start[game], game_start[game + 1]):
            for entry in range(team_start[team], team_start[team + 1]):
                game_rating[entry - first] = rating[player[entry]]
                team_rating[team] += rating[player[entry]]
            team_rating[team] /= team_start[team + 1] - team_start[team]
        duel(game_rating, start[: sides + 1], rank[:sides], k_factor, rate_of_gap, logistic, delta)
        for entry in range(first, begins[game + 1]):
            rating[player[entry]] = game_rating[entry - first]
            if history.size:
                history[entry] = game_rating[entry - first]
    return team_rating


def known_qualities(log: MatchLog, mean: Floats, variance: Floats) -> Floats:
    """Return (games,) match qualities of known skills: all variance is that of performances.

    Args:
        log: the games.
        mean: (teams,) means of the sides' performances.
        variance: (teams,) their variances.
    """
    return _qualities(log.game_start, mean, variance, variance)


@compiled
def _qualities(game_start: Integers, mean: Floats, variance: Floats, noise: Floats) -> Floats:
    out = np.empty(game_start.size - 1)
    for game in range(out.size):
        sides = slice(game_start[game], game_start[game + 1])
        out[game] = quality_of_sides(mean[sides], variance[sides], noise[sides])
    return out


Belief = tuple[float, float]


class RatingSystem(Protocol):
    """What ``replay_system`` needs of a rating system with a mean and a deviation for each player.

    ``matchenv.trueskill.TrueSkill`` and the systems of ``matchenv.ratings.openskill`` have it.

    Attributes:
        mu: mean of a newcomer.
        sigma: standard deviation of a newcomer.
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before each game, which ``rate`` adds.
    """

    mu: float
    sigma: float
    beta: float
    tau: float

    def rate(self, teams: list[list[Any]], ranks: list[int]) -> list[list[Any]]:
        """Return the sides with their new beliefs.

        Args:
            teams: the sides, each a list of its members' beliefs (mu, sigma).
            ranks: one number for each side; lower is better, equal is a draw.
        """
        ...


def replay_system(
    log: MatchLog, system: RatingSystem, *, keep_history: bool = False
) -> BeliefReplay:
    """Rate a log of matches with any system that rates one game.

    Args:
        log: the matches; weights and neutral ground are not read.
        system: the rating system.
        keep_history: whether to keep each belief after each game.

    Raises:
        ValueError: for a system that returns something else than a finite mean and a positive
            deviation for each member.
    """
    beliefs: list[Belief] = [(float(system.mu), float(system.sigma))] * log.num_players
    team_mean, team_variance = np.empty(log.num_teams), np.empty(log.num_teams)
    history = np.empty((len(log.player) if keep_history else 0, 2))
    players, starts = log.player.tolist(), log.team_start.tolist()
    ranks, game_start = log.rank.tolist(), log.game_start.tolist()
    for game in range(log.num_games):
        teams = range(game_start[game], game_start[game + 1])
        members = [players[starts[team] : starts[team + 1]] for team in teams]
        before = [[beliefs[k] for k in side] for side in members]
        for team, side in zip(teams, before, strict=True):
            team_mean[team] = sum(mu for mu, _ in side)
            team_variance[team] = sum(sigma**2 + system.tau**2 for _, sigma in side)
        after = system.rate(before, [ranks[team] for team in teams])
        entry = starts[teams[0]]
        for side, rated in zip(members, after, strict=True):
            for k, (mu, sigma) in zip(side, rated, strict=True):
                if not (math.isfinite(mu) and 0.0 < sigma < math.inf):
                    raise ValueError(
                        f"rate must return a finite mean and a positive deviation, got "
                        f"{(mu, sigma)!r} in game {game}"
                    )
                beliefs[k] = (mu, sigma)
                if keep_history:
                    history[entry] = beliefs[k]
                entry += 1
    noise = np.full(log.num_teams, system.beta**2)
    final = np.array(beliefs).reshape(-1, 2)
    return BeliefReplay(
        team_mean=team_mean,
        team_variance=team_variance,
        quality=_qualities(log.game_start, team_mean, team_variance + noise, noise),
        mu=final[:, 0].copy(),
        sigma=final[:, 1].copy(),
        games_played=log.games_played,
        entry_mu=history[:, 0].copy(),
        entry_sigma=history[:, 1].copy(),
        unconverged=np.empty(0, np.int64),
    )
