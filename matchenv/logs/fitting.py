"""The parameters of TrueSkill that fit a log, found on its first part and judged on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit
from tqdm import tqdm

from matchenv.logs.forecasts import (
    Pairs,
    calibrations,
    gaussian_log_probabilities,
    log_losses,
    mean_over_pairs,
    pair_costs,
    pairs_of_sides,
    share_of_draws,
)
from matchenv.logs.games import Model, variance_of_time_away
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import replay_trueskill
from matchenv.runtime.checks import as_open_share

Floats = NDArray[np.float64]
Values = Mapping[str, float]

# Skills have no scale of their own: the prior sets it.
MU, SIGMA, BETA, TAU = 25.0, 25.0 / 3.0, 25.0 / 6.0, 25.0 / 300.0

TRAIN_SHARE = 0.7
FEWEST_GAMES = 20
MOST_EVALUATIONS = 400
# The search ends when its region is this small, in usual steps of the parameters.
PRECISION = 0.005
# How far the differences go that give intervals, in the same steps.
DIFFERENCE = 0.1
# Two parameters whose estimates are correlated by more than this cannot be told apart.
TOGETHER = 0.95
# Parts of a log over which intervals are taken.
BLOCKS = 40
# Below this share of the largest curvature the likelihood counts as flat.
FLAT = 1e-6
Scale = tuple[Callable[[float], Any], Callable[[float], Any]]  # to it and back
LOG, LOGIT, PLAIN = (np.log, np.exp), (logit, expit), (float, float)
# A drift counts by its variance. Next to 0 a deviation or its logarithm would change nothing.
SQUARE: Scale = (np.square, lambda variance: np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and how well they forecast the games held out.

    Attributes:
        parameters: by name; arguments of ``replay_trueskill``.
        intervals: 95 % intervals of those that were fitted, but for those at a boundary.
        log_loss: per pair of sides, on the games held out.
        log_loss_interval: its 95 % interval.
        log_loss_constant: of a forecast that knows only the share of draws.
        log_loss_constant_interval: its 95 % interval.
        log_loss_by_side: of a forecast that also knows how often the first side wins.
        log_loss_default: of the parameters before the fit.
        gain: log_loss_constant minus log_loss, and its 95 % interval.
        prediction_error: share of the pairs held out, without draws, that the stronger side lost.
        prediction_error_default: the same before the fit.
        calibration_wins: mean distance of stated and observed shares, on the games held out.
        calibration_draws: the same for draws; None without any.
        games: games in the log.
        train_games: those that the fit has read.
        evaluations: replays of the search.
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
    evaluations: int
    converged: bool
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """Verdict on the forecasts against a constant one, by the interval of the gain."""
        _, low, high = self.gain
        return "better" if low > 0.0 else "worse" if high < 0.0 else "undecided"

    @property
    def failed(self) -> bool:
        """True if the forecasts are not shown to be better than a constant one."""
        return self.verdict != "better"


def fit(log: MatchLog, *, train_share: float = TRAIN_SHARE, quiet: bool = True) -> Fit:
    """Fit beta, tau and the other parameters that the log tells, by predictive likelihood.

    Every game is forecast from the games before it. Parameters maximise that likelihood over the
    first part of the log. The rest, with ratings that go on learning, judges them. The prior's
    mean and deviation are 25 and 25 / 3, since skills have no scale of their own.

    Args:
        log: the games in order of play, 20 or more.
        train_share: share of the games, from the first on, that the fit uses, in (0, 1); at least
            two games are fitted, and two held out.
        quiet: no progress bar.

    Raises:
        ValueError: for an empty log, too few games, one player, or a share out of range.

    Source: Dawid (1984), "The prequential approach".
    """
    share = as_open_share("train_share", train_share)
    if log.num_games < FEWEST_GAMES:
        raise ValueError(
            f"log must have at least {FEWEST_GAMES} games to fit and judge, got {log.num_games}"
        )
    train = log.first_games(int(np.clip(round(share * log.num_games), 2, log.num_games - 2)))
    parameters, reasons = parameters_of(train)
    pairs = pairs_of_sides(train.game_start, train.rank)

    def losses(values: Values) -> Floats:
        return log_losses(_forecast(train, pairs, values), pairs.outcome)

    from scipy.optimize import minimize  # slow to load, and not needed for a replay

    places = [list(map(each.to_scale, (each.start, each.low, each.high))) for each in parameters]
    start, low, high = np.array(places).T
    with tqdm(desc="fit", unit="replay", disable=quiet, total=None) as bar:

        def loss_at(place: Floats) -> float:
            bar.update()
            return float(losses(_values_at(parameters, place)).mean())

        result = minimize(
            loss_at, start, method="COBYQA", bounds=np.column_stack((low, high)),
            options={"initial_tr_radius": 1.0, "final_tr_radius": PRECISION,
                     "maxfev": MOST_EVALUATIONS},
        )  # fmt: skip
    values = _values_at(parameters, result.x)
    intervals, notes = _intervals(
        lambda values: np.bincount(pairs.game, losses(values), train.num_games).astype(float),
        parameters, values,
    )  # fmt: skip
    notes += [f"{name} cannot be told: {reason}" for name, reason in reasons.items()]
    values = {"mu": MU, "sigma": SIGMA, **values, **dict.fromkeys(reasons, 0.0)}
    before = {each.name: each.default for each in parameters}
    return Fit(
        parameters=values,
        intervals=intervals,
        **_judged(log, train.num_games, before, values),
        evaluations=int(result.nfev),
        converged=bool(result.success),
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class Parameter:
    """One parameter of the model."""

    name: str  # of the argument of ``replay_trueskill``
    scale: Scale  # in which the search moves and intervals are made
    low: float  # the smallest value of the search
    high: float  # the largest
    start: float  # where the search starts
    step: float  # a usual change on it
    default: float  # its value where the log cannot tell it, and before any fit

    def to_scale(self, value: float) -> float:
        """Return the value on the scale of the search, in steps."""
        return float(self.scale[0](value)) / self.step

    def from_scale(self, place: float) -> float:
        """Return the value at a place of the search, within the range."""
        return float(np.clip(self.scale[1](place * self.step), self.low, self.high))

    def at_boundary(self, value: float) -> bool:
        """Return whether a value is at an end of the range, or nearly; 0 is a value as others."""
        low, place, high = map(self.to_scale, (self.low, value, self.high))
        gap = high - place if self.low == 0.0 else min(place - low, high - place)
        return gap < 0.02 * (high - low)


def parameters_of(log: MatchLog) -> tuple[list[Parameter], dict[str, str]]:
    """Return the parameters that a log can tell, and the reasons why it cannot tell the others."""
    draws, size, start = share_of_draws(log), log.team_size, log.game_start[:-1]
    share = min(max(draws, 2e-4), 0.9)
    drift, away = 0.05 * SIGMA, 0.0
    if log.time is not None:
        away = float(variance_of_time_away(log, Model(time_drift=1.0)).mean())
    per_day = drift / np.sqrt(away or 1.0)
    uneven = (np.maximum.reduceat(size, start) != np.minimum.reduceat(size, start)).any()
    at_home = ""
    if log.neutral is not None and log.neutral.all():
        at_home = "all games are on neutral ground"
    elif log.game_size.max() > 2:
        at_home = "some games have more than two sides"
    found = {
        Parameter("beta", LOG, 0.02 * SIGMA, 20.0 * SIGMA, BETA, 0.4, BETA): "",
        Parameter("tau", SQUARE, 0.0, SIGMA, TAU, drift**2, TAU): "",
        Parameter("draw_probability", LOGIT, 1e-4, 0.95, share, 0.3, share): (
            "" if draws > 0.0 else "no game was drawn"
        ),
        Parameter("time_drift", SQUARE, 0.0, SIGMA, 0.2 * per_day, per_day**2, 0.0): (
            "" if away > 0.0 else "the log shows no time between games of a player"
        ),
        Parameter("advantage", PLAIN, -3.0 * SIGMA, 3.0 * SIGMA, 0.0, 0.1 * SIGMA, 0.0): at_home,
        Parameter("team_exponent", PLAIN, 0.0, 2.0, 0.5, 0.3, 0.0): (
            "" if uneven else "all sides of a game have as many players"
        ),
    }
    known = [each for each, reason in found.items() if not reason]
    return known, {each.name: reason for each, reason in found.items() if reason}


def _values_at(parameters: Sequence[Parameter], place: Floats) -> dict[str, float]:
    """Return the parameters by name at a place on their scales."""
    return {each.name: each.from_scale(float(x)) for each, x in zip(parameters, place, strict=True)}


def _forecast(log: MatchLog, pairs: Pairs, values: Values) -> Floats:
    """Return log probabilities of each pair of sides before its game, (pairs, 3)."""
    given: dict[str, Any] = {"mu": MU, "sigma": SIGMA, "draw_probability": 0.0, **values}
    replay = replay_trueskill(log, **given)
    return gaussian_log_probabilities(
        pairs.gap(replay.team_mean), pairs.sum(replay.team_variance), pairs.sum(log.team_size),
        given["beta"], given["draw_probability"],
    )  # fmt: skip


def _intervals(
    losses: Callable[[Values], Floats],
    parameters: list[Parameter],
    values: dict[str, float],
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return intervals by name, and notes on what the log does not tell."""
    inner = [each for each in parameters if not each.at_boundary(values[each.name])]
    notes = [f"{each.name} ran to a boundary, {values[each.name]:.4g}: it has no interval"
             for each in parameters if each not in inner]  # fmt: skip
    if not inner:
        return {}, notes
    place = np.array([each.to_scale(values[each.name]) for each in inner])
    least = np.array([each.to_scale(each.low) for each in inner]) + DIFFERENCE
    slopes, curvature = derivatives(
        lambda place: losses({**values, **_values_at(inner, place)}), np.maximum(place, least)
    )
    quantile, intervals = _quantile(blocks_of(len(slopes))), {}
    for k, each in enumerate(inner):
        # Where a drift is 0, the others are as sure as if it were known to be.
        kept = [j for j, other in enumerate(inner)
                if each.scale is SQUARE or other.scale is not SQUARE or place[j] > 0.0]  # fmt: skip
        own = parameter_covariance(slopes[:, kept], curvature[np.ix_(kept, kept)])
        half = quantile * np.sqrt(own[kept.index(k), kept.index(k)]) or np.inf
        low, high = place[k] - half, place[k] + half
        intervals[each.name] = each.from_scale(low), each.from_scale(high)
    covariance = parameter_covariance(slopes, curvature)
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):
        related = covariance / np.outer(spread, spread)
    for i, j in np.argwhere(np.abs(np.tril(related, -1)) > TOGETHER):
        notes.append(f"{inner[j].name} and {inner[i].name} can hardly be told apart")
    return intervals, notes


