"""TrueSkill game by game over a whole log: compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import largest_game
from matchenv.replay.beliefs import Beliefs, copy_beliefs, put_beliefs, set_sides
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import margin_between
from matchenv.trueskill.game import drifted, match_quality_of
from matchenv.trueskill.sides import (
    TABLE_ROWS,
    Constants,
    Teams,
    quality_of_sides,
    rate_pair,
    rate_sides,
    side_performance,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


class Games(NamedTuple):
    """The games of a log.

    Attributes:
        player: (entries,) as in ``MatchLog``.
        team_start: (teams + 1,) as in ``MatchLog``.
        game_start: (games + 1,) as in ``MatchLog``.
        rank: (teams,) as in ``MatchLog``.
        weight: (entries,) as in ``MatchLog``; empty for 1 each.
        drift: (entries,) standard deviation of the drift since the player's last game; empty for
            none.
        advantage: (games,) what the first side of each game is stronger by.
    """

    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    weight: Floats
    drift: Floats
    advantage: Floats


class Model(NamedTuple):
    """The numbers of the model.

    Attributes:
        beta: standard deviation of one performance.
        tau: standard deviation of the drift before each game.
        draw_margin: see ``margin_between``.
        margin_grows: see ``margin_between``.
        tolerance: see ``pass_messages``.
        max_iterations: see ``pass_messages``.
        team_exponent: the sum of n performances counts over n to this power.
    """

    beta: float
    tau: float
    draw_margin: float
    margin_grows: bool
    tolerance: float
    max_iterations: int
    team_exponent: float


@compiled
def _add_advantage(
    player: Indices, first: int, last: int, advantage: float, exponent: float, weight: Floats,
    mu: Floats,
) -> None:  # fmt: skip
    """Raise the members of a side so that their side is ``advantage`` stronger."""
    share = advantage / (last - first) ** (1.0 - exponent)
    if weight.size > 0:
        share *= (last - first) / weight[first:last].sum()
    for entry in range(first, last):
        mu[player[entry]] += share


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
def set_weights(given: Floats, exponent: float, weight: Floats) -> float:
    """Write what each member of a side counts; return the sum of squares.

    Args:
        given: (members,) as in ``MatchLog``, or empty for 1 each.
        exponent: the sum counts over the number of members to this power.
        weight: (members,) written; 1 each before the first game.
    """
    scale = 1.0 if exponent == 0.0 else weight.size**-exponent
    squares = 0.0
    for m in range(weight.size):
        if given.size > 0:
            weight[m] = given[m] * scale
        elif exponent != 0.0:
            weight[m] = scale
        squares += weight[m] * weight[m]
    return squares


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def replay_games(games: Games, model: Model, beliefs: Beliefs) -> Floats:
    """Rate all games in order of play.

    Args:
        games: the games.
        model: the numbers of the model.
        beliefs: before the first game; written after each.

    Returns:
        (games,) how far the last iteration of each game moved a message.
    """
    player, team_start, game_start = games.player, games.team_start, games.game_start
    rank, entry_weight = games.rank, games.weight
    beta, tau, exponent = model.beta, model.tau, model.team_exponent
    team_mean, team_variance = beliefs.team_mean, beliefs.team_variance
    mu, sigma = beliefs.mu, beliefs.sigma

    most_teams, most_entries = largest_game(team_start, game_start)
    game_mu, game_sigma = np.empty(most_entries), np.empty(most_entries)
    weight, start = np.ones(most_entries), np.empty(most_teams + 1, np.int64)
    game_rank, noise = np.empty(most_teams), np.empty(most_teams)
    table = np.empty((TABLE_ROWS, most_teams))
    constants = Constants(
        beta, tau, model.draw_margin, model.margin_grows, model.tolerance, model.max_iterations
    )
    pair_margin = margin_between(model.draw_margin, model.margin_grows, 2)

    change = np.zeros(game_start.size - 1)
    for game in range(change.size):
        first_team, last_team = game_start[game], game_start[game + 1]
        first, last = team_start[first_team], team_start[last_team]
        for entry in range(first, last if games.drift.size else first):
            sigma[player[entry]] = drifted(sigma[player[entry]], games.drift[entry])
        if games.advantage[game] != 0.0:
            end = team_start[first_team + 1]
            _add_advantage(player, first, end, games.advantage[game], exponent, entry_weight, mu)
        if last - first == 2 and entry_weight.size == 0:
            beliefs.quality[game] = _play_pair(
                player[first], player[first + 1], np.sign(rank[first_team + 1] - rank[first_team]),
                mu, sigma, beta, tau, pair_margin,
                team_mean[first_team:last_team], team_variance[first_team:last_team],
            )  # fmt: skip
        else:
            copy_beliefs(player, first, last, mu, sigma, game_mu, game_sigma)
            set_sides(team_start, rank, first_team, last_team, start, game_rank)
            sides = last_team - first_team
            for side in range(sides):
                begin, end = start[side], start[side + 1]
                given = entry_weight[first + begin : first + end]
                noise[side] = set_weights(given, exponent, weight[begin:end]) * beta * beta
                team_mean[first_team + side], team_variance[first_team + side] = side_performance(
                    game_mu, game_sigma, weight, beta, tau, begin, end
                )
            beliefs.quality[game] = quality_of_sides(
                team_mean[first_team:last_team], team_variance[first_team:last_team], noise
            )
            teams = Teams(game_mu, game_sigma, weight, start[: sides + 1])
            change[game] = rate_sides(teams, game_rank[:sides], constants, table)
            put_beliefs(player, first, last, game_mu, game_sigma, mu, sigma)
        if games.advantage[game] != 0.0:
            end = team_start[first_team + 1]
            _add_advantage(player, first, end, -games.advantage[game], exponent, entry_weight, mu)
        for entry in range(first, last if beliefs.entry_mu.size else first):
            beliefs.entry_mu[entry] = mu[player[entry]]
            beliefs.entry_sigma[entry] = sigma[player[entry]]
    return change
