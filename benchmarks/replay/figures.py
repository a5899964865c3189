"""The figures of a replay and of a smoothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from matchenv.benchmarks.figures import LINES, figure_bytes, files_of, new_figure, style
from matchenv.benchmarks.replay.report import Report
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import SmoothedLog

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96
DOTS = 150


def figures(report: Report) -> dict[str, bytes]:
    """Return all figures of a report, each as PNG and as SVG: file name to bytes."""
    drawn = (_draws, _win_ratio, _calibration, _convergence)
    with style("replay", 9.0):
        return {
            name: content
            for draw in drawn
            for name, content in files_of(draw.__name__.strip("_"), draw(report), DOTS)
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
        ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="a quality without information")
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
        # No draw is forecast, and the panel would be empty.
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


def skill_curves_picture(
    log: MatchLog,
    smoothed: SmoothedLog,
    players: Sequence[str],
    kind: str = "png",
    *,
    dates: bool = False,
) -> bytes:
    """Return the figure of some players' skill curves, with 95 % bands.

    Args:
        log: the log that was smoothed.
        smoothed: the result of ``smooth``.
        players: names, each of the log.
        kind: png, svg or pdf.
        dates: whether the log's times are seconds since 1970; they are shown as dates then.

    Returns:
        The bytes of the file; equal ones for equal curves.
    """
    with style("skill_curves", 9.0):
        figure, axes = new_figure(1, 1, (7.2, 4.2))
        ax = axes[0, 0]
        for place, name in enumerate(players):
            entries = np.flatnonzero(log.player == log.players.index(name))
            where = _places(log, entries, dates)
            mu, sigma = smoothed.mu[entries], smoothed.sigma[entries]
            colour, line, marker = LINES[place % len(LINES)]
            ax.fill_between(
                where, mu - BAND * sigma, mu + BAND * sigma,
                color=colour, alpha=0.15, linewidth=0.0,
            )  # fmt: skip
            # A dollar sign would begin a formula.
            label = name.replace("$", r"\$")
            ax.plot(
                where, mu, color=colour, linestyle=line, linewidth=1.2, label=label,
                marker=marker if entries.size == 1 else None,
            )  # fmt: skip
        if log.time is None:
            ax.set(xlabel="games of the log")
        else:
            ax.set(xlabel="date" if dates else "time")
        ax.set(ylabel="skill", title="Skill in hindsight, with 95 % bands")
        ax.legend()
        ax.margins(x=0.01)
        return figure_bytes(figure, kind, DOTS)


def _places(log: MatchLog, entries: NDArray[np.int64], dates: bool) -> NDArray[Any]:
    """Return the places of a player's games on the axis."""
    game = log.entry_game[entries]
    if log.time is None:
        return game + 1
    time = log.time[game]
    return time.astype("datetime64[s]") if dates else time