def _judged(log: MatchLog, train_games: int, before: Values, values: Values) -> dict[str, Any]:
    """Return the attributes of ``Fit`` about the games held out."""
    pairs = pairs_of_sides(log.game_start, log.rank)
    late = pairs.game >= train_games
    seen = pairs.outcome[~late]
    rest = Pairs._make(each[late] for each in pairs)
    fitted, default = (_forecast(log, pairs, each)[late] for each in (values, before))
    losses = log_losses(fitted, rest.outcome)
    counts = np.array([(seen == value).sum() for value in (1, 0, -1)]) + 0.5
    shares = counts / counts.sum()
    win = 0.5 * (1.0 - shares[1])
    even, by_side = (log_losses(np.tile(np.log(each), (losses.size, 1)), rest.outcome)
                     for each in ((win, shares[1], win), shares))  # fmt: skip
    later, games = rest.game - train_games, log.num_games - train_games
    block = blocks_of(games)

    def interval(each: Floats) -> tuple[float, float]:
        mean = float(each.mean())
        excess = np.bincount(block[later], each - mean).astype(np.float64)
        half = _quantile(block) * float(np.sqrt(_between(excess[:, None])[0, 0])) / each.size
        return mean - half, mean + half

    draws = bool((rest.outcome == 0).any())
    calibrated = calibrations(fitted, rest.outcome)

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
        "gain": (float((even - losses).mean()), *interval(even - losses)),
        "prediction_error": error(fitted),
        "prediction_error_default": error(default),
        "calibration_wins": calibrated["wins"]["error"],
        "calibration_draws": calibrated["draws"]["error"] if draws else None,
        "games": log.num_games,
        "train_games": train_games,
    }


