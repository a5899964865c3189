"""The figures of a replay."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from matchenv.benchmarks.figures import files_of, new_figure, style
from matchenv.benchmarks.replay.report import Report


def figures(report: Report) -> dict[str, bytes]:
    """All figures of a report, each as PNG and as SVG: file name to bytes."""
    drawn = (_draws, _win_ratio, _calibration, _convergence)
    with style("replay", 9.0):
        return {
            name: content
            for draw in drawn
            for name, content in files_of(draw.__name__.strip("_"), draw(report), 150)
        }


def _axes(columns: int = 1) -> tuple[Figure, Any]:
    figure, axes = new_figure(1, columns, (4.8 * columns, 3.6))
    return figure, axes[0]


def _draws(report: Report) -> Figure:
    figure, (ax,) = _axes()
    for name, system in report.systems.items():
        curve = system.draws
        if not math.isnan(curve.area):
            ax.plot(curve.possible, curve.found, label=f"{name}, area {curve.area:.3f}")
    if ax.lines:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="a quality that says nothing")
        ax.legend()
    else:
        ax.text(0.5, 0.5, "no draws in this log", ha="center", va="center")
    ax.set(
        xlim=(-0.05, 1.05), ylim=(-0.05, 1.05),
        xlabel="share of possible draws, most even games first",
        ylabel="share of draws found",
        title="Draws found against match quality",
    )  # fmt: skip
    return figure


def _win_ratio(report: Report) -> Figure:
    figure, (ax,) = _axes()
    for name, system in report.systems.items():
        ax.plot(system.fairness.games, system.fairness.deviation, marker=".", label=name)
    ax.set(
        xscale="log",
        ylim=(0.0, 0.5),
        xlabel="least number of games played",
        ylabel="mean |win ratio - 50 %|",
        title="Win ratios in games above the threshold",
    )
    ax.legend()
    return figure


def _calibration(report: Report) -> Figure:
    whats = {"win": "wins", "draw": "draw_forecasts"}
    if report.settings.parameters.draw_probability == 0.0:
        # Nobody forecasts a draw, and the panel would be empty.
        del whats["draw"]
    figure, axes = _axes(columns=len(whats))
    for ax, (what, attribute) in zip(axes, whats.items(), strict=True):
        largest = 0.0
        for name, system in report.systems.items():
            found = getattr(system, attribute)
            ax.plot(found.stated, found.observed, marker=".", label=name)
            largest = max(largest, float(found.edges[-1]))
        ax.plot([0, largest], [0, largest], color="0.6", linestyle=":", label="calibrated")
        ax.set(
            xlabel=f"stated probability of a {what}",
            ylabel="share that came true",
            title=f"Calibration of {what}s",
        )
        ax.legend()
    return figure


def _convergence(report: Report) -> Figure:
    figure, axes = _axes(columns=len(report.systems))
    for ax, (name, system) in zip(axes, report.systems.items(), strict=True):
        for trajectory in system.trajectories:
            rating = [system.start, *trajectory.rating]
            ax.plot(range(len(rating)), rating, linewidth=1.0, label=trajectory.player)
        ax.set(xlabel="games played", ylabel="rating", title=f"Top players, {name}")
        if system.trajectories:
            ax.legend()
    return figure
