"""Skills through time as a figure: the mean of each posterior and a band around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.figures import LINES, figure_bytes, new_figure, style
from matchenv.match_log import MatchLog
from matchenv.replay import SmoothedLog

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96
DOTS = 150


def skill_curves_picture(
    log: MatchLog,
    smoothed: SmoothedLog,
    players: Sequence[str],
    kind: str = "png",
    *,
    dates: bool = False,
) -> bytes:
    """The skill curves of some players, with 95 % bands.

    Args:
        log: the log that was smoothed.
        smoothed: what ``matchenv.replay.smooth`` returned for it.
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
    """Where on the axis a player's games lie."""
    game = log.team_game[log.entry_team[entries]]
    if log.time is None:
        return game + 1
    time = log.time[game]
    return time.astype("datetime64[s]") if dates else time
