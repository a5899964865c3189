"""Fitted parameters of TrueSkill: estimated on the first part of a log, judged on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit, stdtrit
from tqdm import tqdm

from matchenv.logs.forecasts import (
    calibrations,
    gaussian_log_probabilities,
    log_losses,
    mean_over_pairs,
    pair_costs,
    share_of_draws,
)
from matchenv.logs.match_log import MatchLog
from matchenv.logs.pairs import Pairs
from matchenv.logs.replay import replay_trueskill, variance_of_time_away
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_open_share, refusal

Values = Mapping[str, float]

# Skills have no scale of their own: the prior sets it.
MU = 25.0
SIGMA = 25.0 / 3.0
BETA = 25.0 / 6.0
TAU = 25.0 / 300.0

TRAIN_SHARE = 0.7
FEWEST_GAMES = 20
MOST_EVALUATIONS = 400
# Final trust radius of the search and step of the finite differences, in steps of the parameters.
PRECISION = 0.005
DIFFERENCE = 0.1
# Parameters whose estimates are correlated by more than this cannot be separated.
TOGETHER = 0.95
# Blocks of a log that count as independent observations.
BLOCKS = 40
# Below this share of the largest curvature the likelihood counts as flat.
FLAT = 1e-6
Scale = tuple[Callable[[float], Any], Callable[[float], Any]]  # the transform and its inverse
LOG = (np.log, np.exp)
LOGIT = (logit, expit)
PLAIN = (float, float)
# Drifts count by their variance: near 0, a deviation or its logarithm has no effect.
SQUARE: Scale = (np.square, lambda variance: np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and how well they forecast the games held out.

    Attributes:
        parameters: by name; arguments of ``replay_trueskill``.
        intervals: 95 % intervals of the fitted ones that are not at a boundary.
        log_loss: log loss per pair of sides, on the games held out.
        log_loss_interval: its 95 % interval.
        log_loss_constant: log loss of a forecast that knows only the share of draws.
        log_loss_constant_interval: its 95 % interval.
        log_loss_by_side: log loss of a forecast that also knows how often the first side wins;
            equal to log_loss_constant for a log that does not say which side was first.
        log_loss_default: log loss of the default parameters.
        gain: the lower one of log_loss_constant and log_loss_by_side, minus log_loss, and its 95 %
            interval.
        prediction_error: share of the decided pairs held out that the stronger side lost.
        prediction_error_default: the same for the default parameters.
        calibration_wins: mean distance of stated and observed shares, on the games held out.
        calibration_draws: the same for draws; None without any.
        games: number of games in the log.
        train_games: number of games that were fitted.
        evaluations: number of replays of the search.
        converged: whether the search converged.
        notes: parameters that the log does not identify, or that ran to a boundary.
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
    evaluations: int
    converged: bool
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """Verdict on the forecasts compared with a constant one, by the interval of the gain."""
        _, low, high = self.gain
        if low > 0.0:
            return "better"
        if high < 0.0:
            return "worse"
        return "undecided"

    @property
    def failed(self) -> bool:
        """True if the forecasts are not shown to be better than both constant ones."""
        return self.verdict != "better"


def fit(log: MatchLog, *, train_share: float = TRAIN_SHARE, quiet: bool = True) -> Fit:
    """Fit beta, tau and the other parameters that the log identifies, by predictive likelihood.

    Each game is forecast from the games before it. The parameters maximise the likelihood of the
    first part of the log; the rest judges them, with ratings that keep learning. The prior's mean
    and deviation are 25 and 25 / 3, since skills have no scale of their own.

    Args:
        log: at least 20 games in order of play.
        train_share: share of the games, from the first on, that is fitted, in (0, 1); at least two
            games are fitted, and two held out.
        quiet: hide the progress bar.

    Raises:
        ValueError: for too few games, or a share out of range.

    Source: Dawid (1984), "The prequential approach".
    """
    share = as_open_share("train_share", train_share)
    if log.num_games < FEWEST_GAMES:
        rule = f"log must have at least {FEWEST_GAMES} games to fit and judge"
        raise refusal(rule, log.num_games)
    train = log.first_games(int(np.clip(round(share * log.num_games), 2, log.num_games - 2)))
    parameters, reasons = parameters_of(train, share_of_draws(log) > 0.0)
    pairs = train.pairs

    def losses(values: Values) -> Floats:
        return log_losses(_forecast(train, pairs, values), pairs.outcome)

    from scipy.optimize import minimize  # slow to load, and not needed for a replay

    bounds = np.array([list(map(p.to_scale, (p.start, p.low, p.high))) for p in parameters])
    with tqdm(desc="fit", unit="replay", disable=quiet, total=None) as bar:

        def loss_at(point: Floats) -> float:
            bar.update()
            return float(losses(_values_at(parameters, point)).mean())

        result = minimize(
            loss_at,
            bounds[:, 0],
            method="COBYQA",
            bounds=bounds[:, 1:],
            options={
                "initial_tr_radius": 1.0,
                "final_tr_radius": PRECISION,
                "maxfev": MOST_EVALUATIONS,
            },
        )
    values = _values_at(parameters, result.x)
    intervals, notes = _intervals(
        lambda values: np.bincount(pairs.game, losses(values), train.num_games).astype(float),
        parameters,
        values,
    )
    notes += [f"{name} is not identified: {reason}" for name, reason in reasons.items()]
    values = {"mu": MU, "sigma": SIGMA, **values, **dict.fromkeys(reasons, 0.0)}
    defaults = {parameter.name: parameter.default for parameter in parameters}
    return Fit(
        parameters=values,
        intervals=intervals,
        **_judged(log, train.num_games, defaults, values),
        evaluations=int(result.nfev),
        converged=bool(result.success),
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model, searched in steps of a transformed scale."""

    name: str  # argument of ``replay_trueskill``
    scale: Scale  # transform in which the search moves and intervals are computed
    low: float  # lower bound
    high: float  # upper bound
    start: float  # start of the search
    step: float  # typical change, on the transformed scale
    default: float  # value before the fit

    def to_scale(self, value: float) -> float:
        """Return the position of a value on the transformed scale, in steps."""
        return float(self.scale[0](value)) / self.step

    def from_scale(self, point: float) -> float:
        """Return the value at a point, within the bounds."""
        return float(np.clip(self.scale[1](point * self.step), self.low, self.high))

    def at_boundary(self, value: float) -> bool:
        """Return whether a value is at a bound, or nearly; a lower bound of 0 does not count."""
        low, point, high = map(self.to_scale, (self.low, value, self.high))
        gap = high - point
        if self.low != 0.0:
            gap = min(gap, point - low)
        return gap < 0.02 * (high - low)


