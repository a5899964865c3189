"""TrueSkill Through Time: the posterior of every player at every game, from a whole log.

A player's skill is one variable for each of their games; consecutive ones differ by the drift
between the games. Three messages meet at each entry (one player's part in one game): from the past,
from the future and from the game. A forward sweep reads the messages from the future and replaces
them by those from the past; a backward sweep does the reverse. The messages from the games are
recomputed each time, so an entry stores one message.

Messages are normals in natural parameters: exp(shift x - precision x^2 / 2) is stored as its
precision and its shift = precision x mean. The product of two messages adds both; (0, 0) is no
information.

Source: Dangauthier, Herbrich, Minka, Graepel (2008), TrueSkill Through Time, section 3.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import (
    Games,
    Model,
    Room,
    prepared,
    rate_game,
    variance_of_time_away,
)
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_float_array, as_integer, as_positive_number
from matchenv.runtime.compile import compiled
from matchenv.trueskill.sides import Constants

SETTLED = 1e-5
MAX_SWEEPS = 200
# Steps that the extrapolation remembers.
DEPTH = 4
# The first iterations also change precisions, and predict little about later ones.
FIRST = 3


@dataclass(frozen=True, eq=False)
class SmoothedLog:
    """Posteriors about every player at each of their games, given the whole log.

    Attributes:
        mu: (entries,) mean of the posterior about the entry's player at that game.
        sigma: (entries,) its standard deviation.
        log_probability: (games,) log probability of each result given all other games; the
            TrueSkillThroughTime package calls their sum evidence.
        log_evidence: log probability of all results together, by expectation propagation.
        iterations: number of forward and backward sweeps.
        settled: whether no posterior moved by more than the tolerance in the last iteration.
        rest_mu: (entries,) mean of the belief about the entry's player at that game, given all
            other games.
        rest_sigma: (entries,) its standard deviation.
    """

    mu: Floats
    sigma: Floats
    log_probability: Floats
    log_evidence: float
    iterations: int
    settled: bool
    rest_mu: Floats
    rest_sigma: Floats


def smooth(
    log: MatchLog,
    *,
    tolerance: float = SETTLED,
    max_iterations: int = MAX_SWEEPS,
    quiet: bool = True,
    **parameters: Any,
) -> SmoothedLog:
    """Return the posterior of every player at each of their games: TrueSkill Through Time.

    The model is that of ``replay_trueskill``, but a game also informs about earlier times. The log
    is swept forwards and backwards until no posterior moves.

    Args:
        log: the games in order of play.
        tolerance: stop when no posterior's mean or deviation moves by more than this share of its
            deviation in one iteration.
        max_iterations: limit on the number of iterations.
        quiet: hide the progress bar.
        parameters: see ``replay_trueskill``.

    Raises:
        TypeError: for another parameter.
        ValueError: for bad input, a log of fewer than two games, a log with draws at a draw
            probability of 0, or a drift over time in a log without times.
    """
    if log.num_games < 2:
        raise ValueError(f"log must hold at least 2 games, got {log.num_games}")
    model = Model(**parameters)
    # The drift is between games.
    mean, prior_sigma, constants, games, room = prepared(log, model, 0.0)
    bound = as_positive_number("tolerance", tolerance)
    most = as_integer("max_iterations", max_iterations, 1)
    entries = len(log.player)
    chains = Chains(
        model.tau**2 + variance_of_time_away(log, model.time_drift),
        mean,
        np.empty((log.num_players, 3)),
        np.zeros((entries, 2)),
        np.empty((entries, 2)),
        np.zeros(entries),
        np.full(entries, np.inf),
    )
    extrapolation = Extrapolation()
    iterations = 0
    change = np.inf

    def sweep(forwards: bool, room: Room = room) -> tuple[float, float]:
        chains.near[:] = 0.0
        if forwards:
            chains.near[:, 0] = prior_sigma**-2.0
        return _sweep(games, constants, chains, room, forwards)

    # A small log takes less than a second, and its bar would flicker.
    with tqdm(desc="smooth", unit="iteration", disable=quiet, delay=1.0) as bar:
        while iterations < most and not change <= bound:
            before = chains.messages[:, 1].copy()
            change = max(sweep(forwards)[0] for forwards in (True, False))
            iterations += 1
            if iterations >= FIRST:  # precisions settle soon: shifts are extrapolated
                extrapolation.improve(before, chains.messages[:, 1])
            bar.set_postfix(moved=f"{change:.1e}", until=f"{bound:.0e}", refresh=False)
            bar.update()
    room = room._replace(log_probability=np.empty(log.num_games))
    _, log_evidence = sweep(True, room)
    as_float_array("results at these parameters", np.append(chains.sigma, room.log_probability))
    return SmoothedLog(
        mu=chains.mu + mean[log.player],
        sigma=chains.sigma,
        log_probability=room.log_probability,
        log_evidence=log_evidence,
        iterations=iterations,
        settled=bool(change <= bound),
        rest_mu=mean[log.player] + chains.cavity[:, 1] / chains.cavity[:, 0],
        rest_sigma=1.0 / np.sqrt(chains.cavity[:, 0]),
    )


class Chains(NamedTuple):
    """The model of skills over time, and the arrays that a sweep reads and writes."""

    drift: Floats  # (entries,) variance of the drift since the player's previous entry
    mean: Floats  # (players,) prior means; shifts are relative to them, so a common offset is exact
    near: Floats  # (players, 3) message from the last entry visited, and the drift before it
    messages: Floats  # (entries, 2) message to each entry from where the next sweep ends
    cavity: Floats  # (entries, 2) message to each entry from all other games
    mu: Floats  # (entries,) means of the posteriors minus the prior mean
    sigma: Floats  # (entries,) their standard deviations


@compiled(nogil=True)  # Ctrl-C works during a long log
def _sweep(
    games: Games, constants: Constants, chains: Chains, room: Room, forwards: bool
) -> tuple[float, float]:
    """Visit all games once, in order of play or in reverse, and pass every message.

    Returns:
        ``(change, log_evidence)``: the largest move of a posterior, as a share of its deviation,
        and the evidence of all games in a forward sweep that computes their probabilities.
    """
    drift, prior_mean, near, messages, cavity, mu, sigma = chains
    player = games.player
    start = games.team_start
    log_probability = room.log_probability
    change = 0.0
    log_evidence = 0.0
    num_games = games.game_start.size - 1
    for step in range(num_games):
        game = step if forwards else num_games - 1 - step
        first = start[games.game_start[game]]
        last = start[games.game_start[game + 1]]
        for entry in range(first, last):
            k = player[entry]
            variance = drift[entry] if forwards else near[k, 2]
            precision, shift = _widened(near[k, 0], near[k, 1], variance)
            cavity[entry, 0] = precision + messages[entry, 0]
            cavity[entry, 1] = shift + messages[entry, 1]
            messages[entry, 0] = precision
            messages[entry, 1] = shift
            room.mu[entry] = prior_mean[k] + cavity[entry, 1] / cavity[entry, 0]
            room.sigma[entry] = 1.0 / math.sqrt(cavity[entry, 0])
        rate_game(games, constants, game, room)
        if log_probability.size:
            log_evidence += log_probability[game]
        for entry in range(first, last):
            k = player[entry]
            mean = room.mu[entry] - prior_mean[k]
            deviation = room.sigma[entry]
            change = max(change, abs(mean - mu[entry]) / deviation)
            change = max(change, abs(deviation / sigma[entry] - 1.0))
            mu[entry] = mean
            sigma[entry] = deviation
            others = cavity[entry]
            past = messages[entry]
            # No game widens a belief; a negative number is a rounding error.
            precision = max(0.0, 1.0 / (deviation * deviation) - others[0])
            shift = mean * (others[0] + precision) - others[1]
            near[k, 0] = past[0] + precision
            near[k, 1] = past[1] + shift
            near[k, 2] = drift[entry]
            if log_probability.size:
                log_evidence += _log_overlap(past[0], past[1], precision, shift)
                log_evidence -= _log_overlap(others[0], others[1], precision, shift)
    return change, log_evidence


@compiled
def _widened(precision: float, shift: float, variance: float) -> tuple[float, float]:
    """Return a message after a drift of the skill by N(0, variance), in either direction."""
    share = 1.0 / (1.0 + precision * variance)
    return precision * share, shift * share


@compiled
def _log_overlap(
    precision: float, shift: float, other_precision: float, other_shift: float
) -> float:
    """Return the log integral of a normal density times an unscaled message.

    The density has a precision > 0 and a shift, precision x mean. The message is
    exp(other_shift x - other_precision x^2 / 2).
    """
    # Squares are completed without a difference of large numbers for a weak message.
    both = precision + other_precision
    mean = shift / precision
    square = other_shift * (other_shift + 2.0 * shift) - other_precision * shift * mean
    return 0.5 * (square / both - math.log1p(other_precision / precision))


def curves_table(log: MatchLog, smoothed: SmoothedLog) -> dict[str, Any]:
    """Return every player's skill through time, with a row for each of their games.

    The columns are player, game (its number in the log), time if the log has times, mu and sigma.
    They make a table, for example by ``pandas.DataFrame``.
    """
    order = np.argsort(log.player, kind="stable")
    game = log.entry_game[order]
    times = {} if log.time is None else {"time": log.time[game]}
    return {
        "player": np.array(log.players, object)[log.player[order]],
        "game": game,
        **times,
        "mu": smoothed.mu[order],
        "sigma": smoothed.sigma[order],
    }


class Extrapolation:
    """Anderson extrapolation of an iteration.

    Sweeps spread information about differences of skills quickly, but move the common level of all
    players by a few hundredths of the way only. A step that is longer than the one before shows
    that the history misleads: it starts anew, and after the n-th such step n iterations are not
    extrapolated, so that no cycle can last.

    Source: Anderson (1965), "Iterative procedures for nonlinear integral equations".
    """

    def __init__(self) -> None:
        self._history = deque[tuple[Floats, Floats]](maxlen=DEPTH + 1)
        self._restarts = self._pause = 0

    def improve(self, before: Floats, after: Floats) -> None:
        """Overwrite ``after``, the result of an iteration from ``before``."""
        history = self._history
        step = after - before
        if history and np.square(step).sum() > np.square(history[-1][1]).sum():
            history.clear()
            self._restarts += 1
            self._pause = self._restarts
        history.append((before, step))
        if self._pause > 0:
            self._pause -= 1
        elif len(history) > 1:
            places, steps = map(np.array, zip(*history, strict=True))
            moves = np.diff(places, axis=0)
            turns = np.diff(steps, axis=0)
            # Not by BLAS, whose order of summation depends on the number of threads.
            gram = np.einsum("ik,jk", turns, turns)
            slope = np.einsum("ik,k", turns, steps[-1])
            share = np.linalg.lstsq(gram, slope, rcond=None)[0]
            after -= np.einsum("i,ik", share, moves + turns)
