"""A replayed and a smoothed match log on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from matchenv.benchmarks.replay.report import measure_rows
from matchenv.benchmarks.report.comparisons import json_of
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    add_level,
    add_line,
    new_figure,
    page_text,
)
from matchenv.logs.reading import Reading
from matchenv.logs.smoothing import SmoothedLog

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96


# A curve of each system by the name of the measure: title, the entries of the measure that are x
# and y, their titles, and the name of a diagonal.
STATED = "stated probability of a {}"
CURVES = {
    "draws": ("Draws found against match quality", "possible", "found",
              "share of possible draws, most even games first", "share of draws found",
              "a quality without information"),
    "fairness": ("Win ratios in the most even games", "games", "deviation",
                 "least number of games played", "mean |win ratio - 50 %|", ""),
    "wins": ("Calibration of wins", "stated", "observed", STATED.format("win"),
             "share that came true", "calibrated"),
    "draw_forecasts": ("Calibration of draws", "stated", "observed", STATED.format("draw"),
                       "share that came true", "calibrated"),
}  # fmt: skip


def replay_page(found: Mapping[str, Any], name: str) -> str:
    """Return the page of one replay, whose ``report.json`` has this content."""
    return page_text([_section(found, name)], f"{found['log']['file']}, rated in order of play")


def replay_section(folder: Path) -> Section:
    """Return the section of ``matchenv replay``."""
    return _section(json_of(folder / "report.json"), folder.name)


def _section(found: Mapping[str, Any], name: str) -> Section:
    log, systems, settings = found["log"], found["systems"], found["settings"]
    rows = [(label.strip(), *cells) for label, cells in measure_rows(found).items()]
    cells = pd.DataFrame(rows, columns=["measure", *systems])
    blocks = []
    for key, (title, x, y, x_title, y_title, diagonal) in CURVES.items():
        if key.startswith("draw") and not settings["parameters"]["draw_probability"]:
            continue  # there are none
        lines = ((system, each[key][x], each[key][y]) for system, each in systems.items())
        figure = new_figure(x_title, y_title, lines)
        if diagonal:
            end = max(each[key].get("edges", [1.0])[-1] for each in systems.values())
            add_line(figure, diagonal, [0.0, end], [0.0, end], line_dash="dot")
        if key == "fairness":
            figure.update_xaxes(type="log")
        blocks.append(Block(title, figure))
    for system, each in systems.items():
        ratings = {one["player"]: [each["start"], *one["rating"]] for one in each["trajectories"]}
        lines = ((player, range(len(line)), line) for player, line in ratings.items())
        figure = new_figure("games played", "rating", lines, hovermode="x unified")
        add_level(figure, each["start"], "a newcomer")
        blocks.append(Block(f"Ratings of the top players, {system}", figure))
    return Section(
        title=f"replay: {name}",
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were left out as bad."
        ),
        settings={**settings, **settings["parameters"], "sha256 of the log": log["sha256"]},
        blocks=[*blocks, Block("How well each system forecast the games", cells)],
    )


def skills_page(
    reading: Reading, smoothed: SmoothedLog, players: Sequence[str], found: Mapping[str, Any]
) -> str:
    """Return the page of one smoothing, with some players' skills through time.

    Args:
        reading: the log that was smoothed.
        smoothed: the result of ``smooth``.
        players: names, each of the log.
        found: the content of ``smooth.json``.
    """
    log, game = reading.log, reading.log.entry_game
    axis, where = "games of the log", game + 1.0
    if log.time is not None:
        axis, where = "days since the first game", (log.time[game] - log.time[0]) / 86_400.0
    figure = new_figure(axis, "skill")
    if log.time is not None and reading.time_format != "number":
        where = 1000.0 * log.time[game]
        figure.update_xaxes(type="date", title="time")
    for name in players:
        entries = np.flatnonzero(log.player == log.players.index(name))
        mu, half = smoothed.mu[entries], BAND * smoothed.sigma[entries]
        add_line(figure, name, where[entries], mu, mu - half, mu + half,
                 mode="lines" if entries.size > 1 else "markers")  # fmt: skip
    section = Section(
        title=f"smooth: {reading.file_name}",
        lead=f"{log.num_games:,} games of {log.num_players:,} players: skills from the whole log.",
        settings={**found["settings"], **found["parameters"], "sha256 of the log": reading.sha256},
        blocks=[Block("Skill in hindsight", figure, "Means, with 95 % bands.")],
        versions=found["versions"],
    )
    return page_text([section], f"{reading.file_name}, skills through time")
