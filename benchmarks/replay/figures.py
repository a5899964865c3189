"""The figures of a replay and of a smoothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from matchenv.benchmarks.figures import LINES, figure_bytes, files_of, new_figure, style
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import SmoothedLog
from matchenv.runtime.checks import printable
from matchenv.runtime.files import number

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96
DOTS = 300
DOTTED: dict[str, Any] = {"color": "0.6", "linestyle": ":"}


def figures(content: Mapping[str, Any]) -> dict[str, bytes]:
    """Return all figures of a replay, each as PNG and as SVG: file name to bytes.

    Args:
        content: of ``report.json``.
    """
    drawn = (_draws, _win_ratio, _calibration, _convergence)
    with style("replay", 9.0):
        return {
            name: picture
            for draw in drawn
            for name, picture in files_of(draw.__name__.strip("_"), draw(content), DOTS)
        }


def _axes(columns: int = 1) -> tuple[Figure, Any]:
    figure, axes = new_figure(1, columns, (4.8 * columns, 3.6))
    for ax, letter in zip(axes[0], "abcdefgh", strict=False):
        if columns > 1:
            ax.set_title(f"({letter})", loc="left")
    return figure, axes[0]


def _lines(
    ax: Any, content: Mapping[str, Any], of: Any, label: str = "{}", marker: str = "."
) -> None:
    """Draw a line for each system; ``of`` gives its points, and numbers for the label."""
    systems = content["systems"].items()
    for (name, system), (colour, line, _) in zip(systems, LINES * 9, strict=False):
        x, y, *numbers = of(system)
        shown = np.array(y, dtype=float)
        if not np.isnan(shown).all():
            text = label.format(name, *map(number, numbers))
            ax.plot(x, shown, color=colour, linestyle=line, marker=marker, label=text)


def _draws(content: Mapping[str, Any]) -> Figure:
    figure, (ax,) = _axes()
    of = itemgetter("possible", "found", "area")
    _lines(ax, content, lambda s: of(s["draws"]), "{}, area {:.3f}", marker="")
    if ax.lines:
        ax.plot([0, 1], [0, 1], label="a quality without information", **DOTTED)
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


def _win_ratio(content: Mapping[str, Any]) -> Figure:
    figure, (ax,) = _axes()
    _lines(ax, content, lambda s: (s["fairness"]["games"], s["fairness"]["deviation"]))
    share = 100.0 * content["settings"]["fair_share"]
    ax.set(
        xscale="log",
        ylim=(0.0, 0.5),
        xlabel="least number of games played",
        ylabel="mean |win ratio - 50 %|",
        title=f"Win ratios in the most even {share:g} % of the games",
    )
    ax.legend()
    return figure


def _calibration(content: Mapping[str, Any]) -> Figure:
    whats = {"win": "wins", "draw": "draw_forecasts"}
    if content["settings"]["parameters"]["draw_probability"] == 0.0:
        # No draw is forecast, and the panel would be empty.
        del whats["draw"]
    figure, axes = _axes(columns=len(whats))
    for ax, (what, key) in zip(axes, whats.items(), strict=True):
        _lines(ax, content, lambda s, key=key: (s[key]["stated"], s[key]["observed"]))
        largest = max(s[key]["edges"][-1] for s in content["systems"].values())
        ax.plot([0, largest], [0, largest], label="calibrated", **DOTTED)
        ax.set(
            xlabel=f"stated probability of a {what}",
            ylabel="share that came true",
            title=f"Calibration of {what}s",
        )
        ax.legend()
    return figure


def _convergence(content: Mapping[str, Any]) -> Figure:
    figure, axes = _axes(columns=len(content["systems"]))
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
            ax.plot(
                where, mu, color=colour, linestyle=line, linewidth=1.2, label=_plain(name),
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
