"""Sections and pages of a replayed and of a smoothed match log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from matchenv.benchmarks.replay.report import measure_rows
from matchenv.benchmarks.report.page import (
    LEVEL,
    Block,
    Section,
    add_line,
    new_figure,
    page_text,
)
from matchenv.logs.reading import Reading
from matchenv.logs.smoothing import SmoothedLog

BAND = 1.96  # half of the 95 % interval of a normal distribution, in standard deviations

# Figures with a curve per system, by measure: title; the measure's entries for x and y; titles of
# the axes; name of a diagonal, if any.
STATED = "stated probability of a {}"
CURVES = {
    "draws": ("Draws found by match quality", "possible", "found",
              "share of possible draws, most even games first", "share of draws found",
              "uninformative quality"),
    "fairness": ("Win ratios in the most even games", "games", "deviation",
                 "least number of games played", "mean |win ratio - 50 %|", ""),
    "wins": ("Calibration of wins", "stated", "observed", STATED.format("win"),
             "share that came true", "calibrated"),
    "draw_forecasts": ("Calibration of draws", "stated", "observed", STATED.format("draw"),
                       "share that came true", "calibrated"),
}  # fmt: skip


def replay_page(found: Mapping[str, Any], name: str) -> str:
    """Return the page of a replay, given the content of ``report.json``."""
    title = f"{found['log']['file']}, rated in order of play"
    return page_text([replay_section(found, name)], title)


def replay_section(found: Mapping[str, Any], name: str) -> Section:
    """Return the section of ``matchenv replay``."""
    log, systems, settings = found["log"], found["systems"], found["settings"]
    rows = [(label.strip(), *cells) for label, cells in measure_rows(found).items()]
    cells = pd.DataFrame(rows, columns=["measure", *systems])
    blocks = []
    for key, (title, x, y, x_title, y_title, diagonal) in CURVES.items():
        if key.startswith("draw") and not settings["parameters"]["draw_probability"]:
            continue  # no draws
        lines = ((name, system[key][x], system[key][y]) for name, system in systems.items())
        # Isolated points need markers.
        mode = "lines" if key == "draws" else "lines+markers"
        figure = new_figure(x_title, y_title, lines, mode)
        if diagonal:
            end = max(system[key].get("edges", [1.0])[-1] for system in systems.values())
            add_line(figure, diagonal, [0.0, end], [0.0, end], line_dash="dot")
        if key == "fairness":
            figure.update_xaxes(type="log")
        blocks.append(Block(title, figure))
    for label, system in systems.items():
        figure = new_figure("games played", "rating", hovermode="x unified")
        for curve in system["trajectories"]:
            ratings = [system["start"], *curve["rating"]]
            add_line(figure, curve["player"], range(len(ratings)), ratings)
        figure.add_hline(system["start"], annotation_text="new player", **LEVEL)
        blocks.append(Block(f"Ratings of the top players, {label}", figure))
    return Section(
        title=f"replay: {name}",
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were invalid."
        ),
        settings={
            **{name: value for name, value in settings.items() if name != "parameters"},
            **settings["parameters"],
            "sha256 of the log": log["sha256"],
        },
        blocks=[*blocks, Block("Forecasts of the games", cells, "± is the standard error.")],
    )


def skills_page(
    reading: Reading, smoothed: SmoothedLog, players: Sequence[str], found: Mapping[str, Any]
) -> str:
    """Return the page of a smoothed log, with the skills of ``players`` over time.

    ``found`` is the content of ``smooth.json``.
    """
    log, game = reading.log, reading.log.entry_game
    title, x = "games of the log", game + 1.0
    if log.time is not None:
        title, x = "days since the first game", (log.time[game] - log.time[0]) / 86_400.0
    figure = new_figure(title, "skill")
    if log.time is not None and reading.time_format != "number":
        x = 1000.0 * log.time[game]
        figure.update_xaxes(type="date", title="time")
    for name in players:
        entries = np.flatnonzero(log.player == log.players.index(name))
        mu, half = smoothed.mu[entries], BAND * smoothed.sigma[entries]
        add_line(figure, name, x[entries], mu, mu - half, mu + half)
    section = Section(
        title=f"smooth: {reading.file_name}",
        lead=f"Skills of {log.num_players:,} players, estimated from all {log.num_games:,} games.",
        settings={**found["settings"], **found["parameters"], "sha256 of the log": reading.sha256},
        blocks=[Block("Skill in hindsight", figure, "Means, with 95 % bands.")],
        versions=found["versions"],
    )
    return page_text([section], f"{reading.file_name}, skills over time")
