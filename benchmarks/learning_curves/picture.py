"""Learning curves as a file: the middle of the seeds, their band, and the levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from matchenv.benchmarks.figures import LINES, figure_bytes, kind_of_picture, new_figure, style
from matchenv.benchmarks.learning_curves.curves import MEASURES, LearningCurve, curves_of
from matchenv.benchmarks.learning_curves.levels import Level, check_same_games, levels_of
from matchenv.benchmarks.learning_curves.runs import read_runs
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import write_bytes

DEFAULT_MEASURE = next(iter(MEASURES))
LEVEL_STYLES = {"KG": "-", "DrawChance": "--", "bound": ":"}


def plot_runs(
    paths: Sequence[Path],
    out: Path,
    *,
    measure: str = DEFAULT_MEASURE,
    bound: Path | None = None,
) -> list[LearningCurve]:
    """Draw the learning curves of runs; those that differ in their seed alone share one.

    Args:
        paths: folders of runs, or of several runs each.
        out: file, .png, .svg or .pdf.
        measure: what is drawn, of ``MEASURES``.
        bound: folder of ``matchenv bound`` for the same games; None for none.

    Returns:
        The curves.

    Raises:
        ValueError: for a bad argument, folders that hold no runs, and runs on other games.
        OSError: if the file cannot be written.
    """
    kind = kind_of_picture("out", out)
    as_choice("measure", measure, MEASURES)
    runs = read_runs(paths)
    check_same_games(runs)
    curves, levels = curves_of(runs, measure), levels_of(runs, measure, bound)
    with style("learning_curves", 9.0):
        figure, axes = new_figure(1, 1, (6.4, 4.0))
        _draw(axes[0, 0], curves, levels, measure)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(out, figure_bytes(figure, kind, 150))
    return curves


def _draw(ax: Axes, curves: Sequence[LearningCurve], levels: Sequence[Level], measure: str) -> None:
    for place, curve in enumerate(curves):
        colour = LINES[place % len(LINES)][0]
        if len(curve.runs) == 1:
            ax.plot(curve.timesteps, curve.median, color=colour, label=f"{curve.label}, 1 seed")
            continue
        low, high = curve.band
        ax.fill_between(
            curve.timesteps, low, high, color=colour, alpha=0.18, linewidth=0.0,
            label=f"{curve.label}, {curve.band_name}",
        )  # fmt: skip
        ax.plot(
            curve.timesteps, curve.interquartile_mean, color=colour, label=f"{curve.label}, IQM"
        )
        ax.plot(curve.timesteps, curve.median, color=colour, linestyle="--", linewidth=0.9,
                label=f"{curve.label}, median")  # fmt: skip
    for level in levels:
        ax.axhline(level.value, color="0.35", linewidth=0.9, linestyle=LEVEL_STYLES[level.label])
        ax.annotate(
            level.label, (1.0, level.value), xycoords=("axes fraction", "data"),
            xytext=(3.0, 0.0), textcoords="offset points", va="center", color="0.35",
        )  # fmt: skip
    ax.set(xlabel="games learned from", ylabel=MEASURES[measure])
    ax.legend()
    ax.margins(x=0.01)
