"""Sections and pages of a replayed and of a smoothed match log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from matchenv.benchmarks.replay.measure_text import measure_rows
from matchenv.benchmarks.report.charts import LEVEL, Curve, add_curve, new_figure
from matchenv.benchmarks.report.page import Block, Section, page_text
from matchenv.logs.reading import Reading
from matchenv.logs.smoothing import SmoothedLog
from matchenv.runtime.arrays import Floats

BAND = 1.96  # half of the 95 % interval of a normal distribution, in standard deviations
SECONDS_OF_A_DAY = 86_400.0

# Players in the table of ratings.
MOST_RATINGS = 200

# Titles of the charts of calibration, with their measures.
CALIBRATIONS = {"Calibration of wins": "wins", "Calibration of draws": "draw_forecasts"}
CALIBRATION_NOTE = "With 95 % intervals, as if forecasts were independent."

Content = Mapping[str, Any]  # content of a JSON file


class Chart(NamedTuple):
    """A chart with a curve per system."""

    measure: str  # measure of ``report.json``
    title: str
    x: str  # its item along the horizontal axis
    y: str
    x_title: str  # title of the horizontal axis
    y_title: str
    diagonal: str = ""  # name of the diagonal, if any
    mode: str = "lines+markers"  # isolated points need markers


CHARTS = (
    Chart(
        measure="draws",
        title="Draws found by match quality",
        x="possible",
        y="found",
        x_title="share of possible draws, most even games first",
        y_title="share of draws found",
        diagonal="uninformative quality",
        mode="lines",
    ),
    Chart(
        measure="fairness",
        title="Win ratios in the most even games",
        x="games",
        y="deviation",
        x_title="least number of games played",
        y_title="mean |win ratio - 50 %|",
    ),
    Chart(
        measure="wins",
        title="Calibration of wins",
        x="stated",
        y="observed",
        x_title="stated probability of a win",
        y_title="share that came true",
        diagonal="calibrated",
    ),
    Chart(
        measure="draw_forecasts",
        title="Calibration of draws",
        x="stated",
        y="observed",
        x_title="stated probability of a draw",
        y_title="share that came true",
        diagonal="calibrated",
    ),
)


def replay_page(report: Content, name: str, ratings: pd.DataFrame | None) -> str:
    """Return the page of a replay; for the arguments see ``replay_section``."""
    title = f"{report['log']['file']}, rated in order of play"
    return page_text([replay_section(report, name, ratings)], title)


def ratings_in(folder: Path) -> pd.DataFrame | None:
    """Return the content of ``ratings.csv`` in a folder; None without that file."""
    file = folder / "ratings.csv"
    if not file.is_file():
        return None
    return pd.read_csv(file, dtype={"player": str}, keep_default_na=False)


def replay_section(report: Content, name: str, ratings: pd.DataFrame | None) -> Section:
    """Return the section of ``matchenv replay``.

    Args:
        report: the content of ``report.json``.
        name: name of the folder.
        ratings: the columns of ``ratings.csv``; None without ratings that have deviations.
    """
    log = report["log"]
    systems = report["systems"]
    settings = dict(report["settings"])
    parameters = settings.pop("parameters")
    blocks = []
    for chart in CHARTS:
        # Logs without draws have no charts of them.
        if parameters["draw_probability"] or not chart.measure.startswith("draw"):
            note = ""
            if chart.title in CALIBRATIONS:
                note = CALIBRATION_NOTE
            blocks.append(Block(chart.title, _chart_of_systems(chart, systems), note))
    for title, measure in CALIBRATIONS.items():
        if parameters["draw_probability"] or not measure.startswith("draw"):
            table = _table_of_calibration(systems, measure)
            blocks.append(Block(f"{title}: counts", table, CALIBRATION_NOTE))
    if ratings is not None:
        blocks.append(_block_of_ratings(ratings))
    for label, system in systems.items():
        blocks.append(Block(f"Ratings of the top players, {label}", _chart_of_ratings(system)))
    blocks.append(
        Block("Forecasts of the games", _table_of_measures(report), "± is the standard error.")
    )
    return Section(
        title=f"replay: {name}",
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were invalid."
        ),
        settings={**settings, **parameters, "sha256 of the log": log["sha256"]},
        blocks=blocks,
    )


def _chart_of_systems(chart: Chart, systems: Mapping[str, Content]) -> go.Figure:
    figure = new_figure(chart.x_title, chart.y_title)
    end = 0.0
    for name, system in systems.items():
        measure = system[chart.measure]
        curve = Curve(name, measure[chart.x], measure[chart.y])
        if chart.title in CALIBRATIONS:
            _add_calibration(figure, curve, measure)
        else:
            add_curve(figure, curve, mode=chart.mode)
        end = max(end, measure.get("edges", [1.0])[-1])
    if chart.diagonal:
        add_curve(figure, Curve(chart.diagonal, [0.0, end], [0.0, end]), line_dash="dot")
    if chart.measure == "fairness":
        figure.update_xaxes(type="log")
    return figure


def _add_calibration(figure: go.Figure, curve: Curve, measure: Content) -> None:
    """Add the points of a calibration, with their intervals and counts."""
    observed = np.asarray(curve.y, dtype=float)
    count = np.asarray(measure["count"], dtype=float)
    low, high = wilson_interval(observed, count)
    add_curve(
        figure,
        curve,
        mode="lines+markers",
        error_y={"symmetric": False, "array": high - observed, "arrayminus": observed - low},
        customdata=np.column_stack((count, low, high)),
        hovertemplate=(
            "%{y:.3f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}] in %{customdata[0]:,} forecasts"
        ),
    )


def wilson_interval(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95 % interval of a share of independent events; NaN without events.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = BAND**2 / count
        middle = (share + 0.5 * weight) / (1.0 + weight)
        spread = np.sqrt(share * (1.0 - share) / count + (0.5 * BAND / count) ** 2)
        half_width = BAND * spread / (1.0 + weight)
    return np.maximum(middle - half_width, 0.0), np.minimum(middle + half_width, 1.0)


def _table_of_calibration(systems: Mapping[str, Content], measure: str) -> pd.DataFrame:
    """Return stated and observed shares of each bin with forecasts, and the number of these."""
    rows = []
    for name, system in systems.items():
        bins = system[measure]
        observed = np.asarray(bins["observed"], dtype=float)
        count = np.asarray(bins["count"], dtype=float)
        low, high = wilson_interval(observed, count)
        for k in np.flatnonzero(count).tolist():
            rows.append(
                {
                    "system": name,
                    "forecasts": f"{count[k]:,.0f}",
                    "stated": f"{bins['stated'][k]:.3f}",
                    "came true": f"{observed[k]:.3f} [{low[k]:.3f}, {high[k]:.3f}]",
                }
            )
    return pd.DataFrame(rows)


def _block_of_ratings(ratings: pd.DataFrame) -> Block:
    """Return the table of the first players by their lower bound, mu - 3 sigma."""
    bound = ratings["mu"] - 3.0 * ratings["sigma"]
    order = bound.sort_values(ascending=False, kind="stable").index[:MOST_RATINGS]
    best = ratings.loc[order]
    table = pd.DataFrame(
        {
            "place": [f"{place:,}" for place in range(1, len(best) + 1)],
            "player": best["player"],
            "games": [f"{games:,}" for games in best["games"]],
            "mu": [f"{mu:.2f}" for mu in best["mu"]],
            "sigma": [f"{sigma:.2f}" for sigma in best["sigma"]],
            "mu - 3 sigma": [f"{bound[row]:.2f}" for row in order],
        }
    )
    note = f"By mu - 3 sigma. All {len(ratings):,} players are in ratings.csv."
    return Block("Ratings", table, note)


def _chart_of_ratings(system: Content) -> go.Figure:
    """Return the chart of the ratings of the top players by one system, over their games."""
    figure = new_figure("games played", "rating", hovermode="x unified")
    for trajectory in system["trajectories"]:
        ratings = [system["start"], *trajectory["rating"]]
        add_curve(figure, Curve(trajectory["player"], range(len(ratings)), ratings))
    figure.add_hline(system["start"], annotation_text="new player", **LEVEL)
    return figure


def _table_of_measures(report: Content) -> pd.DataFrame:
    rows = [[label.strip(), *cells] for label, cells in measure_rows(report).items()]
    return pd.DataFrame(rows, columns=["measure", *report["systems"]])


def skills_page(
    reading: Reading, smoothed: SmoothedLog, players: Sequence[str], report: Content
) -> str:
    """Return the page of a smoothed log, with the skills of ``players`` over time.

    ``report`` is the content of ``smooth.json``.
    """
    log = reading.log
    chart = _chart_of_skills(reading, smoothed, players)
    section = Section(
        title=f"smooth: {reading.file_name}",
        lead=f"Skills of {log.num_players:,} players, estimated from all {log.num_games:,} games.",
        settings={
            **report["settings"],
            **report["parameters"],
            "sha256 of the log": reading.sha256,
        },
        blocks=[Block("Skill in hindsight", chart, "Means, with 95 % bands.")],
        versions=report["versions"],
    )
    return page_text([section], f"{reading.file_name}, skills over time")


def _chart_of_skills(reading: Reading, smoothed: SmoothedLog, players: Sequence[str]) -> go.Figure:
    log = reading.log
    figure = new_figure("games of the log", "skill")
    x = log.entry_game + 1.0
    if log.time is not None:
        time = log.time[log.entry_game]
        if reading.time_format == "number":
            figure.update_xaxes(title="days since the first game")
            x = (time - log.time[0]) / SECONDS_OF_A_DAY
        else:
            figure.update_xaxes(type="date", title="time")
            x = 1000.0 * time  # Plotly's dates are in milliseconds
    for name in players:
        rows = np.flatnonzero(log.player == log.players.index(name))
        mu = smoothed.mu[rows]
        half_width = BAND * smoothed.sigma[rows]
        add_curve(figure, Curve(name, x[rows], mu, mu - half_width, mu + half_width))
    return figure
