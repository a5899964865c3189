"""The figures of the paper, by their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from matchenv.benchmarks.figures import LINES, files_of, new_figure, style
from matchenv.benchmarks.study.cells import CellResult
from matchenv.benchmarks.study.settings import EVEN_RANK, middle_places, place_at_share
from matchenv.evaluation.estimates import Record
from matchenv.runtime.arrays import Floats

# Games that are averaged for a point of a curve.
GAMES_TOGETHER = 5
DOTS_PER_INCH = 220
MARKERS = 8  # about so many on a curve

LABELS = {
    "true_draw_density": "true draw density",
    "squared_error": r"squared error of $\mu_0$",
    "skill_difference": "difference in true skills",
    "win_ratio": "win ratio of player 0",
}
GOALS = {"skill_difference": 0.0, "win_ratio": 0.5}


class Panel(NamedTuple):
    """A panel of a figure."""

    prior: str
    place: int  # of player 0, from 0 for the best
    measure: str


class PaperFigure(NamedTuple):
    """A figure of the paper, with two panels in a row."""

    title: str
    panels: Sequence[Panel]


def figures_for(num_players: int) -> dict[str, PaperFigure]:
    """Return the figures by file name."""
    middle = middle_places(num_players)
    even = place_at_share(EVEN_RANK, num_players)
    extremes = (0, num_players - 1)
    return {
        "figure_1": PaperFigure(
            "Figure 1: top and bottom rank, informative prior",
            _all_measures("informative", extremes),
        ),
        "figure_2": PaperFigure(
            "Figure 2: middle ranks, informative prior",
            _measures_with_goals("informative", middle),
        ),
        "figure_3": PaperFigure(
            "Figure 3: middle places, equal priors", _measures_with_goals("equal", middle)
        ),
        "figure_4": PaperFigure(
            "Figure 4: player 0 exactly in the middle, equal priors",
            _measures_with_goals("equal", [even]),
        ),
        "figure_4_extremes": PaperFigure(
            "To figure 4: highest and lowest place, equal priors",
            _all_measures("equal", extremes),
        ),
    }


def _all_measures(prior: str, places: Sequence[int]) -> list[Panel]:
    """Return a row of panels for each measure, with a panel for each place."""
    panels = []
    for measure in LABELS:
        for place in places:
            panels.append(Panel(prior, place, measure))
    return panels


def _measures_with_goals(prior: str, places: Sequence[int]) -> list[Panel]:
    """Return a row of panels for each place, with a panel for each measure that has a goal."""
    panels = []
    for place in places:
        for measure in GOALS:
            panels.append(Panel(prior, place, measure))
    return panels


def pictures(results: Sequence[CellResult]) -> Iterator[tuple[str, bytes]]:
    """Yield the figures whose cells the study has, as PNG and SVG: file name and content."""
    cells = {result.where: result for result in results}
    figures = figures_for(results[0].settings.game.num_players)
    for name, (title, panels) in figures.items():
        needed = {(panel.prior, panel.place) for panel in panels}
        if needed and needed <= cells.keys():
            with style("study", 8.0):
                figure = _drawn(title, panels, cells)
                yield from files_of(f"figures/{name}", figure, DOTS_PER_INCH)
    if len(results[0].rows.policies) > 1:
        for prior in dict.fromkeys(result.cell.labels["prior"] for result in results):
            same_prior = [result for result in results if result.cell.labels["prior"] == prior]
            with style("study", 8.0):
                figure = _drawn_leads(prior, same_prior)
                yield from files_of(f"figures/leads_{prior}", figure, DOTS_PER_INCH)


def _drawn_leads(prior: str, results: Sequence[CellResult]) -> Figure:
    """Draw the paired running totals of each cell, minus that of the first policy."""
    rows = math.ceil(len(results) / 2)
    figure, axes = new_figure(rows, 2, (7.8, 2.1 * rows + 0.7))
    first, *others = results[0].rows.policies
    for ax, result, letter in zip(axes.flat, results, ascii_lowercase, strict=False):
        ax.axhline(0.0, color="0.45", linewidth=0.8)
        for number, policy in enumerate(others, 1):
            colour, line, _ = LINES[number % len(LINES)]
            lead = result.lead(policy, first)
            games = np.arange(1, lead.mean.size + 1)
            low = lead.mean - lead.half_width
            high = lead.mean + lead.half_width
            ax.fill_between(games, low, high, color=colour, alpha=0.18, linewidth=0)
            ax.plot(games, lead.mean, color=colour, linestyle=line, linewidth=1.2, label=policy)
        ax.margins(x=0.01)
        ax.set_title(f"({letter}) {result.cell.title}", fontsize=7.5)
        ax.set_xlabel("game")
        ax.set_ylabel(f"total minus {first}'s")
    for ax in axes.flat[len(results) :]:
        ax.set_axis_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
    title = f"Running total of the true draw density minus that of {first}, {prior} prior"
    figure.suptitle(f"{title} (paired, with 95 % band)", fontsize=9.0)
    return figure


def binned(curve: Record, together: int) -> tuple[Floats, Floats, Floats]:
    """Average a curve over bins of games: game, mean, half width of the band.

    The half width is the mean over the bin, an upper limit for any correlation between games.
    """
    games = curve.mean.size
    bins = np.array_split(np.arange(games), max(1, games // together))
    return (
        np.array([games.mean() for games in bins]),
        np.array([curve.mean[games].mean() for games in bins]),
        np.array([curve.half_width[games].mean() for games in bins]),
    )


def _drawn(
    title: str, panels: Sequence[Panel], cells: Mapping[tuple[str, int], CellResult]
) -> Figure:
    """Draw a figure."""
    rows = len(panels) // 2
    figure, axes = new_figure(rows, 2, (7.8, 2.1 * rows + 0.7))
    for ax, panel, letter in zip(axes.flat, panels, ascii_lowercase, strict=False):
        result = cells[panel.prior, panel.place]
        _draw_panel(ax, result, panel.measure)
        ax.set_title(f"({letter}) {result.cell.title}", fontsize=7.5)
    for ax in axes[-1]:
        ax.set_xlabel("game")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
    figure.suptitle(f"{title} (mean and 95 % band)", fontsize=9.0)
    return figure


def _draw_panel(ax: Any, result: CellResult, measure: str) -> None:
    """Draw a measure of a cell over the games, with a curve and a band for each policy."""
    if measure in GOALS:
        ax.axhline(GOALS[measure], color="0.6", linewidth=0.6)
    for number, policy in enumerate(result.rows.policies):
        colour, line, marker = LINES[number % len(LINES)]
        games, mean, half = binned(result.curve(policy, measure), GAMES_TOGETHER)
        ax.fill_between(games, mean - half, mean + half, color=colour, alpha=0.18, linewidth=0)
        spacing = max(1, games.size // MARKERS)
        ax.plot(
            games,
            mean,
            color=colour,
            linestyle=line,
            linewidth=1.0,
            label=policy,
            marker=marker,
            markersize=3.0,
            markevery=(number % spacing, spacing),
        )
    if measure == "squared_error":
        ax.set_ylim(bottom=0.0)
    ax.margins(x=0.01)
    ax.set_ylabel(LABELS[measure])
