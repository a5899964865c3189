"""Results of the queue beside the standings: groups of players, the front, the long wait."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Record, estimate
from matchenv.evaluation.protocols import Shown
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.evaluation.visits import DECILES, GROUPS, MEANS, group_values, long_wait
from matchenv.runtime.files import records_csv

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.comparison import Comparison

GROUP_TITLES = ("all", "new", "regular", *(f"{k}/{DECILES}" for k in range(1, DECILES + 1)))
GROUP_TABLES = {
    "true q by group, tenths by true skill, the weakest first": ("true_match_quality", "{:.3f}"),
    "wait by group": ("wait", "{:.2f}"),
    "left by group": ("left", "{:.1%}"),
}

# Further columns of the standings.
NUMBERS = (Shown("long_wait", "95 % wait", "{:.0f}"),)

QUALITY = "true_match_quality"
# Means of a group whose differences are shown, and their names.
DIFFERENCES = {QUALITY: "quality_difference", "wait": "wait_difference", "left": "left_difference"}


def numbers(found: Comparison, cell: int, policy: str) -> dict[str, float]:
    """Return ``NUMBERS`` of a policy in the cell of a number."""
    return {"long_wait": long_wait(found.rows, cell, policy)}


def group_standings(found: Comparison) -> list[Record]:
    """Return how each policy served each group of players under each load.

    Each has ``load``, ``policy`` and ``group``; the ``MEANS``, with the paired ``DIFFERENCES`` to
    the policy compared against; and the ticks that 95 % of the visits did not exceed,
    ``long_wait``.
    """
    return [
        _group(found, cell, policy, group)
        for cell in range(len(found.cells))
        for policy in found.policies
        for group in GROUPS
    ]


def _group(found: Comparison, cell: int, policy: str, group: str) -> Record:
    ours, theirs = (
        {name: group_values(found.rows, name, cell, each, group) for name in MEANS}
        for each in (policy, found.against)
    )
    return Record(
        load=found.cells[cell].name,
        policy=policy,
        group=group,
        **{name: estimate(ours[name]) for name in ("true_match_quality", "match_quality", "wait",
                                                   "left")},
        **{title: estimate(ours[name] - theirs[name]) for name, title in DIFFERENCES.items()},
        long_wait=long_wait(found.rows, cell, policy, group=group),
    )  # fmt: skip


def tables(found: Comparison, cell: int) -> list[str]:
    """Return the tables of groups that stand behind the table of a cell."""
    load, lines = found.cells[cell].name, []
    for title, (measure, form) in GROUP_TABLES.items():
        rows = [
            {"policy": policy, **{group: form.format(
                estimate(group_values(found.rows, measure, cell, policy, group)).mean
            ) for group in GROUPS}}
            for policy in found.policies
        ]  # fmt: skip
        columns = [Column("policy", "{policy}")]
        columns += [Column(heading, f"{{{group}}}")
                    for group, heading in zip(GROUPS, GROUP_TITLES, strict=True)]  # fmt: skip
        lines += ["", f"{load} load: {title}", *text_table(columns, rows)]
    return lines


def points_of(rows: EpisodeTable, load: int) -> list[Record]:
    """Return the points of one load that were measured, in the order of the policies.

    Each has the ``family`` (the policy without its numbers) and the ``policy``; the mean ``wait``
    of a visit in ticks, the mean true match ``quality`` of a game and the share of visits that
    ``left`` without one; and whether it is ``best``: no other of the family has both a shorter
    wait and a higher quality.
    """
    measured = {
        policy: (mean_over(rows, "wait", load, policy), mean_over(rows, QUALITY, load, policy))
        for policy in rows.policies
    }
    # Nobody was served in runs that are too short.
    found = {policy: point for policy, point in measured.items() if all(map(math.isfinite, point))}

    def beaten(policy: str) -> bool:
        wait, quality = found[policy]
        return any(
            other[0] <= wait and other[1] >= quality and other != (wait, quality)
            for name, other in found.items()
            if family_of(name) == family_of(policy)
        )

    return [
        Record(family=family_of(policy), policy=policy, wait=wait, quality=quality,
               left=mean_over(rows, "left", load, policy), best=not beaten(policy))
        for policy, (wait, quality) in found.items()
    ]  # fmt: skip


def mean_over(rows: EpisodeTable, measure: str, load: int, policy: str) -> float:
    """Return the mean over those runs in which there was something to measure."""
    return estimate(rows.values(measure, load, policy)[0]).mean


def files(rows: EpisodeTable) -> Iterator[tuple[str, bytes]]:
    """Yield the points of all loads as ``front.csv``, which ``matchenv report`` draws."""
    found = [
        {"load": load.name, **point}
        for place, load in enumerate(rows.cells)
        for point in points_of(rows, place)
    ]
    yield "front.csv", records_csv(found)
