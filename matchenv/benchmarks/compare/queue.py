"""Further results of the queue: groups of players, the front of wait and quality, long waits."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Record, estimate, paired_difference
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, or_dash
from matchenv.evaluation.visits import GROUPS, MEANS, group_values, long_wait

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.comparison import Comparison

# Further columns of the tables, and their explanation.
COLUMNS = [Column("95 % wait", lambda row: or_dash("{:.0f}", row.long_wait))]
NOTE = (
    "wait: ticks of a visit, mean and 95 % quantile; left: share of visits without a game\n"
    "error 5: squared error of newcomers' means after 5 games"
)

QUALITY = "true_match_quality"
# Means of a group in the files, in this order.
GROUP_MEANS = (QUALITY, "match_quality", "wait", "left")
# Names of the differences in means of a group.
DIFFERENCES = {QUALITY: "quality_difference", "wait": "wait_difference", "left": "left_difference"}


def numbers(comparison: Comparison, cell: int, policy: str) -> dict[str, float]:
    """Return further numbers of a policy in a cell."""
    return {"long_wait": long_wait(comparison.rows, cell, policy)}


def group_standings(comparison: Comparison) -> list[Record]:
    """Return how each policy served each group of players under each load.

    Each record has ``load``, ``policy`` and ``group``; the ``MEANS``, with the paired
    ``DIFFERENCES`` to the policy compared with; and ``long_wait``, the 95th percentile of the
    wait in ticks.
    """
    rows = comparison.rows
    standings = []
    for (cell, load), policy, group in product(enumerate(rows.cells), rows.policies, GROUPS):
        standing = Record(load=load.name, policy=policy, group=group)
        ours = {}
        theirs = {}
        for name in MEANS:
            ours[name] = group_values(rows, name, cell, policy, group)
            theirs[name] = group_values(rows, name, cell, comparison.against, group)
        for name in GROUP_MEANS:
            standing[name] = estimate(ours[name])
        for name, title in DIFFERENCES.items():
            standing[title] = paired_difference(ours[name], theirs[name])
        standing["long_wait"] = long_wait(rows, cell, policy, group=group)
        standings.append(standing)
    return standings


def front_of(rows: EpisodeTable) -> list[Record]:
    """Return mean wait against quality of each policy under each load.

    Each record has the ``load``, the ``family`` (the label without numbers) and the ``policy``; the
    mean ``wait`` of a visit in ticks, the mean true match ``quality`` of a game and the share of
    visits that ``left`` without one; and whether it is ``best``: no other of the family has both a
    shorter wait and a higher quality. Policies that served nobody are left out.
    """
    points = []
    for (cell, load), policy in product(enumerate(rows.cells), rows.policies):
        point = Record(
            load=load.name,
            family=family_of(policy),
            policy=policy,
            wait=mean_over(rows, "wait", cell, policy),
            quality=mean_over(rows, QUALITY, cell, policy),
            left=mean_over(rows, "left", cell, policy),
        )
        if math.isfinite(point.wait) and math.isfinite(point.quality):
            points.append(point)
    for point in points:
        point["best"] = not any(_beats(other, point) for other in points)
    return points


def _beats(other: Record, point: Record) -> bool:
    """Return whether a point makes another of its load and family superfluous."""
    if (other.load, other.family) != (point.load, point.family):
        return False
    no_worse = other.wait <= point.wait and other.quality >= point.quality
    equal = other.wait == point.wait and other.quality == point.quality
    return no_worse and not equal


def mean_over(rows: EpisodeTable, measure: str, load: int, policy: str) -> float:
    """Return the mean of a measure over the runs in which it is defined."""
    return estimate(rows.values(measure, load, policy)[0]).mean


def tables(comparison: Comparison) -> dict[str, list[Record]]:
    """Return further tables by name."""
    return {"groups": group_standings(comparison), "front": front_of(comparison.rows)}
