"""A replay of a log: every measure of every system, as data, text and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.benchmarks.replay.fits import with_fitted
from matchenv.benchmarks.replay.measures import (
    DrawCurve,
    DrawRule,
    Fairness,
    PredictionError,
    draw_curve,
    games_to_settle,
    mean_over_pairs,
    most_even,
    pair_costs,
    prediction_error,
    win_ratio_deviation,
    win_shares,
)
from matchenv.benchmarks.replay.systems import (
    Judgement,
    SystemSettings,
    check_system,
    draw_probability_of,
    judge,
)
from matchenv.logs.bad_rows import reason_counts
from matchenv.logs.forecasts import (
    Calibration,
    Pairs,
    constant_log_loss,
    draw_calibration,
    log_losses,
    pairs_of_sides,
    possible_and_found_draws,
    win_calibration,
)
from matchenv.logs.match_log import MatchLog
from matchenv.logs.reading import Reading, ReadingSettings, read_log, reading_text
from matchenv.runtime.checks import as_integer, as_number, as_positive_share
from matchenv.runtime.files import csv_bytes, folder_lock, json_bytes, write_together

Floats = NDArray[np.float64]
# Points of a curve in a file: one for each game would be more than anyone can look at.
_CURVE = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of a replay; checked when they are made.

    Attributes:
        systems: the rating systems, trueskill, elo, elo-logistic, weng-lin-bt, weng-lin-pl or
            module:Class of your own; the first one picks the top players.
        fitted: folder of a fit whose parameters override those of TrueSkill.
        reading: how to read the log.
        parameters: parameters of the rating systems.
        draws: how draws count in the prediction error.
        challenge_share: share of the games that each system puts forward as most even.
        fair_share: share of the games, the most even ones, in which win ratios are counted.
        quality_threshold: count win ratios in the games of at least this quality instead.
        bins: bins of the calibration curves.
        top_players: how many players' convergence is shown.

    Raises:
        ValueError: for an unknown name or a number out of range.
    """

    systems: tuple[str, ...] = ("trueskill", "elo")
    fitted: Path | None = None
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    parameters: SystemSettings = field(default_factory=SystemSettings)
    draws: DrawRule = field(default_factory=DrawRule)
    challenge_share: float = 0.2
    fair_share: float = 0.5
    quality_threshold: float | None = None
    bins: int = 20
    top_players: int = 4

    def __post_init__(self) -> None:
        for name in self.systems:
            check_system(name)
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise ValueError(f"systems must name each system once, got {self.systems!r}")
        for share in ("challenge_share", "fair_share"):
            as_positive_share(share, getattr(self, share))
        if self.quality_threshold is not None:
            as_number("quality_threshold", self.quality_threshold)
        as_integer("bins", self.bins, 1, 1000)
        as_integer("top_players", self.top_players, 0, 20)


@dataclass(frozen=True)
class Trajectory:
    """One player's rating over time.

    Attributes:
        player: the name.
        rating: (games,), after each of the player's games.
        games_to_settle: see ``measures.games_to_settle``.
    """

    player: str
    rating: Floats
    games_to_settle: int


@dataclass(frozen=True)
class SystemReport:
    """The measures of one system.

    Attributes:
        error: prediction error over all pairs of sides.
        excess: the error minus that of the first system, and the difference's standard error
            with the two paired game by game.
        challenged: on the games that each system judges most even, by that system's name.
        draws: draws found against match quality.
        fairness: win ratios in the games above the threshold.
        threshold: least quality of those games.
        log_loss: of the stated probabilities of win, draw and loss of each pair.
        wins: calibration of the stated win probabilities.
        draw_forecasts: calibration of the stated draw probabilities.
        start: the rating of a newcomer.
        trajectories: of the top players.
        unconverged: games whose approximation reached its cap before its tolerance.
    """

    error: PredictionError
    excess: tuple[float, float]
    challenged: dict[str, PredictionError]
    draws: DrawCurve
    fairness: Fairness
    threshold: float
    log_loss: float
    wins: Calibration
    draw_forecasts: Calibration
    start: float
    trajectories: list[Trajectory]
    unconverged: int


@dataclass(frozen=True)
class Report:
    """The result of a replay.

    Attributes:
        reading: the log and what was left out of it.
        settings: as they were used, the draw probability filled in.
        constant_log_loss: of a forecast that knows only the share of drawn pairs.
        systems: by name.
        ratings: name, mean, deviation and number of games of each player after the last game, by
            the first system that has deviations; empty if none has.
    """

    reading: Reading
    settings: ReplaySettings
    constant_log_loss: float
    systems: dict[str, SystemReport]
    ratings: list[tuple[str, float, float, int]]


