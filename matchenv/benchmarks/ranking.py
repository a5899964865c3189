"""Ranking of the players of a match log: table, figure, next pairs, and what is settled."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.tables import Column, shortened, text_table
from matchenv.logs.match_log import MatchLog
from matchenv.ranking import MOST_GAMES, Pair, Ranked, Ranker
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import printable, shown
from matchenv.runtime.files import folder_lock, json_bytes, records_csv, write_together
from matchenv.trueskill.draw_margin import draw_margin_from_probability

SHOWN = 40  # rows of the printed table
LABELS = 400  # names in the figure
NAMED = 3  # unsettled pairs
# Relative change at which a draw margin has settled, and most rounds until then.
SETTLED, ROUNDS = 0.001, 20


def ranker_of(log: MatchLog, *, draw_margin: float | None = None, **options: Any) -> Ranker:
    """Return a ranker that has recorded the games of a log, in a random order of a fixed seed.

    Skills do not change, so the order carries no information, while moment matching errs in games
    sorted by result: it forgets how uncertain the first ones were.

    Args:
        log: games of one player against one other.
        draw_margin: see ``Ranker``; None for the margin with the log's share of draws in games
            between these players.
        options: further arguments of ``Ranker``.

    Raises:
        ValueError: for other games and bad options.
    """
    other = np.bincount(log.entry_game) != 2
    if other.any():
        names = [log.players[k] for k in log.player[log.entry_game == other.argmax()]]
        rule = "log must hold games of one player against one other"
        raise ValueError(f"{rule}, got a game of {shown(names)}")
    # Ranks of a game are (0, 1), (1, 0), or (0, 0) for a draw.
    outcomes = log.rank[1::2].astype(np.int64) - log.rank[0::2]
    if log.weight is not None or log.neutral is not None:
        warnings.warn("a ranking does not use weights and neutral ground", stacklevel=2)
    pairs = log.player.reshape(-1, 2)
    games = np.random.default_rng(0).permutation(np.column_stack((pairs, outcomes))).tolist()

    def ranked(margin: float) -> Ranker:
        ranker = Ranker(log.players, draw_margin=margin, **options)
        ranker.record_games((log.players[i], log.players[j], outcome) for i, j, outcome in games)
        return ranker

    if draw_margin is not None:
        return ranked(draw_margin)
    share, beta = float(np.mean(outcomes == 0)), options.get("beta", RankingSettings.beta)
    if share == 1.0:
        raise ValueError("draw_margin must be given for a log of draws alone, got None")
    (i, j), margin = pairs.T, draw_margin_from_probability(share, beta)
    for _ in range(ROUNDS):
        ranker, before = ranked(margin), margin
        (mu, covariance), variance = ranker.belief, np.diagonal(ranker.belief[1])
        deviation = np.sqrt(2.0 * beta**2 + variance[i] + variance[j] - 2.0 * covariance[i, j])
        margin = _margin_of_share(share, np.abs(mu[i] - mu[j]), deviation)
        if abs(margin - before) <= SETTLED * margin:
            break
    return ranker


def _margin_of_share(share: float, gap: Floats, deviation: Floats) -> float:
    """Return the margin with a share of draws in games with these differences of performances."""

    def excess(margin: float) -> float:
        low, high = ndtr((np.array([[-margin], [margin]]) - gap) / deviation)
        return float(np.mean(high - low)) - share

    return float(brentq(excess, 0.0, gap.max() + 40.0 * deviation.max()))


def ranking_text(ranker: Ranker, rows: Sequence[Ranked]) -> str:
    """Return the table of a ranker's ``ranking()``."""
    k = ranker.settings.k
    columns = [
        Column("item", lambda row: shortened(row.item)),
        Column("place", lambda row: str(row.place)),
        Column("95 % places", lambda row: f"{row.best_place}-{row.worst_place}"),
        Column("skill ± deviation", lambda row: f"{row.mean:+z.2f} ± {row.deviation:.2f}"),
        Column("best" if k == 1 else f"top {k}", lambda row: f"{100.0 * row.top:.0f} %"),
        Column("games", lambda row: f"{row.games:,}"),
    ]
    lines = text_table(columns, rows[:SHOWN])
    if len(rows) > SHOWN:
        lines.append(f"and {len(rows) - SHOWN} more, see --out")
    return "\n".join(lines)


