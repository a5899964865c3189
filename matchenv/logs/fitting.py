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
        return "better" if low > 0.0 else "worse" if high < 0.0 else "undecided"

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

        def loss_at(place: Floats) -> float:
            bar.update()
            return float(losses(_values_at(parameters, place)).mean())

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
        """Return the place of a value on the transformed scale, in steps."""
        return float(self.scale[0](value)) / self.step

    def from_scale(self, place: float) -> float:
        """Return the value at a place, within the bounds."""
        return float(np.clip(self.scale[1](place * self.step), self.low, self.high))

    def at_boundary(self, value: float) -> bool:
        """Return whether a value is at a bound, or nearly; a lower bound of 0 does not count."""
        low, place, high = map(self.to_scale, (self.low, value, self.high))
        gap = high - place if self.low == 0.0 else min(place - low, high - place)
        return gap < 0.02 * (high - low)


def parameters_of(log: MatchLog, drawn: bool) -> tuple[list[Parameter], dict[str, str]]:
    """Return the parameters that a log identifies, and by name why it does not the others.

    ``drawn`` says whether games can be drawn.
    """
    share = share_of_draws(log)
    size = log.team_size
    start = log.game_start[:-1]
    share = min(max(share, 2e-4), 0.9)
    drift = 0.05 * SIGMA
    away = 0.0 if log.time is None else float(variance_of_time_away(log, 1.0).mean())
    per_day = drift / np.sqrt(away or 1.0)
    uneven = (np.maximum.reduceat(size, start) != np.minimum.reduceat(size, start)).any()
    at_home = ""
    if log.game_size.max() > 2:
        at_home = "some games have more than two sides"
    elif log.neutral is None:
        at_home = "the log does not say which side was at home or first"
    elif log.neutral.all():
        at_home = "all games are on neutral ground"
    found = {
        Parameter("beta", LOG, 0.02 * SIGMA, 20.0 * SIGMA, BETA, 0.4, BETA): "",
        Parameter("tau", SQUARE, 0.0, SIGMA, TAU, drift**2, TAU): "",
        Parameter("draw_probability", LOGIT, 1e-4, 0.95, share, 0.3, share): (
            "" if drawn else "no game was drawn"
        ),
        Parameter("time_drift", SQUARE, 0.0, SIGMA, 0.2 * per_day, per_day**2, 0.0): (
            "" if away > 0.0 else "the log shows no time between games of a player"
        ),
        Parameter("advantage", PLAIN, -3.0 * SIGMA, 3.0 * SIGMA, 0.0, 0.1 * SIGMA, 0.0): at_home,
        Parameter("team_exponent", PLAIN, 0.0, 2.0, 0.5, 0.3, 0.0): (
            "" if uneven else "all sides of a game have the same size"
        ),
    }
    identified = [parameter for parameter, reason in found.items() if not reason]
    return identified, {parameter.name: reason for parameter, reason in found.items() if reason}


def _values_at(parameters: Sequence[Parameter], place: Floats) -> dict[str, float]:
    """Return the values by name at a place of the search."""
    return {p.name: p.from_scale(float(x)) for p, x in zip(parameters, place, strict=True)}


def _forecast(log: MatchLog, pairs: Pairs, values: Values) -> Floats:
    """Return log probabilities of each pair of sides before its game, (pairs, 3)."""
    given: dict[str, Any] = {"mu": MU, "sigma": SIGMA, "draw_probability": 0.0, **values}
    replay = replay_trueskill(log, **given)
    return gaussian_log_probabilities(
        pairs.gap(replay.team_mean),
        pairs.sum(replay.team_variance),
        pairs.sum(log.team_size),
        given["beta"],
        given["draw_probability"],
    )