def run(
    log_path: Path, settings: ReplaySettings, out: Path | None, *, quiet: bool = True
) -> Report:
    """Read a log, rate it with each system, and write the results.

    Args:
        log_path: the log.
        settings: all that decides the result.
        out: folder for the files, made if need be; None to write none.
        quiet: no progress bar.

    Raises:
        BadLogError: for a log that cannot be read or, if strict, has a bad row; nothing is
            written then.
        ValueError: for parameters that a system refuses, or if another process writes to the
            folder; nothing is written then.
        OSError: if a file cannot be written; all older files are untouched then.
    """
    report = report_on(read_log(log_path, settings.reading), settings, quiet=quiet)
    if out is not None:
        with folder_lock(out):
            write_together((out / name, content) for name, content in _files(report))
    return report


def _files(report: Report) -> Iterator[tuple[str, bytes]]:
    # Plotting is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.replay.figures import figures

    yield from figures(report).items()
    rows = [(row.line, str(row.reason), row.detail) for row in report.reading.bad_rows]
    yield "bad_rows.csv", csv_bytes(("line", "reason", "detail"), rows)
    if report.ratings:
        yield "ratings.csv", csv_bytes(("player", "mu", "sigma", "games"), report.ratings)
    yield "table.txt", f"{reading_text(report.reading)}\n\n{report_text(report)}\n".encode()
    yield "report.json", json_bytes(as_json(report))


def report_on(reading: Reading, settings: ReplaySettings, *, quiet: bool = True) -> Report:
    """Rate a log with each system and measure how well it foresaw the games.

    Args:
        reading: the log.
        settings: all that decides the result.
        quiet: no progress bar.

    Raises:
        ValueError: for parameters that a system refuses.
    """
    log = reading.log
    pairs = pairs_of_sides(log.game_start, log.rank)
    parameters = with_fitted(settings.parameters, settings.fitted)
    draws = draw_probability_of(log, parameters)
    parameters = replace(parameters, draw_probability=draws)
    settings = replace(settings, parameters=parameters)
    # No bar within the first second: on a small log it would flicker.
    names = tqdm(settings.systems, unit="system", disable=quiet, delay=1.0)
    judged = {name: judge(name, log, pairs, parameters) for name in names}
    first = judged[settings.systems[0]]
    # The highest rating first, the first named among equals.
    top = np.argsort(-first.final_rating, kind="stable")[: settings.top_players].tolist()
    even = {name: most_even(j.quality, settings.challenge_share) for name, j in judged.items()}
    costs = pair_costs(_gap(first, pairs), pairs.outcome, settings.draws)
    systems: dict[str, SystemReport] = {
        name: _measure(j, log, pairs, even, costs, top, settings) for name, j in judged.items()
    }
    ratings = _ratings(log, list(judged.values()))
    return Report(reading, settings, constant_log_loss(pairs.outcome), systems, ratings)


def _ratings(log: MatchLog, judged: list[Judgement]) -> list[tuple[str, float, float, int]]:
    beliefs = [each.final_belief for each in judged if each.final_belief is not None]
    if not beliefs:
        return []
    return [
        (name, mu, sigma, count)
        for name, (mu, sigma), count in zip(
            log.players, beliefs[0].tolist(), log.games_played.tolist(), strict=True
        )
    ]


def _gap(judgement: Judgement, pairs: Pairs) -> Floats:
    return judgement.strength[pairs.first] - judgement.strength[pairs.second]