def parameters_of(log: MatchLog, drawn: bool) -> tuple[list[Parameter], dict[str, str]]:
    """Return the parameters that a log identifies, and by name why it does not the others.

    ``drawn`` says whether games can be drawn.
    """
    share = min(max(share_of_draws(log), 2e-4), 0.9)
    drift = 0.05 * SIGMA
    away = 0.0
    if log.time is not None:
        away = float(variance_of_time_away(log, 1.0).mean())
    per_day = drift / np.sqrt(away or 1.0)
    every = [
        Parameter("beta", LOG, 0.02 * SIGMA, 20.0 * SIGMA, BETA, 0.4, BETA),
        Parameter("tau", SQUARE, 0.0, SIGMA, TAU, drift**2, TAU),
        Parameter("draw_probability", LOGIT, 1e-4, 0.95, share, 0.3, share),
        Parameter("time_drift", SQUARE, 0.0, SIGMA, 0.2 * per_day, per_day**2, 0.0),
        Parameter("advantage", PLAIN, -3.0 * SIGMA, 3.0 * SIGMA, 0.0, 0.1 * SIGMA, 0.0),
        Parameter("team_exponent", PLAIN, 0.0, 2.0, 0.5, 0.3, 0.0),
    ]
    reasons = _unidentified(log, drawn, away)
    return [parameter for parameter in every if parameter.name not in reasons], reasons


