"""Files of ``matchenv rank``: tables, the saved ranking, the content of its page, and a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matchenv.benchmarks.ranking import (
    RankedGames,
    RankReport,
    RankSettings,
    check_line,
    model_lines,
    next_content,
)
from matchenv.evaluation.tables import shortened
from matchenv.ranking import Ranked, Ranker
from matchenv.runtime.checks import printable
from matchenv.runtime.files import folder_lock, json_bytes, records_csv, write_together

FILES = (
    "ranking.csv", "ranking.json", "rank.json", "next.json", "ranking.png", "ranking.svg",
)  # fmt: skip
CATEGORIES = "categories.csv"
LABELS = 400  # names in the figure
MOST_MET = 40  # items in the table of who met whom
STEPS = 20  # points of the leader's history
MOST_HISTORY_ITEMS = 300


def write_ranking(
    ranker: Ranker,
    ranked: RankedGames,
    report: RankReport,
    settings: RankSettings,
    categories: Mapping[str, Ranker],
    out: Path,
) -> None:
    """Write the files of a ranking.

    ``ranking.csv`` has the rows, ``ranking.json`` is for ``Ranker.load`` and ``--state``,
    ``rank.json`` for ``matchenv report``, ``next.json`` has the next pairs; the figure is PNG and
    SVG. With categories, ``categories.csv`` has their rows.

    Args:
        ranker: after its games.
        ranked: the games of the log.
        report: what there is to say.
        settings: of the ranking.
        categories: rankers of the categories.
        out: folder.
    """
    files = {
        "ranking.csv": records_csv([row._asdict() for row in report.rows]),
        "ranking.json": ranker.content(),
        "rank.json": json_bytes(rank_content(ranker, ranked, report, settings), checked=True),
        "next.json": json_bytes(next_content(report)),
        **ranking_figure(ranker, report.rows, settings),
    }
    if categories:
        files[CATEGORIES] = records_csv(_category_rows(categories, settings))
    with folder_lock(out):
        write_together((out / name, content) for name, content in files.items())


def _category_rows(
    categories: Mapping[str, Ranker], settings: RankSettings
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for category, ranker in categories.items():
        reference = settings.reference if settings.reference in ranker.items else None
        for row in ranker.ranking(reference, settings.reference_elo):
            rows.append({"category": category, **row._asdict()})
    return rows


def rank_content(
    ranker: Ranker, ranked: RankedGames, report: RankReport, settings: RankSettings
) -> dict[str, Any]:
    """Return the content of rank.json."""
    names = [row.item for row in report.rows[:MOST_MET]]
    games, scores = met(ranker, names)
    notes = model_lines(ranker, ranked, settings)
    if report.check is not None:
        notes.append(check_line(report.check))
    notes += [f"warning: {message}" for message in ranker.warnings()]
    return {
        "goal": ranker.goal,
        "k": ranker.k,
        "scale": settings.scale,
        "confidence": settings.confidence,
        "num_games": ranker.num_games,
        "num_unsettled": len(report.unsettled),
        "contradicted": report.contradicted,
        "notes": notes,
        "rows": [row._asdict() for row in report.rows],
        "names": names,
        "games": games,
        "scores": scores,
        "history": [step._asdict() for step in history(ranker, report.rows[0].item)],
        "next": report.pairs,
    }


def met(ranker: Ranker, names: Sequence[str]) -> tuple[Any, Any]:
    """Return the games of each item against each other one, and its score share; 0 without games.

    A draw is half a win. Both have shape (n, n).
    """
    place = {name: index for index, name in enumerate(names)}
    games = np.zeros((len(names), len(names)), dtype=np.int64)
    wins = np.zeros((len(names), len(names)))
    for game in ranker.games:
        if game.first not in place or game.second not in place:
            continue
        i = place[game.first]
        j = place[game.second]
        games[i, j] += 1
        games[j, i] += 1
        wins[i, j] += 0.5 + 0.5 * game.outcome
        wins[j, i] += 0.5 - 0.5 * game.outcome
    return games, wins / np.maximum(games, 1)


class Step(NamedTuple):
    """The probability that an item is among the top k after some games."""

    games: int
    top: float


def history(ranker: Ranker, item: str) -> list[Step]:
    """Return how the probability of an item to be among the top k grew, with today's model.

    Returns:
        At most 20 steps; none with more than 300 items.
    """
    if len(ranker.items) > MOST_HISTORY_ITEMS or not ranker.num_games:
        return []
    games = ranker.games
    counts = np.unique(np.linspace(1, len(games), STEPS).round().astype(int)).tolist()
    advantage = ranker.advantage
    steps: list[Step] = []
    for count in counts:
        earlier = Ranker(
            ranker.items,
            beta=ranker.beta,
            sigma=ranker.sigma,
            draw_margin=ranker.draw_margin,
            first_advantage=0.0 if advantage is None else ranker.first_advantage,
            goal=ranker.goal,
            k=ranker.k,
        )
        earlier.record_games(games[:count])
        for row in earlier.ranking():
            if row.item == item:
                steps.append(Step(count, row.top))
    return steps


def ranking_figure(
    ranker: Ranker, rows: Sequence[Ranked], settings: RankSettings
) -> dict[str, bytes]:
    """Return the figure of a ranking as PNG and SVG, by file name.

    Skills and places with 95 % intervals and probabilities of the top k, the best item at the top,
    a line under the top k, and at most ``LABELS`` names, cut in the middle if they have more than
    60 characters.
    """
    # Plotting is slow to load.
    from matchenv.benchmarks.figures import LINES, files_of, new_figure, style

    rows = [row for row in rows if row.place]
    labels = [_label(row) for row in rows]
    step = math.ceil(len(rows) / LABELS)
    heights = np.arange(len(rows))
    colour = LINES[0][0]
    with style("ranking", 9.0):
        width = 8.0 + 0.1 * max(map(len, labels))
        figure, axes = new_figure(1, 3, (width, 1.0 + 0.2 * len(rows) / step))
        skill, place, top = axes[0]
        if settings.scale == "elo":
            means = [row.elo for row in rows]
            reach = [row.elo_high - row.elo for row in rows]
            skill.set_xlabel("Elo with 95 % interval")
        else:
            means = [row.mean for row in rows]
            reach = [row.high - row.mean for row in rows]
            skill.set_xlabel("skill with 95 % interval")
        skill.errorbar(means, heights, xerr=reach, fmt="o", color=colour, markersize=3.0)
        best = np.array([row.best_place for row in rows])
        worst = np.array([row.worst_place for row in rows])
        places = np.array([row.place for row in rows])
        place.hlines(heights, best, worst, color=colour)
        place.plot(places, heights, "o", color=colour, markersize=3.0)
        place.set_xlabel("place with 95 % interval")
        top.barh(heights, [100.0 * row.top for row in rows], color=colour)
        top.set_xlim(0.0, 100.0)
        k = ranker.k
        top.set_xlabel("probability of the best place, %" if k == 1 else f"in the top {k}, %")
        for ax in axes[0]:
            ax.set_yticks(heights[::step], [""] * len(heights[::step]))
            ax.set_ylim(len(rows) - 0.5, -0.5)
            ax.axhline(k - 0.5, color="0.4", linewidth=0.8, linestyle="--")
            ax.grid(axis="x", color="0.9")
        skill.set_yticklabels(labels[::step])
        return dict(files_of("ranking", figure, 200))


def _label(row: Ranked) -> str:
    """Return the name of a row with its place, for the figure.

    Dollar signs would start a formula. The marks keep the place to the right of a name in Hebrew or
    Arabic.
    """
    name = printable(shortened(row.item, 60))
    return f"\u200e{name}\u200e  {row.place}".replace("$", r"\$")
