"""A replay of a log: every measure of every system, as data, text and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.benchmarks.replay.fits import locked, with_fitted
from matchenv.benchmarks.replay.measures import (
    draw_curve,
    games_to_settle,
    mean_over_pairs,
    most_even,
    pair_costs,
    prediction_error,
    win_ratio_deviation,
    win_shares,
)
from matchenv.benchmarks.replay.systems import Judgement, SystemSettings, check_system, judge
from matchenv.evaluation.tables import Column, text_table
from matchenv.logs.forecasts import (
    Pairs,
    constant_log_loss,
    draw_calibration,
    log_losses,
    pairs_of_sides,
    possible_and_found_draws,
    win_calibration,
)
from matchenv.logs.match_log import MatchLog
from matchenv.logs.reading import Reading, reading_text
from matchenv.logs.text_table import reason_counts
from matchenv.runtime.checks import as_integer, as_positive_share
from matchenv.runtime.files import csv_bytes, json_bytes, number, write_together

Content = Mapping[str, Any]
# Points of a curve in a file: one for each game would be more than anyone can look at.
_CURVE = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of a replay; checked when they are made.

    Attributes:
        systems: the rating systems, trueskill, elo, elo-logistic, weng-lin-bt, weng-lin-pl or
            module:Class of your own; the first one picks the top players.
        fitted: folder of a fit whose parameters override those of TrueSkill.
        parameters: parameters of the rating systems.
        challenge_share: share of the games that each system puts forward as most even.
        fair_share: share of the games, the most even ones, in which win ratios are counted.
        bins: bins of the calibration curves.
        top_players: how many players' convergence is shown.

    Raises:
        ValueError: for an unknown name or a number out of range.
    """

    systems: tuple[str, ...] = ("trueskill", "elo")
    fitted: Path | None = None
    parameters: SystemSettings = field(default_factory=SystemSettings)
    challenge_share: float = 0.2
    fair_share: float = 0.5
    bins: int = 20
    top_players: int = 4

    def __post_init__(self) -> None:
        for name in self.systems:
            check_system(name)
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise ValueError(f"systems must name each system once, got {self.systems!r}")
        for share in ("challenge_share", "fair_share"):
            as_positive_share(share, getattr(self, share))
        as_integer("bins", self.bins, 1, 1000)
        as_integer("top_players", self.top_players, 0, 20)


class Report(NamedTuple):
    """The result of a replay.

    Attributes:
        reading: the log and what was left out of it.
        content: all numbers, as ``report.json`` has them; the measures of each system are in
            ``content["systems"]``.
        ratings: name, mean, deviation and number of games of each player after the last game, by
            the first system that has deviations; empty if none has.
    """

    reading: Reading
    content: dict[str, Any]
    ratings: list[tuple[str, float, float, int]]


