"""A ranking of the players of a log: table, figure, the next pairs, and how much is settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from matchenv.evaluation.tables import Column, text_table
from matchenv.logs.match_log import MatchLog
from matchenv.ranking import Ranked, Ranker
from matchenv.runtime.checks import as_integer, as_share
from matchenv.runtime.files import folder_lock, records_csv, write_together
from matchenv.trueskill.draw_margin import draw_margin_from_probability

SHOWN = 40
NAMED = 3


@dataclass(frozen=True)
class RankSettings:
    """Goal of a ranking, and the model of a game.

    Attributes:
        goal: what has to be found: the whole order, the top k, or the best.
        k: number of items at the top; needed with --goal top.
        next: number of pairs to name that should play next, a batch for parallel workers.
        confidence: probability that what is called settled is right.
        indifference: difference of skills that does not matter; without one, the order of two
            equal items is never settled.
        beta: standard deviation of one performance around skill.
        sigma: standard deviation of the prior of a skill.
        draw_margin: performances no further apart are a draw (default: from the share of draws in
            the log).
    """

    goal: Literal["order", "top", "best"] = "order"
    k: int | None = None
    next: int = 0
    confidence: float = 0.95
    indifference: float = 0.0
    beta: float = 1.0
    sigma: float = 1.0
    draw_margin: float | None = None

    def __post_init__(self) -> None:
        as_integer("next", self.next, 0, 10_000)
        as_share("confidence", self.confidence)


def ranker_of(log: MatchLog, settings: RankSettings) -> Ranker:
    """Return the ranking of a log's players after its games.

    Raises:
        ValueError: for games of other than two players, and bad settings.
    """
    if log.num_teams != 2 * log.num_games or len(log.player) != log.num_teams:
        raise ValueError("log must hold games of one player against one other, it holds others")
    # Ranks of a game are (0, 1), (1, 0), or (0, 0) for a draw.
    outcomes = log.rank[1::2].astype(np.int64) - log.rank[0::2]
    margin = settings.draw_margin
    if margin is None:
        margin = draw_margin_from_probability(float(np.mean(outcomes == 0)), settings.beta)
    ranker = Ranker(
        log.players, beta=settings.beta, sigma=settings.sigma, draw_margin=margin,
        goal=settings.goal, k=settings.k,
    )  # fmt: skip
    names, pairs = log.players, log.player.reshape(-1, 2)
    for (i, j), outcome in zip(pairs.tolist(), outcomes.tolist(), strict=True):
        ranker.record(names[i], names[j], outcome)
    return ranker


def rank_text(ranker: Ranker, settings: RankSettings) -> str:
    """Return the table, the next pairs and what is settled."""
    rows, top = ranker.ranking(), ranker.settings.k
    columns = [
        Column("item", lambda row: row.item),
        Column("place", lambda row: str(row.place)),
        Column("95 % places", lambda row: f"{row.best_place}-{row.worst_place}"),
        Column("skill", lambda row: f"{row.mean:+.2f} ± {row.deviation:.2f}"),
        Column("best" if top == 1 else f"top {top}", lambda row: f"{100.0 * row.top:.0f} %"),
        Column("games", lambda row: f"{row.games:,}"),
    ]
    lines = text_table(columns, rows[:SHOWN])
    if len(rows) > SHOWN:
        lines.append(f"and {len(rows) - SHOWN} more, see --out")
    return "\n".join([*lines, "", *_verdict(ranker, settings), *_next_pairs(ranker, settings)])


def _verdict(ranker: Ranker, settings: RankSettings) -> Iterator[str]:
    sure = settings.confidence, settings.indifference
    goal = {"order": "the order", "top": f"the top {ranker.settings.k}", "best": "the best"}
    name, unsettled = goal[settings.goal], ranker.unsettled(*sure)
    if not unsettled:
        yield f"{name} is settled at {100.0 * settings.confidence:g} %"
        return
    pairs = ", ".join(f"{a} and {b}" for a, b in unsettled[:NAMED])
    more = f", and {len(unsettled) - NAMED:,} more" if len(unsettled) > NAMED else ""
    word = "pair" if len(unsettled) == 1 else "pairs"
    yield f"{name} is settled but for {len(unsettled):,} {word}: {pairs}{more}"
    games, low, high = ranker.games_needed(*sure)
    yield f"some {games:,} games more settle all of it (80 % interval {low:,} to {high:,})"


def _next_pairs(ranker: Ranker, settings: RankSettings) -> Iterator[str]:
    if settings.next:
        yield ""
        yield "to play next:"
        yield from (f"  {a} vs {b}" for a, b in ranker.next_pairs(settings.next))


def write_ranking(ranker: Ranker, out: Path) -> None:
    """Write ranking.csv, ranking.json, which ``Ranker.load`` reads, and the figure."""
    rows = ranker.ranking()
    files = {
        "ranking.csv": records_csv([row._asdict() for row in rows]),
        "ranking.json": ranker.content(),
        **dict(ranking_figure(rows)),
    }
    with folder_lock(out):
        write_together((out / name, content) for name, content in files.items())


def ranking_figure(rows: Sequence[Ranked]) -> Iterator[tuple[str, bytes]]:
    """Return the figure as PNG and SVG: skills with 95 % intervals, the best at the top."""
    # Plotting is slow to load.
    from matchenv.benchmarks.figures import LINES, files_of, new_figure, style

    with style("ranking", 9.0):
        figure, axes = new_figure(1, 1, (5.0, 1.0 + 0.2 * len(rows)))
        ax, places = axes[0, 0], np.arange(len(rows))
        means = [row.mean for row in rows]
        reach = [[row.mean - row.low for row in rows], [row.high - row.mean for row in rows]]
        ax.errorbar(means, places, xerr=reach, fmt="o", color=LINES[0][0], markersize=3.0)
        # A name is text, whatever is in it.
        names = [row.item.replace("$", r"\$") for row in rows]
        ax.set_yticks(
            places, [f"{name}  {row.place}" for name, row in zip(names, rows, strict=True)]
        )
        ax.invert_yaxis()
        ax.set_xlabel("skill, with its 95 % interval")
        ax.grid(axis="x", color="0.9")
        yield from files_of("ranking", figure, 200)