def _measure(
    judgement: Judgement,
    log: MatchLog,
    pairs: Pairs,
    even: dict[Any, NDArray[np.bool_]],
    first_costs: Floats,
    top: list[int],
    settings: ReplaySettings,
) -> SystemReport:
    gap, rule = _gap(judgement, pairs), settings.draws
    quality, stated = judgement.quality, judgement.log_probability
    possible, found = possible_and_found_draws(log.game_start, log.rank)
    threshold = settings.quality_threshold
    if threshold is None:
        threshold = float(quality[most_even(quality, settings.fair_share)].min())
    team = log.entry_team
    share = win_shares(log.game_start, log.rank)[team]
    challenged = {}
    for judge_name, games in even.items():
        chosen = games[pairs.game]
        challenged[judge_name] = prediction_error(
            gap[chosen], pairs.outcome[chosen], pairs.game[chosen], rule
        )
    ratings = {player: judgement.entry_rating[log.player == player] for player in top}
    return SystemReport(
        error=prediction_error(gap, pairs.outcome, pairs.game, rule),
        excess=mean_over_pairs(pair_costs(gap, pairs.outcome, rule) - first_costs, pairs.game),
        challenged=challenged,
        draws=draw_curve(quality, possible, found),
        fairness=win_ratio_deviation(log.player, log.entry_game, share, quality >= threshold),
        threshold=threshold,
        log_loss=_mean(log_losses(stated, pairs.outcome)),
        wins=win_calibration(stated, pairs.outcome, settings.bins),
        draw_forecasts=draw_calibration(stated, pairs.outcome, settings.bins),
        start=judgement.start,
        trajectories=[
            Trajectory(log.players[player], rating, games_to_settle(rating, judgement.start))
            for player, rating in ratings.items()
        ],
        unconverged=judgement.unconverged,
    )


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as nested dictionaries, the draw curves at a hundred points."""
    reading, log = report.reading, report.reading.log
    systems, fitted = {}, report.settings.fitted
    for name, system in report.systems.items():
        curve = np.interp(_CURVE, system.draws.possible, system.draws.found)
        draws = replace(system.draws, possible=_CURVE, found=curve)
        systems[name] = asdict(replace(system, draws=draws))
    return {
        "log": {
            "file": reading.file_name,
            "sha256": reading.sha256,
            "columns": reading.column_names,
            "time_format": reading.time_format,
            "rows": reading.rows,
            "bad_rows": reading.bad_lines,
            "bad_rows_by_reason": reason_counts(reading.bad_rows),
            "good_rows_left_out_with_their_game": reading.rows_left_out,
            "games_named": reading.games,
            "games_rated": log.num_games,
            "players": log.num_players,
            "notes": reading.notes,
        },
        "settings": asdict(report.settings) | {"fitted": fitted and str(fitted)},
        "constant_log_loss": report.constant_log_loss,
        "systems": systems,
    }


def report_text(report: Report) -> str:
    """Return the measures of each system side by side."""
    settings, systems = report.settings, report.systems
    first = next(iter(systems.values()))
    rows: dict[str, Callable[[SystemReport], str]] = {
        "prediction error": lambda s: _percent(s.error.error),
        "  standard error": lambda s: _percent(s.error.standard_error),
        "  minus the first system's, points": lambda s: "-" if s is first else _points(*s.excess),
        "  pairs counted": lambda s: str(s.error.pairs),
        "  pairs drawn": lambda s: str(s.error.drawn),
        "  predicted draws": lambda s: str(s.error.predicted_draws),
    }
    for name in systems:
        label = f"error, most even {100.0 * settings.challenge_share:g} % by {name}"
        rows[label] = partial(_challenged, judge=name)
    rows["area of draws over quality"] = lambda s: _decimals(s.draws.area)
    for least in (1, 10, 100):
        rows[f"|win ratio - 50 %|, >= {least} games"] = partial(_deviation, least=least)
    rows["log loss"] = lambda s: _decimals(s.log_loss)
    rows["  of the constant forecast"] = lambda _: _decimals(report.constant_log_loss)
    rows["calibration error, wins"] = lambda s: _percent(s.wins.error)
    rows["calibration error, draws"] = lambda s: _percent(s.draw_forecasts.error)
    for k, trajectory in enumerate(first.trajectories):
        label = f"games to settle, {trajectory.player} ({len(trajectory.rating)} games)"
        rows[label] = partial(_settled, k=k)
    if any(s.unconverged for s in systems.values()):
        rows["games that did not converge"] = lambda s: str(s.unconverged)
    table = [["", *systems]]
    table += [[label, *map(cell, systems.values())] for label, cell in rows.items()]
    lines = [f"{label:<44}" + "".join(f"{cell:>14}" for cell in cells) for label, *cells in table]
    rule = settings.draws
    lines.append(
        f"drawn pairs: {rule.drawn_pairs}; predicted draws: {rule.predicted_draws}; "
        f"draw probability: {settings.parameters.draw_probability:.4f}"
    )
    return "\n".join(lines)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100.0 * share:.2f} %"


def _decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _points(excess: float, error: float) -> str:
    return "-" if math.isnan(excess) else f"{100.0 * excess:+.2f} ± {100.0 * error:.2f}"


def _challenged(system: SystemReport, judge: str) -> str:
    return _percent(system.challenged[judge].error)


def _settled(system: SystemReport, k: int) -> str:
    return str(system.trajectories[k].games_to_settle)


def _deviation(system: SystemReport, least: int) -> str:
    found = system.fairness.deviation[system.fairness.games == least]
    return _percent(float(found[0])) if found.size else "-"
