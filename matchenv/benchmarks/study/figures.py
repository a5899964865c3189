"""The figures of the paper, by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

import numpy as np
from matplotlib.figure import Figure

from matchenv.benchmarks.figures import LINES, files_of, new_figure, style
from matchenv.benchmarks.study.results import CellResult
from matchenv.benchmarks.study.settings import EVEN_RANK, middle_places, place_at_share
from matchenv.evaluation.estimates import Record
from matchenv.runtime.arrays import Floats

# Games that are averaged for a point of a curve.
GAMES_TOGETHER = 5

LABELS = {
    "true_draw_density": "true draw density",
    "squared_error": r"squared error of $\mu_0$",
    "skill_difference": "difference in true skills",
    "win_ratio": "win ratio of player 0",
}
GOALS = {"skill_difference": 0.0, "win_ratio": 0.5}

# Prior, place of player 0, and measure.
Panel = tuple[str, int, str]


def figures_for(num_players: int) -> dict[str, tuple[str, list[Panel]]]:
    """Return title and panels of each figure, by file name; two panels in a row."""
    middle, even = middle_places(num_players), place_at_share(EVEN_RANK, num_players)

    def extremes(prior: str) -> list[Panel]:
        return [(prior, place, measure) for measure in LABELS for place in (0, num_players - 1)]

    def between(prior: str, *places: int) -> list[Panel]:
        return [(prior, place, measure) for place in places for measure in GOALS]

    return {
        "figure_1": ("Figure 1: top and bottom rank, informative prior", extremes("informative")),
        "figure_2": ("Figure 2: middle ranks, informative prior", between("informative", *middle)),
        "figure_3": ("Figure 3: middle places, equal priors", between("equal", *middle)),
        "figure_4": ("Figure 4: player 0 exactly in the middle, equal priors",
                     between("equal", even)),
        "figure_4_extremes": ("To figure 4: highest and lowest place, equal priors",
                              extremes("equal")),
    }  # fmt: skip


def pictures(results: Sequence[CellResult]) -> Iterator[tuple[str, bytes]]:
    """Yield the figures whose cells the study has, as PNG and SVG: file name and content."""
    by_place = {result.where: result for result in results}
    for name, (title, panels) in figures_for(results[0].settings.game.num_players).items():
        if panels and all((prior, place) in by_place for prior, place, _ in panels):
            with style("study", 8.0):
                yield from files_of(f"figures/{name}", _figure(title, panels, by_place), 220)


def binned(curve: Record, together: int) -> tuple[Floats, Floats, Floats]:
    """Average a curve over bins of games: game, mean, half width of the band.

    The half width is the mean over the bin, an upper limit for any correlation between games.
    """
    bins = np.array_split(np.arange(curve.mean.size), max(1, curve.mean.size // together))
    return (
        np.array([each.mean() for each in bins]),
        np.array([curve.mean[each].mean() for each in bins]),
        np.array([curve.half_width[each].mean() for each in bins]),
    )


def _figure(
    title: str, panels: Sequence[Panel], by_place: Mapping[tuple[str, int], CellResult]
) -> Figure:
    rows = len(panels) // 2
    figure, axes = new_figure(rows, 2, (7.8, 2.1 * rows + 0.7))
    for ax, letter, (prior, place, measure) in zip(
        axes.flat, ascii_lowercase, panels, strict=False
    ):
        result = by_place[prior, place]
        if measure in GOALS:
            ax.axhline(GOALS[measure], color="0.6", linewidth=0.6)
        for k, policy in enumerate(result.rows.policies):
            colour, line, marker = LINES[k % len(LINES)]
            games, mean, half = binned(result.curve(policy, measure), GAMES_TOGETHER)
            ax.fill_between(games, mean - half, mean + half, color=colour, alpha=0.18, linewidth=0)
            every = max(1, games.size // 8)
            ax.plot(games, mean, color=colour, linestyle=line, linewidth=1.0, label=policy,
                    marker=marker, markersize=3.0, markevery=(k % every, every))  # fmt: skip
        if measure == "squared_error":
            ax.set_ylim(bottom=0.0)
        ax.margins(x=0.01)
        ax.set_title(f"({letter}) {result.cell.title}", fontsize=7.5)
        ax.set_ylabel(LABELS[measure])
    for ax in axes[-1]:
        ax.set_xlabel("game")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
    figure.suptitle(f"{title} (mean and 95 % band)", fontsize=9.0)
    return figure
