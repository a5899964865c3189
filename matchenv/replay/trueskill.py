"""TrueSkill over a log of matches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.match_log import MatchLog, largest_game
from matchenv.trueskill.factor_graph import TABLE_ROWS
from matchenv.trueskill.game import drifted, match_quality_of
from matchenv.trueskill.rating import MAX_ITERATIONS, TOLERANCE
from matchenv.trueskill.sides import (
    margin_between,
    quality_of_sides,
    rate_pair,
    rate_sides,
    side_performance,
)
from matchenv.trueskill.teams import as_draw_margin
from matchenv.validation import as_integer, as_non_negative_number, as_number, as_positive_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]

NO_WEIGHTS = np.empty(0)
SECONDS_PER_DAY = 86_400.0
NO_TIMES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TrueSkillReplay:
    """What TrueSkill believed before each game of a log, and after the last one.

    Attributes:
        team_mean: (teams,) mean of each team's performance before its game: the sum of its
            members' mu, each times its weight if the log has weights.
        team_variance: (teams,) its variance, the sum of sigma^2 + tau^2 + beta^2, each times the
            square of its weight.
        quality: (games,) match quality of each game before it, in (0, 1].
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        games_played: (players,) number of games of each player.
        unconverged: indices of the games whose expectation propagation met its cap before
            its tolerance.
        entry_mu: (entries,) mean of the belief about the entry's player right after the
            game, or an empty array if no history was asked for.
        entry_sigma: (entries,) its standard deviation, or empty.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    games_played: Integers
    unconverged: Integers
    entry_mu: Floats
    entry_sigma: Floats


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
) -> TrueSkillReplay:
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
        max_iterations: as in ``rate``; games that meet it are listed as ``unconverged``.
        keep_history: whether to keep each belief after each game.
        time_drift: standard deviation of a skill's drift over a day without a game, >= 0;
            time_drift^2 times the days since the player's last game is added before a game.
        advantage: what the first side of a game is stronger by, in skill points.
        team_exponent: a side of n players is as strong as the sum of their performances over n
            to this power, >= 0: 0 for the sum, 1 for the mean.

    Raises:
        ValueError: for bad input, a log with draws where the draw margin is 0, or a drift over
            time for a log without times.

    Source: Herbrich, Minka, Graepel (2006).
    """
    prior_mu = as_number("mu", mu)
    prior_sigma = as_positive_number("sigma", sigma)
    spread = as_positive_number("beta", beta)
    drift = as_non_negative_number("tau", tau)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    bound = as_positive_number("tolerance", tolerance)
    cap = as_integer("max_iterations", max_iterations, 1)
    away = as_non_negative_number("time_drift", time_drift)
    ahead = as_number("advantage", advantage)
    exponent = as_non_negative_number("team_exponent", team_exponent)
    if away > 0.0 and log.time is None:
        raise ValueError(f"time_drift must be 0 for a log without times, got {time_drift!r}")
    if margin.margin == 0.0:
        refuse_draws(log)
    results = _trueskill_loop(
        log.player,
        log.team_start,
        log.game_start,
        log.rank,
        np.full(log.num_players, prior_mu),
        np.full(log.num_players, prior_sigma),
        spread,
        drift,
        margin.margin,
        margin.grows,
        bound,
        cap,
        keep_history,
        NO_TIMES if away == 0.0 or log.time is None else log.time,
        away,
        ahead,
        exponent,
        NO_WEIGHTS if log.weight is None else log.weight,
    )
    team_mean, team_variance, quality, end_mu, end_sigma, change, entry_mu, entry_sigma = results
    return TrueSkillReplay(
        team_mean=team_mean,
        team_variance=team_variance,
        quality=quality,
        mu=end_mu,
        sigma=end_sigma,
        games_played=np.bincount(log.player, minlength=log.num_players),
        unconverged=np.flatnonzero(~(change <= bound)),
        entry_mu=entry_mu,
        entry_sigma=entry_sigma,
    )


def refuse_draws(log: MatchLog) -> None:
    """Raise for a log with draws, where draws have probability 0."""
    # Ranks count the better teams, so a game without draws has the ranks 0, 1, ..., k - 1.
    size = log.game_size
    undrawn = np.add.reduceat(log.rank, log.game_start[:-1]) == size * (size - 1) // 2
    if log.num_games and not undrawn.all():
        raise ValueError(
            "draw_probability or draw_margin must be above 0 for a log with draws, such as "
            f"game {int(np.argmin(undrawn))}"
        )


@compiled
def _play_pair(
    player_i: int,
    player_j: int,
    outcome: int,
    mu: Floats,
    sigma: Floats,
    beta: float,
    tau: float,
    draw_margin: float,
    team_mean: Floats,
    team_variance: Floats,
) -> float:
    """One game of two players: state what is expected, update, return the quality."""
    mu_i, sigma_i, mu_j, sigma_j = mu[player_i], sigma[player_i], mu[player_j], sigma[player_j]
    noise = tau * tau + beta * beta
    team_mean[0], team_mean[1] = mu_i, mu_j
    team_variance[0] = sigma_i * sigma_i + noise
    team_variance[1] = sigma_j * sigma_j + noise
    mu[player_i], sigma[player_i], mu[player_j], sigma[player_j] = rate_pair(
        mu_i, sigma_i, mu_j, sigma_j, outcome, beta, tau, draw_margin
    )
    return match_quality_of(mu_i - mu_j, team_variance[0] + team_variance[1], beta)


@compiled
def _drift_over_time(
    players: Indices,
    game: int,
    time: Integers,
    last_game: Integers,
    time_drift: float,
    sigma: Floats,
) -> None:
    """Widen the beliefs about players by the time since their last games; now is one."""
    for k in players:
        if last_game[k] >= 0:
            days = (time[game] - time[last_game[k]]) / SECONDS_PER_DAY
            sigma[k] = drifted(sigma[k], time_drift * math.sqrt(max(days, 0.0)))
        last_game[k] = game


@compiled
def _add(
    player: Indices,
    first: int,
    last: int,
    advantage: float,
    team_exponent: float,
    entry_weight: Floats,
    mu: Floats,
) -> None:
    """Raise the members of a side so that their side is ``advantage`` stronger."""
    share = advantage / (last - first) ** (1.0 - team_exponent)
    if entry_weight.size > 0:
        share *= (last - first) / entry_weight[first:last].sum()
    for entry in range(first, last):
        mu[player[entry]] += share


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _trueskill_loop(
    player: Indices,
    team_start: Integers,
    game_start: Integers,
    rank: Indices,
    mu: Floats,
    sigma: Floats,
    beta: float,
    tau: float,
    draw_margin: float,
    margin_grows: bool,
    tolerance: float,
    max_iterations: int,
    keep_history: bool,
    time: Integers,
    time_drift: float,
    advantage: float,
    team_exponent: float,
    entry_weight: Floats,
) -> tuple[Floats, ...]:
    num_teams, num_games = rank.size, game_start.size - 1
    team_mean, team_variance = np.empty(num_teams), np.empty(num_teams)
    quality, change = np.empty(num_games), np.zeros(num_games)
    history = player.size if keep_history else 0
    entry_mu, entry_sigma = np.empty(history), np.empty(history)

    most_teams, most_entries = largest_game(team_start, game_start)
    game_mu, game_sigma = np.empty(most_entries), np.empty(most_entries)
    weight, new_sigma = np.ones(most_entries), np.empty(most_entries)
    start, order = np.empty(most_teams + 1, np.int64), np.empty(most_teams, np.int64)
    game_rank, noise = np.empty(most_teams), np.empty(most_teams)
    table = np.empty((TABLE_ROWS, most_teams))
    pair_margin = margin_between(draw_margin, margin_grows, 2)
    last_game = np.full(mu.size if time.size else 0, -1)

    for game in range(num_games):
        first_team, last_team = game_start[game], game_start[game + 1]
        first, last = team_start[first_team], team_start[last_team]
        if time.size:
            _drift_over_time(player[first:last], game, time, last_game, time_drift, sigma)
        if advantage != 0.0:
            end = team_start[first_team + 1]
            _add(player, first, end, advantage, team_exponent, entry_weight, mu)
        if last - first == 2 and entry_weight.size == 0:
            quality[game] = _play_pair(
                player[first],
                player[first + 1],
                np.sign(rank[first_team + 1] - rank[first_team]),
                mu,
                sigma,
                beta,
                tau,
                pair_margin,
                team_mean[first_team:last_team],
                team_variance[first_team:last_team],
            )
        else:
            for entry in range(first, last):
                game_mu[entry - first] = mu[player[entry]]
                game_sigma[entry - first] = sigma[player[entry]]
                if entry_weight.size > 0:
                    weight[entry - first] = entry_weight[entry]
            start[0] = 0
            for team in range(first_team, last_team):
                side = team - first_team
                start[side + 1] = team_start[team + 1] - first
                game_rank[side] = rank[team]
                if team_exponent != 0.0:
                    size = start[side + 1] - start[side]
                    for member in range(start[side], start[side + 1]):
                        share = entry_weight[first + member] if entry_weight.size > 0 else 1.0
                        weight[member] = share * size**-team_exponent
                squares = 0.0
                for member in range(start[side], start[side + 1]):
                    squares += weight[member] * weight[member]
                noise[side] = squares * beta * beta
                team_mean[team], team_variance[team] = side_performance(
                    game_mu, game_sigma, weight, beta, tau, start[side], start[side + 1]
                )
            quality[game] = quality_of_sides(
                team_mean[first_team:last_team], team_variance[first_team:last_team], noise
            )
            sides = last_team - first_team
            change[game], _ = rate_sides(
                game_mu,
                game_sigma,
                weight,
                start[: sides + 1],
                game_rank[:sides],
                beta,
                tau,
                draw_margin,
                margin_grows,
                tolerance,
                max_iterations,
                order,
                new_sigma,
                table,
            )
            for entry in range(first, last):
                mu[player[entry]] = game_mu[entry - first]
                sigma[player[entry]] = game_sigma[entry - first]
        if advantage != 0.0:
            end = team_start[first_team + 1]
            _add(player, first, end, -advantage, team_exponent, entry_weight, mu)
        if keep_history:
            for entry in range(first, last):
                entry_mu[entry] = mu[player[entry]]
                entry_sigma[entry] = sigma[player[entry]]
    return team_mean, team_variance, quality, mu, sigma, change, entry_mu, entry_sigma
