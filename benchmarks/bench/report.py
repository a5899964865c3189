"""What the benchmark found: one score, a score for each family, tables and the result file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bench.playing import TOLD
from matchenv.benchmarks.bench.protocol import (
    EPISODES,
    FAMILIES,
    MAIN,
    NAME,
    Family,
    families_named,
    protocol_digest,
)
from matchenv.benchmarks.bench.scoring import Score, of_family, overall
from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.benchmarks.report.latex import latex_table
from matchenv.benchmarks.report.section import Table
from matchenv.checksums import checksum
from matchenv.evaluation.made_with import made_with
from matchenv.evaluation.result_files import json_bytes
from matchenv.evaluation.tables import Column, markdown_table

Floats = NDArray[np.float64]

DIGEST = "sha256"
BOOTSTRAP_SEED = 0


@dataclass(frozen=True)
class FamilyScore:
    """One family in the tables.

    Attributes:
        family: its name.
        true_q: mean total of the method.
        score: 0 for DrawChance, 1 for the oracle.
        told: the score of the index that was told player 0's skill.
        refused: whether no run of the method plays it.
    """

    family: str
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
        totals: true q of every episode, by label, shape (F, E): the runs and the three marks.
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

    def scores(self) -> tuple[Score, Score]:
        """The method's interquartile mean over all families, and that of the told index."""
        low, high = self.totals[LOW_END], self.totals[HIGH_END]
        ours, told = (
            overall(each, low, high, np.random.default_rng(BOOTSTRAP_SEED))
            for each in (self._runs(), self.totals[TOLD][None])
        )
        return ours, told

    def family_scores(self) -> list[FamilyScore]:
        """One for each family."""
        low, high, told = (self.totals[label] for label in (LOW_END, HIGH_END, TOLD))
        runs = self._runs()
        return [
            FamilyScore(
                family.name,
                float(runs[:, f].mean()),
                of_family(runs[:, f], low[f], high[f]),
                of_family(told[None, f], low[f], high[f]),
                all(family.name in self.refused.get(label, ()) for label in self.policies),
            )
            for f, family in enumerate(self.families)
        ]

    def markdown(self) -> str:
        """The tables."""
        ours, told = self.scores()
        main = [family.name for family in FAMILIES if family.group == MAIN]
        count = f"{len(self.families)} families" if self.whole else "some families, no entry"
        return "\n".join(
            [
                f"**{self.method}**, {NAME}, {count}, {EPISODES} episodes each, "
                f"{len(self.policies)} run(s): score **{ours.text()}**; the index told player "
                f"0's skill: {told.text()}",
                "",
                f"0 is {LOW_END}, 1 the {HIGH_END}; interquartile mean with its stratified "
                f"bootstrap interval of 95 %. {len(main)} main families, then variants.",
                "",
                *markdown_table(COLUMNS, self.family_scores()),
            ]
        )

    def latex(self) -> str:
        """The table of families as LaTeX."""
        ours, _ = self.scores()
        title = f"{self.method}, {NAME}: score {ours.text()}"
        return "\n".join(latex_table(Table(title, COLUMNS, self.family_scores()))) + "\n"

    def plain(self) -> dict[str, Any]:
        """All of it as plain data, with its own digest."""
        ours, told = self.scores()
        said: dict[str, Any] = {
            "benchmark": NAME,
            "protocol": protocol_digest(),
            "method": self.method,
            "policies": self.policies,
            "families": [family.name for family in self.families],
            "whole": self.whole,
            "refused": {label: list(names) for label, names in self.refused.items()},
            "score": asdict(ours),
            "told": asdict(told),
            "made_with": made_with(),
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

    def _runs(self) -> Floats:
        return np.array([self.totals[label] for label in self.policies])


COLUMNS = (
    Column("family", lambda row: row.family),
    Column("true q", lambda row: f"{row.true_q:.2f}"),
    Column("score", lambda row: "not played: 0" if row.refused else row.score.text(2)),
    Column("told s_0", lambda row: row.told.text(2)),
)


def result_files(result: Result) -> dict[str, bytes]:
    """Content of the result files: everything as JSON, the tables as Markdown and LaTeX."""
    return {
        "bench.json": json_bytes(result.plain()),
        "bench.md": f"{result.markdown()}\n".encode(),
        "bench.tex": result.latex().encode(),
    }
