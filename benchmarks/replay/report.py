"""All measures of a replay, gathered as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.measures.calibration import (
    Calibration,
    constant_log_loss,
    draw_calibration,
    log_loss,
    win_calibration,
)
from matchenv.benchmarks.replay.measures.convergence import games_to_settle
from matchenv.benchmarks.replay.measures.draws import DrawCurve, draw_curve
from matchenv.benchmarks.replay.measures.even_games import most_even
from matchenv.benchmarks.replay.measures.fairness import Fairness, win_ratio_deviation, win_shares
from matchenv.benchmarks.replay.measures.pairs import (
    Pairs,
    pairs_of_sides,
    possible_and_found_draws,
)
from matchenv.benchmarks.replay.measures.prediction_error import (
    PredictionError,
    mean_over_pairs,
    pair_costs,
    prediction_error,
)
from matchenv.benchmarks.replay.reader import Reading
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.benchmarks.replay.systems import Judgement, counted_draw_probability, judge
from matchenv.match_log import MatchLog


@dataclass(frozen=True)
class Trajectory:
    """The way of one player's rating.

    Attributes:
        player: the name.
        rating: (games,), after each of the player's games.
        games_to_settle: see ``convergence.games_to_settle``.
    """

    player: str
    rating: NDArray[np.float64]
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
    """

    reading: Reading
    settings: ReplaySettings
    constant_log_loss: float
    systems: dict[str, SystemReport]


def report_on(reading: Reading, settings: ReplaySettings) -> Report:
    """Rate a log with each system and measure how well it foresaw the games.

    Raises:
        ValueError: for parameters that a system refuses.
    """
    log = reading.log
    pairs = pairs_of_sides(log.game_start, log.rank)
    parameters = settings.parameters
    if parameters.draw_probability is None:
        parameters = replace(parameters, draw_probability=counted_draw_probability(log))
        settings = replace(settings, parameters=parameters)
    judged = {name: judge(name, log, pairs, parameters) for name in settings.systems}
    top = top_players(judged[settings.systems[0]].standing, settings.top_players)
    even = {name: most_even(j.quality, settings.challenge_share) for name, j in judged.items()}
    first = judged[settings.systems[0]].strength
    costs = pair_costs(first[pairs.first] - first[pairs.second], pairs.outcome, settings.ties)
    systems = {
        name: _measure(j, log, pairs, even, costs, top, settings) for name, j in judged.items()
    }
    return Report(reading, settings, constant_log_loss(pairs.outcome), systems)


def top_players(standing: NDArray[np.float64], count: int) -> list[int]:
    """The players of highest standing, the first named among equals."""
    return [int(player) for player in np.argsort(-standing, kind="stable")[:count]]


def _measure(
    judgement: Judgement,
    log: MatchLog,
    pairs: Pairs,
    even: dict[str, NDArray[np.bool_]],
    first_costs: NDArray[np.float64],
    top: list[int],
    settings: ReplaySettings,
) -> SystemReport:
    gap = judgement.strength[pairs.first] - judgement.strength[pairs.second]
    quality = judgement.quality
    possible, found = possible_and_found_draws(log.game_start, log.rank)
    if settings.quality_threshold is None:
        threshold = float(quality[most_even(quality, settings.fair_share)].min())
    else:
        threshold = settings.quality_threshold
    team = log.entry_team
    fairness = win_ratio_deviation(
        log.player, log.team_game[team], win_shares(log.game_start, log.rank)[team],
        quality >= threshold,
    )  # fmt: skip
    challenged = {}
    for judge_name, games in even.items():
        chosen = games[pairs.game]
        challenged[judge_name] = prediction_error(
            gap[chosen], pairs.outcome[chosen], pairs.game[chosen], settings.ties
        )
    return SystemReport(
        error=prediction_error(gap, pairs.outcome, pairs.game, settings.ties),
        excess=mean_over_pairs(
            pair_costs(gap, pairs.outcome, settings.ties) - first_costs, pairs.game
        ),
        challenged=challenged,
        draws=draw_curve(quality, possible, found),
        fairness=fairness,
        threshold=threshold,
        log_loss=log_loss(judgement.log_probability, pairs.outcome),
        wins=win_calibration(judgement.log_probability, pairs.outcome, settings.bins),
        draw_forecasts=draw_calibration(judgement.log_probability, pairs.outcome, settings.bins),
        start=judgement.start,
        trajectories=[_trajectory(judgement, log, player) for player in top],
        unconverged=judgement.unconverged,
    )


def _trajectory(judgement: Judgement, log: MatchLog, player: int) -> Trajectory:
    rating = judgement.entry_rating[log.player == player]
    return Trajectory(log.players[player], rating, games_to_settle(rating, judgement.start))


def as_json(report: Report) -> dict[str, Any]:
    """The report as nested dictionaries, the draw curves at a hundred points."""
    reading, log = report.reading, report.reading.log
    return {
        "log": {
            "file": reading.file_name,
            "sha256": reading.sha256,
            "columns": reading.column_names,
            "time_format": reading.time_format,
            "rows": reading.rows,
            "bad_rows": reading.bad_lines,
            "bad_rows_by_reason": reading.reasons,
            "good_rows_left_out_with_their_game": reading.rows_left_out,
            "games_named": reading.games,
            "games_rated": log.num_games,
            "players": log.num_players,
        },
        "settings": asdict(report.settings),
        "constant_log_loss": report.constant_log_loss,
        "systems": {name: _system_as_json(system) for name, system in report.systems.items()},
    }


def _system_as_json(system: SystemReport) -> dict[str, Any]:
    data = {name: getattr(system, name) for name in SystemReport.__dataclass_fields__}
    # A point for each game would be more than anyone can look at.
    x = np.linspace(0.0, 1.0, 101)
    y = np.interp(x, system.draws.possible, system.draws.found)
    data["draws"] = replace(system.draws, possible=x, found=y)
    return {name: _fields(value) for name, value in data.items()}


def _fields(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    if isinstance(value, dict):
        return {key: _fields(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_fields(item) for item in value]
    return value
