"""The benchmark: episodes, scores, tables and files.

The protocol, everything down to ``protocol_digest``, must not change: a new protocol needs a new
name.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice"
(2021), for the interquartile mean with a stratified bootstrap.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import trim_mean

from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.estimates import CONFIDENCE, Estimate, Record, ratio_of_means
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.evaluation.rollout import sums
from matchenv.evaluation.seeds import (
    BENCH,
    INSTANCES,
    POLICIES,
    episode_seeds,
    policy_key,
    stream_of,
)
from matchenv.evaluation.tables import Column, markdown_table, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, counted
from matchenv.runtime.files import checksum, json_bytes, parsed_json
from matchenv.runtime.jobs import Job, RunOptions, Store
from matchenv.runtime.provenance import provenance

NAME = "matchenv-bench-v1"

# Seed of all instances and all luck.
SEED = 20110613
# Episodes of a family, played in one batch.
EPISODES = 100

RANKS = ("top", "middle")
PRIORS = ("informative", "equal")
OPPONENTS = (9, 49, 199)
GAMES = (50, 500)

# Families besides the main ones, each at both ranks with 49 opponents and 500 games.
VARIANTS: dict[str, dict[str, Any]] = {
    "matching": {"prior": "equal", "equal_variance": "matching"},
    "draws": {"draw_margin": 0.5},
    "drift": {"tau": 0.1},
    "pool": {"availability": 0.5, "mean_stay": 20.0, "turnover": 0.002},
}

# A family counts in the score if its mark is at least this many standard errors above DrawChance.
# One standard error of the mark then changes the family's score by at most a fifth.
LEAST_ERRORS = 5.0

# Marks of the main families, written by ``matchenv bound --marks`` of 0.1.0.
_BOUNDS = files("matchenv.benchmarks.bench").joinpath("bounds.json").read_bytes()
MARKS = {name: Record(mark) for name, mark in parsed_json(_BOUNDS)["families"].items()}


@dataclass(frozen=True)
class Family:
    """Episodes with the same settings.

    ``mark`` is what counts as 1 in a main family: an upper ``bound`` on the mean total of true q of
    any policy, the total of ``drawchance`` on the same sample ``paths``, and their paired
    ``difference`` with its ``standard_error``. None in variants, where the oracle counts as 1.
    """

    number: int  # decides the seeds
    name: str  # for example ``top_informative_49_500`` or ``middle_drift``
    settings: Settings  # settings of the environment
    mark: Record | None = None

    @property
    def counts(self) -> bool:
        """True if the mark is accurate enough for the score."""
        mark = self.mark
        return mark is not None and bool(mark.difference >= LEAST_ERRORS * mark.standard_error)

    @property
    def mark_text(self) -> str:
        """The mark minus DrawChance, and whether it does not count."""
        if self.mark is None:
            return "-"
        difference = f"{self.mark.difference:.2f} ± {self.mark.standard_error:.2f}"
        if not self.counts:
            return f"{difference}, does not count"
        return difference


def _families() -> tuple[Family, ...]:
    options_by_name: dict[str, dict[str, Any]] = {}
    for rank, prior, opponents, games in product(RANKS, PRIORS, OPPONENTS, GAMES):
        options_by_name[f"{rank}_{prior}_{opponents}_{games}"] = {
            "rank": rank,
            "prior": prior,
            "num_opponents": opponents,
            "horizon": games,
        }
    for variant, options in VARIANTS.items():
        for rank in RANKS:
            options_by_name[f"{rank}_{variant}"] = {"rank": rank, **options}
    families = []
    for number, (name, options) in enumerate(options_by_name.items()):
        settings = Settings.checked(beta=math.sqrt(2.5), noise="opponent", **options)
        families.append(Family(number, name, settings, MARKS.get(name)))
    return tuple(families)


FAMILIES = _families()


def protocol_digest() -> str:
    """Return a digest of everything that the protocol fixes."""
    protocol = {
        "name": NAME,
        "seed": SEED,
        "episodes": EPISODES,
        "families": {family.name: family.settings.description() for family in FAMILIES},
        "marks": {family.name: family.mark for family in FAMILIES if family.mark is not None},
        "least_errors": LEAST_ERRORS,
    }
    return checksum(protocol)


TRUE_Q = "true_draw_density"
TOLD = "told"
RESAMPLES = 2000
BOOTSTRAP_SEED = 0
TAIL = 0.5 * (1.0 - CONFIDENCE)


def family_scores(above: Floats, span: Floats) -> Floats:
    """Return the score of each run in each family, shape (runs, F): 0 is DrawChance, 1 the mark.

    Args:
        above: true q of each episode minus DrawChance's, shape (runs, F, E).
        span: mark of the same episodes minus DrawChance's true q, shape (F, E).
    """
    return np.asarray(above.mean(axis=-1) / span.mean(axis=-1))


def overall(above: Floats, span: Floats) -> Estimate:
    """Return the interquartile mean of ``family_scores`` with its bootstrap interval.

    The bootstrap resamples the episodes of each family, the same for all policies, and the runs if
    there are several, the same for all families.
    """
    runs, families, episodes = above.shape
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    resampled = np.empty((RESAMPLES, runs * families))
    rows = np.arange(families)[:, None]
    for k in range(RESAMPLES):
        chosen = rng.integers(episodes, size=(families, episodes))
        scores = family_scores(above[:, rows, chosen], span[rows, chosen])
        if runs > 1:
            scores = scores[rng.integers(runs, size=runs)]
        resampled[k] = np.ravel(scores)
    values = trim_mean(resampled, 0.25, axis=1)
    low, high = np.quantile(values, (TAIL, 1.0 - TAIL)).tolist()
    value = float(trim_mean(np.ravel(family_scores(above, span)), 0.25))
    return Estimate(value, float(values.std(ddof=1)), low, high)


def score_text(row: Record) -> str:
    """Return the score of a method in a family."""
    if row.refused:
        return "not played: 0"
    return f"{row.score:.2f}"


COLUMNS = (
    Column("family", "{family}"),
    Column("true q", "{true_q:.2f}"),
    Column("score", score_text),
    Column("told s_0", "{told:.2f}"),
    Column("bound - DrawChance", "{mark}"),
)


@dataclass(frozen=True)
class Result:
    """Result of a method.

    Attributes:
        method: its name in tables.
        policies: identities of its runs by label; one run for each training seed.
        families: families that were played; an entry needs all.
        totals: true q of each episode, shape (F, E), by label: the runs, DrawChance, the oracle
            and the index that is told player 0's skill.
        refused: families that a run cannot play, by label.
    """

    method: str
    policies: dict[str, str]
    families: tuple[Family, ...]
    totals: dict[str, Floats]
    refused: dict[str, tuple[str, ...]]

    @property
    def whole(self) -> bool:
        """True if all families were played."""
        return len(self.families) == len(FAMILIES)

    @cached_property
    def scores(self) -> dict[str, Estimate | None]:
        """Interquartile means, None without families.

        ``score`` is over the main families whose mark counts, ``score_50`` and ``score_500`` over
        those of so many games; ``variants`` over the variants with the oracle as mark; ``told`` and
        ``told_variants`` are those of the told index.
        """
        main = [f for f, family in enumerate(self.families) if family.counts]
        variants = [f for f, family in enumerate(self.families) if family.mark is None]
        scores = {
            "score": self._overall(self.policies, main),
            "told": self._overall([TOLD], main),
            "variants": self._overall(self.policies, variants),
            "told_variants": self._overall([TOLD], variants),
        }
        for games in GAMES:
            of_length = [f for f in main if self.families[f].settings.horizon == games]
            scores[f"score_{games}"] = self._overall(self.policies, of_length)
        return scores

    def _overall(self, labels: Iterable[str], families: Sequence[int]) -> Estimate | None:
        """Return the interquartile mean over runs and families; None without families."""
        if not families:
            return None
        return overall(self._above(labels)[:, families], self._spans()[families])

    def rows(self) -> list[Record]:
        """Return a record for each family.

        Each has the name of the ``family``; the method's mean total of ``true_q``; its ``score``,
        0 for DrawChance and 1 for the mark, in variants for the oracle; the score of the ``told``
        index; the ``mark``; and whether all runs ``refused`` to play it.
        """
        ours = self._above(self.policies).mean(axis=0)
        (told,) = self._above([TOLD])
        spans = self._spans()
        rows = []
        for f, family in enumerate(self.families):
            totals = [self.totals[label][f] for label in self.policies]
            refusals = [family.name in self.refused.get(label, ()) for label in self.policies]
            row = Record(
                family=family.name,
                true_q=float(np.mean(totals)),
                score=ratio_of_means(ours[f], spans[f]),
                told=ratio_of_means(told[f], spans[f]),
                mark=family.mark_text,
                refused=all(refusals),
            )
            rows.append(row)
        return rows

    def _above(self, labels: Iterable[str]) -> Floats:
        """Return totals minus DrawChance's, shape (labels, F, E)."""
        return np.array([self.totals[label] - self.totals[LOW_END] for label in labels])

    def _spans(self) -> Floats:
        """Return the marks minus DrawChance's totals, shape (F, E)."""
        spans = self.totals[HIGH_END] - self.totals[LOW_END]
        for f, family in enumerate(self.families):
            if family.mark is not None:
                spans[f] = family.mark.difference
        return spans

    def head(self) -> list[str]:
        """Return the lines above the table."""
        scores = {}
        for name, score in self.scores.items():
            scores[name] = "-"
            if score is not None:
                scores[name] = f"{score:.3f}"
        families = "some families, no entry"
        if self.whole:
            families = f"{len(self.families)} families"
        runs = counted(len(self.policies), "run")
        return [
            f"{self.method}, {NAME}, {families}, {EPISODES} episodes each, {runs}",
            f"score {scores['score']}; of the variants {scores['variants']}",
            ", ".join(f"over {games} games {scores[f'score_{games}']}" for games in GAMES),
            f"the index, given player 0's skill: {scores['told']}; {scores['told_variants']}",
            f"0 is {LOW_END}; 1 is the bound on every policy, in the variants the {HIGH_END}",
            "interquartile means with their stratified bootstrap intervals of 95 %",
        ]

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([*self.head(), "", *text_table(COLUMNS, self.rows())])

    def files(self) -> dict[str, bytes]:
        """Return the result files; ``entry.json`` only if all families were played."""
        scores: dict[str, dict[str, float] | None] = {}
        for name, score in self.scores.items():
            scores[name] = None
            if score is not None:
                scores[name] = {"value": score.mean, "low": score.low, "high": score.high}
        content = {
            "benchmark": NAME,
            "protocol": protocol_digest(),
            "method": self.method,
            "policies": self.policies,
            "families": [family.name for family in self.families],
            "whole": self.whole,
            "refused": self.refused,
            **scores,
            "made_with": provenance(),
            "totals": {label: values.tolist() for label, values in self.totals.items()},
        }
        rows = self.rows()
        lines = ["  \n".join(self.head()), "", *markdown_table(COLUMNS, rows)]
        files = {
            "bench.json": json_bytes(content, checked=True),
            "bench.md": ("\n".join(lines) + "\n").encode(),
        }
        if self.whole:
            entry = {
                "protocol": NAME,
                "method": self.method,
                "command": self._command(),
                "runs": len(self.policies),
                "refused": len(set().union(*self.refused.values())),
                "score": scores["score"],
                "variants": scores["variants"],
                "families": {row.family: round(row.score.mean, 4) for row in rows},
            }
            files["entry.json"] = json_bytes(entry)
        return files

    def _command(self) -> str:
        """Return the command that repeats the benchmark."""
        words = ["matchenv", "bench", "--policy", *self.policies]
        if self.method != next(iter(self.policies)):
            words += ["--method", self.method]
        return shlex.join(words)


