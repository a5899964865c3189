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
        text = "{difference:.2f} ± {standard_error:.2f}".format_map(self.mark)
        return text if self.counts else f"{text}, does not count"


def _families() -> tuple[Family, ...]:
    kinds: dict[str, dict[str, Any]] = {
        f"{rank}_{prior}_{opponents}_{games}":
            {"rank": rank, "prior": prior, "num_opponents": opponents, "horizon": games}
        for rank, prior, opponents, games in product(RANKS, PRIORS, OPPONENTS, GAMES)
    }  # fmt: skip
    for (variant, options), rank in product(VARIANTS.items(), RANKS):
        kinds[f"{rank}_{variant}"] = {"rank": rank, **options}
    beta = math.sqrt(2.5)
    return tuple(
        Family(number, name, Settings.checked(beta=beta, noise="opponent", **options),
               MARKS.get(name))
        for number, (name, options) in enumerate(kinds.items())
    )  # fmt: skip


FAMILIES = _families()


def protocol_digest() -> str:
    """Return a digest of everything that the protocol fixes."""
    families = {family.name: family.settings.description() for family in FAMILIES}
    marks = {family.name: family.mark for family in FAMILIES if family.mark is not None}
    return checksum({"name": NAME, "seed": SEED, "episodes": EPISODES, "families": families,
                     "marks": marks, "least_errors": LEAST_ERRORS})  # fmt: skip


TRUE_Q = "true_draw_density"
TOLD = "told"
RESAMPLES, BOOTSTRAP_SEED = 2000, 0
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
        parts = family_scores(above[:, rows, chosen], span[rows, chosen])
        if runs > 1:
            parts = parts[rng.integers(runs, size=runs)]
        resampled[k] = np.ravel(parts)
    values = trim_mean(resampled, 0.25, axis=1)
    low, high = np.quantile(values, (TAIL, 1.0 - TAIL)).tolist()
    value = float(trim_mean(np.ravel(family_scores(above, span)), 0.25))
    return Estimate(value, float(values.std(ddof=1)), low, high)


COLUMNS = (
    Column("family", "{family}"),
    Column("true q", "{true_q:.2f}"),
    Column("score", lambda row: "not played: 0" if row.refused else f"{row.score:.2f}"),
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

        ``score`` is over the main families whose mark counts, ``variants`` over the variants with
        the oracle as mark; ``told`` and ``told_variants`` are those of the told index.
        """
        counted = [f for f, each in enumerate(self.families) if each.counts]
        variants = [f for f, each in enumerate(self.families) if each.mark is None]
        asked = {
            "score": (self.policies, counted),
            "told": ((TOLD,), counted),
            "variants": (self.policies, variants),
            "told_variants": ((TOLD,), variants),
        }
        return {
            name: overall(self._above(labels)[:, places], self._spans()[places]) if places else None
            for name, (labels, places) in asked.items()
        }

    def rows(self) -> list[Record]:
        """Return a record for each family.

        Each has the name of the ``family``; the method's mean total of ``true_q``; its ``score``,
        0 for DrawChance and 1 for the mark, in variants for the oracle; the score of the ``told``
        index; the ``mark``; and whether all runs ``refused`` to play it.
        """
        ours, (told,) = self._above(self.policies).mean(axis=0), self._above((TOLD,))
        return [
            Record(
                family=family.name,
                true_q=float(np.mean([self.totals[label][f] for label in self.policies])),
                score=ratio_of_means(ours[f], span),
                told=ratio_of_means(told[f], span),
                mark=family.mark_text,
                refused=all(family.name in self.refused.get(label, ()) for label in self.policies),
            )
            for f, (family, span) in enumerate(zip(self.families, self._spans(), strict=True))
        ]

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
        texts = {name: f"{score:.3f}" if score else "-" for name, score in self.scores.items()}
        count = f"{len(self.families)} families" if self.whole else "some families, no entry"
        runs = counted(len(self.policies), "run")
        return [
            f"{self.method}, {NAME}, {count}, {EPISODES} episodes each, {runs}",
            "score {score}; of the variants {variants}".format_map(texts),
            "the index, given player 0's skill: {told}; {told_variants}".format_map(texts),
            f"0 is {LOW_END}; 1 is the bound on every policy, in the variants the {HIGH_END}",
            "interquartile means with their stratified bootstrap intervals of 95 %",
        ]

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([*self.head(), "", *text_table(COLUMNS, self.rows())])

    def files(self) -> dict[str, bytes]:
        """Return the result files; ``entry.json`` only if all families were played."""
        rows = self.rows()
        scores = {name: each and {"value": each.mean, "low": each.low, "high": each.high}
                  for name, each in self.scores.items()}  # fmt: skip
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
        named = ["--method", self.method] if self.method != next(iter(self.policies)) else []
        entry = {
            "protocol": NAME,
            "method": self.method,
            "command": shlex.join(["matchenv", "bench", "--policy", *self.policies, *named]),
            "runs": len(self.policies),
            "refused": len(set().union(*self.refused.values())),
            **{name: scores[name] for name in ("score", "variants")},
            "families": {row.family: round(row.score.mean, 4) for row in rows},
        }
        markdown = "\n".join(["  \n".join(self.head()), "", *markdown_table(COLUMNS, rows)])
        return {
            "bench.json": json_bytes(content, checked=True),
            "bench.md": f"{markdown}\n".encode(),
            **({"entry.json": json_bytes(entry)} if self.whole else {}),
        }


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
    runs = {each.label: each.identity for each in candidates_of(policies, Settings.checked())}
    asked = {"command": "bench", "protocol": protocol_digest(), "method": method,
             "policies": runs, "only": list(only)}  # fmt: skip
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
    players, jobs, summary = [], [], partial(sums, measures=(TRUE_Q,))
    for family in families:
        marks = candidates_of([LOW_END, HIGH_END], family.settings)
        playing = {mark.label: mark for mark in (*marks, TOLD_INDEX)}
        for text in policies:
            with suppress(ValueError):
                (playing[text],) = candidates_of([text], family.settings)
        players.append([playing[label] for label in sorted(playing)])
        seeds = episode_seeds(SEED, 0, EPISODES, (BENCH, INSTANCES, family.number))
        for candidate in players[-1]:
            rng = stream_of(SEED, BENCH, POLICIES, family.number, *policy_key(candidate.label))
            call = partial(candidate.rollout, family.settings, seeds, rng, summary)
            key = None
            if candidate.lasting:
                key = {
                    "bench": protocol_digest(),
                    "family": family.name,
                    "policy": candidate.identity,
                    "belief": candidate.belief,
                }
            name = f"{candidate.label} in {family.name}"
            jobs.append(Job(key, EPISODES, call, name=name))
    results = iter(store.results(jobs))
    played = [{each.label: next(results)[TRUE_Q] for each in candidates} for candidates in players]
    totals = {
        label: np.array([each.get(label, each[LOW_END]) for each in played])
        for label in (*policies, LOW_END, HIGH_END, TOLD)
    }
    refused = {
        label: tuple(family.name for family, each in zip(families, played, strict=True)
                     if label not in each)
        for label in policies
    }  # fmt: skip
    return totals, {label: names for label, names in refused.items() if names}
