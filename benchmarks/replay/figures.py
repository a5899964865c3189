"""The figure of a smoothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matchenv.benchmarks.figures import LINES, figure_bytes, new_figure, style
from matchenv.logs.match_log import MatchLog
from matchenv.logs.smoothing import SmoothedLog
from matchenv.runtime.checks import printable

# Half of the 95 % interval of a normal, in deviations.
BAND = 1.96
DOTS = 300


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
