"""Fit the parameters of TrueSkill to the first part of a log, and judge them on the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.match_log import MatchLog
from matchenv.replay.calibration import draw_calibration, win_calibration
from matchenv.replay.fitting.intervals import LEVELS, derivatives, mean_interval
from matchenv.replay.fitting.journal import remembered
from matchenv.replay.fitting.likelihood import by_game, constant_losses, forecast
from matchenv.replay.fitting.objectives import OBJECTIVES, Objective, ObjectiveName
from matchenv.replay.fitting.parameters import (
    MU,
    SIGMA,
    Parameter,
    parameters_of,
    place_of,
    values_at,
)
from matchenv.replay.pairs import Pairs, pairs_of_sides
from matchenv.runtime.checks import as_choice, as_number

Floats = NDArray[np.float64]

TRAIN_SHARE = 0.7
FEWEST_GAMES = 20
MOST_EVALUATIONS = 400
# The search ends when its region is this small, in usual steps of the parameters.
PRECISION = 0.005
# Two parameters whose estimates move together more than this are not told apart.
TOGETHER = 0.95
BINS = 20


@dataclass(frozen=True)
class Fit:
    """Fitted parameters and how well they foresee the part of the log that they have not seen.

    Attributes:
        parameters: by name; arguments of ``replay_trueskill``.
        intervals: 95 % intervals of those that were fitted.
        log_loss: per pair of sides, on the games held out.
        log_loss_interval: its 95 % interval.
        log_loss_constant: of a forecast that knows the share of draws alone.
        log_loss_constant_interval: its 95 % interval.
        log_loss_by_side: of a forecast that also knows how often the first side wins.
        log_loss_default: of the parameters before the fit.
        gain: log_loss_constant less log_loss, and its 95 % interval.
        prediction_error: share of the pairs held out, draws left out, that the stronger side lost.
        prediction_error_default: the same before the fit.
        calibration_wins: mean distance of stated and observed shares, on the games held out.
        calibration_draws: the same for draws; None without any.
        games: games in the log.
        train_games: those that the fit has seen.
        objective: what was made as likely as can be, ``predictive`` or ``evidence``.
        evaluations: replays, or smoothings, of the search.
        converged: whether the search ended by itself.
        notes: what the log cannot tell, and what ran to a boundary.
    """

    parameters: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    log_loss: float
    log_loss_interval: tuple[float, float]
    log_loss_constant: float
    log_loss_constant_interval: tuple[float, float]
    log_loss_by_side: float
    log_loss_default: float
    gain: tuple[float, float, float]
    prediction_error: float
    prediction_error_default: float
    calibration_wins: float
    calibration_draws: float | None
    games: int
    train_games: int
    objective: str
    evaluations: int
    converged: bool
    notes: tuple[str, ...]


def fit(
    log: MatchLog,
    *,
    objective: ObjectiveName = "predictive",
    train_share: float = TRAIN_SHARE,
    seed: int = 0,
    journal: Path | None = None,
    made_with: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> Fit:
    """Fit beta, tau and the other parameters that the log tells, by predictive likelihood.

    Every game is foreseen from the games before it. Parameters maximise that likelihood over the
    first part of the log (or, by ``evidence``, that of its results all together); the rest, with
    ratings that go on learning, judges them. The prior's mean and deviation are 25 and 25 / 3,
    since skills have no scale of their own.

    Args:
        log: the games in order of play, 20 or more.
        objective: ``predictive``, each game from those before it, or ``evidence``, all results
            at a time, with what later games say of earlier skills.
        train_share: share of the games, from the first on, that the fit uses, in (0, 1).
        seed: of the bootstrap.
        journal: a file in which every replay of the search is written down; a fit that was
            stopped goes on from it.
        made_with: versions of what computes; the journal of others is begun anew.
        quiet: no progress bar.

    Raises:
        ValueError: for an empty log, too few games, one player, or a share out of range.
    """
    from scipy.optimize import minimize  # slow to load, and not needed for a replay

    kind = OBJECTIVES[as_choice("objective", objective, OBJECTIVES)]
    share = as_number("train_share", train_share)
    if not 0.0 < share < 1.0:
        raise ValueError(f"train_share must be between 0 and 1, got {train_share!r}")
    if log.num_games < FEWEST_GAMES:
        raise ValueError(
            f"log must have at least {FEWEST_GAMES} games to fit and judge, got {log.num_games}"
        )
    train = first_games(log, max(1, round(share * log.num_games)))
    parameters, reasons = parameters_of(train)
    pairs = pairs_of_sides(log.game_start, log.rank)
    aim: Objective = kind(train)
    scale = np.array([each.step for each in parameters])

    with remembered(journal, train, [objective, *parameters], made_with) as memory:
        bar = tqdm(desc="fit", unit="replay", disable=quiet, total=None)

        def total(place: Floats) -> float:
            bar.update()
            key = json.dumps([float(x) for x in place])
            if key not in memory:
                memory[key] = aim.loss(values_at(parameters, place * scale))
            return memory[key]

        start = np.array([each.to_scale(each.start) for each in parameters]) / scale
        bounds = [
            (each.to_scale(each.low) / each.step, each.to_scale(each.high) / each.step)
            for each in parameters
        ]
        found = minimize(
            total,
            start,
            method="COBYQA",
            bounds=bounds,
            options={
                "initial_tr_radius": 1.0,
                "final_tr_radius": PRECISION,
                "maxfev": MOST_EVALUATIONS,
            },
        )
        bar.close()
    values = values_at(parameters, np.asarray(found.x) * scale)
    rng = np.random.default_rng(seed)
    intervals, notes = _intervals(aim, parameters, values, rng)
    for name, reason in reasons.items():
        values[name] = 0.0
        notes.append(f"{name} cannot be told: {reason}")
    values = {"mu": MU, "sigma": SIGMA, **values}
    judged = _judged(log, pairs, train.num_games, parameters, values, rng)
    return Fit(
        parameters=values,
        intervals=intervals,
        **judged,
        objective=objective,
        evaluations=int(found.nfev),
        converged=bool(found.success),
        notes=tuple(notes),
    )


def first_games(log: MatchLog, games: int) -> MatchLog:
    """The log up to a game."""
    teams = int(log.game_start[games])
    entries = int(log.team_start[teams])
    return MatchLog(
        players=log.players,
        player=log.player[:entries],
        team_start=log.team_start[: teams + 1],
        game_start=log.game_start[: games + 1],
        rank=log.rank[:teams],
        score=log.score[:teams],
        time=None if log.time is None else log.time[:games],
        weight=None if log.weight is None else log.weight[:entries],
        neutral=None if log.neutral is None else log.neutral[:games],
    )


def _intervals(
    aim: Objective,
    parameters: list[Parameter],
    values: dict[str, float],
    rng: np.random.Generator,
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Intervals by name, and notes on what the log does not tell."""
    inner = [each for each in parameters if not each.at_boundary(values[each.name])]
    notes = [
        f"{each.name} ran to a boundary, {values[each.name]:.4g}: it has no interval"
        for each in parameters
        if each not in inner
    ]
    if not inner:
        return {}, notes
    fixed = {name: value for name, value in values.items() if name not in {p.name for p in inner}}

    def losses(place: Floats) -> Floats:
        return aim.losses({**fixed, **values_at(inner, place)})

    place = place_of(inner, values)
    steps = np.array([0.05 * each.step for each in inner])
    slopes, curvature = derivatives(losses, place, steps)
    moves, told = aim.spread(slopes, curvature, rng)
    intervals = {}
    for k, each in enumerate(inner):
        if float((told[k] ** 2).sum()) < 0.5:
            notes.append(f"{each.name} hardly changes the likelihood: it has no interval")
            continue
        low, high = np.quantile(place[k] + moves[:, k], LEVELS)
        intervals[each.name] = (each.from_scale(float(low)), each.from_scale(float(high)))
    with np.errstate(invalid="ignore"):
        related = np.atleast_2d(np.corrcoef(moves.T))
    for i, each in enumerate(inner):
        for j in range(i):
            if abs(related[i, j]) > TOGETHER:
                pair = f"{inner[j].name} and {each.name}"
                notes.append(f"{pair} can hardly be told apart")
    return intervals, notes