def blocks_of(games: int) -> NDArray[np.int64]:
    """Return the block of each game: consecutive games, equally many in each as far as possible."""
    count = min(BLOCKS, games)
    return np.arange(games) * count // max(games, 1)


def _quantile(block: NDArray[np.int64]) -> float:
    """Return the half width of a 95 % interval over blocks, in standard deviations."""
    return float(stdtrit(max(int(block[-1]), 1), 0.975))


def _between(sums: Floats) -> Floats:
    """Return the covariance of a total over all blocks, from its sums in each, (blocks, p)."""
    rest = sums - sums.mean(axis=0)
    return rest.T @ rest * (len(sums) / max(len(sums) - 1, 1))


def derivatives(
    losses: Callable[[Floats], Floats], place: Floats, step: float = DIFFERENCE
) -> tuple[Floats, Floats]:
    """Return slopes of every game's loss and the curvature of their sum, by central differences.

    Args:
        losses: each game's loss at a place, shape (games,).
        place: shape (p,).
        step: how far to go in each direction.

    Returns:
        ``(slopes, curvature)``, shapes (games, p) and (p, p).
    """
    axes, twice = step * np.eye(place.size), 2.0 * losses(place).sum()
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

    It is that of one Newton step from the minimum, with the slopes of blocks of games as
    observations. Next to 0 the loss may not be convex; then their covariance stands for its
    curvature, which it equals on average where the model holds.

    Source: White (1982), "Maximum likelihood estimation of misspecified models".
    """
    block = blocks_of(len(slopes))
    by_block: Floats = np.stack([np.bincount(block, weights=slope) for slope in slopes.T], axis=1)
    between = _between(by_block)
    if np.linalg.eigvalsh(curvature)[0] <= FLAT * np.abs(curvature).max():
        curvature = between
    inverse = np.linalg.pinv(curvature)
    return inverse @ between @ inverse
