"""Games that each rule of ``Ranking-v0`` needs for the ranking that random pairs reach.

``python -m matchenv.benchmarks.ranking_study --items 20 --noise 1 --seeds 300`` prints a table.
All rules rank the same items with the same luck of each pair's k-th game.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.ranking.settings import GOALS, RankingSettings
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Decisions, steps
from matchenv.evaluation.tables import Column, text_table

Floats = NDArray[np.float64]

RULES = ("swiss", "thompson", "information", "shrinkage", "kg")
GAMES_PER_ITEM = 40
WINDOW = 40  # a curve is averaged over 1 / 40 of the games
BEYOND = 1.5  # a rule plays on by this factor after it has reached the goal
RESAMPLES = 1000


class Items(NamedTuple):
    """Items of each episode.

    Attributes:
        settings: of the episodes.
        seeds: one for each episode.
        skills: true skills, shape (episodes, items); None to draw them from the prior.
    """

    settings: RankingSettings
    seeds: Sequence[int]
    skills: Floats | None = None

    def batch(self) -> Batch:
        """Return the episodes, just begun."""
        return Batch(self.settings, self.seeds, {"true_skill": self.skills})

    @classmethod
    def of_file(cls, path: Path, settings: RankingSettings, seeds: Sequence[int]) -> Items:
        """Return items whose skills are drawn from the column ``mean`` of a ranking.csv.

        The prior has the mean and the deviation of all of them.
        """
        with path.open(newline="") as lines:
            means = np.array([float(row["mean"]) for row in csv.DictReader(lines)])
        means -= means.mean()
        rng = np.random.default_rng(0)
        chosen = [rng.permutation(means)[: settings.num_items] for _ in seeds]
        return cls(replace(settings, sigma=float(means.std())), seeds, np.array(chosen))


def curve(rule: str, items: Items, goal: float) -> Floats:
    """Return the quality of the order after each game, shape (games, seeds), averaged in windows.

    Quality is Kendall's tau, or minus the number of wrong items at the top.

    Args:
        rule: name of the policy.
        items: to be ranked.
        goal: stop some games after the mean has reached it; infinity to play to the horizon.
    """
    settings = items.settings
    measure = ("kendall_tau", 1.0) if settings.cut == 0 else ("top_errors", -1.0)
    batch, found = items.batch(), list[Floats]()
    policy, window = policy_named(rule, settings), settings.horizon // WINDOW
    last = settings.horizon
    for game, _ in enumerate(steps(Decisions(policy, np.random.default_rng(0)), [batch])):
        found.append(measure[1] * batch.simulator.facts(batch.state)[measure[0]])
        due = last == settings.horizon and game % window == 0
        if due and game > window and np.mean(found[-window:]) >= goal:
            last = min(last, int(BEYOND * game))
        if game >= last:
            break
    sums = np.cumsum([np.zeros(len(batch)), *found], axis=0)
    smoothed: Floats = (sums[window:] - sums[:-window]) / window
    return smoothed


def games_needed(means: Floats, goals: Floats) -> Floats:
    """Return where each curve first reaches its goal, at the latest its end.

    Args:
        means: shape (R, games).
        goals: shape (R,).
    """
    reached = means >= goals[:, np.newaxis]
    return 1.0 + np.where(reached.any(axis=1), reached.argmax(axis=1), means.shape[1] - 1)


def study(items: Items, rules: Sequence[str]) -> list[Record]:
    """Return the games that each rule needs.

    Each has the ``rule``; its ``share`` of the games of random pairs with a 95 % interval, by
    resampling the seeds of all rules together; and the interval of that share minus the one of
    ``information``, as ``more``.
    """
    count, rng = len(items.seeds), np.random.default_rng(0)
    # How often each resample has each seed; the first is the seeds themselves.
    weights = np.ones((RESAMPLES + 1, count)) / count
    weights[1:] = rng.multinomial(count, weights[0], size=RESAMPLES) / count
    random = curve("random", items, np.inf)
    goals = weights @ random[-1]
    shares = {
        rule: games_needed(weights @ curve(rule, items, goals[0]).T, goals) / len(random)
        for rule in rules
    }

    def resampled(values: Floats) -> Estimate:
        low, high = np.quantile(values[1:], [0.025, 0.975]).tolist()
        return Estimate(float(values[0]), float(values[1:].std(ddof=1)), low, high)

    unknown = np.full(RESAMPLES + 1, np.nan)
    return [
        Record(rule=rule, share=resampled(shares[rule]),
               more=resampled(shares[rule] - shares.get("information", unknown)))
        for rule in rules
    ]  # fmt: skip


def stops(settings: RankingSettings, runs: int, confidence: float) -> list[Record]:
    """Return how often the stopping rule is wrong, for several laws of the skills.

    Runs stop at the first game after which the goal is settled. Each row has the ``law``, the
    share of the runs that ``settled`` before the horizon, with a ``wrong`` answer, and of those in
    which a settled answer was wrong at any time, ``ever``; and the median ``games`` of those that
    stopped. That beta is half or twice what is believed is the same as skills that are spread twice
    or half as wide, with the belief of the prior.
    """
    rng = np.random.default_rng(7)
    shape = (runs, settings.num_items)
    normal = settings.sigma * rng.normal(size=shape)
    laws = {
        "normal": normal,
        "uniform": settings.sigma * rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=shape),
        "Student's t, 3 degrees": settings.sigma * rng.standard_t(3, size=shape) / np.sqrt(3.0),
        "beta half of the believed": 2.0 * normal,
        "beta twice the believed": 0.5 * normal,
    }
    found = []
    for law, skills in laws.items():
        batch = Batch(settings, range(runs), {"true_skill": skills})
        games = np.zeros(runs)
        wrong, ever = np.zeros(runs, np.bool_), np.zeros(runs, np.bool_)
        for game, _ in enumerate(steps(Decisions(policy_named("kg", settings)), [batch]), start=1):
            facts = batch.simulator.facts(batch.state)
            settled, mistaken = facts["expected_loss"] <= 1.0 - confidence, facts["true_loss"] > 0
            new = settled & (games == 0)
            games[new] = game
            wrong |= new & mistaken
            ever |= settled & mistaken
        stopped = games > 0
        middle = float(np.median(games[stopped])) if stopped.any() else np.nan
        found.append(Record(law=law, settled=stopped.mean(), wrong=wrong.mean(),
                            ever=ever.mean(), games=middle))  # fmt: skip
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    add: Any = parser.add_argument
    add("--items", type=int, default=20)
    add("--noise", type=float, default=1.0, help="deviation of a game's noise, sqrt(2) beta")
    add("--goal", choices=GOALS, default="order")
    add("--k", type=int, default=1)
    add("--seeds", type=int, default=300)
    add("--rules", nargs="+", default=RULES)
    add("--draw-margin", type=float, default=0.0)
    add("--skills", type=Path, help="ranking.csv of matchenv rank --out")
    add("--stops", type=int, default=0, help="games at most; the table of the stopping rule")
    given = parser.parse_args(words)
    settings = RankingSettings(
        num_items=given.items, horizon=given.stops or GAMES_PER_ITEM * given.items,
        beta=given.noise / np.sqrt(2.0), goal=given.goal, k=given.k,
        draw_margin=given.draw_margin,
    )  # fmt: skip
    if given.stops:
        columns = [
            Column("true skills", "{law}"),
            Column("settled", "{settled:.3f}"),
            Column("wrong", "{wrong:.4f}"),
            Column("ever wrong", "{ever:.4f}"),
            Column("median games", "{games:.0f}"),
        ]
        print("\n".join(text_table(columns, stops(settings, given.seeds, 0.95))))
        return
    columns = [
        Column("rule", "{rule}"),
        Column("share of random's games", "{share.mean:.3f}"),
        Column("95 %", "[{share.low:.3f}, {share.high:.3f}]"),
        Column("minus information", "[{more.low:+.3f}, {more.high:+.3f}]"),
    ]
    items = Items(settings, range(given.seeds))
    if given.skills is not None:
        items = Items.of_file(given.skills, settings, range(given.seeds))
    print("\n".join(text_table(columns, study(items, given.rules))))


if __name__ == "__main__":
    main()