def _judged(
    log: MatchLog,
    pairs: Pairs,
    train_games: int,
    parameters: list[Parameter],
    values: dict[str, float],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Those attributes of ``Fit`` that say how well the games held out are foreseen."""
    held_out = pairs.game >= train_games
    rest = Pairs(
        pairs.first[held_out], pairs.second[held_out], pairs.game[held_out], pairs.outcome[held_out]
    )
    before = {each.name: each.default for each in parameters}
    log_probability = forecast(log, pairs, values)[held_out]
    column = 1 - rest.outcome.astype(np.int64)
    losses = -np.take_along_axis(log_probability, column[:, None], axis=1)[:, 0]
    even, by_side = (each[held_out] for each in constant_losses(pairs, train_games))
    default_probability = forecast(log, pairs, before)[held_out]
    default = -np.take_along_axis(default_probability, column[:, None], axis=1)[:, 0]
    counts = _by_rest(np.ones(losses.size), rest, train_games, log.num_games)

    def interval(each: Floats) -> tuple[float, float]:
        return mean_interval(_by_rest(each, rest, train_games, log.num_games), counts, rng)

    draws = bool((rest.outcome == 0).any())
    return {
        "log_loss": float(losses.mean()),
        "log_loss_interval": interval(losses),
        "log_loss_constant": float(even.mean()),
        "log_loss_constant_interval": interval(even),
        "log_loss_by_side": float(by_side.mean()),
        "log_loss_default": float(default.mean()),
        "gain": (float((even - losses).mean()), *interval(even - losses)),
        "prediction_error": _error(log_probability, rest),
        "prediction_error_default": _error(default_probability, rest),
        "calibration_wins": win_calibration(log_probability, rest.outcome, BINS).error,
        "calibration_draws": draw_calibration(log_probability, rest.outcome, BINS).error
        if draws
        else None,
        "games": log.num_games,
        "train_games": train_games,
    }


def _by_rest(losses: Floats, rest: Pairs, first: int, games: int) -> Floats:
    later = Pairs(rest.first, rest.second, rest.game - first, rest.outcome)
    return by_game(losses, later, games - first)


def _error(log_probability: Floats, pairs: Pairs) -> float:
    decided = pairs.outcome != 0
    if not decided.any():
        return float("nan")
    ahead = np.sign(log_probability[:, 0] - log_probability[:, 2])
    return float((ahead[decided] != pairs.outcome[decided]).mean())
