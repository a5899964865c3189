"""A replayed match log on the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from matchenv.benchmarks.report.comparisons import Record, json_of
from matchenv.benchmarks.report.page import (
    GREY,
    Chart,
    Palette,
    Section,
    Table,
    add_level,
    add_line,
    new_figure,
)
from matchenv.runtime.files import number


def replay_section(folder: Path, _: Palette) -> Section:
    """Return what ``matchenv replay`` found; its systems and players are no policies."""
    found = json_of(folder / "report.json")
    log, systems = found["log"], found["systems"]
    cells = pd.DataFrame({name: _measures(each, found) for name, each in systems.items()})
    table = Table(
        "How well each system foresaw the games", cells.rename_axis("measure").reset_index()
    )
    settings: dict[str, Any] = {}
    for name, value in found["settings"].items():
        settings.update(value if isinstance(value, dict) else {name: value})
    return Section(
        kind="replay",
        folder=folder.name,
        lead=(
            f"{log['file']}: {log['games_rated']:,} games of {log['players']:,} players, rated in "
            f"order of play; {log['bad_rows']:,} of {log['rows']:,} rows were left out as bad."
        ),
        settings={**settings, "sha256 of the log": log["sha256"]},
        versions={},
        charts=_replay_charts(systems, Palette(())),
        tables=[table],
        summary=table,
    )


def _measures(system: Record, found: Record) -> dict[str, str]:
    """Return the texts of a rating system's measures, by their names."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{100.0 * number(value):.2f} %"

    def decimals(value: float | None) -> str:
        return "-" if value is None else f"{number(value):.4f}"

    error = system["error"]
    return {
        "prediction error": percent(error["error"]),
        "its standard error": percent(error["standard_error"]),
        "pairs counted": f"{error['pairs']}",
        "pairs drawn": f"{error['drawn']}",
        "area of draws over quality": decimals(system["draws"]["area"]),
        "log loss": decimals(system["log_loss"]),
        "calibration error, wins": percent(system["wins"]["error"]),
        "calibration error, draws": percent(system["draw_forecasts"]["error"]),
        **{
            f"error on the games that {name} judges most even": percent(
                system["challenged"][name]["error"]
            )
            for name in found["systems"]
        },
        "log loss of the constant forecast": decimals(found["constant_log_loss"]),
    }


def _replay_charts(systems: Mapping[str, Any], palette: Palette) -> list[Chart]:
    draws = new_figure("share of possible draws, most even games first", "share of draws found")
    fair = new_figure("least number of games played", "mean |win ratio - 50 %|")
    wins = new_figure("stated probability of a win", "share that came true")
    players = new_figure("games played", "rating", hovermode="x unified")
    fair.update_xaxes(type="log")
    for name, each in systems.items():
        if each["draws"]["area"] is not None:
            add_line(draws, palette, name, each["draws"]["possible"], each["draws"]["found"])
        add_line(fair, palette, name, each["fairness"]["games"], each["fairness"]["deviation"])
        add_line(wins, palette, name, each["wins"]["stated"], each["wins"]["observed"])
    wins.add_shape(
        type="line", x0=0, y0=0, x1=1, y1=1, line={"color": GREY, "dash": "dot", "width": 1}
    )
    first, system = next(iter(systems.items()))
    for trajectory in system["trajectories"]:
        ratings = [system["start"], *trajectory["rating"]]
        add_line(players, palette, trajectory["player"], range(len(ratings)), ratings)
    if players.data:
        add_level(players, system["start"], "a newcomer")
    charts: dict[str, tuple[go.Figure, str]] = {
        "Draws found against match quality": (draws, ""),
        "Win ratios in the most even games": (fair, ""),
        "Calibration of wins": (wins, "On the dotted line forecasts come true."),
        f"Ratings of the top players, {first}": (players, ""),
    }
    return [Chart(title, *each) for title, each in charts.items() if each[0].data]
