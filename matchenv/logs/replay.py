"""TrueSkill's model of a log, and replays: a rating system rates its games in order of play.

``replay_trueskill`` is compiled, and shares the update of one game with the smoothing.
``replay_system`` replays any other system that rates one game in Python, for example
``matchenv.ratings.Elo`` and those of ``matchenv.ratings.openskill``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from matchenv.logs.forecasts import draws_of_games, share_of_draws
from matchenv.logs.match_log import MatchLog, check_seconds
from matchenv.logs.ranks import Indices
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_array,
    as_positive_number,
    as_probability,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import as_draw_margin, margin_between
from matchenv.trueskill.game import drifted, log_outcome_probability_of, total_variance, update_two
from matchenv.trueskill.partial_order import rate_partial_order
from matchenv.trueskill.sides import (
    LEAST_VARIANCE,
    MAX_ITERATIONS,
    TABLE_ROWS,
    TOLERANCE,
    Constants,
    Teams,
    log_quality_of_sides,
    log_ranking_evidence,
    rate_sides,
    side_performance,
)

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class Model:
    """Parameters of TrueSkill; the defaults are those of the paper.

    Attributes:
        mu: prior mean, in skill points.
        sigma: prior standard deviation, > 0.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the drift of a skill before each game of its player, >= 0.
        draw_probability: probability that two even sides draw, in [0, 1) (default: share of draws
            in the log).
        time_drift: standard deviation of the drift of a skill over a day without a game, >= 0.
        advantage: advantage of the first side of a game in skill points, except on neutral ground;
            0 for a log that does not say which side was at home or first.
        team_exponent: the strength of a side of n players is the sum of their performances divided
            by n to this power, >= 0: 0 for the sum, 1 for the mean.

    Raises:
        ValueError: for a number out of range.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float | None = None
    time_drift: float = 0.0
    advantage: float = 0.0
    team_exponent: float = 0.0

    def __post_init__(self) -> None:
        as_float_array("mu", self.mu)  # Python code can pass one for each player
        as_positive_array("sigma", self.sigma)
        as_positive_number("beta", self.beta)
        for name in ("tau", "time_drift", "team_exponent"):
            as_non_negative_number(name, getattr(self, name))
        as_number("advantage", self.advantage)
        if self.draw_probability is not None:
            as_probability("draw_probability", self.draw_probability)

    def counted(self, log: MatchLog) -> Self:
        """Return the model with the share of draws in the log, if no draw probability is given.

        Raises:
            ValueError: for a log of draws alone, a share that no draw margin gives.
        """
        if self.draw_probability is not None:
            return self
        share = share_of_draws(log)
        if share == 1.0:
            raise ValueError("draw_probability must be given, below 1, for a log of draws alone")
        return replace(self, draw_probability=share)


class Games(NamedTuple):
    """The games of a log for compiled code; ``player`` to ``rank`` are those of ``MatchLog``.

    Equal ranks are a draw if they are also the worst that the sides can have; otherwise the order
    of these sides is unknown.
    """

    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    last_rank: Indices  # (teams,) the worst rank that the side can have
    is_partial: Masks  # (games,) whether the order of some sides is unknown
    weight: Floats  # (entries,) weight of each performance in the strength of its side
    advantage: Floats  # (games,) advantage of the first side of each game: 0 on neutral ground


class Room(NamedTuple):
    """Beliefs and results of every game, and scratch of one."""

    mu: Floats  # (entries,) means of the beliefs about the players, before their game, then after
    sigma: Floats  # (entries,) their standard deviations
    table: Floats  # (TABLE_ROWS, sides) scratch table of ``rate_sides``
    team_mean: Floats  # (teams,) mean of each side's performance before its game
    team_variance: Floats  # (teams,) its variance
    change: Floats  # (games,) largest change in the last iteration of each game
    log_probability: Floats  # (games,) of each result before the game; of size 0 to skip it


def games_of(log: MatchLog, model: Model) -> Games:
    """Return the games of a log for compiled code.

    Raises:
        ValueError: for an advantage in a log that does not say which side was first.
    """
    if model.advantage != 0.0 and log.neutral is None:
        raise ValueError(
            "advantage must be 0 for a log that does not say which side was at home or first, got "
            f"{model.advantage!r}"
        )
    size = log.team_size
    weight = np.repeat(size.astype(np.float64) ** -float(model.team_exponent), size)
    if log.weight is not None:
        weight *= log.weight
    advantage = np.full(log.num_games, float(model.advantage))
    if log.neutral is not None:
        advantage[log.neutral] = 0.0
    is_partial = np.zeros(log.num_games, np.bool_)
    if log.unordered is not None:
        is_partial[log.team_game[log.unordered]] = True
    return Games(
        log.player,
        log.team_start,
        log.game_start,
        log.rank,
        log.last_rank,
        is_partial,
        weight,
        advantage,
    )


