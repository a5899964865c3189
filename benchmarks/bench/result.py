"""Results of the benchmark: one score, a score for each family, tables, files, the leaderboard.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice"
(2021), for the interquartile mean with a stratified bootstrap.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import trim_mean

from matchenv.benchmarks.bench.playing import TOLD
from matchenv.benchmarks.bench.protocol import (
    EPISODES,
    FAMILIES,
    NAME,
    Family,
    families_named,
    protocol_digest,
)
from matchenv.evaluation.estimates import CONFIDENCE, Estimate, Record, ratio_of_means
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.tables import Column, markdown_table, text_table
from matchenv.runtime.files import json_bytes, parsed_json
from matchenv.runtime.provenance import provenance

Floats = NDArray[np.float64]

RESAMPLES, BOOTSTRAP_SEED = 2000, 0
TAIL = 0.5 * (1.0 - CONFIDENCE)
LEADERBOARD = "leaderboard.json"


def family_scores(above: Floats, span: Floats) -> Floats:
    """Return each run's score in each family, shape (runs, F): 0 is DrawChance, 1 the mark.

    Args:
        above: true q of every episode minus DrawChance's, shape (runs, F, E).
        span: of the same episodes, what the mark is above DrawChance, shape (F, E).
    """
    found: Floats = above.mean(axis=-1) / span.mean(axis=-1)
    return found


def overall(above: Floats, span: Floats, rng: np.random.Generator) -> Estimate:
    """Return the interquartile mean over runs and families, with its bootstrap interval.

    The bootstrap draws episodes again within each family, the same for all policies, and, where
    there are several, runs within each family.

    Args:
        above: as ``family_scores``.
        span: as ``family_scores``.
        rng: random generator of the bootstrap.
    """
    runs, families, episodes = above.shape
    drawn = np.empty((RESAMPLES, runs * families))
    rows = np.arange(families)[:, None]
    for k in range(RESAMPLES):
        chosen = rng.integers(episodes, size=(families, episodes))
        parts = family_scores(above[:, rows, chosen], span[rows, chosen])
        if runs > 1:
            parts = parts[rng.integers(runs, size=(runs, families)), np.arange(families)]
        drawn[k] = np.ravel(parts)
    values = trim_mean(drawn, 0.25, axis=1)
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
        policies: what tells its runs from others, by label; one run for each training seed.
        families: what was played; all of the protocol, or it is no entry.
        totals: true q of every episode, by label, shape (F, E): the runs, DrawChance, the oracle
            and the told index.
        refused: families that a run does not play, by label.
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
        """Interquartile means, None where no family was played.

        ``score`` is over the main families whose mark counts, and ``variants`` over the variants,
        with the oracle as mark; ``told`` and ``told_variants`` are those of the told index.
        """
        counted = [f for f, each in enumerate(self.families) if each.mark and each.mark.counts]
        variants = [f for f, each in enumerate(self.families) if each.mark is None]
        return {
            "score": self._overall(self.policies, counted),
            "told": self._overall((TOLD,), counted),
            "variants": self._overall(self.policies, variants),
            "told_variants": self._overall((TOLD,), variants),
        }

    def family_scores(self) -> list[Record]:
        """Return one for each family.

        Each has the name of the ``family``; the method's mean total of ``true_q``; its ``score``,
        0 for DrawChance and 1 for the family's mark, or the oracle where it has none; that of the
        ``told`` index; the ``mark``; and whether all runs ``refused`` to play it.
        """
        above = {label: each - self.totals[LOW_END] for label, each in self.totals.items()}
        return [
            Record(
                family=family.name,
                true_q=float(np.mean([self.totals[label][f] for label in self.policies])),
                score=ratio_of_means(np.mean([above[label][f] for label in self.policies], axis=0),
                                     span),
                told=ratio_of_means(above[TOLD][f], span),
                mark=family.mark.text if family.mark else "-",
                refused=all(family.name in self.refused.get(label, ()) for label in self.policies),
            )
            for f, (family, span) in enumerate(zip(self.families, self._spans(), strict=True))
        ]  # fmt: skip

    def head(self) -> list[str]:
        """Return what stands above the table."""
        texts = {
            name: "-" if found is None else f"{found:.3f}" for name, found in self.scores.items()
        }
        count = f"{len(self.families)} families" if self.whole else "some families, no entry"
        runs = "1 run" if len(self.policies) == 1 else f"{len(self.policies)} runs"
        return [
            f"{self.method}, {NAME}, {count}, {EPISODES} episodes each, {runs}",
            f"score {texts['score']}; of the variants {texts['variants']}",
            f"the index, given player 0's skill: {texts['told']}; {texts['told_variants']}",
            f"0 is {LOW_END}; 1 is the bound on every policy, in the variants the {HIGH_END}",
            "interquartile means with their stratified bootstrap intervals of 95 %",
        ]

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([*self.head(), "", *text_table(COLUMNS, self.family_scores())])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        table = markdown_table(COLUMNS, self.family_scores())
        return "\n".join(["  \n".join(self.head()), "", *table])

    def entry(self) -> dict[str, Any]:
        """Return the method's line in the leaderboard."""
        named = ["--method", self.method] if self.method != next(iter(self.policies)) else []
        words = ["matchenv", "bench", "--policy", *self.policies, *named]
        return {
            "protocol": NAME,
            "method": self.method,
            "command": shlex.join(words),
            "runs": len(self.policies),
            "refused": len(set().union(*self.refused.values())),
            **{name: plain_score(self.scores[name]) for name in ("score", "variants")},
            "families": {row.family: round(row.score.mean, 4) for row in self.family_scores()},
        }

    def plain(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "benchmark": NAME,
            "protocol": protocol_digest(),
            "method": self.method,
            "policies": self.policies,
            "families": [family.name for family in self.families],
            "whole": self.whole,
            "refused": {label: list(names) for label, names in self.refused.items()},
            **{name: plain_score(score) for name, score in self.scores.items()},
            "made_with": provenance(),
            "totals": {label: values.tolist() for label, values in self.totals.items()},
        }

    @classmethod
    def from_plain(cls, said: Mapping[str, Any]) -> Result:
        """Return the result of which ``plain`` is the data.

        Raises:
            KeyError, TypeError, ValueError: for anything else.
        """
        totals = {str(k): np.asarray(v, dtype=np.float64) for k, v in said["totals"].items()}
        return cls(
            str(said["method"]),
            {str(label): str(text) for label, text in said["policies"].items()},
            families_named(tuple(said["families"])),
            totals,
            {str(label): tuple(names) for label, names in said["refused"].items()},
        )

    def files(self) -> dict[str, bytes]:
        """Return the content of the result files, by name."""
        return {
            "bench.json": json_bytes(self.plain(), checked=True),
            "bench.md": f"{self.markdown()}\n".encode(),
            **({"entry.json": json_bytes(self.entry())} if self.whole else {}),
        }

    def _spans(self) -> Floats:
        """Return what the marks are above DrawChance, shape (F, E)."""
        spans = self.totals[HIGH_END] - self.totals[LOW_END]
        for f, family in enumerate(self.families):
            if family.mark is not None:
                spans[f] = family.mark.difference
        return spans

    def _overall(self, labels: Iterable[str], places: Sequence[int]) -> Estimate | None:
        if not places:
            return None
        above = np.array([self.totals[label] - self.totals[LOW_END] for label in labels])
        rng = np.random.default_rng(BOOTSTRAP_SEED)
        return overall(above[:, places], self._spans()[places], rng)


def entries() -> list[dict[str, Any]]:
    """Return the entries of the leaderboard's file, best first."""
    content = files("matchenv.benchmarks.bench").joinpath(LEADERBOARD).read_bytes()
    found: list[dict[str, Any]] = parsed_json(content)
    return sorted(found, key=lambda entry: -entry["score"]["value"])


def leaderboard_table() -> list[str]:
    """Return the leaderboard as Markdown."""
    score = "{{{0}[value]:z.3f}} [{{{0}[low]:z.3f}}, {{{0}[high]:z.3f}}]"
    columns = (
        Column("method", "{method}"),
        Column("score", score.format("score")),
        Column("score of the variants", score.format("variants")),
        Column("runs", "{runs}"),
        Column("families not played", "{refused}"),
        Column("command", "`{command}`"),
    )
    return markdown_table(columns, entries())


def plain_score(score: Estimate | None) -> dict[str, float] | None:
    """Return a score as files hold it."""
    if score is None:
        return None
    return {"value": score.mean, "low": score.low, "high": score.high}
