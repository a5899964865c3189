"""Results of the queue beside the standings: groups of players, the front, the long wait."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Record, estimate
from matchenv.evaluation.protocols import Shown
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.visits import GROUPS, MEANS, group_values, long_wait
from matchenv.runtime.files import records_csv

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.comparison import Comparison

# Further columns of the standings.
NUMBERS = (Shown("long_wait", "95 % wait", "{:.0f}"),)

QUALITY = "true_match_quality"
# Means of a group in the files, in this order.
SHOWN = (QUALITY, "match_quality", "wait", "left")
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
    standings = []
    for (cell, load), policy, group in product(enumerate(found.cells), found.policies, GROUPS):
        ours, theirs = (
            {name: group_values(found.rows, name, cell, each, group) for name in MEANS}
            for each in (policy, found.against)
        )
        means = {name: estimate(ours[name]) for name in SHOWN}
        less = {title: estimate(ours[name] - theirs[name]) for name, title in DIFFERENCES.items()}
        waits = long_wait(found.rows, cell, policy, group=group)
        standings.append(Record(load=load.name, policy=policy, group=group, **means, **less,
                                long_wait=waits))  # fmt: skip
    return standings


def points_of(rows: EpisodeTable, load: int) -> list[Record]:
    """Return the points of one load that were measured, in the order of the policies.

    Each has the ``family`` (the policy without its numbers) and the ``policy``; the mean ``wait``
    of a visit in ticks, the mean true match ``quality`` of a game and the share of visits that
    ``left`` without one; and whether it is ``best``: no other of the family has both a shorter
    wait and a higher quality.
    """
    found = [
        Record(family=family_of(policy), policy=policy,
               wait=mean_over(rows, "wait", load, policy),
               quality=mean_over(rows, QUALITY, load, policy),
               left=mean_over(rows, "left", load, policy))
        for policy in rows.policies
    ]  # fmt: skip
    # Nobody was served in runs that are too short.
    found = [each for each in found if math.isfinite(each.wait) and math.isfinite(each.quality)]

    def beats(other: Record, point: Record) -> bool:
        mine, theirs = ((each.wait, -each.quality) for each in (point, other))
        same = other.family == point.family
        return same and theirs != mine and theirs[0] <= mine[0] and theirs[1] <= mine[1]

    return [Record(each, best=not any(beats(other, each) for other in found)) for each in found]


def mean_over(rows: EpisodeTable, measure: str, load: int, policy: str) -> float:
    """Return the mean over those runs in which there was something to measure."""
    return estimate(rows.values(measure, load, policy)[0]).mean


def files(rows: EpisodeTable) -> dict[str, bytes]:
    """Return the points of all loads as ``front.csv``, which ``matchenv report`` draws."""
    return {"front.csv": records_csv([
        {"load": load.name, **point}
        for place, load in enumerate(rows.cells)
        for point in points_of(rows, place)
    ])}  # fmt: skip
