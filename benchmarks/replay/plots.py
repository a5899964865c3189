"""The pictures of a replay."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from matchenv.benchmarks.replay.measures.calibration import Calibration
from matchenv.benchmarks.replay.report import Report

# Text of an SVG stays text, and its ids depend on nothing but the picture.
_STYLE: dict[str, Any] = {"svg.hashsalt": "replay", "svg.fonttype": "none", "font.size": 9.0}


def pictures(report: Report) -> dict[str, bytes]:
    """All pictures of a report, each as PNG and as SVG: file name to bytes."""
    with mpl.rc_context():
        # A user's own style must not change what is written.
        mpl.rcdefaults()
        parameters: Any = mpl.rcParams
        parameters.update(_STYLE)
        figures = {
            "draws": _draws(report),
            "win_ratio": _win_ratio(report),
            "calibration": _calibration(report),
            "convergence": _convergence(report),
        }
        return {
            f"{name}.{kind}": _rendered(figure, kind)
            for name, figure in figures.items()
            for kind in ("png", "svg")
        }


def _rendered(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _figure(columns: int = 1, rows: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.8 * columns, 3.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _draws(report: Report) -> Figure:
    figure, axes = _figure()
    ax = axes[0, 0]
    for name, system in report.systems.items():
        curve = system.draws
        ax.plot(curve.possible, curve.found, label=f"{name}, area {curve.area:.3f}")
    ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="a quality that says nothing")
    ax.set(
        xlabel="share of possible draws, most even games first",
        ylabel="share of draws found",
        title="Draws found against match quality",
    )
    ax.legend()
    return figure


def _win_ratio(report: Report) -> Figure:
    figure, axes = _figure()
    ax = axes[0, 0]
    for name, system in report.systems.items():
        fairness = system.fairness
        ax.plot(fairness.games, fairness.deviation, marker=".", label=name)
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
    figure, axes = _figure(columns=2)
    for ax, what in zip(axes[0], ("win", "draw"), strict=True):
        largest = 0.0
        for name, system in report.systems.items():
            found: Calibration = system.wins if what == "win" else system.draw_forecasts
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
    figure, axes = _figure(columns=len(report.systems))
    for ax, (name, system) in zip(axes[0], report.systems.items(), strict=True):
        for trajectory in system.trajectories:
            rating = [system.start, *trajectory.rating]
            ax.plot(range(len(rating)), rating, linewidth=1.0, label=trajectory.player)
        ax.set(xlabel="games played", ylabel="rating", title=f"Top players, {name}")
        if system.trajectories:
            ax.legend()
    return figure
