"""All measures of a replay, gathered as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.benchmarks.replay.measures.convergence import games_to_settle
from matchenv.benchmarks.replay.measures.even_games import (
    DrawCurve,
    Fairness,
    draw_curve,
    most_even,
    win_ratio_deviation,
    win_shares,
)
from matchenv.benchmarks.replay.measures.prediction_error import (
    PredictionError,
    mean_over_pairs,
    pair_costs,
    prediction_error,
)
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.benchmarks.replay.systems import Judgement, draw_probability_of, judge
from matchenv.csv_log.bad_rows import reason_counts
from matchenv.csv_log.reader import Reading
from matchenv.match_log import MatchLog
from matchenv.replay.calibration import (
    Calibration,
    constant_log_loss,
    draw_calibration,
    log_loss,
    win_calibration,
)
from matchenv.replay.pairs import (
    Pairs,
    pairs_of_sides,
    possible_and_found_draws,
)

Floats = NDArray[np.float64]
# A point for each game would be more than anyone can look at.
_CURVE = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class Trajectory:
    """How one player's rating went.

    Attributes:
        player: the name.
        rating: (games,), after each of the player's games.
        games_to_settle: see ``convergence.games_to_settle``.
    """

    player: str
    rating: Floats
    games_to_settle: int


@dataclass(frozen=True)
class SystemReport:
    """What a replay found about one system.

    Attributes:
        error: over all pairs of sides.
        excess: the error less that of the first system, and the difference's standard error
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
        unconverged: games whose approximation met its cap before its tolerance.
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
    """What a replay found.

    Attributes:
        reading: the log and what was left out of it.
        settings: as they were used, the draw probability filled in.
        constant_log_loss: of a forecast that knows the share of drawn pairs alone.
        systems: by name.
        ratings: name, mean, deviation and number of games of each player after the last game, by
            the first system that has deviations; empty if none has.
    """

    reading: Reading
    settings: ReplaySettings
    constant_log_loss: float
    systems: dict[str, SystemReport]
    ratings: list[tuple[str, float, float, int]]


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
    draw_probability = draw_probability_of(log, settings.parameters)
    parameters = replace(settings.parameters, draw_probability=draw_probability)
    settings = replace(settings, parameters=parameters)
    # A bar of two steps would be a flicker on a small log.
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
    games = np.bincount(log.player, minlength=log.num_players)
    return [
        (name, mu, sigma, count)
        for name, (mu, sigma), count in zip(
            log.players, beliefs[0].tolist(), games.tolist(), strict=True
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
        fairness=win_ratio_deviation(log.player, log.team_game[team], share, quality >= threshold),
        threshold=threshold,
        log_loss=log_loss(stated, pairs.outcome),
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
    """The report as nested dictionaries, the draw curves at a hundred points."""
    reading, log = report.reading, report.reading.log
    systems = {}
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
        },
        "settings": asdict(report.settings),
        "constant_log_loss": report.constant_log_loss,
        "systems": systems,
    }
