"""What the benchmark found: one score, a score for each family, tables and the result file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bench.playing import TOLD
from matchenv.benchmarks.bench.protocol import (
    EPISODES,
    FAMILIES,
    NAME,
    Family,
    families_named,
    protocol_digest,
)
from matchenv.benchmarks.bench.scoring import Score, of_family, overall
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.tables import Column, markdown_table, text_table
from matchenv.runtime.files import checksum, json_bytes
from matchenv.runtime.provenance import provenance

Floats = NDArray[np.float64]

DIGEST = "sha256"
BOOTSTRAP_SEED = 0


@dataclass(frozen=True)
class FamilyScore:
    """One family in the tables.

    Attributes:
        family: what was played.
        true_q: mean total of the method.
        score: 0 for DrawChance, 1 for the family's mark, or the oracle where it has none.
        told: the score of the index that was told player 0's skill.
        refused: whether no run of the method plays it.
    """

    family: Family
    true_q: float
    score: Score
    told: Score
    refused: bool


@dataclass(frozen=True)
class Result:
    """What a method reached.

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
        """Whether all families were played."""
        return len(self.families) == len(FAMILIES)

    @cached_property
    def scores(self) -> dict[str, Score | None]:
        """Interquartile means, None where no family was played.

        ``score`` is over the main families whose mark counts, and ``variants`` over the variants,
        with the oracle as mark; ``told`` and ``told_variants`` are those of the told index.
        """
        counted = [f for f, each in enumerate(self.families) if each.mark and each.mark.counts]
        variants = [f for f, each in enumerate(self.families) if each.mark is None]
        runs, told = self._above(self.policies), self._above((TOLD,))
        return {
            "score": self._overall(runs, counted),
            "told": self._overall(told, counted),
            "variants": self._overall(runs, variants),
            "told_variants": self._overall(told, variants),
        }

    def family_scores(self) -> list[FamilyScore]:
        """One for each family."""
        runs, told, spans = self._above(self.policies), self._above((TOLD,)), self._spans()
        return [
            FamilyScore(
                family,
                float(np.mean([self.totals[label][f] for label in self.policies])),
                of_family(runs[:, f], spans[f]),
                of_family(told[:, f], spans[f]),
                all(family.name in self.refused.get(label, ()) for label in self.policies),
            )
            for f, family in enumerate(self.families)
        ]

    def tables(self) -> list[tuple[str, Sequence[Column], list[Any]]]:
        """Return title, columns and rows of the main families, and of the variants."""
        found, rows = self.scores, self.family_scores()
        main = [row for row in rows if row.family.mark is not None]
        variants = [row for row in rows if row.family.mark is None]
        title = f"{self.method}, {NAME}"
        named = (
            ("score", "score", main, MAIN_COLUMNS),
            ("variants", "score of the variants", variants, VARIANT_COLUMNS),
        )
        return [
            (f"{title}: {words} {score_text(found[name])}", columns, those)
            for name, words, those, columns in named
            if those
        ]

    def head(self) -> list[str]:
        """Return what stands above the tables."""
        found = self.scores
        count = f"{len(self.families)} families" if self.whole else "some families, no entry"
        runs = "1 run" if len(self.policies) == 1 else f"{len(self.policies)} runs"
        return [
            f"{self.method}, {NAME}, {count}, {EPISODES} episodes each, {runs}",
            f"score {score_text(found['score'])}; of the variants {score_text(found['variants'])}",
            f"the index told player 0's skill: {score_text(found['told'])}; "
            f"{score_text(found['told_variants'])}",
            f"0 is {LOW_END}; 1 is the bound on every policy, in the variants the {HIGH_END}",
            "interquartile means with their stratified bootstrap intervals of 95 %",
        ]

    def text(self) -> str:
        """Return the tables for a terminal."""
        tables = [text_table(columns, rows) for _, columns, rows in self.tables()]
        return "\n\n".join("\n".join(lines) for lines in [self.head(), *tables])

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        tables = [markdown_table(columns, rows) for _, columns, rows in self.tables()]
        return "\n\n".join(["  \n".join(self.head()), *("\n".join(lines) for lines in tables)])

    def latex(self) -> str:
        """The tables as LaTeX."""
        from matchenv.benchmarks.report.page import Table, latex_table  # slow to load

        return "".join(f"{latex_table(Table.of(*table))}\n" for table in self.tables())

    def entry(self) -> dict[str, Any]:
        """The method's line in the leaderboard."""
        found = self.scores
        named = ["--method", self.method] if self.method != next(iter(self.policies)) else []
        return {
            "protocol": NAME,
            "method": self.method,
            "command": shlex.join(["matchenv", "bench", *self.policies, *named]),
            "runs": len(self.policies),
            "refused": len(set().union(*self.refused.values())),
            **{name: _plain(found[name]) for name in ("score", "variants")},
            "families": {
                row.family.name: round(row.score.value, 4) for row in self.family_scores()
            },
        }

    def plain(self) -> dict[str, Any]:
        """All of it as plain data, with its own digest."""
        said: dict[str, Any] = {
            "benchmark": NAME,
            "protocol": protocol_digest(),
            "method": self.method,
            "policies": self.policies,
            "families": [family.name for family in self.families],
            "whole": self.whole,
            "refused": {label: list(names) for label, names in self.refused.items()},
            **{name: _plain(score) for name, score in self.scores.items()},
            "made_with": provenance(),
            "totals": {label: values.tolist() for label, values in self.totals.items()},
        }
        return {**said, DIGEST: checksum(said)}

    @classmethod
    def from_plain(cls, said: Mapping[str, Any]) -> Result:
        """The result that ``plain`` gave.

        Raises:
            KeyError, TypeError, ValueError: for anything else.
        """
        return cls(
            str(said["method"]),
            {str(label): str(text) for label, text in said["policies"].items()},
            families_named(tuple(said["families"])),
            {str(label): np.asarray(each, dtype=np.float64)
             for label, each in said["totals"].items()},
            {str(label): tuple(names) for label, names in said["refused"].items()},
        )  # fmt: skip

    def _above(self, labels: Iterable[str]) -> Floats:
        """Totals less DrawChance's, shape (labels, F, E)."""
        return np.array([self.totals[label] - self.totals[LOW_END] for label in labels])

    def _spans(self) -> Floats:
        """What the marks are above DrawChance, shape (F, E): constants where there is a bound."""
        spans = self.totals[HIGH_END] - self.totals[LOW_END]
        for f, family in enumerate(self.families):
            if family.mark is not None:
                spans[f] = family.mark.difference
        return spans

    def _overall(self, above: Floats, places: list[int]) -> Score | None:
        if not places:
            return None
        rng = np.random.default_rng(BOOTSTRAP_SEED)
        return overall(above[:, places], self._spans()[places], rng)


def score_text(score: Score | None) -> str:
    """A score with its interval; a dash for none."""
    return "-" if score is None else score.text()


def _plain(score: Score | None) -> dict[str, float] | None:
    return None if score is None else asdict(score)


FAMILY, TRUE_Q, OWN, OF_TOLD = (
    Column("family", lambda row: row.family.name),
    Column("true q", lambda row: f"{row.true_q:.2f}"),
    Column("score", lambda row: "not played: 0" if row.refused else row.score.text(2)),
    Column("told s_0", lambda row: row.told.text(2)),
)
MARK = Column("bound less DrawChance", lambda row: row.family.mark.text)
MAIN_COLUMNS = (FAMILY, TRUE_Q, OWN, OF_TOLD, MARK)
VARIANT_COLUMNS = (FAMILY, TRUE_Q, OWN, OF_TOLD)


def result_files(result: Result) -> dict[str, bytes]:
    """Content of the result files: everything as JSON, the tables as Markdown and LaTeX."""
    return {
        "bench.json": json_bytes(result.plain()),
        "bench.md": f"{result.markdown()}\n".encode(),
        "bench.tex": result.latex().encode(),
        **({"entry.json": json_bytes(result.entry())} if result.whole else {}),
    }