def _unidentified(log: MatchLog, drawn: bool, away: float) -> dict[str, str]:
    """Return why a log does not identify parameters, by their names.

    Args:
        log: the log.
        drawn: whether games can be drawn.
        away: mean number of days between two games of a player.
    """
    reasons = {}
    if not drawn:
        reasons["draw_probability"] = "no game was drawn"
    if away == 0.0:
        reasons["time_drift"] = "the log shows no time between games of a player"
    if log.game_size.max() > 2:
        reasons["advantage"] = "some games have more than two sides"
    elif log.neutral is None:
        reasons["advantage"] = "the log does not say which side was at home or first"
    elif log.neutral.all():
        reasons["advantage"] = "all games are on neutral ground"
    start = log.game_start[:-1]
    largest = np.maximum.reduceat(log.team_size, start)
    smallest = np.minimum.reduceat(log.team_size, start)
    if (largest == smallest).all():
        reasons["team_exponent"] = "all sides of a game have the same size"
    return reasons


def _values_at(parameters: Sequence[Parameter], point: Floats) -> dict[str, float]:
    """Return the values by name at a point of the search."""
    return {p.name: p.from_scale(float(x)) for p, x in zip(parameters, point, strict=True)}


def _forecast(log: MatchLog, pairs: Pairs, values: Values) -> Floats:
    """Return log probabilities of each pair of sides before its game, (pairs, 3)."""
    parameters: dict[str, Any] = {"mu": MU, "sigma": SIGMA, "draw_probability": 0.0, **values}
    replay = replay_trueskill(log, **parameters)
    return gaussian_log_probabilities(
        pairs.gap(replay.team_mean),
        pairs.sum(replay.team_variance),
        pairs.sum(log.team_size),
        parameters["beta"],
        parameters["draw_probability"],
    )