# The index that is told player 0's skill, the second mark.
TOLD_INDEX = Candidate(TOLD, "matchenv.baselines.gittins:ToldIndex", TOLD)


def run_bench(
    policies: Sequence[str],
    *,
    method: str | None = None,
    only: Sequence[str] = (),
    run: RunOptions | None = None,
) -> Result:
    """Play the benchmark.

    Args:
        policies: names of policies, the runs of one method, one for each training seed.
        method: its name in tables; None for the first policy's.
        only: names of families; none for all, which an entry needs.
        run: folder, workers, and other options that change no result.

    Raises:
        ValueError: for a bad argument, before anything is played, or a folder with other results.
        OSError: if the folder cannot be written.
    """
    run = run or RunOptions()
    for name in only:
        as_choice("only", name, [family.name for family in FAMILIES])
    families = tuple(family for family in FAMILIES if not only or family.name in only)
    # Refuse policies that cannot play the default environment.
    candidates = candidates_of(policies, Settings.checked())
    runs = {candidate.label: candidate.identity for candidate in candidates}
    asked = {
        "command": "bench",
        "protocol": protocol_digest(),
        "method": method,
        "policies": runs,
        "only": list(only),
    }
    with run.store(asked) as store:
        totals, refused = play_families(list(runs), families, store)
        result = Result(method or next(iter(runs)), runs, families, totals, refused)
        store.finish(result, result.files().items())
    return result


