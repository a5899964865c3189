"""Sections and pages of a replayed and of a smoothed match log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from matchenv.benchmarks.replay.measure_text import measure_rows
from matchenv.benchmarks.report.charts import LEVEL, Curve, add_curve, new_figure
from matchenv.benchmarks.report.page import Block, Section, page_text
from matchenv.logs.reading import Reading
from matchenv.logs.smoothing import SmoothedLog

BAND = 1.96  # half of the 95 % interval of a normal distribution, in standard deviations
SECONDS_OF_A_DAY = 86_400.0

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


def replay_page(report: Content, name: str) -> str:
    """Return the page of a replay, given the content of ``report.json``."""
    title = f"{report['log']['file']}, rated in order of play"
    return page_text([replay_section(report, name)], title)


def replay_section(report: Content, name: str) -> Section:
    """Return the section of ``matchenv replay``.

    Args:
        report: the content of ``report.json``.
        name: name of the folder.
    """
    log = report["log"]
    systems = report["systems"]
    settings = dict(report["settings"])
    parameters = settings.pop("parameters")
    blocks = []
    for chart in CHARTS:
        # Logs without draws have no charts of them.
        if parameters["draw_probability"] or not chart.measure.startswith("draw"):
            blocks.append(Block(chart.title, _chart_of_systems(chart, systems)))
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
        add_curve(figure, Curve(name, measure[chart.x], measure[chart.y]), mode=chart.mode)
        end = max(end, measure.get("edges", [1.0])[-1])
    if chart.diagonal:
        add_curve(figure, Curve(chart.diagonal, [0.0, end], [0.0, end]), line_dash="dot")
    if chart.measure == "fairness":
        figure.update_xaxes(type="log")
    return figure


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
