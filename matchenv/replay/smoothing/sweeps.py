"""Sweeps over a log, forwards and backwards, that pass messages between games: compiled kernels.

A player's skill is one variable for each of their games, and neighbouring ones differ by the
drift between the games. Three messages meet at each entry (one player's part in one game): from the
past, from the future, and from the game itself. A forward sweep needs those from the future and
writes those from the past in their place; a backward sweep does the reverse; the game's are
worked out anew each time. So an entry keeps one message, and memory grows with the log alone.

Source: Dangauthier, Herbrich, Minka, Graepel (2008), TrueSkill Through Time, section 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import largest_game
from matchenv.replay.beliefs import set_sides
from matchenv.replay.smoothing.messages import log_overlap, widened
from matchenv.replay.trueskill_games import set_weights
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import margin_between
from matchenv.trueskill.game import log_outcome_probability_of, total_variance
from matchenv.trueskill.sides import (
    TABLE_ROWS,
    Constants,
    Teams,
    log_ranking_evidence,
    rate_pair,
    rate_sides,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


class Games(NamedTuple):
    """The games and the model's numbers, as the sweeps read them.

    Attributes:
        player: (entries,) player of each entry.
        team_start: (teams + 1,) as in ``MatchLog``.
        game_start: (games + 1,) as in ``MatchLog``.
        rank: (teams,) as in ``MatchLog``.
        drift: (entries,) variance of the drift before each entry since the player's last one.
        mean: (players,) mean of the belief before the first game; messages are about skill less
            this, so that a common offset costs no digits.
        sigma: (players,) its standard deviation.
        beta: standard deviation of one performance.
        draw_margin: see ``margin_between``.
        margin_grows: see ``margin_between``.
        advantage: (games,) what the first side of each game is stronger by.
        team_exponent: the sum of n performances counts over n to this power.
        weight: (entries,) what each performance counts; empty for 1 each.
        tolerance: see ``pass_messages``.
        max_iterations: see ``pass_messages``.
    """

    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    drift: Floats
    mean: Floats
    sigma: Floats
    beta: float
    draw_margin: float
    margin_grows: bool
    advantage: Floats
    team_exponent: float
    weight: Floats
    tolerance: float
    max_iterations: int


@compiled
def _play(
    games: Games,
    game: int,
    mu: Floats,
    sigma: Floats,
    measured: bool,
    start: Integers,
    rank: Floats,
    weight: Floats,
    table: Floats,
) -> float:
    """Update the beliefs of one game's players in place; the log probability of its result.

    It is the evidence of expectation propagation, exact for two sides; 0 if not ``measured``.
    """
    first_team, last_team = games.game_start[game], games.game_start[game + 1]
    first = games.team_start[first_team]
    sides = last_team - first_team
    beta, log_probability, advantage = games.beta, 0.0, games.advantage[game]
    if games.team_start[last_team] - first == 2 and games.weight.size == 0:
        mu[0] += advantage
        outcome = np.sign(games.rank[first_team + 1] - games.rank[first_team])
        margin = margin_between(games.draw_margin, games.margin_grows, 2)
        if measured:
            variance = total_variance(sigma[0], sigma[1], beta)
            log_probability = log_outcome_probability_of(mu[0] - mu[1], variance, outcome, margin)
        mu[0], sigma[0], mu[1], sigma[1] = rate_pair(
            mu[0], sigma[0], mu[1], sigma[1], outcome, beta, 0.0, margin
        )
        mu[0] -= advantage
        return log_probability
    set_sides(games.team_start, games.rank, first_team, last_team, start, rank)
    weight[: start[sides]] = 1.0
    for side in range(sides):
        begin, end = start[side], start[side + 1]
        given = games.weight[first + begin : first + end]
        set_weights(given, games.team_exponent, weight[begin:end])
    share = advantage / weight[: start[1]].sum()
    mu[: start[1]] += share
    constants = Constants(
        beta, 0.0, games.draw_margin, games.margin_grows, games.tolerance, games.max_iterations
    )
    rate_sides(Teams(mu, sigma, weight, start[: sides + 1]), rank[:sides], constants, table)
    mu[: start[1]] -= share
    return log_ranking_evidence(table, sides) if measured else 0.0


@compiled(nogil=True)  # a long log leaves Ctrl-C alive
def sweep(
    games: Games,
    forwards: bool,
    measured: bool,
    messages: Floats,
    mu: Floats,
    sigma: Floats,
    log_probability: Floats,
    rest: Floats,
    near: Floats,
) -> tuple[float, float]:
    """Walk once over all games, in order of play or against it, and pass every message.

    Args:
        games: the games.
        forwards: whether in order of play.
        measured: whether to work out probabilities and evidence; takes a forward sweep.
        messages: (entries, 2) precision and shift of the message that an entry has from the time
            that this sweep does not come from; those from the other time are written in its place.
        mu: (entries,) means of the posteriors less the prior mean, read and written.
        sigma: (entries,) their standard deviations, read and written.
        log_probability: (games,) written if measured: log probability of each result given all
            other games.
        rest: (entries, 2) written if measured: mean and standard deviation of the belief before
            each entry's game from all other games, earlier and later; or (0, 2).
        near: (players, 3) scratch: precision and shift of what a player's last visited
            entry passes on, and the variance of the drift before it.

    Returns:
        ``(change, log_evidence)``: the largest move of a posterior, as a share of its sigma,
        and the evidence of all games, if measured.
    """
    most_teams, most_entries = largest_game(games.team_start, games.game_start)
    game_mu, game_sigma = np.empty(most_entries), np.empty(most_entries)
    cavity_precision, cavity_shift = np.empty(most_entries), np.empty(most_entries)
    near_precision, near_shift = np.empty(most_entries), np.empty(most_entries)
    start = np.empty(most_teams + 1, np.int64)
    rank, weight = np.empty(most_teams), np.empty(most_entries)
    table = np.empty((TABLE_ROWS, most_teams))

    near[:] = 0.0
    if forwards:
        near[:, 0] = games.sigma**-2.0
    change, log_evidence = 0.0, 0.0
    num_games = games.game_start.size - 1
    for step in range(num_games):
        game = step if forwards else num_games - 1 - step
        first = games.team_start[games.game_start[game]]
        last = games.team_start[games.game_start[game + 1]]
        for entry in range(first, last):
            m, k = entry - first, games.player[entry]
            variance = games.drift[entry] if forwards else near[k, 2]
            near_precision[m], near_shift[m] = widened(near[k, 0], near[k, 1], variance)
            cavity_precision[m] = near_precision[m] + messages[entry, 0]
            cavity_shift[m] = near_shift[m] + messages[entry, 1]
            game_mu[m] = games.mean[k] + cavity_shift[m] / cavity_precision[m]
            game_sigma[m] = 1.0 / math.sqrt(cavity_precision[m])
            if measured and rest.shape[0] > 0:
                rest[entry, 0], rest[entry, 1] = game_mu[m], game_sigma[m]
        found = _play(
            games, game, game_mu[: last - first], game_sigma[: last - first], measured,
            start, rank, weight, table,
        )  # fmt: skip
        if measured:
            log_probability[game] = found
            log_evidence += found
        for entry in range(first, last):
            m, k = entry - first, games.player[entry]
            mean, deviation = game_mu[m] - games.mean[k], game_sigma[m]
            change = max(change, abs(mean - mu[entry]) / deviation)
            change = max(change, abs(deviation / sigma[entry] - 1.0))
            mu[entry], sigma[entry] = mean, deviation
            posterior = 1.0 / (deviation * deviation)
            # No game makes a belief wider; below 0 is rounding.
            precision = max(0.0, posterior - cavity_precision[m])
            shift = mean * (cavity_precision[m] + precision) - cavity_shift[m]
            messages[entry, 0], messages[entry, 1] = near_precision[m], near_shift[m]
            near[k, 0] = near_precision[m] + precision
            near[k, 1] = near_shift[m] + shift
            near[k, 2] = games.drift[entry]
            if measured:
                log_evidence += log_overlap(
                    near_precision[m], near_shift[m], precision, shift
                ) - log_overlap(cavity_precision[m], cavity_shift[m], precision, shift)
    return change, log_evidence
