"""A replayed match log on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matchenv.benchmarks.report.charts import Palette, add_level, add_line, new_figure
from matchenv.benchmarks.report.reading import json_of
from matchenv.benchmarks.report.section import Chart, Section, Table
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number

FILE = "report.json"

# A measure of a system and its text.
Row = tuple[str, Callable[[Mapping[str, Any]], str]]
DIAGONAL = "#888888"


def replay_section(folder: Path, _: Palette) -> Section:
    """What ``matchenv replay`` found; its systems and players are no policies."""
    palette = Palette(())
    found = json_of(folder / FILE)
    log, systems = found["log"], found["systems"]
    rows = [
        *ROWS,
        *(_challenged(name) for name in systems),
        ("log loss of the constant forecast", lambda _: _decimals(found["constant_log_loss"])),
    ]
    columns = (Column("measure", lambda row: row[0]), *(_column(n, s) for n, s in systems.items()))
    table = Table("How well each system foresaw the games", columns, rows)
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
        charts=_charts(systems, palette),
        tables=[table],
        summary=table,
    )


def _charts(systems: Mapping[str, Any], palette: Palette) -> list[Chart]:
    draws = new_figure("share of possible draws, most even games first", "share of draws found")
    fair = new_figure("least number of games played", "mean |win ratio - 50 %|")
    wins = new_figure("stated probability of a win", "share that came true")
    players = new_figure("games played", "rating", hovermode="x unified")
    fair.update_xaxes(type="log")
    for name, system in systems.items():
        if system["draws"]["area"] is not None:
            add_line(draws, palette, name, system["draws"]["possible"], system["draws"]["found"])
        fairness, forecasts = system["fairness"], system["wins"]
        add_line(fair, palette, name, fairness["games"], fairness["deviation"])
        add_line(wins, palette, name, forecasts["stated"], forecasts["observed"])
    charts = [
        Chart("Win ratios in the most even games", fair),
        Chart("Calibration of wins", wins, "On the dotted line forecasts come true."),
    ]
    wins.add_shape(
        type="line", x0=0, y0=0, x1=1, y1=1, line={"color": DIAGONAL, "dash": "dot", "width": 1}
    )
    if draws.data:
        charts.insert(0, Chart("Draws found against match quality", draws))
    first, system = next(iter(systems.items()))
    for trajectory in system["trajectories"]:
        ratings = [system["start"], *trajectory["rating"]]
        add_line(players, palette, trajectory["player"], range(len(ratings)), ratings)
    if players.data:
        add_level(players, system["start"], "a newcomer")
        charts.append(Chart(f"Ratings of the top players, {first}", players))
    return charts


def _column(name: str, system: Mapping[str, Any]) -> Column:
    return Column(name, lambda row: row[1](system))


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100.0 * number(value):.2f} %"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{number(value):.4f}"


def _challenged(judge: str) -> Row:
    return (
        f"error on the games that {judge} judges most even",
        lambda system: _percent(system["challenged"][judge]["error"]),
    )


ROWS: tuple[Row, ...] = (
    ("prediction error", lambda system: _percent(system["error"]["error"])),
    ("its standard error", lambda system: _percent(system["error"]["standard_error"])),
    ("pairs counted", lambda system: f"{system['error']['pairs']}"),
    ("pairs drawn", lambda system: f"{system['error']['drawn']}"),
    ("area of draws over quality", lambda system: _decimals(system["draws"]["area"])),
    ("log loss", lambda system: _decimals(system["log_loss"])),
    ("calibration error, wins", lambda system: _percent(system["wins"]["error"])),
    ("calibration error, draws", lambda system: _percent(system["draw_forecasts"]["error"])),
)