def run_replay(
    reading: Reading, settings: ReplaySettings, *, out: Path | None = None, quiet: bool = True
) -> Report:
    """Rate a log with each system, measure how well it forecast the games, and write the results.

    Args:
        reading: the log.
        settings: all that decides the result.
        out: folder for the files, made if need be; None to write none.
        quiet: no progress bar.

    Raises:
        ValueError: for parameters that a system refuses, or if another process writes to the
            folder; nothing is written then.
        OSError: if a file cannot be written; all older files are untouched then.
    """
    log = reading.log
    pairs = pairs_of_sides(log.game_start, log.rank)
    parameters = with_fitted(settings.parameters, settings.fitted).counted(log)
    settings = replace(settings, parameters=parameters)
    # No bar within the first second: on a small log it would flicker.
    names = tqdm(settings.systems, unit="system", disable=quiet, delay=1.0)
    judged = {name: judge(name, log, pairs, parameters) for name in names}
    replays = [each.replay for each in judged.values()]
    beliefs = [each for each in replays if (each.sigma > 0.0).all()][:1]
    content = {
        "log": {
            **reading.source,
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
        "settings": asdict(settings) | {"fitted": settings.fitted and str(settings.fitted)},
        "constant_log_loss": constant_log_loss(pairs.outcome),
        "systems": measures(log, pairs, judged, settings),
    }
    ratings = [
        row
        for each in beliefs
        for row in zip(
            log.players, each.mu.tolist(), each.sigma.tolist(), log.games_played.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    report = Report(reading, content, ratings)
    with locked(out):
        if out is not None:
            write_together((out / name, content) for name, content in _files(report))
    return report


def _files(report: Report) -> Iterator[tuple[str, bytes]]:
    # Plotting is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.replay.figures import figures

    yield from figures(report.content).items()
    yield "bad_rows.csv", csv_bytes(("line", "reason", "detail"), report.reading.bad_rows)
    if report.ratings:
        yield "ratings.csv", csv_bytes(("player", "mu", "sigma", "games"), report.ratings)
    text = f"{reading_text(report.reading)}\n\n{report_text(report)}\n"
    yield "table.txt", text.encode()
    yield "report.json", json_bytes(report.content, checked=True)


def measures(
    log: MatchLog, pairs: Pairs, judged: Mapping[str, Judgement], settings: ReplaySettings
) -> dict[str, dict[str, Any]]:
    """Return the measures of each system by name; docs/replay.md explains them.

    Args:
        log: the games.
        pairs: the log's pairs of sides.
        judged: the systems' statements.
        settings: of the replay.
    """
    first = judged[settings.systems[0]]
    # The highest rating first, the first named among equals.
    rating = first.replay.mu - 3.0 * first.replay.sigma
    top = np.argsort(-rating, kind="stable")[: settings.top_players].tolist()
    even = {
        name: most_even(each.quality, settings.challenge_share)[pairs.game]
        for name, each in judged.items()
    }
    possible, found = possible_and_found_draws(log.game_start, log.rank)
    share = win_shares(log.game_start, log.rank)[log.entry_team]
    outcome, game = pairs.outcome, pairs.game
    first_costs = pair_costs(first.gap(pairs), outcome)

    def of_system(judgement: Judgement) -> dict[str, Any]:
        gap, quality, stated = judgement.gap(pairs), judgement.quality, judgement.log_probability
        curve = draw_curve(quality, possible, found)
        thinned = np.interp(_CURVE, curve.possible, curve.found)
        threshold = float(quality[most_even(quality, settings.fair_share)].min())
        fair = win_ratio_deviation(log.player, log.entry_game, share, quality >= threshold)
        losses = log_losses(stated, outcome)
        entries = {player: judgement.replay.entry_mu[log.player == player] for player in top}
        return {
            "error": asdict(prediction_error(gap, outcome, game)),
            "excess": mean_over_pairs(pair_costs(gap, outcome) - first_costs, game),
            "challenged": {
                name: asdict(prediction_error(gap[chosen], outcome[chosen], game[chosen]))
                for name, chosen in even.items()
            },
            "draws": asdict(replace(curve, possible=_CURVE, found=thinned)),
            "fairness": asdict(fair),
            "threshold": threshold,
            "log_loss": float(losses.mean()) if len(losses) else None,
            "wins": asdict(win_calibration(stated, outcome, settings.bins)),
            "draw_forecasts": asdict(draw_calibration(stated, outcome, settings.bins)),
            "start": judgement.start,
            "trajectories": [
                {
                    "player": log.players[player],
                    "rating": ratings,
                    "games_to_settle": games_to_settle(ratings, judgement.start),
                }
                for player, ratings in entries.items()
            ],
            "unconverged": len(judgement.replay.unconverged),
        }

    return {name: of_system(judgement) for name, judgement in judged.items()}


def measure_rows(content: Content) -> dict[str, list[str]]:
    """Return the texts of all systems' measures, by the label of the measure.

    Args:
        content: of a report, or of its ``report.json``.
    """
    systems = content["systems"]
    first, *_ = found = list(systems.values())
    share = content["settings"]["challenge_share"]

    def row(of: Any) -> list[str]:
        return [of(system) for system in found]

    rows = {
        "prediction error": row(lambda s: _percent(s["error"]["error"])),
        "  standard error": row(lambda s: _percent(s["error"]["standard_error"])),
        "  minus the first system's, points": ["-", *row(lambda s: _points(*s["excess"]))[1:]],
        "  pairs counted": row(lambda s: str(s["error"]["pairs"])),
        "  pairs drawn": row(lambda s: str(s["error"]["drawn"])),
        "  predicted draws": row(lambda s: str(s["error"]["predicted_draws"])),
    }
    for name in systems:
        label = f"error, most even {100.0 * share:g} % by {name}"
        rows[label] = row(lambda s, name=name: _percent(s["challenged"][name]["error"]))
    rows["area of draws over quality"] = row(lambda s: _decimals(s["draws"]["area"]))
    for least in (1, 10, 100):
        games = "game" if least == 1 else "games"
        label = f"|win ratio - 50 %|, >= {least} {games}"
        rows[label] = row(lambda s, least=least: _deviation(s["fairness"], least))
    constant = _decimals(content["constant_log_loss"])
    rows |= {
        "log loss": row(lambda s: _decimals(s["log_loss"])),
        "  of the constant forecast": [constant] * len(found),
        "calibration error, wins": row(lambda s: _percent(s["wins"]["error"])),
        "calibration error, draws": row(lambda s: _percent(s["draw_forecasts"]["error"])),
    }
    for k, shown in enumerate(first["trajectories"]):
        count = len(shown["rating"])
        label = f"games to settle, {shown['player']} ({count} {'game' if count == 1 else 'games'})"
        rows[label] = row(lambda s, k=k: str(s["trajectories"][k]["games_to_settle"]))
    if any(s["unconverged"] for s in found):
        rows["games that did not converge"] = row(lambda s: str(s["unconverged"]))
    return rows


def report_text(report: Report) -> str:
    """Return the measures of each system side by side."""
    content = report.content
    columns = [Column("", itemgetter(0)), *(
        Column(name, itemgetter(k), 12) for k, name in enumerate(content["systems"], 1)
    )]  # fmt: skip
    draws = content["settings"]["parameters"]["draw_probability"]
    return "\n".join(
        [
            *text_table(
                columns, [(label, *cells) for label, cells in measure_rows(content).items()]
            ),
            f"pairs that drew are left out of the prediction error; draw probability: {draws:.4f}",
        ]
    )


def _percent(share: float | None) -> str:
    value = number(share)
    return "-" if np.isnan(value) else f"{100.0 * value:.2f} %"


def _decimals(value: float | None) -> str:
    return "-" if np.isnan(number(value)) else f"{value:.4f}"


def _points(excess: float | None, error: float | None) -> str:
    mean, spread = number(excess), number(error)
    return "-" if np.isnan(mean) else f"{100.0 * mean:+.2f} ± {100.0 * spread:.2f}"


def _deviation(fairness: Content, least: int) -> str:
    games: NDArray[np.int64] = np.asarray(fairness["games"])
    found = np.asarray(fairness["deviation"])[games == least]
    return _percent(float(found[0])) if found.size else "-"
