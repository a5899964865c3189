"""Study of ``Ranking-v0``: games that each rule needs for the accuracy of random pairs.

``python -m matchenv.benchmarks.ranking_study --items 20 --noise 1 --seeds 300`` prints a table.
All rules rank the same items with the same random number for the k-th game of a pair. ``--out``
resumes a stopped run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.ranking import GOALS, MEASURES, RankingSettings
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Steps, rollout
from matchenv.evaluation.tables import Column, text_table
from matchenv.logs.reading import read_ratings
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import Job, RunOptions

Floats = NDArray[np.float64]

REFERENCE = "random"
RULES = ("swiss", "thompson", "information", "shrinkage", "kg")
GAMES_PER_ITEM = 40
BINS = 400  # of the games; curves are averaged within them
WINDOW = 10  # bins of the moving average of a curve
BLOCK = 50  # seeds of a job
RESAMPLES = 1000  # of the bootstrap
LEAST_GAMES = 20  # of an item whose fitted skill is used
CONFIDENCE = 0.95  # of the stopping rule


def traces(batch: Batch, steps: Steps) -> Arrays:
    """Return ``MEASURES`` after each game, shape (B, horizon) each: a summary of a rollout."""
    values = [batch.state.measures.copy() for _ in steps]
    return dict(zip(MEASURES, np.stack(values, axis=-1), strict=True))


def games_needed(means: Floats, goals: Floats) -> Floats:
    """Return the share of the games after which each curve first reaches its goal, at most 1.

    Curves have shape (R, BINS), goals shape (R,).
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

    Skills are drawn from ``means`` without replacement, or from the prior if it is None. Each
    record has the ``rule``, its ``share`` of the games of random pairs, and the ``difference``
    between this share and that of ``information``. Intervals are from a bootstrap over seeds, with
    the same resamples for all rules.
    """
    measure, sign = ("kendall_tau", 1.0) if settings.cut == 0 else ("top_errors", -1.0)
    items, given = settings.num_items, None
    jobs, playing = list[Job](), dict.fromkeys((REFERENCE, *rules))
    for rule, first in product(playing, range(0, seeds, BLOCK)):
        block = range(seeds)[first : first + BLOCK]
        if means is not None:
            skills = [np.random.default_rng(seed).permutation(means)[:items] for seed in block]
            given = {"true_skill": np.stack(skills)}
        make, rng = partial(policy_named, rule), np.random.default_rng(first)
        work = partial(rollout, make, settings, block, rng, traces, given)
        jobs.append(Job(f"{rule}_seed{first:05d}", len(block), work))
    config = {**settings.description(), "rules": list(rules), "block": BLOCK,
              "means": None if means is None else means.tolist()}  # fmt: skip
    with (run or RunOptions()).store(config) as store:
        values = np.concatenate([arrays[measure] for arrays in store.results(jobs)])
    binned = sign * values.reshape(len(playing), seeds, BINS, -1).mean(axis=3)
    curves = dict(zip(playing, binned, strict=True))
    # Weights of the seeds in each resample; the first row is the sample itself.
    weights = np.ones((RESAMPLES + 1, seeds)) / seeds
    weights[1:] = np.random.default_rng(0).multinomial(seeds, weights[0], size=RESAMPLES) / seeds
    goals = weights @ curves[REFERENCE][:, -WINDOW:].mean(axis=1)
    shares = {rule: games_needed(weights @ curves[rule], goals) for rule in rules}
    known = shares.get("information", np.full(RESAMPLES + 1, np.nan))
    return [
        Record(rule=rule, share=bootstrapped(share), difference=bootstrapped(share - known))
        for rule, share in shares.items()
    ]


def bootstrapped(values: Floats) -> Estimate:
    """Return the first value with standard error and 95 % interval from the others."""
    low, high = np.quantile(values[1:], [0.025, 0.975]).tolist()
    return Estimate(float(values[0]), float(values[1:].std()), low, high)


def stops(settings: RankingSettings, runs: int) -> list[Record]:
    """Return how often the stopping rule is wrong for several distributions of true skills.

    A run stops at the first game after which the goal is settled. Each record has the name of the
    distribution, ``law``; the share of runs that ``settled``, that stopped with a ``wrong`` ranking
    and that had a wrong settled ranking at any time, ``ever``; and the median ``games`` until the
    stop. A wrong beta is equivalent to skills with another spread than the prior's.
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
        given = {"true_skill": settings.sigma * skills}
        measures = rollout(partial(policy_named, "kg"), settings, range(runs), None, traces, given)
        settled = measures["expected_loss"] <= 1.0 - CONFIDENCE
        mistaken = measures["true_loss"] > 0
        stopped, first = settled.any(axis=1), settled.argmax(axis=1)
        rows.append(Record(law=law, settled=stopped.mean(), games=np.median(first[stopped]) + 1,
                           wrong=(stopped & mistaken[np.arange(runs), first]).mean(),
                           ever=(settled & mistaken).any(axis=1).mean()))  # fmt: skip
    return rows


def main(words: Sequence[str] | None = None) -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    add: Any = parser.add_argument
    add("--items", type=int, default=20)
    add("--noise", type=float, default=1.0, help="standard deviation of a game, sqrt(2) beta")
    add("--goal", choices=GOALS, default="order")
    add("--k", type=int, default=1)
    add("--seeds", type=int, default=300)
    add("--rules", nargs="+", default=RULES)
    add("--skills", type=Path, help="skills to draw from: ranking.csv of matchenv rank --out")
    add("--stops", type=int, default=0, help="study the stopping rule, with this horizon")
    add("--out", type=Path, help="folder of finished blocks")
    given = parser.parse_args(words)
    games_per_bin = given.items * GAMES_PER_ITEM // BINS
    if not given.stops and games_per_bin == 0:
        parser.error(f"--items must be at least {BINS // GAMES_PER_ITEM}, got {given.items}")
    settings = RankingSettings(
        num_items=given.items, horizon=given.stops or games_per_bin * BINS,
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
        print("\n".join(text_table(columns, stops(settings, given.seeds))))
        return
    means = None
    if given.skills is not None:
        rows = read_ratings(given.skills, "skills", ("mean", "games"))
        means = np.array(rows["mean"])[np.array(rows["games"]) >= LEAST_GAMES]
        means -= means.mean()
        settings = replace(settings, sigma=float(means.std()))
    columns = [
        Column("rule", "{rule}"),
        Column("share of random's games", "{share:.3f}"),
        Column("minus information", "{difference:+.3f}"),
    ]
    run = RunOptions(out=given.out, workers=1)
    print("\n".join(text_table(columns, study(settings, given.rules, given.seeds, means, run))))


if __name__ == "__main__":
    main()