def _intervals(
    losses: Callable[[Values], Floats],
    parameters: list[Parameter],
    values: dict[str, float],
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return intervals by name, and notes on parameters that the log does not identify."""
    inner = [p for p in parameters if not p.at_boundary(values[p.name])]
    notes = []
    for parameter in parameters:
        if parameter not in inner:
            value = f"{values[parameter.name]:.4g}"
            notes.append(f"{parameter.name} ran to a boundary, {value}: it has no interval")
    if not inner:
        return {}, notes
    point = np.array([p.to_scale(values[p.name]) for p in inner])
    least = np.array([p.to_scale(p.low) for p in inner]) + DIFFERENCE
    slopes, curvature = derivatives(
        lambda point: losses({**values, **_values_at(inner, point)}), np.maximum(point, least)
    )
    quantile = _quantile(blocks_of(len(slopes)))
    intervals = {}
    for k, parameter in enumerate(inner):
        # A drift of 0 is treated as known in the intervals of the others.
        kept = []
        for j, other in enumerate(inner):
            if point[j] > 0.0 or parameter.scale is SQUARE or other.scale is not SQUARE:
                kept.append(j)
        own = parameter_covariance(slopes[:, kept], curvature[np.ix_(kept, kept)])
        half = quantile * np.sqrt(own[kept.index(k), kept.index(k)]) or np.inf
        low = point[k] - half
        high = point[k] + half
        intervals[parameter.name] = parameter.from_scale(low), parameter.from_scale(high)
    covariance = parameter_covariance(slopes, curvature)
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        related = covariance / np.outer(spread, spread)
    for i, j in np.argwhere(np.abs(np.tril(related, -1)) > TOGETHER):
        notes.append(f"{inner[j].name} and {inner[i].name} can hardly be separated")
    return intervals, notes


def _judged(log: MatchLog, train_games: int, defaults: Values, values: Values) -> dict[str, Any]:
    """Return the attributes of ``Fit`` about the games held out."""
    pairs = log.pairs
    late = pairs.game >= train_games
    seen = pairs.outcome[~late]
    held_out = Pairs._make(column[late] for column in pairs)
    fitted = _forecast(log, pairs, values)[late]
    default = _forecast(log, pairs, defaults)[late]
    losses = log_losses(fitted, held_out.outcome)

    def constant_losses(probabilities: Any) -> Floats:
        """Return the losses of one forecast, (3,), for all pairs."""
        with np.errstate(divide="ignore"):  # no draws
            log_probability = np.log(probabilities)
        return log_losses(np.tile(log_probability, (losses.size, 1)), held_out.outcome)

    counts = np.array([(seen == value).sum() for value in (1, 0, -1)]) + 0.5
    if values["draw_probability"] == 0.0:  # no game was drawn, as the fitted forecast knows
        counts[1] = 0.0
    shares = counts / counts.sum()
    win = 0.5 * (1.0 - shares[1])
    even = constant_losses([win, shares[1], win])
    by_side = constant_losses(shares) if log.has_first_side else even
    best_constant = even if even.mean() <= by_side.mean() else by_side
    block = blocks_of(log.num_games - train_games)
    draws = bool((held_out.outcome == 0).any())
    calibrated = calibrations(fitted, held_out.outcome)

    def interval(values: Floats) -> tuple[float, float]:
        """Return the ends of the 95 % interval of a mean over pairs."""
        mean = float(values.mean())
        excess = np.bincount(block[held_out.game - train_games], values - mean).astype(np.float64)
        half = _quantile(block) * float(np.sqrt(_between(excess[:, None])[0, 0])) / values.size
        return mean - half, mean + half

    def error(forecast: Floats) -> float:
        costs = pair_costs(forecast[:, 0] - forecast[:, 2], held_out.outcome)
        return mean_over_pairs(costs, held_out.game)[0]

    return {
        "log_loss": float(losses.mean()),
        "log_loss_interval": interval(losses),
        "log_loss_constant": float(even.mean()),
        "log_loss_constant_interval": interval(even),
        "log_loss_by_side": float(by_side.mean()),
        "log_loss_default": float(log_losses(default, held_out.outcome).mean()),
        "gain": (float((best_constant - losses).mean()), *interval(best_constant - losses)),
        "prediction_error": error(fitted),
        "prediction_error_default": error(default),
        "calibration_wins": calibrated["wins"]["error"],
        "calibration_draws": calibrated["draws"]["error"] if draws else None,
        "games": log.num_games,
        "train_games": train_games,
    }


def blocks_of(games: int) -> Integers:
    """Return the block of each game: consecutive games, in blocks of nearly equal size."""
    count = min(BLOCKS, games)
    return np.arange(games) * count // max(games, 1)


def _quantile(block: Integers) -> float:
    """Return the half width of a 95 % interval over blocks, in standard errors."""
    return float(stdtrit(max(int(block[-1]), 1), 0.975))


def _between(sums: Floats) -> Floats:
    """Return the covariance of a total over all blocks, from its sums in each, (blocks, p)."""
    centred = sums - sums.mean(axis=0)
    return centred.T @ centred * (len(sums) / max(len(sums) - 1, 1))


def derivatives(
    losses: Callable[[Floats], Floats], point: Floats, step: float = DIFFERENCE
) -> tuple[Floats, Floats]:
    """Return slopes (games, p) of losses and the curvature (p, p) of their sum.

    ``losses`` maps a point, (p,), to the loss of each game, (games,). The differences are central.
    """
    axes = step * np.eye(point.size)
    twice = 2.0 * losses(point).sum()
    forward = np.array([losses(point + axis) for axis in axes])
    backward = np.array([losses(point - axis) for axis in axes])
    both = forward.sum(axis=1) + backward.sum(axis=1)
    curvature = np.diag(both - twice)
    for i, j in zip(*np.tril_indices(point.size, -1), strict=True):
        corner = axes[i] + axes[j]
        corners = losses(point + corner).sum() + losses(point - corner).sum()
        curvature[i, j] = 0.5 * (corners - both[i] - both[j] + twice)
        curvature[j, i] = curvature[i, j]
    return (forward - backward).T / (2.0 * step), curvature / step**2


def parameter_covariance(slopes: Floats, curvature: Floats) -> Floats:
    """Return the covariance (p, p) of the minimum over other games of the same kind.

    It is that of one Newton step, with the slopes of blocks of games as observations. If the
    loss is not convex, their covariance replaces its curvature, which it equals on average if the
    model holds.

    Source: White (1982), "Maximum likelihood estimation of misspecified models".
    """
    block = blocks_of(len(slopes))
    by_block: Floats = np.stack([np.bincount(block, weights=slope) for slope in slopes.T], axis=1)
    between = _between(by_block)
    if np.linalg.eigvalsh(curvature)[0] <= FLAT * np.abs(curvature).max():
        curvature = between
    inverse = np.linalg.pinv(curvature)
    return inverse @ between @ inverse
