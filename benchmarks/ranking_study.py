"""Games that each rule of ``Ranking-v0`` needs for the ranking that random pairs reach.

``python -m matchenv.benchmarks.ranking_study --items 20 --noise 1 --seeds 300`` prints a table.
All rules rank the same items with the same luck of each pair's k-th game. With ``--out`` a stopped
run goes on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.ranking import GOALS, MEASURES, RankingSettings
from matchenv.evaluation.estimates import Record
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Decisions, steps
from matchenv.evaluation.tables import Column, text_table
from matchenv.logs.text_table import read_ratings
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import Job, RunOptions

Floats = NDArray[np.float64]

REFERENCE = "random"
RULES = ("swiss", "thompson", "information", "shrinkage", "kg")
GAMES_PER_ITEM = 40
BINS = 400  # of the games; curves are averaged within them
WINDOW = 10  # bins over which they are smoothed
BLOCK = 50  # seeds that are played side by side
BEYOND = 1.3  # a rule plays on by this factor after it has reached the goal
RESAMPLES = 1000
LEAST_GAMES = 20  # of an item whose fitted skill is used


def curves(
    settings: RankingSettings, rules: Sequence[str], means: Floats | None, seeds: Sequence[int]
) -> Arrays:
    """Return the quality of the order by each rule, shape (seeds, BINS): the mean in each bin.

    Quality is Kendall's tau, or minus the number of wrong items at the top. A rule stops some games
    after its mean has reached the goal, that of random pairs at the horizon; its last quality
    stands for the rest.

    Args:
        settings: of the episodes.
        rules: names of the policies.
        means: skills that items have, drawn without replacement; None for the prior's.
        seeds: of the episodes.
    """
    measure, sign = ("kendall_tau", 1.0) if settings.cut == 0 else ("top_errors", -1.0)
    given = None if means is None else np.stack(
        [np.random.default_rng(seed).permutation(means)[: settings.num_items] for seed in seeds]
    )  # fmt: skip
    games, goal, found = settings.horizon // BINS, np.inf, Arrays()
    for rule in (REFERENCE, *rules):
        batch = Batch(settings, seeds, {"true_skill": given})
        decisions = Decisions(policy_named(rule, settings), np.random.default_rng(seeds[0]))
        curve, last = np.zeros((len(seeds), BINS)), BINS
        for game, _ in enumerate(steps(decisions, batch), start=1):
            end = math.ceil(game / games)
            curve[:, end - 1] += sign / games * batch.simulator.facts(batch.state)[measure]
            if last == BINS and game == end * games and end >= WINDOW:
                reached = curve[:, end - WINDOW : end].mean() >= goal
                last = min(BINS, int(BEYOND * end)) if reached else BINS
            if game == last * games:
                break
        curve[:, last:] = curve[:, last - WINDOW : last].mean(axis=1, keepdims=True)
        goal = curve[:, -WINDOW:].mean() if rule == REFERENCE else goal
        found[rule] = curve
    return found


def games_needed(means: Floats, goals: Floats) -> Floats:
    """Return the share of the games after which each curve first reaches its goal, at most 1.

    Args:
        means: shape (R, BINS).
        goals: shape (R,).
    """
    sums = np.cumsum(np.pad(means, ((0, 0), (1, 0))), axis=1)
    reached = (sums[:, WINDOW:] - sums[:, :-WINDOW]) / WINDOW >= goals[:, np.newaxis]
    reached[:, -1] = True
    share: Floats = (WINDOW + reached.argmax(axis=1)) / BINS
    return share


def study(
    settings: RankingSettings,
    rules: Sequence[str],
    seeds: int,
    means: Floats | None = None,
    run: RunOptions | None = None,
) -> list[Record]:
    """Return the games that each rule needs.

    Each has the ``rule``; its ``share`` of the games of random pairs with a 95 % interval, ``low``
    to ``high``, by resampling the seeds of all rules together; and the interval of that share minus
    the one of ``information``, ``less`` to ``more``.
    """
    blocks = [range(seeds)[first : first + BLOCK] for first in range(0, seeds, BLOCK)]
    jobs = [Job(f"seed{each[0]:05d}", len(each), partial(curves, settings, rules, means, each))
            for each in blocks]  # fmt: skip
    asked = {**settings.description(), "rules": list(rules), "block": BLOCK,
             "means": None if means is None else means.tolist()}  # fmt: skip
    with (run or RunOptions()).store(asked) as store:
        played = store.results(jobs)
    found = {rule: np.concatenate([each[rule] for each in played]) for rule in played[0]}
    # How often each resample has each seed; the first is the seeds themselves.
    weights = np.ones((RESAMPLES + 1, seeds)) / seeds
    weights[1:] = np.random.default_rng(0).multinomial(seeds, weights[0], size=RESAMPLES) / seeds
    goals = weights @ found[REFERENCE][:, -WINDOW:].mean(axis=1)
    shares = {rule: games_needed(weights @ found[rule], goals) for rule in rules}
    unknown = np.full(RESAMPLES + 1, np.nan)
    rows = []
    for rule, share in shares.items():
        compared = np.stack([share, share - shares.get("information", unknown)])
        (low, less), (high, more) = np.quantile(compared[:, 1:], [0.025, 0.975], axis=1).tolist()
        rows.append(Record(rule=rule, share=share[0], low=low, high=high, less=less, more=more))
    return rows


def stops(settings: RankingSettings, runs: int, confidence: float) -> list[Record]:
    """Return how often the stopping rule is wrong, for several laws of the skills.

    Runs stop at the first game after which the goal is settled. Each row has the ``law``, the
    share of the runs that ``settled`` before the horizon, with a ``wrong`` answer, and of those in
    which a settled answer was wrong at any time, ``ever``; and the median ``games`` of those that
    stopped. That beta is half or twice what is believed is the same as skills that are spread twice
    or half as wide, with the belief of the prior.
    """
    rng, shape = np.random.default_rng(7), (runs, settings.num_items)
    normal = rng.normal(size=shape)
    laws = {
        "normal": normal,
        "uniform": rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=shape),
        "Student's t, 3 degrees": rng.standard_t(3, size=shape) / np.sqrt(3.0),
        "beta half of the believed": 2.0 * normal,
        "beta twice the believed": 0.5 * normal,
    }
    rows = []
    for law, skills in laws.items():
        batch = Batch(settings, range(runs), {"true_skill": settings.sigma * skills})
        decisions = Decisions(policy_named("kg", settings))
        values = np.stack([batch.state.measures.copy() for _ in steps(decisions, batch)], axis=1)
        measured = dict(zip(MEASURES, values, strict=True))
        settled, mistaken = measured["expected_loss"] <= 1.0 - confidence, measured["true_loss"] > 0
        stopped, first = settled.any(axis=0), settled.argmax(axis=0)
        rows.append(Record(law=law, settled=stopped.mean(), games=np.median(first[stopped]) + 1,
                           wrong=(stopped & mistaken[first, np.arange(runs)]).mean(),
                           ever=(settled & mistaken).any(axis=0).mean()))  # fmt: skip
    return rows


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
    add("--skills", type=Path, help="ranking.csv of matchenv rank --out")
    add("--stops", type=int, default=0, help="games at most; the table of the stopping rule")
    add("--out", type=Path, help="folder of finished blocks")
    given = parser.parse_args(words)
    # Games in a bin.
    each = given.items * GAMES_PER_ITEM // BINS
    if not given.stops and each == 0:
        parser.error(f"--items must be at least {BINS // GAMES_PER_ITEM}, got {given.items}")
    settings = RankingSettings(
        num_items=given.items, horizon=given.stops or each * BINS,
        beta=given.noise / np.sqrt(2.0), goal=given.goal, k=given.k,
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
    means = None
    if given.skills is not None:
        found = read_ratings(given.skills, "skills", ("mean", "games"))
        means = np.array(found["mean"])[np.array(found["games"]) >= LEAST_GAMES]
        means -= means.mean()
        settings = replace(settings, sigma=float(means.std()))
    columns = [
        Column("rule", "{rule}"),
        Column("share of random's games", "{share:.3f}"),
        Column("95 %", "[{low:.3f}, {high:.3f}]"),
        Column("minus information", "[{less:+.3f}, {more:+.3f}]"),
    ]
    run = RunOptions(out=given.out, workers=1)
    print("\n".join(text_table(columns, study(settings, given.rules, given.seeds, means, run))))


if __name__ == "__main__":
    main()
