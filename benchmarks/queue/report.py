"""What a comparison in the queue found: as numbers, as tables on the screen, as files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    UNKNOWN,
    Estimate,
    columns_of,
    estimate,
    paired_difference,
)
from matchenv.evaluation.queue_measures import DECILES, ERROR_GAMES, GROUPS
from matchenv.evaluation.queue_table import ERRORS, MEANS, QueueTable
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.provenance import versions

Floats = NDArray[np.float64]

LONG = 0.95


@dataclass(frozen=True)
class QueueStanding:
    """How one policy did under one load; measures of a run, averaged over the runs.

    Attributes:
        load: name of the load.
        policy: its label.
        reward: by the believed match quality.
        true_reward: by the true match quality.
        difference: in true reward, to the policy compared against, on the same runs.
        believed_difference: the same in reward.
        match_quality: mean over the games, believed.
        true_match_quality: mean over the games.
        wait: mean ticks of all who left the queue, served or not.
        left: share of the visits to the queue that ended without a game.
        error_5: squared error of newcomers' means after 5 games.
        error_10: after 10.
        error_20: after 20.
        long_wait: ticks that 95 % of the visits of all runs did not exceed.
        decisions_per_second: one process's rate; NaN where nothing was timed.
    """

    load: str
    policy: str
    reward: Estimate
    true_reward: Estimate
    difference: Estimate
    believed_difference: Estimate
    match_quality: Estimate
    true_match_quality: Estimate
    wait: Estimate
    left: Estimate
    error_5: Estimate
    error_10: Estimate
    error_20: Estimate
    long_wait: float
    decisions_per_second: float


@dataclass(frozen=True)
class GroupStanding:
    """How one policy served one group of players under one load.

    Attributes:
        load: name of the load.
        policy: its label.
        group: of players, one of ``GROUPS``.
        true_match_quality: mean over their games.
        match_quality: the same, believed.
        wait: mean ticks in the queue.
        left: share of their visits that ended without a game.
        quality_difference: in true match quality, to the policy compared against.
        wait_difference: in ticks, the same.
        left_difference: in the share who left, the same.
        long_wait: ticks that 95 % of their visits did not exceed.
    """

    load: str
    policy: str
    group: str
    true_match_quality: Estimate
    match_quality: Estimate
    wait: Estimate
    left: Estimate
    quality_difference: Estimate
    wait_difference: Estimate
    left_difference: Estimate
    long_wait: float


def known_estimate(values: Floats) -> Estimate:
    """The mean of those values that are known; all NaN where fewer than two are."""
    known = values[~np.isnan(values)]
    return estimate(known) if known.size > 1 else UNKNOWN


@dataclass(frozen=True)
class QueueComparison:
    """Every run of every policy, and what follows from them.

    Attributes:
        rows: the runs.
        against: the label that differences are taken to.
        settings: of the environment, but for the arrival rate.
        seed: the comparison's.
        asked: what was asked for, as plain data.
    """

    rows: QueueTable
    against: str
    settings: QueueSettings
    seed: int
    asked: dict[str, Any]

    @cached_property
    def standings(self) -> tuple[QueueStanding, ...]:
        """One for each policy under each load, load by load."""
        return tuple(
            self._standing(i, policy)
            for i in range(len(self.rows.loads))
            for policy in self.rows.policies
        )

    @cached_property
    def groups(self) -> tuple[GroupStanding, ...]:
        """One for each group of players, policy and load."""
        return tuple(
            self._group(i, policy, group)
            for i in range(len(self.rows.loads))
            for policy in self.rows.policies
            for group in GROUPS
        )

    def standing(self, load: int, policy: str) -> QueueStanding:
        """The standing of one policy under the load of this number."""
        return self.standings[load * len(self.rows.policies) + self.rows.policies.index(policy)]

    def table(self, *, timing: bool = True) -> str:
        """Tables for each load, a line for each policy.

        Args:
            timing: with decisions per second.
        """
        lines = [
            f"{self.rows.seeds.size} runs of {self.settings.horizon} ticks, seed {self.seed}",
            f"[..]: {100.0 * CONFIDENCE:.0f} % interval of the paired difference; q: mean match "
            "quality of a game; wait: ticks of a visit to the queue; left: visits without a game; "
            "error: squared, of newcomers' means after so many games",
        ]
        for i, load in enumerate(self.rows.loads):
            title = f"{load.name} load: {load.arrival_rate:g} players log on in a tick"
            standings = [self.standing(i, policy) for policy in self.rows.policies]
            lines += ["", title, *text_table(_columns(self.against, timing), standings)]
            for name, cell in GROUP_TABLES.items():
                lines += ["", f"{load.name} load: {name}", *self._group_table(load.name, cell)]
        return "\n".join(lines)

    def _group_table(self, load: str, cell: Callable[[GroupStanding], str]) -> list[str]:
        found = {(each.policy, each.group): each for each in self.groups if each.load == load}
        columns = [
            Column("policy", lambda policy: policy),
            *(
                Column(title, partial(_cell_of, cell, found, group))
                for group, title in zip(GROUPS, GROUP_TITLES, strict=True)
            ),
        ]
        return text_table(columns, self.rows.policies)

    def _standing(self, load: int, policy: str) -> QueueStanding:
        def of(measure: str, name: str = policy) -> Floats:
            return self.rows.values(measure, load, name)

        place = self.rows.policies.index(policy)
        return QueueStanding(
            load=self.rows.loads[load].name,
            policy=policy,
            **{name: known_estimate(of(name)) for name in ("reward", "true_reward")},
            difference=paired_difference(of("true_reward"), of("true_reward", self.against)),
            believed_difference=paired_difference(of("reward"), of("reward", self.against)),
            **{name: known_estimate(of(name)) for name in (*MEANS, *ERRORS)},
            long_wait=self.rows.long_wait(load, policy, LONG),
            decisions_per_second=float(self.rows.decisions_per_second[load, place]),
        )

    def _group(self, load: int, policy: str, group: str) -> GroupStanding:
        def of(measure: str, name: str = policy) -> Floats:
            return self.rows.values(measure, load, name, group)

        def more(measure: str) -> Estimate:
            return known_estimate(of(measure) - of(measure, self.against))

        return GroupStanding(
            load=self.rows.loads[load].name,
            policy=policy,
            group=group,
            **{name: known_estimate(of(name)) for name in MEANS},
            quality_difference=more("true_match_quality"),
            wait_difference=more("wait"),
            left_difference=more("left"),
            long_wait=self.rows.long_wait(load, policy, LONG, group),
        )


GROUP_TITLES = ("all", "new", "regular", *(f"{k}/{DECILES}" for k in range(1, DECILES + 1)))
GROUP_TABLES: dict[str, Callable[[GroupStanding], str]] = {
    "true q by group, tenths by true skill, the weakest first": lambda g: (
        f"{g.true_match_quality.mean:.3f}"
    ),
    "wait by group": lambda g: f"{g.wait.mean:.2f}",
    "left by group, in %": lambda g: f"{100.0 * g.left.mean:.1f}",
}


def _columns(against: str, timing: bool) -> list[Column]:
    columns = [
        Column("policy", lambda s: s.policy),
        Column("reward", lambda s: f"{s.reward.mean:.1f}"),
        Column("true reward", lambda s: f"{s.true_reward.mean:.1f}"),
        Column(f"true - {against}", lambda s: s.difference.interval_text(1), 22),
        Column("q", lambda s: f"{s.match_quality.mean:.3f}"),
        Column("true q", lambda s: f"{s.true_match_quality.mean:.3f}"),
        Column("wait", lambda s: f"{s.wait.mean:.2f}"),
        Column("95 %", lambda s: f"{s.long_wait:.0f}"),
        Column("left", lambda s: f"{100.0 * s.left.mean:.2f} %"),
        *(
            Column(f"error {games}", partial(_error_of, name))
            for games, name in zip(ERROR_GAMES, ERRORS, strict=True)
        ),
        Column("decisions/s", lambda s: _rate_text(s.decisions_per_second)),
    ]
    return columns if timing else columns[:-1]


def _cell_of(
    cell: Callable[[GroupStanding], str],
    found: dict[tuple[str, str], GroupStanding],
    group: str,
    policy: str,
) -> str:
    return cell(found[policy, group])


def _error_of(name: str, standing: QueueStanding) -> str:
    return f"{getattr(standing, name).mean:.2f}"


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if math.isfinite(rate) else "-"


def result_files(comparison: QueueComparison, *, timing: bool) -> dict[str, bytes]:
    """Content of the result files: the standings as text, CSV and JSON, groups, and the runs.

    Args:
        comparison: what was found.
        timing: with decisions per second, which no two runs share.
    """
    records, plain = _records(comparison.standings)
    if not timing:
        for record in records + plain:
            del record["decisions_per_second"]
    groups, plain_groups = _records(comparison.groups)
    head = {
        **comparison.asked,
        "against": comparison.against,
        "confidence": CONFIDENCE,
        "versions": versions("gymnasium", "rustworkx"),
    }
    content = {**head, "standings": plain, "groups": plain_groups}
    return {
        **comparison.rows.files(),
        "comparison.txt": f"{comparison.table(timing=timing)}\n".encode(),
        "comparison.csv": records_csv(records),
        "groups.csv": records_csv(groups),
        "comparison.json": json_bytes(content, checked=True),
    }


def _records(
    standings: Sequence[QueueStanding] | Sequence[GroupStanding],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return [columns_of(each) for each in standings], [asdict(each) for each in standings]
