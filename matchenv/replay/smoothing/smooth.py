"""TrueSkill Through Time over a log of matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from matchenv.match_log import MatchLog
from matchenv.replay.advantage import advantages_of
from matchenv.replay.smoothing.acceleration import Acceleration
from matchenv.replay.smoothing.checkpoint import Checkpoint, State
from matchenv.replay.smoothing.sweeps import Games, sweep
from matchenv.replay.time_away import SECONDS_PER_DAY, as_time_drift, games_and_those_before
from matchenv.replay.trueskill import NO_WEIGHTS, refuse_draws
from matchenv.runtime.checks import (
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_positive_array,
    as_positive_number,
)
from matchenv.trueskill.draw_margin import as_draw_margin
from matchenv.trueskill.rating import MAX_ITERATIONS, TOLERANCE

Floats = NDArray[np.float64]

SETTLED = 1e-5
MAX_SWEEPS = 200


@dataclass(frozen=True, eq=False)
class SmoothedLog:
    """What the whole log says about every player at every game of theirs.

    Attributes:
        mu: (entries,) mean of the posterior about the entry's player at that game, from all games
            before, at and after it.
        sigma: (entries,) its standard deviation.
        log_probability: (games,) logarithm of the probability of each game's result, given all
            other games; their sum is what the TrueSkillThroughTime package calls evidence.
        log_evidence: logarithm of the probability of all results together under the model's
            parameters, as expectation propagation has it.
        iterations: number of times that the log was walked forwards and backwards.
        settled: whether no posterior moved by more than the tolerance in the last iteration.
        rest_mu: (entries,) mean of the belief about the entry's player at that game, from all
            other games; empty if not asked for.
        rest_sigma: (entries,) its standard deviation, or empty.
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
    mu: ArrayLike = 25.0,
    sigma: ArrayLike = 25.0 / 3.0,
    beta: float = 25.0 / 6.0,
    tau: float = 25.0 / 300.0,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    time_drift: float = 0.0,
    advantage: float = 0.0,
    team_exponent: float = 0.0,
    tolerance: float = SETTLED,
    max_iterations: int = MAX_SWEEPS,
    keep_rest: bool = False,
    checkpoint: Path | None = None,
    made_with: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> SmoothedLog:
    """Posteriors of every player at every time from a whole log: TrueSkill Through Time.

    The model is that of ``replay_trueskill``; but a game also tells about the times before it. The
    log is walked forwards and backwards until no posterior moves any more.

    Args:
        log: the matches, in order of play.
        mu: mean of the belief about a player before the first game, a number or (players,).
        sigma: its standard deviation, > 0, a number or (players,).
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift before each game of a player, >= 0.
        draw_probability: as in ``rate``.
        draw_margin: as in ``rate``.
        time_drift: standard deviation of a skill's drift over a day, >= 0; time_drift^2 times the
            days between two games of a player is added to the variance between them.
        advantage: what the first side of a game is stronger by, in skill points, except on
            neutral ground.
        team_exponent: a side of n players is as strong as the sum of their performances over n
            to this power, >= 0: 0 for the sum, 1 for the mean.
        tolerance: stop when in one iteration no posterior's mean or deviation moved by more than
            this share of its deviation.
        max_iterations: stop here at the latest.
        keep_rest: whether to keep ``rest_mu`` and ``rest_sigma``.
        checkpoint: a file that says now and then how far the work has come; a smoothing of the
            same games that was stopped goes on from it. It is removed at the end.
        made_with: versions of what computes; a checkpoint of others is not read.
        quiet: no progress bar.

    Raises:
        OSError: if the checkpoint cannot be written.
        ValueError: for bad input, a log of fewer than two games, times that go backwards, a log
            with draws where the draw margin is 0, or a drift over time for a log without times.

    Source: Dangauthier, Herbrich, Minka, Graepel (2008), TrueSkill Through Time.
    """
    _check_log(log)
    spread = as_positive_number("beta", beta)
    drift = as_non_negative_number("tau", tau)
    away = as_time_drift(time_drift, log)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    if margin.margin == 0.0:
        refuse_draws(log)
    variance = np.full(len(log.player), drift * drift)
    if away > 0.0 and log.time is not None:
        days = log.time / SECONDS_PER_DAY
        game, before = games_and_those_before(log)
        variance += away * away * (days[game] - days[before])
    games = Games(
        player=log.player,
        team_start=log.team_start,
        game_start=log.game_start,
        rank=log.rank,
        drift=variance,
        mean=_for_each_player(log, "mu", as_float_array("mu", mu)),
        sigma=_for_each_player(log, "sigma", as_positive_array("sigma", sigma)),
        beta=spread,
        draw_margin=margin.margin,
        margin_grows=margin.grows,
        advantage=advantages_of(log, advantage),
        team_exponent=as_non_negative_number("team_exponent", team_exponent),
        weight=NO_WEIGHTS if log.weight is None else log.weight,
        tolerance=TOLERANCE,
        max_iterations=MAX_ITERATIONS,
    )
    bound = as_positive_number("tolerance", tolerance)
    most = as_integer("max_iterations", max_iterations, 1)
    kept = Checkpoint(checkpoint, games, [bound, dict(made_with or {})])
    return _settle(games, bound, most, kept, keep_rest, quiet)