def _intervals(
    losses: Callable[[Values], Floats],
    parameters: list[Parameter],
    values: dict[str, float],
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return intervals by name, and notes on parameters that the log does not identify."""
    inner = [p for p in parameters if not p.at_boundary(values[p.name])]
    notes = [
        f"{p.name} ran to a boundary, {values[p.name]:.4g}: it has no interval"
        for p in parameters
        if p not in inner
    ]
    if not inner:
        return {}, notes
    place = np.array([p.to_scale(values[p.name]) for p in inner])
    least = np.array([p.to_scale(p.low) for p in inner]) + DIFFERENCE
    slopes, curvature = derivatives(
        lambda place: losses({**values, **_values_at(inner, place)}), np.maximum(place, least)
    )
    quantile = _quantile(blocks_of(len(slopes)))
    intervals = {}
    for k, parameter in enumerate(inner):
        # A drift of 0 is treated as known in the intervals of the others.
        kept = [
            j
            for j, other in enumerate(inner)
            if place[j] > 0.0 or parameter.scale is SQUARE or other.scale is not SQUARE
        ]
        own = parameter_covariance(slopes[:, kept], curvature[np.ix_(kept, kept)])
        half = quantile * np.sqrt(own[kept.index(k), kept.index(k)]) or np.inf
        low = place[k] - half
        high = place[k] + half
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
    rest = Pairs._make(column[late] for column in pairs)
    fitted, default = (_forecast(log, pairs, given)[late] for given in (values, defaults))
    losses = log_losses(fitted, rest.outcome)

    def constant_losses(probabilities: Any) -> Floats:
        """Return the losses of one forecast, (3,), for all pairs."""
        with np.errstate(divide="ignore"):  # no draws
            log_probability = np.log(probabilities)
        return log_losses(np.tile(log_probability, (losses.size, 1)), rest.outcome)

    counts = np.array([(seen == value).sum() for value in (1, 0, -1)]) + 0.5
    if values["draw_probability"] == 0.0:  # no game was drawn, as the fitted forecast knows
        counts[1] = 0.0
    shares = counts / counts.sum()
    win = 0.5 * (1.0 - shares[1])
    even = constant_losses([win, shares[1], win])
    by_side = constant_losses(shares) if log.has_first_side else even
    best_constant = even if even.mean() <= by_side.mean() else by_side
    block = blocks_of(log.num_games - train_games)
    draws = bool((rest.outcome == 0).any())
    calibrated = calibrations(fitted, rest.outcome)

    def interval(values: Floats) -> tuple[float, float]:
        """Return the ends of the 95 % interval of a mean over pairs."""
        mean = float(values.mean())
        excess = np.bincount(block[rest.game - train_games], values - mean).astype(np.float64)
        half = _quantile(block) * float(np.sqrt(_between(excess[:, None])[0, 0])) / values.size
        return mean - half, mean + half

    def error(forecast: Floats) -> float:
        costs = pair_costs(forecast[:, 0] - forecast[:, 2], rest.outcome)
        return mean_over_pairs(costs, rest.game)[0]

    return {
        "log_loss": float(losses.mean()),
        "log_loss_interval": interval(losses),
        "log_loss_constant": float(even.mean()),
        "log_loss_constant_interval": interval(even),
        "log_loss_by_side": float(by_side.mean()),
        "log_loss_default": float(log_losses(default, rest.outcome).mean()),
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
    rest = sums - sums.mean(axis=0)
    return rest.T @ rest * (len(sums) / max(len(sums) - 1, 1))


def derivatives(
    losses: Callable[[Floats], Floats], place: Floats, step: float = DIFFERENCE
) -> tuple[Floats, Floats]:
    """Return slopes (games, p) of losses and the curvature (p, p) of their sum.

    ``losses`` maps a place, (p,), to the loss of each game, (games,). The differences are central.
    """
    axes = step * np.eye(place.size)
    twice = 2.0 * losses(place).sum()
    forward, backward = (
        np.array([losses(place + sign * axis) for axis in axes]) for sign in (1.0, -1.0)
    )
    both = forward.sum(axis=1) + backward.sum(axis=1)
    curvature = np.diag(both - twice)
    for i, j in zip(*np.tril_indices(place.size, -1), strict=True):
        corners = (losses(place + sign * (axes[i] + axes[j])).sum() for sign in (1.0, -1.0))
        curvature[i, j] = curvature[j, i] = 0.5 * (sum(corners) - both[i] - both[j] + twice)
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
