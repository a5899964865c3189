"""TrueSkill's model of a log, and the compiled update of one game for replay and smoothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from matchenv.logs.forecasts import draws_of_games, share_of_draws
from matchenv.logs.match_log import Floats, Indices, Integers, MatchLog
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
from matchenv.trueskill.rating import MAX_ITERATIONS, TOLERANCE
from matchenv.trueskill.sides import (
    TABLE_ROWS,
    Constants,
    Teams,
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
        advantage: advantage of the first side of a game in skill points, except on neutral ground.
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

    def priors(self, log: MatchLog) -> tuple[Floats, Floats]:
        """Return prior means and standard deviations, (players,) each.

        Raises:
            ValueError: for arrays of another shape.
        """
        found = []
        for name in ("mu", "sigma"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.ndim > 0 and value.shape != (log.num_players,):
                raise ValueError(
                    f"{name} must be a number or have shape ({log.num_players},), got {value.shape}"
                )
            found.append(np.array(np.broadcast_to(value, log.num_players)))
        return found[0], found[1]

    def constants(self, log: MatchLog, tau: float) -> Constants:
        """Return the constants of all games, with a drift of ``tau`` before each.

        Raises:
            ValueError: for bad values, or a log with draws at a draw probability of 0.
        """
        margin = as_draw_margin(self.counted(log).draw_probability, None, self.beta)
        drawn = draws_of_games(log) > 0
        if margin.margin == 0.0 and drawn.any():
            raise ValueError(
                "draw_probability must be above 0 for a log with draws, for example game "
                f"{int(np.argmax(drawn))}"
            )
        return Constants(
            float(self.beta), float(tau), margin.margin, margin.grows, TOLERANCE, MAX_ITERATIONS
        )


class Games(NamedTuple):
    """The games of a log for compiled code; ``player`` to ``rank`` are those of ``MatchLog``."""

    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
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
    """Return the games of a log for compiled code."""
    size = log.team_size
    weight = np.repeat(size.astype(np.float64) ** -float(model.team_exponent), size)
    if log.weight is not None:
        weight *= log.weight
    advantage = np.full(log.num_games, float(model.advantage))
    if log.neutral is not None:
        advantage[log.neutral] = 0.0
    return Games(log.player, log.team_start, log.game_start, log.rank, weight, advantage)


def variance_of_time_away(log: MatchLog, time_drift: float) -> Floats:
    """Return (entries,) the variance of the drift since each player's previous game.

    Raises:
        ValueError: for a drift above 0 in a log without times.
    """
    if time_drift == 0.0:
        return np.zeros(len(log.player))
    if log.time is None:
        raise ValueError(f"time_drift must be 0 for a log without times, got {time_drift!r}")
    time, before = log.time[log.entry_game], log.entry_before
    days = np.where(before < 0, 0.0, time - time[before]) / SECONDS_PER_DAY
    return time_drift**2 * days


def new_room(log: MatchLog) -> Room:
    """Return empty arrays for a log."""
    return Room(
        np.empty(len(log.player)), np.empty(len(log.player)),
        np.empty((TABLE_ROWS, int(log.game_size.max(initial=0)))),
        np.empty(log.num_teams), np.empty(log.num_teams), np.zeros(log.num_games), np.empty(0),
    )  # fmt: skip


@compiled(refcounted=False)
def rate_game(games: Games, constants: Constants, game: int, room: Room) -> None:
    """Update the beliefs about the players of one game in place, and write its results."""
    first_team, last_team = games.game_start[game], games.game_start[game + 1]
    first, last = games.team_start[first_team], games.team_start[last_team]
    if last - first == 2 and games.weight[first] == games.weight[first + 1] == 1.0:
        _rate_two(games, constants, game, room)
        return
    mu, sigma, weight = room.mu, room.sigma, games.weight
    start, rank = games.team_start[first_team : last_team + 1], games.rank[first_team:last_team]
    total = 0.0
    for m in range(first, start[1]):
        total += weight[m]
    share = games.advantage[game] / total
    for m in range(first, start[1]):
        mu[m] += share
    for team in range(first_team, last_team):
        room.team_mean[team], room.team_variance[team] = side_performance(
            mu, sigma, weight, constants.beta, constants.tau,
            games.team_start[team], games.team_start[team + 1],
        )  # fmt: skip
    room.change[game] = rate_sides(Teams(mu, sigma, weight, start), rank, constants, room.table)
    for m in range(first, start[1]):
        mu[m] -= share
    if room.log_probability.size:
        room.log_probability[game] = log_ranking_evidence(room.table, rank.size)


@compiled(refcounted=False)
def _rate_two(games: Games, constants: Constants, game: int, room: Room) -> None:
    """Rate a game of two players of weight 1, twice as fast as the general form."""
    team, mu, sigma, beta = games.game_start[game], room.mu, room.sigma, constants.beta
    i, j = games.team_start[team], games.team_start[team + 1]
    outcome = np.sign(games.rank[team + 1] - games.rank[team])
    margin = margin_between(constants.draw_margin, constants.margin_grows, 2)
    mu[i] += games.advantage[game]
    one, other = drifted(sigma[i], constants.tau), drifted(sigma[j], constants.tau)
    room.team_mean[team], room.team_mean[team + 1] = mu[i], mu[j]
    room.team_variance[team] = one * one + beta * beta
    room.team_variance[team + 1] = other * other + beta * beta
    if room.log_probability.size:
        variance = total_variance(one, other, beta)
        found = log_outcome_probability_of(mu[i] - mu[j], variance, outcome, margin)
        room.log_probability[game] = found
    mu[i], sigma[i], mu[j], sigma[j] = update_two(mu[i], one, mu[j], other, outcome, beta, margin)
    mu[i] -= games.advantage[game]
