"""The ratings of Weng and Lin over a log of matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog, largest_game
from matchenv.rating_models.weng_lin import KAPPA, MODELS, strength_of_side, update_weng_lin
from matchenv.replay.beliefs import (
    BeliefReplay,
    Beliefs,
    beliefs_before,
    copy_beliefs,
    put_beliefs,
    set_sides,
)
from matchenv.runtime.checks import (
    as_choice,
    as_non_negative_number,
    as_number,
    as_positive_number,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.sides import quality_of_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class WengLinReplay(BeliefReplay):
    """What a model of Weng and Lin believed before each game of a log, and after the last one.

    A team's mean is the sum of its members' skills; its variance includes the drift and leaves out
    the performance's. The match quality takes one performance of beta a side.
    """


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
    spread = as_positive_number("beta", beta)
    drift = as_non_negative_number("tau", tau)
    least = as_positive_number("kappa", kappa)
    plackett_luce = as_choice("model", model, MODELS) == "plackett-luce"
    beliefs = beliefs_before(
        log, as_number("mu", mu), as_positive_number("sigma", sigma), keep_history
    )
    _replay_games(
        log.player, log.team_start, log.game_start, log.rank, spread, drift, least, plackett_luce,
        beliefs,
    )  # fmt: skip
    return WengLinReplay(**beliefs.of(log))


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def _replay_games(
    player: Indices,
    team_start: Integers,
    game_start: Integers,
    rank: Indices,
    beta: float,
    tau: float,
    kappa: float,
    plackett_luce: bool,
    beliefs: Beliefs,
) -> None:
    most_teams, most_entries = largest_game(team_start, game_start)
    mu, sigma = np.empty(most_entries), np.empty(most_entries)
    start, game_rank = np.empty(most_teams + 1, np.int64), np.empty(most_teams)
    table = np.empty((4, most_teams))
    noise = np.full(most_teams, beta * beta)

    for game in range(game_start.size - 1):
        first_team, last_team = game_start[game], game_start[game + 1]
        first, last = team_start[first_team], team_start[last_team]
        sides = last_team - first_team
        copy_beliefs(player, first, last, beliefs.mu, beliefs.sigma, mu, sigma)
        set_sides(team_start, rank, first_team, last_team, start, game_rank)
        for side in range(sides):
            team = first_team + side
            beliefs.team_mean[team], beliefs.team_variance[team] = strength_of_side(
                mu, sigma, tau, start[side], start[side + 1]
            )
        beliefs.quality[game] = quality_of_sides(
            beliefs.team_mean[first_team:last_team],
            beliefs.team_variance[first_team:last_team] + beta * beta,
            noise[:sides],
        )
        update_weng_lin(
            mu, sigma, start[: sides + 1], game_rank[:sides], beta, tau, kappa, plackett_luce, table
        )
        put_beliefs(player, first, last, mu, sigma, beliefs.mu, beliefs.sigma)
        if beliefs.entry_mu.size:
            beliefs.entry_mu[first:last] = mu[: last - first]
            beliefs.entry_sigma[first:last] = sigma[: last - first]
