"""Games that each rule of ``Ranking-v0`` needs for the ranking that random pairs reach.

``python -m matchenv.benchmarks.ranking_study --items 20 --noise 1 --seeds 300`` prints a table.
All rules rank the same items with the same luck of each pair's k-th game. With ``--out`` a stopped
run goes on.
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

from matchenv.envs.ranking import GOALS, RankingSettings
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Steps, rollout
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
RESAMPLES = 1000
LEAST_GAMES = 20  # of an item whose fitted skill is used


def traced(measures: Sequence[str], batch: Batch, steps: Steps) -> Arrays:
    """Return measures after each step, shape (B, horizon) each."""
    found: dict[str, list[Floats]] = {name: [] for name in measures}
    for _ in steps:
        facts = batch.simulator.facts(batch.state)
        for name, values in found.items():
            values.append(facts[name].copy())
    return {name: np.stack(values, axis=1) for name, values in found.items()}


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

    Skills are drawn without replacement from ``means``; None for the prior's. Each row has the
    ``rule``, its ``share`` of the games of random pairs, and the ``difference`` of that share to
    the one of ``information``. Intervals are of resamples of the seeds, the same for all rules.
    """
    measure, sign = ("kendall_tau", 1.0) if settings.cut == 0 else ("top_errors", -1.0)
    items, given = settings.num_items, dict[str, Any]()
    jobs, playing = list[Job](), dict.fromkeys((REFERENCE, *rules))
    for rule, first in product(playing, range(0, seeds, BLOCK)):
        block = range(seeds)[first : first + BLOCK]
        if means is not None:
            skills = [np.random.default_rng(seed).permutation(means)[:items] for seed in block]
            given = {"true_skill": np.stack(skills)}
        make, rng = partial(policy_named, rule), np.random.default_rng(first)
        work = partial(rollout, make, settings, block, rng, partial(traced, [measure]), given)
        jobs.append(Job(f"{rule}_seed{first:05d}", len(block), work))
    asked = {**settings.description(), "rules": list(rules), "block": BLOCK,
             "means": None if means is None else means.tolist()}  # fmt: skip
    with (run or RunOptions()).store(asked) as store:
        traces = np.concatenate([each[measure] for each in store.results(jobs)])
    curves = sign * traces.reshape(len(playing), seeds, BINS, -1).mean(axis=3)
    found = dict(zip(playing, curves, strict=True))
    # How often each resample has each seed; the first is the seeds themselves.
    weights = np.ones((RESAMPLES + 1, seeds)) / seeds
    weights[1:] = np.random.default_rng(0).multinomial(seeds, weights[0], size=RESAMPLES) / seeds
    goals = weights @ found[REFERENCE][:, -WINDOW:].mean(axis=1)
    shares = {rule: games_needed(weights @ found[rule], goals) for rule in rules}
    known = shares.get("information", np.full(RESAMPLES + 1, np.nan))
    return [
        Record(rule=rule, share=resampled(share), difference=resampled(share - known))
        for rule, share in shares.items()
    ]


def resampled(values: Floats) -> Estimate:
    """Return the first value with the 95 % interval and the deviation of the others."""
    low, high = np.quantile(values[1:], [0.025, 0.975]).tolist()
    return Estimate(float(values[0]), float(values[1:].std()), low, high)


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
        found = rollout(
            partial(policy_named, "kg"), settings, range(runs), None,
            partial(traced, ["expected_loss", "true_loss"]),
            {"true_skill": settings.sigma * skills},
        )  # fmt: skip
        settled, mistaken = found["expected_loss"] <= 1.0 - confidence, found["true_loss"] > 0
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
        Column("minus information", "{difference:+.3f}"),
    ]
    run = RunOptions(out=given.out, workers=1)
    print("\n".join(text_table(columns, study(settings, given.rules, given.seeds, means, run))))


if __name__ == "__main__":
    main()