def variance_of_time_away(log: MatchLog, time_drift: float) -> Floats:
    """Return (entries,) the variance of the drift since each player's previous game.

    Raises:
        ValueError: for a drift above 0 in a log without times, or in other units than seconds.
    """
    if time_drift == 0.0:
        return np.zeros(len(log.player))
    if log.time is None:
        raise ValueError(f"time_drift must be 0 for a log without times, got {time_drift!r}")
    check_seconds(log.time)
    time = log.time[log.entry_game]
    before = log.entry_before
    days = np.where(before < 0, 0.0, time - time[before]) / SECONDS_PER_DAY
    return time_drift**2 * days


def prepared(
    log: MatchLog, model: Model, tau: float
) -> tuple[Floats, Floats, Constants, Games, Room]:
    """Return prior means and deviations, (players,) each, and the arguments of ``rate_game``.

    ``tau`` is the standard deviation of the drift before each game.

    Raises:
        ValueError: for priors of another shape, or a log with draws at a draw probability of 0.
    """
    priors = []
    for name in ("mu", "sigma"):
        value = np.asarray(getattr(model, name), dtype=np.float64)
        if value.ndim > 0 and value.shape != (log.num_players,):
            raise ValueError(
                f"{name} must be a number or have shape ({log.num_players},), got {value.shape}"
            )
        priors.append(np.array(np.broadcast_to(value, log.num_players)))
    margin = as_draw_margin(model.counted(log).draw_probability, None, model.beta)
    drawn = draws_of_games(log) > 0
    if margin.margin == 0.0 and drawn.any():
        raise ValueError(
            "draw_probability must be above 0 for a log with draws, for example game "
            f"{int(np.argmax(drawn))}"
        )
    constants = Constants(
        float(model.beta), float(tau), margin.margin, margin.grows, TOLERANCE, MAX_ITERATIONS
    )
    room = Room(
        np.empty(len(log.player)),
        np.empty(len(log.player)),
        np.empty((TABLE_ROWS, int(log.game_size.max(initial=0)))),
        np.empty(log.num_teams),
        np.empty(log.num_teams),
        np.zeros(log.num_games),
        np.empty(0),
    )
    return priors[0], priors[1], constants, games_of(log, model), room


@compiled
def rate_game(games: Games, constants: Constants, game: int, room: Room) -> None:
    """Update the beliefs about the players of one game in place, and write its results."""
    first_team = games.game_start[game]
    last_team = games.game_start[game + 1]
    first = games.team_start[first_team]
    last = games.team_start[last_team]
    if last - first == 2 and games.weight[first] == games.weight[first + 1] == 1.0:
        _rate_two(games, constants, game, room)
        return
    mu = room.mu
    sigma = room.sigma
    weight = games.weight
    start = games.team_start[first_team : last_team + 1]
    rank = games.rank[first_team:last_team]
    total = 0.0
    for m in range(first, start[1]):
        total += weight[m]
    share = games.advantage[game] / total
    for m in range(first, start[1]):
        mu[m] += share
    for team in range(first_team, last_team):
        room.team_mean[team], room.team_variance[team] = side_performance(
            mu,
            sigma,
            weight,
            constants.beta,
            constants.tau,
            games.team_start[team],
            games.team_start[team + 1],
        )
    teams = Teams(mu, sigma, weight, start)
    if games.is_partial[game]:
        first_place = rank.astype(np.float64)
        last_place = games.last_rank[first_team:last_team].astype(np.float64)
        change, log_evidence = rate_partial_order(teams, first_place, last_place, constants)
        room.change[game] = change
        if room.log_probability.size:
            room.log_probability[game] = log_evidence
    else:
        room.change[game] = rate_sides(teams, rank, constants, room.table)
        if room.log_probability.size:
            room.log_probability[game] = log_ranking_evidence(room.table, rank.size)
    for m in range(first, start[1]):
        mu[m] -= share