def settled_text(
    ranker: Ranker,
    rows: Sequence[Ranked],
    limits: tuple[float, float],
    unsettled: Sequence[Pair],
    pairs: Sequence[Pair],
) -> str:
    """Return what is settled, and the next pairs; slow with many items.

    Args:
        ranker: after its games.
        rows: its ``ranking()``.
        limits: confidence and indifference, see ``Ranker.is_settled``.
        unsettled: pairs that are not settled.
        pairs: the next pairs.
    """
    k, lines = ranker.settings.k, [""]
    goal = {"order": "the order", "top": f"the top {k}", "best": "the best"}[ranker.settings.goal]
    if ranker.settings.goal == "top":
        lines.append(f"expected errors in {goal}: {sum(1.0 - row.top for row in rows[:k]):.2f}")
    if unsettled:
        named = [f"{a} and {b}" for a, b in unsettled[:NAMED]]
        named += [f"and {len(unsettled) - NAMED:,} more"] if len(unsettled) > NAMED else []
        word = "pair" if len(unsettled) == 1 else "pairs"
        lines.append(f"{goal} is settled except for {len(unsettled):,} {word}: {', '.join(named)}")
        games, low, high = (
            f"{number:,}{'+' if number == MOST_GAMES else ''}"
            for number in ranker.games_needed(*limits)
        )
        lines.append(f"estimated games to settle it: {games} (80 % interval {low} to {high})")
    else:
        lines.append(f"{goal} is settled at {100.0 * limits[0]:.12g} %")
    if pairs:
        lines += ["", "next pairs:", *(f"  {a} vs {b}" for a, b in pairs)]
    return "\n".join(lines)


def write_ranking(ranker: Ranker, rows: Sequence[Ranked], chosen: Any, out: Path) -> None:
    """Write ranking.csv, ranking.json for ``Ranker.load``, next.json, and a figure as PNG and SVG.

    The figure shows the skills with 95 % intervals, the best at the top, and at most ``LABELS``
    names, cut in the middle if they have more than 60 characters.

    Args:
        ranker: after its games.
        rows: its ``ranking()``.
        chosen: content of next.json.
        out: folder.
    """
    # Plotting is slow to load.
    from matchenv.benchmarks.figures import LINES, files_of, new_figure, style

    # Dollar signs would start a formula. The marks \u200e keep the place to the right of a name in
    # Hebrew or Arabic.
    names = [f"\u200e{printable(shortened(row.item, 60))}\u200e  {row.place}".replace("$", r"\$")
             for row in rows]  # fmt: skip
    with style("ranking", 9.0):
        width, step = 4.0 + 0.1 * max(map(len, names)), math.ceil(len(rows) / LABELS)
        figure, axes = new_figure(1, 1, (width, 1.0 + 0.2 * len(rows) / step))
        ax, places = axes[0, 0], np.arange(len(rows))
        means, reach = [row.mean for row in rows], [row.high - row.mean for row in rows]
        ax.errorbar(means, places, xerr=reach, fmt="o", color=LINES[0][0], markersize=3.0)
        ax.set_yticks(places[::step], names[::step])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlabel("skill with 95 % interval")
        ax.grid(axis="x", color="0.9")
        files = {
            "ranking.csv": records_csv([row._asdict() for row in rows]),
            "ranking.json": ranker.content(),
            "next.json": json_bytes(chosen),
            **dict(files_of("ranking", figure, 200)),
        }
    with folder_lock(out):
        write_together((out / name, content) for name, content in files.items())