def _settle(
    games: Games,
    tolerance: float,
    max_iterations: int,
    checkpoint: Checkpoint,
    keep_rest: bool,
    quiet: bool,
) -> SmoothedLog:
    state = checkpoint.read(games, max_iterations)
    messages, mean, deviation, iterations, change = state
    near = np.empty((len(games.mean), 3))
    acceleration = Acceleration(len(mean))
    log_probability = np.empty(len(games.game_start) - 1)
    rest = np.empty((len(mean) if keep_rest else 0, 2))
    # A bar of a few steps would be a flicker on a small log.
    with tqdm(desc="smooth", unit="iteration", disable=quiet, delay=1.0) as bar:
        while iterations < max_iterations and not change <= tolerance:
            before, change = messages[:, 1].copy(), 0.0
            for forwards in (True, False):
                moved, _ = sweep(
                    games, forwards, False, messages, mean, deviation, log_probability, rest, near
                )
                change = max(change, moved)
            iterations += 1
            # The precisions settle soon.
            acceleration.mix(before, messages[:, 1], iterations)
            bar.set_postfix(moved=f"{change:.1e}", until=f"{tolerance:.0e}", refresh=False)
            bar.update()
            if not acceleration.remembers:
                checkpoint.keep(State(messages, mean, deviation, iterations, change))
    _, log_evidence = sweep(
        games, True, True, messages, mean, deviation, log_probability, rest, near
    )
    mean += games.mean[games.player]
    checkpoint.remove()
    return SmoothedLog(
        mu=mean,
        sigma=deviation,
        log_probability=log_probability,
        log_evidence=log_evidence,
        iterations=iterations,
        settled=bool(change <= tolerance),
        rest_mu=rest[:, 0].copy(),
        rest_sigma=rest[:, 1].copy(),
    )


def _check_log(log: MatchLog) -> None:
    if log.num_games < 2:
        raise ValueError(f"log must hold at least 2 games, got {log.num_games}")
    check_times(log)


def check_times(log: MatchLog) -> None:
    """Raise for a log whose times go backwards."""
    if log.time is None:
        return
    back = log.time[1:] < log.time[:-1]
    if back.any():
        game = int(np.argmax(back)) + 1
        raise ValueError(
            f"log must have times that do not go backwards, got {log.time[game]} after "
            f"{log.time[game - 1]} at game {game}"
        )


def _for_each_player(log: MatchLog, name: str, value: Floats) -> Floats:
    if value.ndim > 0 and value.shape != (log.num_players,):
        raise ValueError(
            f"{name} must be a number or have shape ({log.num_players},), got {value.shape}"
        )
    return np.array(np.broadcast_to(value, log.num_players))
