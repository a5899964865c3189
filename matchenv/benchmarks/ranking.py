"""Ranking of the players of a match log: table, fit of the model, what is settled, next pairs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matchenv.envs.ranking import GOALS, ORDER
from matchenv.evaluation.tables import Column, shortened, text_table
from matchenv.logs.match_log import MatchLog
from matchenv.logs.reading import Reading
from matchenv.ranking import FitCheck, Game, GamesNeeded, Ranked, Ranker
from matchenv.ranking.options import DENSE_ITEMS, checked_options
from matchenv.ranking.ranker import Pair
from matchenv.ranking.simulation import MOST_GAMES
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_share,
    counted,
    shown,
)

SHOWN = 40  # rows of the printed table
NAMED = 3  # unsettled pairs
SCALES = ("skill", "elo")

# Columns whose games are not independent, unless the user names another one.
CLUSTER_COLUMNS = ("prompt", "question_id", "prompt_id")
NO_CLUSTERS = "none"
# Prior standard deviation of the advantage of the first side, in beta. At one deviation the first
# of two equals wins 64 %.
FIRST_ADVANTAGE = 0.5
# The model does not fit if the p-value of the check is below this.
CONTRADICTED = 0.05


@dataclass(frozen=True)
class RankSettings:
    """Goal, model and report of ``matchenv rank``.

    Attributes:
        goal: what to settle: order, top (with k) or best.
        k: number of top items; required by goal top.
        beta: standard deviation of one performance.
        sigma: standard deviation of the prior of a skill (default: estimated from the games).
        draw_margin: performances no further apart are a draw (default: estimated from the games).
        first_advantage: standard deviation of the prior of the advantage of the side that was first
            (default: half of beta if the log says who was first, else 0).
        cluster: column whose games are not independent, or none (default: prompt, if there is one).
        by: column of categories, for example language; each is ranked too.
        scale: points of the table and the figure: skill or elo.
        reference: item with skill 0 (default: the mean of all items).
        reference_elo: Elo points of the reference, or of the mean.
        confidence: probability that all is right if skills follow the prior.
        indifference: skill difference to ignore; 0 settles equal items at random.
        next: number of pairs to play next, a batch for parallel workers.
        estimate: estimate the number of games until the goal is settled.
    """

    goal: str = ORDER
    k: int | None = None
    beta: float = 1.0
    sigma: float | None = None
    draw_margin: float | None = None
    first_advantage: float | None = None
    cluster: str | None = None
    by: str | None = None
    scale: str = "skill"
    reference: str | None = None
    reference_elo: float = 0.0
    confidence: float = 0.95
    indifference: float = 0.0
    next: int = 0
    estimate: bool = False

    def __post_init__(self) -> None:
        as_choice("goal", self.goal, GOALS)
        as_choice("scale", self.scale, SCALES)
        as_positive_number("beta", self.beta)
        as_number("reference_elo", self.reference_elo)
        as_share("confidence", self.confidence)
        as_non_negative_number("indifference", self.indifference)
        as_integer("next", self.next, 0, 10_000)
        most = DENSE_ITEMS
        checked_options(self.options(has_first=False), most)

    def options(self, *, has_first: bool) -> dict[str, Any]:
        """Return the options of a ``Ranker``.

        Args:
            has_first: whether the log says who was first.
        """
        advantage = self.first_advantage
        if advantage is None:
            advantage = FIRST_ADVANTAGE * self.beta if has_first else 0.0
        return {
            "goal": self.goal,
            "k": self.k,
            "beta": self.beta,
            "sigma": self.sigma,
            "draw_margin": self.draw_margin,
            "first_advantage": advantage,
            "seed": 0,
        }


class RankedGames(NamedTuple):
    """The games of a log that can be ranked.

    Attributes:
        games: the games.
        categories: category of each game; empty without ``by``.
        first_side: column that says who was first; empty if none does.
        cluster: column of the clusters; empty for none.
    """

    games: list[Game]
    categories: list[str]
    first_side: str
    cluster: str


class RankReport(NamedTuple):
    """What ``matchenv rank`` says about a ranking.

    Attributes:
        rows: the ranking.
        check: fit of the model; None where covariances are not kept.
        unsettled: pairs that are not settled.
        pairs: the next pairs.
        needed: games until the goal is settled; None if not asked for, or if it is.
    """

    rows: list[Ranked]
    check: FitCheck | None
    unsettled: list[Pair]
    pairs: list[Pair]
    needed: GamesNeeded | None

    @property
    def contradicted(self) -> bool:
        """Whether the games contradict the model."""
        return self.check is not None and self.check.p_value < CONTRADICTED


def further_columns(settings: RankSettings, header: Sequence[str]) -> tuple[list[str], str]:
    """Return the columns to read for each game, and the one of the clusters, empty for none."""
    cluster = settings.cluster
    if cluster is None:
        usual = [name for name in header if name.strip().lower() in CLUSTER_COLUMNS]
        cluster = usual[0] if usual else NO_CLUSTERS
    if cluster == NO_CLUSTERS:
        cluster = ""
    wanted = [name for name in (cluster, settings.by) if name]
    return list(dict.fromkeys(wanted)), cluster


def games_of(reading: Reading, settings: RankSettings, cluster: str) -> RankedGames:
    """Return the games of one player against one other, in the order of the log.

    Other games are set aside, with a warning.

    Args:
        reading: the log.
        settings: of the ranking.
        cluster: column of the clusters; empty for none.

    Raises:
        ValueError: if there is no such game.
    """
    log = reading.log
    alone = _games_of_two(log)
    if log.weight is not None:
        warnings.warn("a ranking does not use weights", stacklevel=2)
    clusters = reading.further.get(cluster)
    categories = reading.further.get(settings.by or "")
    games: list[Game] = []
    kept: list[str] = []
    for game in np.flatnonzero(alone).tolist():
        side = int(log.game_start[game])
        player = int(log.team_start[side])
        difference = int(log.rank[side + 1]) - int(log.rank[side])
        neutral = not reading.first_side
        if log.neutral is not None:
            neutral = neutral or bool(log.neutral[game])
        own_cluster = clusters[game] or None if clusters is not None else None
        games.append(
            Game(
                log.players[log.player[player]],
                log.players[log.player[player + 1]],
                int(np.sign(difference)),
                neutral,
                own_cluster,
            )
        )
        if categories is not None:
            kept.append(categories[game])
    return RankedGames(games, kept, reading.first_side, cluster)


def _games_of_two(log: MatchLog) -> Any:
    """Return which games are of one player against one other, and warn about others."""
    members = np.bincount(log.entry_game, minlength=log.num_games)
    alone = (members == 2) & (log.game_size == 2)
    others = int(np.count_nonzero(~alone))
    if others:
        names = [log.players[k] for k in log.player[log.entry_game == int(np.argmin(alone))]]
        rule = "log must hold games of one player against one other"
        if others == log.num_games:
            raise ValueError(f"{rule}, got a game of {shown(names)}")
        message = f"set aside {counted(others, 'game')}: {rule}, for example not {shown(names)}"
        warnings.warn(message, stacklevel=3)
    return alone


def ranker_of(
    ranked: RankedGames,
    settings: RankSettings,
    *,
    state: Path | None = None,
    explicit: frozenset[str] = frozenset(),
) -> Ranker:
    """Return a ranker that has recorded games.

    Args:
        ranked: the games.
        settings: of the ranking.
        state: file of an earlier ranking that goes on; None for a new one.
        explicit: settings that replace those of the state.

    Raises:
        ValueError: for bad options and a bad state.
    """
    names = dict.fromkeys(name for game in ranked.games for name in (game.first, game.second))
    options = settings.options(has_first=bool(ranked.first_side))
    if state is None:
        ranker = Ranker(names, **options)
    else:
        ranker = Ranker.load(state)
        changed = {name: options[name] for name in options if name in explicit}
        new = [name for name in names if name not in set(ranker.items)]
        ranker.add(*new)
        if changed:
            ranker.set_options(**changed)
    ranker.record_games(ranked.games)
    return ranker


def category_rankers(ranked: RankedGames, settings: RankSettings) -> dict[str, Ranker]:
    """Return a ranker for each category, by decreasing number of games."""
    rankers: dict[str, Ranker] = {}
    for category, _ in Counter(ranked.categories).most_common():
        games: list[Game] = []
        for game, own in zip(ranked.games, ranked.categories, strict=True):
            if own == category:
                games.append(game)
        part = ranked._replace(games=games, categories=[])
        rankers[category] = ranker_of(part, settings)
    return rankers


def report_of(ranker: Ranker, settings: RankSettings) -> RankReport:
    """Return what there is to say about a ranking."""
    limits = settings.confidence, settings.indifference
    reference = settings.reference
    rows = ranker.ranking(reference, settings.reference_elo)
    check = None
    if ranker.keeps_covariances and ranker.num_games:
        check = ranker.check()
    unsettled = ranker.unsettled(*limits)
    pairs: list[Pair] = []
    if settings.next:
        pairs = ranker.next_pairs(settings.next, (), settings.indifference)
    needed = None
    if settings.estimate and unsettled:
        needed = ranker.games_needed(*limits)
    return RankReport(rows, check, unsettled, pairs, needed)


def ranking_text(ranker: Ranker, rows: Sequence[Ranked], settings: RankSettings) -> str:
    """Return the table of a ranking."""
    k = ranker.k

    def points(row: Ranked) -> str:
        if settings.scale == "elo":
            return f"{row.elo:+.0f} [{row.elo_low:+.0f}, {row.elo_high:+.0f}]"
        return f"{row.mean:+z.2f} [{row.low:+z.2f}, {row.high:+z.2f}]"

    name = "Elo" if settings.scale == "elo" else "skill"
    columns = [
        Column("item", lambda row: shortened(row.item)),
        Column("place", lambda row: str(row.place) if row.place else "retired"),
        Column("95 % places", lambda row: f"{row.best_place}-{row.worst_place}"),
        Column(f"{name} [95 % interval]", points),
        Column("best" if k == 1 else f"top {k}", lambda row: f"{100.0 * row.top:.0f} %"),
        Column("games", lambda row: f"{row.games:,}"),
    ]
    lines = text_table(columns, rows[:SHOWN])
    if len(rows) > SHOWN:
        lines.append(f"and {len(rows) - SHOWN} more, see --out")
    return "\n".join(lines)


def model_lines(ranker: Ranker, ranked: RankedGames, settings: RankSettings) -> list[str]:
    """Return what the intervals rest on, in lines."""
    level = "the mean of the items" if settings.reference is None else settings.reference
    unit = "Elo" if settings.scale == "elo" else "skills"
    origin = "estimated" if ranker.estimates_sigma else "given"
    lines = [f"{unit} relative to {level}; sigma {ranker.sigma:.2f} ({origin})"]
    if ranker.draw_margin > 0.0:
        origin = "estimated" if settings.draw_margin is None else "given"
        lines[0] += f", draw margin {ranker.draw_margin:.2f} ({origin})"
    advantage = ranker.advantage
    if advantage is not None:
        column = f" ({ranked.first_side})" if ranked.first_side else ""
        lines.append(
            f"advantage of the first side{column}: {advantage.mean:+.2f} [{advantage.low:+.2f}, "
            f"{advantage.high:+.2f}]; it wins {100.0 * advantage.win_probability:.0f} % between "
            "equals"
        )
    if ranked.cluster:
        effect = ranker.cluster_deviation
        line = f"games with equal {ranked.cluster} are not independent: "
        if effect > 0.0:
            line += f"items differ from their skill by {effect:.2f} within one, "
            line += "and intervals include it"
        else:
            line += "no effect found"
        lines.append(line)
    return lines


def check_line(check: FitCheck) -> str:
    """Return the fit of the model in one line."""
    line = (
        f"fit: {100.0 * check.upsets:.1f} % upsets, {100.0 * check.expected_upsets:.1f} % expected"
    )
    if check.cycle:
        cycle = " > ".join([*check.cycle, check.cycle[0]])
        line += f"; strongest cycle {cycle} (p = {check.p_value:.2g})"
    return line


def settled_text(ranker: Ranker, report: RankReport, settings: RankSettings) -> str:
    """Return the fit of the model, what is settled, and the next pairs."""
    lines = [""]
    if report.check is not None:
        lines.append(check_line(report.check))
    lines += [f"warning: {message}" for message in ranker.warnings()]
    goal = {"order": "the order", "top": f"the top {ranker.k}", "best": "the best"}[ranker.goal]
    if ranker.goal == "top":
        errors = sum(1.0 - row.top for row in report.rows[: ranker.k])
        lines.append(f"expected errors in {goal}: {errors:.2f}")
    if report.unsettled:
        lines.append(_unsettled_line(goal, report.unsettled))
    elif report.contradicted:
        lines.append(
            f"warning: the games contradict the model, so whether {goal} is settled is not known; "
            "look at the cycle: one skill for each item does not describe these games"
        )
    else:
        promise = f"if skills are normal with deviation {ranker.sigma:.2g}"
        if ranker.estimates_sigma:
            promise += ", as estimated"
        lines.append(f"{goal} is settled at {100.0 * settings.confidence:.12g} %, {promise}")
    if report.needed is not None:
        lines.append(_needed_line(report.needed))
    if report.pairs:
        lines += ["", "next pairs, the first to be named first:", *_pair_lines(report.pairs)]
    return "\n".join(lines)


def _unsettled_line(goal: str, unsettled: Sequence[Pair]) -> str:
    named = [f"{a} and {b}" for a, b in unsettled[:NAMED]]
    if len(unsettled) > NAMED:
        named.append(f"and {len(unsettled) - NAMED:,} more")
    word = "pair" if len(unsettled) == 1 else "pairs"
    return f"{goal} is settled except for {len(unsettled):,} {word}: {', '.join(named)}"


def _needed_line(needed: GamesNeeded) -> str:
    numbers: list[str] = []
    for number in needed:
        numbers.append(f"{number:,}{'+' if number == MOST_GAMES else ''}")
    games, low, high = numbers
    return f"estimated games to settle it: {games} (80 % interval {low} to {high})"


def _pair_lines(pairs: Sequence[Pair]) -> list[str]:
    lines = [f"  {a} vs {b}" for a, b in pairs]
    times = Counter(frozenset(pair) for pair in pairs)
    if max(times.values()) > 1:
        lines.append("pairs are repeated where no other one has half of their value for the goal")
    return lines


def next_content(report: RankReport) -> Mapping[str, Any]:
    """Return the content of next.json."""
    return {"unsettled": len(report.unsettled), "next": report.pairs}
