"""TrueSkill over a log of matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.replay.advantage import advantages_of
from matchenv.replay.beliefs import BeliefReplay, beliefs_before
from matchenv.replay.time_away import SECONDS_PER_DAY, as_time_drift, games_and_those_before
from matchenv.replay.trueskill_games import Games, Model, replay_games
from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
)
from matchenv.trueskill.draw_margin import as_draw_margin
from matchenv.trueskill.rating import MAX_ITERATIONS, TOLERANCE

Integers = NDArray[np.int64]

# As little to be written as the arrays of a log, so that one compiled version serves both.
NO_WEIGHTS = np.empty(0)
NO_WEIGHTS.setflags(write=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrueSkillReplay(BeliefReplay):
    """What TrueSkill believed before each game of a log, and after the last one.

    A team's mean is the mean of its performance: the sum of its members' mu, each times its weight
    if the log has weights; its variance is the sum of sigma^2 + tau^2 + beta^2, each times the
    square of its weight.

    Attributes:
        unconverged: indices of the games whose expectation propagation met its cap before
            its tolerance.
    """

    unconverged: Integers


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
        advantage: what the first side of a game is stronger by, in skill points, except on
            neutral ground.
        team_exponent: a side of n players is as strong as the sum of their performances over n
            to this power, >= 0: 0 for the sum, 1 for the mean.

    Raises:
        ValueError: for bad input, a log with draws where the draw margin is 0, or a drift over
            time for a log without times.

    Source: Herbrich, Minka, Graepel (2006).
    """
    spread = as_positive_number("beta", beta)
    margin = as_draw_margin(draw_probability, draw_margin, spread)
    model = Model(
        beta=spread,
        tau=as_non_negative_number("tau", tau),
        draw_margin=margin.margin,
        margin_grows=margin.grows,
        tolerance=as_positive_number("tolerance", tolerance),
        max_iterations=as_integer("max_iterations", max_iterations, 1),
        team_exponent=as_non_negative_number("team_exponent", team_exponent),
    )
    beliefs = beliefs_before(
        log, as_number("mu", mu), as_positive_number("sigma", sigma), keep_history
    )
    drift, away = np.empty(0), as_time_drift(time_drift, log)
    if away > 0.0 and log.time is not None:
        game, before = games_and_those_before(log)
        days = (log.time[game] - log.time[before]) / SECONDS_PER_DAY
        drift = away * np.sqrt(np.maximum(days, 0.0))
    ahead = advantages_of(log, advantage)
    weight = NO_WEIGHTS if log.weight is None else log.weight
    games = Games(log.player, log.team_start, log.game_start, log.rank, weight, drift, ahead)
    if margin.margin == 0.0:
        refuse_draws(log)
    change = replay_games(games, model, beliefs)
    return TrueSkillReplay(
        **beliefs.of(log), unconverged=np.flatnonzero(~(change <= model.tolerance))
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
