"""The figures of a replay and of a smoothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from matchenv.benchmarks.figures import LINES, figure_bytes, files_of, new_figure, style
from matchenv.benchmarks.replay.report import CURVES
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import SmoothedLog
from matchenv.runtime.checks import printable
from matchenv.runtime.files import number

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96
DOTS = 300


def figures(content: Mapping[str, Any]) -> dict[str, bytes]:
    """Return all figures of a replay, each as PNG and as SVG: file name to bytes.

    Args:
        content: of ``report.json``.
    """
    # Where no draw is forecast, the panel would be empty.
    draws = content["settings"]["parameters"]["draw_probability"] != 0.0
    with style("replay", 9.0):
        drawn = {
            "draws": _curves(content, "draws"),
            "win_ratio": _curves(content, "fairness"),
            "calibration": _curves(content, "wins", *(["draw_forecasts"] if draws else [])),
            "convergence": _convergence(content),
        }
        return dict(file for name, each in drawn.items() for file in files_of(name, each, DOTS))


def _axes(columns: int) -> tuple[Figure, Any]:
    figure, axes = new_figure(1, columns, (4.8 * columns, 3.6))
    for ax, letter in zip(axes[0], "abcdefgh", strict=False):
        if columns > 1:
            ax.set_title(f"({letter})", loc="left")
    return figure, axes[0]


def _curves(content: Mapping[str, Any], *keys: str) -> Figure:
    """Draw a panel for each of these curves, with a line for each system."""
    figure, axes = _axes(len(keys))
    for ax, key in zip(axes, keys, strict=True):
        curve = CURVES[key]
        for (name, system), (colour, line, _) in zip(content["systems"].items(), LINES * 9,
                                                     strict=False):  # fmt: skip
            found = system[key]
            y = np.array(found[curve.y], dtype=float)
            if not np.isnan(y).all():
                label = f"{name}, area {number(found['area']):.3f}" if key == "draws" else name
                ax.plot(found[curve.x], y, color=colour, linestyle=line, label=label,
                        marker="" if key == "draws" else ".")  # fmt: skip
        ax.set(xlabel=curve.x_label, ylabel=curve.y_label, title=curve.title)
        if key == "fairness":
            share = 100.0 * content["settings"]["fair_share"]
            ax.set(xscale="log", ylim=(0.0, 0.5), title=f"{curve.title}, {share:g} % of all")
        elif ax.lines:
            found = content["systems"].values()
            ends = [0.0, max(system[key].get("edges", [1.0])[-1] for system in found)]
            ax.plot(ends, ends, label=curve.diagonal, color="0.6", linestyle=":")
        else:
            ax.text(0.5, 0.5, "no draws in this log", ha="center", va="center")
        if ax.lines:
            ax.legend()
    return figure


def _convergence(content: Mapping[str, Any]) -> Figure:
    figure, axes = _axes(len(content["systems"]))
    for ax, (name, system) in zip(axes, content["systems"].items(), strict=True):
        for shown, (colour, line, _) in zip(system["trajectories"], LINES * 9, strict=False):
            rating = [system["start"], *shown["rating"]]
            label = _plain(shown["player"])
            ax.plot(range(len(rating)), rating, color=colour, linestyle=line, lw=1.0, label=label)
        ax.set(xlabel="games played", ylabel="rating", title=f"Top players, {name}")
        if system["trajectories"]:
            ax.legend()
    return figure


def _plain(name: str) -> str:
    """Return a name as Matplotlib can show it: a dollar sign would begin a formula."""
    return printable(name).replace("$", r"\$")


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
    game = log.entry_game
    where = game + 1 if log.time is None else log.time[game]
    where = where.astype("datetime64[s]") if dates else where
    with style("skill_curves", 9.0):
        figure, axes = new_figure(1, 1, (7.2, 4.2))
        ax = axes[0, 0]
        for place, name in enumerate(players):
            entries = np.flatnonzero(log.player == log.players.index(name))
            mu, band = smoothed.mu[entries], BAND * smoothed.sigma[entries]
            colour, line, marker = LINES[place % len(LINES)]
            ax.fill_between(where[entries], mu - band, mu + band, color=colour, alpha=0.15,
                            linewidth=0.0)  # fmt: skip
            ax.plot(
                where[entries], mu, color=colour, linestyle=line, linewidth=1.2,
                label=_plain(name), marker=marker if entries.size == 1 else None,
            )  # fmt: skip
        unit = "games of the log" if log.time is None else "date" if dates else "time"
        ax.set(xlabel=unit, ylabel="skill", title="Skill in hindsight, with 95 % bands")
        ax.legend()
        ax.margins(x=0.01)
        return figure_bytes(figure, kind, DOTS)
