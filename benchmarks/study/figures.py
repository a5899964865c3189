"""The paper's figures, with its numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from matchenv.benchmarks.study.estimates import CellResult, Mean

Floats = NDArray[np.float64]

# Text of an SVG stays text, and its ids depend on nothing but the picture.
_STYLE: dict[str, Any] = {"svg.hashsalt": "study", "svg.fonttype": "none", "font.size": 8.0}

# Colours that differ in brightness too, so that a print in grey can be read.
LINES = (
    ("#0b3c6f", "-", "o"),
    ("#e69500", "--", "s"),
    ("#3f9e6a", "-.", "^"),
    ("#b0306a", ":", "D"),
    ("#7a7a7a", (0, (5, 1)), "v"),
    ("#111111", (0, (1, 1)), "x"),
)

# Curves are means over so many games in a row, where there are enough.
GAMES_TOGETHER = 5

TITLES = {
    "true_draw_density": "true draw density",
    "squared_error": "squared error of mu_0",
    "skill_difference": "difference in true skills",
    "win_ratio": "win ratio of player 0",
}
GOALS = {"skill_difference": 0.0, "win_ratio": 0.5}

Panel = tuple[str, str, str]

# File name: title, columns, and for each panel its letter, cell and measure.
FIGURES: dict[str, tuple[str, int, tuple[Panel, ...]]] = {
    "figure_1": (
        "Figure 1: top and bottom rank, informative prior",
        2,
        tuple(
            ("abcdefgh"[2 * row + column], f"informative_{place}", measure)
            for row, measure in enumerate(TITLES)
            for column, place in enumerate(("top", "bottom"))
        ),
    ),
    "figure_2": (
        "Figure 2: middle ranks, informative prior",
        2,
        tuple(
            ("ab"[column], f"informative_{place}", measure)
            for place in ("rank12", "rank25", "rank37")
            for column, measure in enumerate(GOALS)
        ),
    ),
    "figure_3": (
        "Figure 3: middle skill levels, equal priors",
        2,
        tuple(
            ("ab"[column], f"equal_{place}", measure)
            for place in ("rank12", "rank25", "rank37")
            for column, measure in enumerate(GOALS)
        ),
    ),
    "figure_4": (
        "Figure 4: player 0 exactly in the middle, equal priors",
        2,
        tuple(("ab"[column], "equal_rank25", measure) for column, measure in enumerate(GOALS)),
    ),
    "figure_4_extremes": (
        "To figure 4: highest and lowest skill level, equal priors",
        2,
        tuple(
            ("abcdefgh"[2 * row + column], f"equal_{place}", measure)
            for row, measure in enumerate(TITLES)
            for column, place in enumerate(("top", "bottom"))
        ),
    ),
}


def pictures(results: Sequence[CellResult]) -> Iterator[tuple[str, bytes]]:
    """Every figure whose cells the study has, as PNG and as SVG: file name and bytes."""
    found = {result.cell.name: result for result in results}
    for name, (title, columns, panels) in FIGURES.items():
        if not all(cell in found for _, cell, _ in panels):
            continue
        with mpl.rc_context():
            # A user's own style must not change what is written.
            mpl.rcdefaults()
            parameters: Any = mpl.rcParams
            parameters.update(_STYLE)
            figure = _figure(title, columns, panels, found)
            for kind in ("png", "svg"):
                yield f"figures/{name}.{kind}", _rendered(figure, kind)


def binned(curve: Mean, together: int) -> tuple[Floats, Floats, Floats]:
    """Means over games in a row: where, mean, half width of a band.

    The half width is the mean of the games' own, which is never less than that of their
    mean, however the games of a path hang together.
    """
    bins = np.array_split(np.arange(curve.mean.size), max(1, curve.mean.size // together))
    return (
        np.array([each.mean() for each in bins]),
        np.array([curve.mean[each].mean() for each in bins]),
        np.array([curve.half_width[each].mean() for each in bins]),
    )


def _figure(
    title: str, columns: int, panels: tuple[Panel, ...], found: dict[str, CellResult]
) -> Figure:
    rows = len(panels) // columns
    figure = Figure(figsize=(3.9 * columns, 2.1 * rows + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax, (letter, cell, measure) in zip(axes.flat, panels, strict=True):
        _panel(ax, found[cell], measure)
        ax.set_title(f"({letter}) {TITLES[measure]}, {found[cell].cell.title}", fontsize=7.5)
    for ax in axes[-1]:
        ax.set_xlabel("game")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
    figure.suptitle(f"{title} (mean and 95 % band)", fontsize=9.0)
    return figure


def _panel(ax: Axes, result: CellResult, measure: str) -> None:
    if measure in GOALS:
        ax.axhline(GOALS[measure], color="0.6", linewidth=0.6)
    for place, policy in enumerate(result.policies):
        colour, style, marker = LINES[place % len(LINES)]
        games, mean, half = binned(result.curve(policy, measure), GAMES_TOGETHER)
        ax.fill_between(games, mean - half, mean + half, color=colour, alpha=0.18, linewidth=0.0)
        every = max(1, games.size // 8)
        ax.plot(
            games, mean, color=colour, linestyle=style, linewidth=1.0, label=policy,
            marker=marker, markersize=3.0, markevery=(place % every, every),
        )  # fmt: skip
    if measure == "squared_error":
        ax.set_ylim(bottom=0.0)
    ax.margins(x=0.01)


def _rendered(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
    return buffer.getvalue()