def play_families(
    policies: Sequence[str], families: Sequence[Family], store: Store
) -> tuple[dict[str, Floats], dict[str, tuple[str, ...]]]:
    """Play all episodes of some families with some policies and the marks.

    Returns:
        Totals of true q by label, shape (F, E) each, with DrawChance's in refused families; and
        the names of refused families by label.
    """
    jobs = []
    played = []  # name of the family and label of the policy, for each job
    for family in families:
        candidates = _candidates(policies, family)
        seeds = episode_seeds(SEED, 0, EPISODES, (BENCH, INSTANCES, family.number))
        for label in sorted(candidates):
            candidate = candidates[label]
            stream = (BENCH, POLICIES, family.number, *policy_key(candidate.label))
            work = partial(
                candidate.rollout,
                family.settings,
                seeds,
                stream_of(SEED, *stream),
                partial(sums, measures=(TRUE_Q,)),
            )
            key = {
                "bench": protocol_digest(),
                "family": family.name,
                "policy": candidate.identity,
                "belief": candidate.belief,
            }
            name = f"{candidate.label} in {family.name}"
            jobs.append(Job(key if candidate.lasting else None, EPISODES, work, name=name))
            played.append((family.name, candidate.label))
    values = {}
    for key_of_job, result in zip(played, store.results(jobs), strict=True):
        values[key_of_job] = result[TRUE_Q]
    totals = {}
    refused = {}
    for label in (*policies, LOW_END, HIGH_END, TOLD):
        missing = [family.name for family in families if (family.name, label) not in values]
        for name in missing:
            values[name, label] = values[name, LOW_END]
        totals[label] = np.array([values[family.name, label] for family in families])
        if missing:
            refused[label] = tuple(missing)
    return totals, refused


def _candidates(policies: Sequence[str], family: Family) -> dict[str, Candidate]:
    """Return the marks, and the policies that can play a family, by label."""
    candidates = {TOLD: TOLD_INDEX}
    for mark in candidates_of([LOW_END, HIGH_END], family.settings):
        candidates[mark.label] = mark
    for policy in policies:
        with suppress(ValueError):
            (candidates[policy],) = candidates_of([policy], family.settings)
    return candidates
