"""A replayed match log on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
from matchenv.runtime.files import number


class CurveOfSystems(NamedTuple):
    """A curve of each system; x and y are entries of the measure."""

    title: str
    x: str
    y: str
    x_label: str
    y_label: str
    diagonal: str | None = None


def _calibration(what: str) -> CurveOfSystems:
    stated = f"stated probability of a {what}"
    return CurveOfSystems(f"Calibration of {what}s", "stated", "observed", stated,
                          "share that came true", "calibrated")  # fmt: skip


# By the name of the measure.
CURVES = {
    "draws": CurveOfSystems(
        "Draws found against match quality", "possible", "found",
        "share of possible draws, most even games first", "share of draws found",
        "a quality without information",
    ),
    "fairness": CurveOfSystems(
        "Win ratios in the most even games", "games", "deviation", "least number of games played",
        "mean |win ratio - 50 %|",
    ),
    "wins": _calibration("win"),
    "draw_forecasts": _calibration("draw"),
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
    charts = {}
    for key, curve in CURVES.items():
        charts[curve.title] = figure = new_figure(curve.x_label, curve.y_label)
        for system, each in systems.items():
            if not math.isnan(number(each[key].get("area", 0.0))):
                add_line(figure, system, each[key][curve.x], each[key][curve.y])
        if curve.diagonal is not None and figure.data:
            end = max(each[key].get("edges", [1.0])[-1] for each in systems.values())
            add_line(figure, curve.diagonal, [0.0, end], [0.0, end], line_dash="dot")
    charts[CURVES["fairness"].title].update_xaxes(type="log")
    if not settings["parameters"]["draw_probability"]:  # no draw is forecast
        del charts[CURVES["draw_forecasts"].title]
    for system, each in systems.items():
        players = new_figure("games played", "rating", hovermode="x unified")
        for trajectory in each["trajectories"]:
            ratings = [each["start"], *trajectory["rating"]]
            add_line(players, trajectory["player"], range(len(ratings)), ratings)
        if players.data:
            add_level(players, each["start"], "a newcomer")
        charts[f"Ratings of the top players, {system}"] = players
    return Section(
        title=f"replay: {name}",
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were left out as bad."
        ),
        settings={**settings, **settings["parameters"], "sha256 of the log": log["sha256"]},
        blocks=[
            *(Block(title, figure) for title, figure in charts.items() if figure.data),
            Block("How well each system forecast the games", cells),
        ],
    )
