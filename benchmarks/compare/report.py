"""Results of a comparison: as numbers, as a table on the screen, as files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs import env_id_of, part_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    Record,
    columns_of,
    detectable_effect,
    estimate,
    paired_difference,
    share_closed,
    verdicts,
)
from matchenv.evaluation.protocols import Protocol, Shown
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.provenance import versions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Every episode of every policy, and what follows from them.

    Attributes:
        rows: the episodes.
        against: the label that differences are taken to.
        settings: of the environment, but for what the cells vary.
        asked: everything that was asked for, as plain data.
    """

    rows: EpisodeTable
    against: str
    settings: Options
    asked: Mapping[str, Any]

    @property
    def protocol(self) -> Protocol:
        """The protocol of the environment."""
        found: Protocol = part_of(env_id_of(self.settings), "protocol")
        return found

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells."""
        return self.rows.cells

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return self.rows.policies

    @property
    def episodes(self) -> int:
        """E, episodes in each cell."""
        return self.rows.seeds.size

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.asked["seed"])

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """The measures in tables."""
        return self.protocol.shown_of(simulator_of(self.settings))

    @cached_property
    def further(self) -> Any:
        """The module with tables and files of this environment alone; None without one."""
        return import_module(self.protocol.further) if self.protocol.further else None

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """Return one measure of every episode, shape (E,)."""
        return self.rows.values(measure, cell, policy)[0]

    def difference(self, measure: str, cell: int, policy: str) -> Estimate:
        """Return the mean difference to the policy compared against, on the same episodes."""
        return paired_difference(
            self.values(measure, cell, policy), self.values(measure, cell, self.against)
        )

    @cached_property
    def standings(self) -> tuple[Record, ...]:
        """One for each policy in each cell, cell by cell.

        Each has the ``cell`` (its labels) and the ``policy``; the paired ``difference`` to the
        policy compared against, in the measure that policies are judged by, and the
        ``belief_difference`` in that measure under the beliefs; the ``detectable`` one, which so
        many episodes find in 80 % of all tries; the ``verdict``, ahead of the policy compared
        against, behind or undecided, by Holm's rule over all cells and policies but the oracle
        (``""`` for both of these); ``share_closed`` of the distance from the lower mark to the
        upper one, NaN without marks; ``decisions_per_second`` of one process, NaN where nothing
        was timed; then the mean of each measure, and further numbers of the environment.
        """
        asked = {
            (i, policy): self.difference(self.protocol.measure, i, policy)
            for i in range(len(self.cells))
            for policy in self.policies
        }
        judged = {key: each for key, each in asked.items()
                  if key[1] not in (self.against, *self.protocol.marks[1:])}  # fmt: skip
        said = dict(zip(judged, verdicts(list(judged.values()), self.episodes), strict=True))
        return tuple(
            self._standing(*key, difference, said.get(key, "")) for key, difference in asked.items()
        )

    def standing(self, cell: int, policy: str) -> Record:
        """Return the standing of one policy in the cell of this number."""
        return self.standings[cell * len(self.policies) + self.policies.index(policy)]

    def _standing(self, cell: int, policy: str, difference: Estimate, verdict: str) -> Record:
        kind = self.protocol
        marks = [self.values(kind.measure, cell, mark) for mark in kind.marks]
        share = share_closed(self.values(kind.measure, cell, policy), *marks) if marks else math.nan
        rate = self.rows.decisions_per_second[cell, self.policies.index(policy)]
        return Record(
            cell=dict(self.cells[cell].labels),
            policy=policy,
            difference=difference,
            belief_difference=self.difference(kind.believed or kind.measure, cell, policy),
            detectable=detectable_effect(difference, self.episodes),
            verdict=verdict,
            share_closed=share,
            decisions_per_second=float(rate),
            **{each.measure: estimate(self.values(each.measure, cell, policy))
               for each in self.shown},
            **(self.further.numbers(self, cell, policy) if self.further else {}),
        )  # fmt: skip

    def table(self, *, timing: bool = True) -> str:
        """Return a table for each cell, a line for each policy.

        Args:
            timing: with decisions per second.
        """
        sizes = ", ".join(f"{name} {getattr(self.settings, name):,}"
                          for name in self.settings.sizes
                          if name not in self.cells[0].options)  # fmt: skip
        lines = [
            f"{self.episodes} episodes of {env_id_of(self.settings)}, {sizes}, seed {self.seed}",
            f"[..]: {100.0 * CONFIDENCE:.0f} % interval of the paired difference; detects: the "
            "least difference found in 80 % of all tries; verdict: after Holm's correction over "
            "all cells and policies",
        ]
        if self.protocol.marks:
            low, high = self.protocol.marks
            lines.append(f"gap closed: of the distance from {low} to {high}")
        measures = (*self.shown, *(self.further.NUMBERS if self.further else ()))
        shown = columns(self.against, self.protocol, measures, timing=timing)
        for i, cell in enumerate(self.cells):
            standings = [self.standing(i, policy) for policy in self.policies]
            lines += ["", cell.title, *text_table(shown, standings)]
            if self.further is not None:
                lines += self.further.tables(self, i)
        return "\n".join(lines)

    def files(self) -> Iterable[tuple[str, bytes]]:
        """Yield the result files: the standings as text, CSV and JSON, and the episodes."""
        standings = [Record(each) for each in self.standings]
        for each in standings:
            del each["decisions_per_second"]  # no two runs share it
        more = {} if self.further is None else self.further.records(self)
        content = {
            **self.asked,
            "against": self.against,
            "confidence": CONFIDENCE,
            "versions": versions("gymnasium"),
            "standings": standings,
            **more,
        }
        yield from self.rows.files().items()
        yield "comparison.txt", f"{self.table(timing=False)}\n".encode()
        yield "comparison.json", json_bytes(content, checked=True)
        for name, records in {"comparison": standings, **more}.items():
            yield f"{name}.csv", records_csv([columns_of(each) for each in records])
        if self.further is not None:
            yield from self.further.files(self.rows)


def columns(against: str, kind: Protocol, shown: Iterable[Shown], *, timing: bool) -> list[Column]:
    """Return the columns of a table of standings; decisions per second with ``timing``."""
    measures = [Column(each.heading, partial(_mean_text, each)) for each in shown]
    heading = next((each.heading for each in shown if each.measure == kind.measure), kind.measure)
    found = [
        Column("policy", "{policy}"),
        *measures[: kind.leading],
        Column(f"{heading} - {against}", "{difference:+.2f}", 25),
        Column("detects", lambda s: "" if s.policy == against else _known(s.detectable, ".2f", "")),
        Column("verdict", "{verdict}", 9),
    ]
    if kind.marks:
        found.append(Column("gap closed", lambda s: gap_text(s.share_closed)))
    found += measures[kind.leading :]
    if timing:
        found.append(Column("decisions/s", lambda s: _known(s.decisions_per_second, ",.0f", "-")))
    return found


def _mean_text(shown: Shown, standing: Record) -> str:
    value = standing[shown.measure]
    mean = value.mean if isinstance(value, Estimate) else value
    return shown.form.format(mean).replace("%", " %")


def _known(value: float, form: str, otherwise: str) -> str:
    return f"{value:{form}}" if math.isfinite(value) else otherwise


def gap_text(share: float) -> str:
    """Return the share of the gap closed; a dash far below its lower end, where it says nothing."""
    return f"{100.0 * share:.1f} %" if share > -1.0 else "–"
