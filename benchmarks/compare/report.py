"""What a comparison found: as numbers, as a table on the screen, as files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs import env_id_of, part_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.evaluation.cells import AnyCell
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    detectable_effect,
    known_estimate,
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
class Standing:
    """How one policy did in one cell.

    Attributes:
        cell: the cell.
        policy: its label.
        measures: mean of each measure over the episodes.
        difference: in the measure that policies are judged by, to the policy compared against,
            on the same episodes.
        belief_difference: the same in that measure under the beliefs.
        detectable: the least true difference that so many episodes find in 80 % of all tries.
        verdict: ahead of the policy compared against, behind or undecided, by Holm's rule over all
            cells and policies but the oracle; "" for that policy and for the oracle.
        share_closed: of the distance from the lower mark to the upper one; NaN without marks.
        numbers: further ones without an interval, by name.
        decisions_per_second: one process's rate; NaN where nothing was timed: episodes of one
            step, or played before this run.
    """

    cell: AnyCell
    policy: str
    measures: Mapping[str, Estimate]
    difference: Estimate
    belief_difference: Estimate
    detectable: float
    verdict: str
    share_closed: float
    decisions_per_second: float
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Estimate:
        """Return the mean of a measure."""
        measures: Mapping[str, Estimate] = self.__dict__.get("measures", {})
        if name not in measures:
            raise AttributeError(name)
        return measures[name]

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, a measure beside the other."""
        others = dict(vars(self))
        measures, numbers = others.pop("measures"), others.pop("numbers")
        return {**others, **measures, **numbers, "cell": dict(self.cell.labels)}

    @classmethod
    def from_plain(cls, found: Mapping[str, Any], cell: AnyCell) -> Standing:
        """Return the standing that ``plain`` wrote to a file of JSON."""
        estimates = {name: Estimate.from_plain(value) for name, value in found.items()
                     if isinstance(value, dict) and name != "cell"}  # fmt: skip
        differences = {name: estimates.pop(name) for name in ("difference", "belief_difference")}
        numbers = {name: math.nan if found.get(name) is None else float(found[name])
                   for name in ("detectable", "share_closed", "decisions_per_second")}  # fmt: skip
        given: dict[str, Any] = {**differences, **numbers, "verdict": str(found.get("verdict", ""))}
        return cls(cell, str(found["policy"]), estimates, **given)


@dataclass(frozen=True)
class Further:
    """What a comparison has beside the standings, of one environment alone.

    Attributes:
        tables: by number of the cell, lines behind its table.
        records: rows of further CSV files, which stand in the JSON file too, by name.
        files: further files, by name.
        numbers: of each policy in the cell of a number, as a column of the table.
    """

    tables: Callable[[int], list[str]]
    records: Mapping[str, list[dict[str, Any]]]
    files: Callable[[], Iterable[tuple[str, bytes]]]
    numbers: Mapping[Shown, Callable[[int, str], float]]


