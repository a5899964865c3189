"""Replays of a log: a rating system rates its games in order of play.

``replay_trueskill`` is compiled. ``replay_system`` replays any other system that rates one game in
Python, for example ``matchenv.ratings.Elo`` and those of ``matchenv.ratings.openskill``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from matchenv.logs.games import (
    Games,
    Model,
    Room,
    games_of,
    new_room,
    rate_game,
    variance_of_time_away,
)
from matchenv.logs.match_log import Floats, Integers, MatchLog
from matchenv.runtime.checks import as_float_array
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import drifted
from matchenv.trueskill.sides import LEAST_VARIANCE, Constants, log_quality_of_sides


@dataclass(frozen=True, eq=False, kw_only=True)
class BeliefReplay:
    """Beliefs before each game of a log, and after it.

    Attributes:
        team_mean: (teams,) mean of each team's strength before its game: the weighted sum of its
            members' mu.
        team_variance: (teams,) its variance: for TrueSkill the sum of sigma^2 + tau^2 + beta^2,
            each times the squared weight; for other systems the sum of sigma^2 + tau^2.
        quality: (games,) match quality before each game, in (0, 1].
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        entry_mu: (entries,) mean of the belief about the entry's player after the game.
        entry_sigma: (entries,) its standard deviation.
        unconverged: games whose expectation propagation did not converge.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    entry_mu: Floats
    entry_sigma: Floats
    unconverged: Integers


TrueSkillReplay = BeliefReplay


def replay_trueskill(log: MatchLog, **parameters: Any) -> BeliefReplay:
    """Rate the games of a log with TrueSkill, in order of play.

    Each game is one ``rate``; tau^2 is added to the variances of its players before it.

    Args:
        log: the games.
        parameters: of ``Model``: mu, sigma, beta, tau, draw_probability, time_drift, advantage,
            team_exponent; mu and sigma are numbers or of shape (players,).

    Raises:
        TypeError: for another parameter.
        ValueError: for bad input, a log with draws at a draw probability of 0, or a drift over
            time in a log without times.

    Source: Herbrich, Minka, Graepel (2006).
    """
    model = Model(**parameters)
    mu, sigma = model.priors(log)
    constants = model.constants(log, model.tau)
    away = np.sqrt(variance_of_time_away(log, model.time_drift))
    games, room = games_of(log, model), new_room(log)
    _replay(games, constants, away, mu, sigma, room)
    noise = model.beta**2 * log.team_sums(games.weight**2)
    mean, variance = room.team_mean, room.team_variance
    quality = match_qualities(log.game_start, mean, variance, np.maximum(noise, LEAST_VARIANCE))
    as_float_array("results at these parameters", np.hstack((room.mu, room.sigma, quality)))
    return BeliefReplay(
        team_mean=mean, team_variance=variance, quality=quality, mu=mu, sigma=sigma,
        entry_mu=room.mu, entry_sigma=room.sigma,
        unconverged=np.flatnonzero(~(room.change <= constants.tolerance)),
    )  # fmt: skip


@compiled(nogil=True, refcounted=False)  # Ctrl-C works during a long log
def _replay(
    games: Games, constants: Constants, away: Floats, mu: Floats, sigma: Floats, room: Room
) -> None:
    player, start = games.player, games.team_start
    for game in range(games.game_start.size - 1):
        first, last = start[games.game_start[game]], start[games.game_start[game + 1]]
        for entry in range(first, last):
            k = player[entry]
            room.mu[entry], room.sigma[entry] = mu[k], sigma[k]
            if away[entry] > 0.0:
                room.sigma[entry] = drifted(sigma[k], away[entry])
        rate_game(games, constants, game, room)
        for entry in range(first, last):
            mu[player[entry]], sigma[player[entry]] = room.mu[entry], room.sigma[entry]


Belief = tuple[float, float]


class RatingSystem(Protocol):
    """Interface of a rating system for ``replay_system``.

    A belief about a player is a pair of mean and standard deviation.

    Attributes:
        mu: prior mean.
        sigma: prior standard deviation; 0 for a system without deviations.
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before each game, which ``rate`` adds.
    """

    mu: float
    sigma: float
    beta: float
    tau: float

    def rate(self, teams: list[list[Any]], ranks: list[int]) -> list[list[Any]]:
        """Return the sides with their updated beliefs.

        Args:
            teams: the sides, each a list of its members' beliefs (mu, sigma).
            ranks: rank of each side; lower is better, equal is a draw.
        """
        ...


def replay_system(log: MatchLog, system: RatingSystem) -> BeliefReplay:
    """Rate the games of a log with any rating system, in order of play.

    Args:
        log: the games; weights and neutral ground are ignored.
        system: the rating system.

    Raises:
        ValueError: if ``rate`` does not return a finite mean and deviation for each member.
    """
    beliefs: list[Belief] = [(float(system.mu), float(system.sigma))] * log.num_players
    before: list[Belief] = []
    after: list[Belief] = []
    players, starts, ranks = log.player.tolist(), log.team_start.tolist(), log.rank.tolist()
    for first, last in itertools.pairwise(log.game_start.tolist()):
        members = [players[starts[team] : starts[team + 1]] for team in range(first, last)]
        sides = [[beliefs[k] for k in side] for side in members]
        before.extend(itertools.chain(*sides))
        for side, rated in zip(members, system.rate(sides, ranks[first:last]), strict=True):
            for k, (mu, sigma) in zip(side, rated, strict=True):
                beliefs[k] = (mu, sigma)
                after.append((mu, sigma))
    known, history, final = (np.array(rows).reshape(-1, 2) for rows in (before, after, beliefs))
    bad = ~np.isfinite(history).all(axis=1) | (history[:, 1] < 0.0)
    if bad.any():
        entry = int(np.argmax(bad))
        raise ValueError(
            f"rate must return a finite mean and deviation, got {after[entry]!r} in game "
            f"{log.entry_game[entry]}"
        )
    mean, variance = log.team_sums(known[:, 0]), log.team_sums(known[:, 1] ** 2 + system.tau**2)
    noise = np.full(log.num_teams, system.beta**2)
    return BeliefReplay(
        team_mean=mean, team_variance=variance,
        quality=match_qualities(log.game_start, mean, variance + noise, noise),
        mu=final[:, 0].copy(), sigma=final[:, 1].copy(),
        entry_mu=history[:, 0].copy(), entry_sigma=history[:, 1].copy(),
        unconverged=np.empty(0, np.int64),
    )  # fmt: skip


@compiled
def match_qualities(game_start: Integers, mean: Floats, variance: Floats, noise: Floats) -> Floats:
    """Return (games,) match qualities of sides with normal performances.

    ``mean`` and ``variance`` are (sides,); ``noise`` is the part of the variance around known
    skills.
    """
    out = np.empty(game_start.size - 1)
    for game in range(out.size):
        sides = slice(game_start[game], game_start[game + 1])
        out[game] = math.exp(log_quality_of_sides(mean[sides], variance[sides], noise[sides]))
    return out


def ratings_table(log: MatchLog, replay: BeliefReplay) -> dict[str, Any]:
    """Return the columns player, mu, sigma and games: every player's rating after the last game.

    They make a table, for example by ``pandas.DataFrame``.
    """
    return {
        "player": np.array(log.players, object), "mu": replay.mu, "sigma": replay.sigma,
        "games": log.games_played,
    }  # fmt: skip