@compiled(refcounted=False)
def _rate_two(games: Games, constants: Constants, game: int, room: Room) -> None:
    """Rate a game of two players of weight 1, twice as fast as the general form."""
    team = games.game_start[game]
    mu = room.mu
    sigma = room.sigma
    beta = constants.beta
    i = games.team_start[team]
    j = games.team_start[team + 1]
    outcome = np.sign(games.rank[team + 1] - games.rank[team])
    margin = margin_between(constants.draw_margin, constants.margin_grows, 2)
    mu[i] += games.advantage[game]
    one = drifted(sigma[i], constants.tau)
    other = drifted(sigma[j], constants.tau)
    room.team_mean[team] = mu[i]
    room.team_mean[team + 1] = mu[j]
    room.team_variance[team] = one * one + beta * beta
    room.team_variance[team + 1] = other * other + beta * beta
    if room.log_probability.size:
        variance = total_variance(one, other, beta)
        room.log_probability[game] = log_outcome_probability_of(
            mu[i] - mu[j], variance, outcome, margin
        )
    mu[i], sigma[i], mu[j], sigma[j] = update_two(mu[i], one, mu[j], other, outcome, beta, margin)
    mu[i] -= games.advantage[game]


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
        ValueError: for bad input, a log with draws at a draw probability of 0, a drift over time
            in a log without times, or an advantage in a log that does not say which side was first.

    Source: Herbrich, Minka, Graepel (2006).
    """
    model = Model(**parameters)
    mu, sigma, constants, games, room = prepared(log, model, model.tau)
    away = np.sqrt(variance_of_time_away(log, model.time_drift))
    _replay(games, constants, away, mu, sigma, room)
    noise = model.beta**2 * log.team_sums(games.weight**2)
    mean = room.team_mean
    variance = room.team_variance
    quality = match_qualities(log.game_start, mean, variance, np.maximum(noise, LEAST_VARIANCE))
    as_float_array("results at these parameters", np.hstack((room.mu, room.sigma, quality)))
    return BeliefReplay(
        team_mean=mean,
        team_variance=variance,
        quality=quality,
        mu=mu,
        sigma=sigma,
        entry_mu=room.mu,
        entry_sigma=room.sigma,
        unconverged=np.flatnonzero(~(room.change <= constants.tolerance)),
    )


@compiled(nogil=True)  # Ctrl-C works during a long log
def _replay(
    games: Games, constants: Constants, away: Floats, mu: Floats, sigma: Floats, room: Room
) -> None:
    player = games.player
    start = games.team_start
    for game in range(games.game_start.size - 1):
        first = start[games.game_start[game]]
        last = start[games.game_start[game + 1]]
        for entry in range(first, last):
            k = player[entry]
            room.mu[entry] = mu[k]
            room.sigma[entry] = sigma[k]
            if away[entry] > 0.0:
                room.sigma[entry] = drifted(sigma[k], away[entry])
        rate_game(games, constants, game, room)
        for entry in range(first, last):
            mu[player[entry]] = room.mu[entry]
            sigma[player[entry]] = room.sigma[entry]


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

    def rate(self, teams: list[list[Any]], ranks: list[Any]) -> list[list[Any]]:
        """Return the sides with their updated beliefs.

        Args:
            teams: the sides, each a list of its members' beliefs (mu, sigma).
            ranks: rank of each side; lower is better, equal is a draw. An interval (first, last)
                for a side whose place is known only in part; see ``matchenv.trueskill.rate``.
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
    players = log.player.tolist()
    starts = log.team_start.tolist()
    ranks: list[Any] = []
    for rank, last_rank in zip(log.rank.tolist(), log.last_rank.tolist(), strict=True):
        ranks.append(rank if rank == last_rank else (rank, last_rank))
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
    mean = log.team_sums(known[:, 0])
    variance = log.team_sums(known[:, 1] ** 2 + system.tau**2)
    noise = np.full(log.num_teams, system.beta**2)
    return BeliefReplay(
        team_mean=mean,
        team_variance=variance,
        quality=match_qualities(log.game_start, mean, variance + noise, noise),
        mu=final[:, 0].copy(),
        sigma=final[:, 1].copy(),
        entry_mu=history[:, 0].copy(),
        entry_sigma=history[:, 1].copy(),
        unconverged=np.empty(0, np.int64),
    )


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
        "player": np.array(log.players, object),
        "mu": replay.mu,
        "sigma": replay.sigma,
        "games": log.games_played,
    }
