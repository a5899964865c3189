"""A replayed match log on the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from matchenv.benchmarks.replay.report import CURVES, measure_rows
from matchenv.benchmarks.report.comparisons import json_of
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    add_level,
    add_line,
    new_figure,
)


def replay_section(folder: Path) -> Section:
    """Return the section of ``matchenv replay``."""
    found = json_of(folder / "report.json")
    log, systems, settings = found["log"], found["systems"], found["settings"]
    rows = [(label.strip(), *cells) for label, cells in measure_rows(found).items()]
    cells = pd.DataFrame(rows, columns=["measure", *systems])
    charts = {}
    for key in ("draws", "fairness", "wins"):
        curve = CURVES[key]
        charts[curve.title] = figure = new_figure(curve.x_label, curve.y_label)
        for name, each in systems.items():
            if each[key].get("area", 0.0) is not None:
                add_line(figure, name, each[key][curve.x], each[key][curve.y])
    add_line(figure, "calibrated", [0, 1], [0, 1])
    charts[CURVES["fairness"].title].update_xaxes(type="log")
    players = new_figure("games played", "rating", hovermode="x unified")
    first, system = next(iter(systems.items()))
    for trajectory in system["trajectories"]:
        ratings = [system["start"], *trajectory["rating"]]
        add_line(players, trajectory["player"], range(len(ratings)), ratings)
    if players.data:
        add_level(players, system["start"], "a newcomer")
    charts[f"Ratings of the top players, {first}"] = players
    return Section(
        kind="replay",
        folder=folder.name,
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were left out as bad."
        ),
        settings={**settings, **settings["parameters"], "sha256 of the log": log["sha256"]},
        blocks=[
            *(Block(title, figure) for title, figure in charts.items() if figure.data),
            Block("How well each system forecast the games", cells),
        ],
        own_colours=True,
    )