@dataclass(frozen=True)
class Comparison:
    """Every episode of every policy, and what follows from them.

    Attributes:
        rows: the episodes.
        against: the label that differences are taken to.
        settings: of the environment, but for what the cells vary.
        asked: what was asked for, as plain data.
    """

    rows: EpisodeTable
    against: str
    settings: Options
    asked: Mapping[str, Any]

    @property
    def protocol(self) -> Protocol:
        """How policies of the environment are compared."""
        found: Protocol = part_of(env_id_of(self.settings), "protocol")
        return found

    @property
    def cells(self) -> tuple[Any, ...]:
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
    def further(self) -> Further | None:
        """What there is beside the standings."""
        name = self.protocol.further
        return resolve_name(name)(self) if name else None

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """Return one measure of every episode, shape (E,)."""
        return self.rows.values(measure, cell, policy)[0]

    def difference(self, measure: str, cell: int, policy: str) -> Estimate:
        """Return the mean difference to the policy compared against, on the same episodes."""
        return paired_difference(
            self.values(measure, cell, policy), self.values(measure, cell, self.against)
        )

    @cached_property
    def _verdicts(self) -> dict[tuple[int, str], str]:
        asked = {
            (i, policy): self.difference(self.protocol.measure, i, policy)
            for i in range(len(self.cells))
            for policy in self.policies
            if policy not in (self.against, *self.protocol.marks[1:])
        }
        return dict(zip(asked, verdicts(list(asked.values()), self.episodes), strict=True))

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """One for each policy in each cell, cell by cell."""
        return tuple(
            self._standing(i, policy) for i in range(len(self.cells)) for policy in self.policies
        )

    def standing(self, cell: int, policy: str) -> Standing:
        """Return the standing of one policy in the cell of this number."""
        return self.standings[cell * len(self.policies) + self.policies.index(policy)]

    def _standing(self, cell: int, policy: str) -> Standing:
        kind = self.protocol
        difference = self.difference(kind.measure, cell, policy)
        marks = [self.values(kind.measure, cell, mark) for mark in kind.marks]
        share = share_closed(self.values(kind.measure, cell, policy), *marks) if marks else math.nan
        return Standing(
            cell=self.cells[cell],
            policy=policy,
            measures={each.measure: known_estimate(self.values(each.measure, cell, policy))
                      for each in self.shown},
            difference=difference,
            belief_difference=self.difference(kind.believed or kind.measure, cell, policy),
            detectable=detectable_effect(difference, self.episodes),
            verdict=self._verdicts.get((cell, policy), ""),
            share_closed=share,
            decisions_per_second=float(
                self.rows.decisions_per_second[cell, self.policies.index(policy)]
            ),
            numbers={each.measure: of(cell, policy) for each, of in self._numbers.items()},
        )  # fmt: skip

    @property
    def _numbers(self) -> Mapping[Shown, Callable[[int, str], float]]:
        return {} if self.further is None else self.further.numbers

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
        measures = (*self.shown, *self._numbers)
        shown = columns(self.against, self.protocol, measures, timing=timing)
        for i, cell in enumerate(self.cells):
            standings = [self.standing(i, policy) for policy in self.policies]
            lines += ["", cell.title, *text_table(shown, standings)]
            if self.further is not None:
                lines += self.further.tables(i)
        return "\n".join(lines)


def columns(against: str, kind: Protocol, shown: Iterable[Shown], *, timing: bool) -> list[Column]:
    """Return the columns of a table of standings; decisions per second with ``timing``."""
    measures = [Column(each.heading, partial(_mean_text, each)) for each in shown]
    heading = next((each.heading for each in shown if each.measure == kind.measure), kind.measure)
    found = [
        Column("policy", lambda s: s.policy),
        *measures[: kind.leading],
        Column(f"{heading} - {against}", lambda s: s.difference.interval_text(2), 25),
        Column("detects", partial(_detectable_text, against)),
        Column("verdict", lambda s: s.verdict, 9),
    ]
    if kind.marks:
        found.append(Column("gap closed", lambda s: gap_text(s.share_closed)))
    found += measures[kind.leading :]
    if timing:
        found.append(Column("decisions/s", lambda s: _rate_text(s.decisions_per_second)))
    return found


def _mean_text(shown: Shown, standing: Standing) -> str:
    numbers = standing.numbers
    known = shown.measure in numbers
    value = numbers[shown.measure] if known else standing.measures[shown.measure].mean
    return shown.form.format(value).replace("%", " %")


def _detectable_text(against: str, standing: Standing) -> str:
    known = standing.policy != against and math.isfinite(standing.detectable)
    return f"{standing.detectable:.2f}" if known else ""


def gap_text(share: float) -> str:
    """Return the share of the gap closed; a dash far below its lower end, where it says nothing."""
    return f"{100.0 * share:.1f} %" if share > -1.0 else "–"


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if math.isfinite(rate) else "-"


def result_files(comparison: Comparison, *, timing: bool) -> Iterable[tuple[str, bytes]]:
    """Yield the result files: the standings as text, CSV and JSON, and the episodes.

    Args:
        comparison: what was found.
        timing: with decisions per second, which no two runs share.
    """
    plain = [each.plain() for each in comparison.standings]
    if not timing:
        for each in plain:
            del each["decisions_per_second"]
    further = comparison.further
    extra = {} if further is None else further.records
    content = {
        **comparison.asked,
        "against": comparison.against,
        "confidence": CONFIDENCE,
        "versions": versions("gymnasium"),
        "standings": plain,
        **extra,
    }
    yield from comparison.rows.files().items()
    yield "comparison.txt", f"{comparison.table(timing=timing)}\n".encode()
    yield "comparison.csv", records_csv([columns_of(each) for each in plain])
    yield "comparison.json", json_bytes(content, checked=True)
    for name, records in extra.items():
        yield f"{name}.csv", records_csv([columns_of(each) for each in records])
    if further is not None:
        yield from further.files()
