"""Further results of the queue: groups of players, the front of wait and quality, long waits.

Further tables show who waits, whose games are even, and who pays, by band of true skill and by size
of party.
"""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import NamedTuple

from matchenv.benchmarks.compare.contract import Compared
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Estimate, Record, estimate, paired_difference
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, or_dash, text_table, wrapped
from matchenv.evaluation.visits import (
    GROUPS,
    MEANS,
    OF_SIDES,
    PARTIES,
    group_values,
    long_wait,
    wait_quantile,
)

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

# Bands of true skill: shares of the population from the weakest on, each of whole deciles.
LIMITS = (0, 1, 3, 7, 9, 10)
TAILS = ("decile_1", "decile_10")
MIDDLE = ("decile_4", "decile_5", "decile_6", "decile_7")

# Means of a band in the files, in this order.
BAND_MEANS = ("wait", "left", "unended", "match_quality", QUALITY, *OF_SIDES)
# Of them, what one group has more of than another shows who pays.
GAP_MEANS = ("wait", "left", QUALITY, "true_favourite")


def numbers(comparison: Compared, cell: int, policy: str) -> dict[str, float]:
    """Return further numbers of a policy in a cell."""
    return {"long_wait": long_wait(comparison.rows, cell, policy)}


def group_standings(comparison: Compared) -> list[Record]:
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


def bands_of(comparison: Compared) -> dict[str, tuple[str, ...]]:
    """Return the ``GROUPS`` and ``PARTIES`` of each band: of true skill, and sizes of parties."""
    bands: dict[str, tuple[str, ...]] = {"all": ("all",)}
    for low, high in pairwise(LIMITS):
        deciles = tuple(f"decile_{k}" for k in range(low + 1, high + 1))
        bands[f"skill {10 * low}-{10 * high} %"] = deciles
    for group in ("newcomers", "regulars"):
        bands[group] = (group,)
    shares = comparison.settings.party_sizes
    for size, share in enumerate(shares, 1):
        if share > 0.0 and len(shares) > 1:
            bands[f"parties of {size}"] = (PARTIES[size - 1],)
    return bands


def band_standings(comparison: Compared) -> list[Record]:
    """Return how each policy served each band of players under each load.

    Each record has ``load``, ``policy`` and ``group``; the ``BAND_MEANS``; ``median_wait`` and
    ``long_wait``, the 50th and 95th percentile of the wait in ticks; and the paired
    ``DIFFERENCES`` to the policy compared with.
    """
    rows = comparison.rows
    standings = []
    for (cell, load), policy in product(enumerate(rows.cells), rows.policies):
        for band, groups in bands_of(comparison).items():
            standing = Record(load=load.name, policy=policy, group=band)
            for name in BAND_MEANS:
                standing[name] = estimate(group_values(rows, name, cell, policy, *groups))
            standing["median_wait"] = wait_quantile(rows, cell, policy, groups, 0.5)
            standing["long_wait"] = wait_quantile(rows, cell, policy, groups, 0.95)
            for name, title in DIFFERENCES.items():
                ours = group_values(rows, name, cell, policy, *groups)
                theirs = group_values(rows, name, cell, comparison.against, *groups)
                standing[title] = paired_difference(ours, theirs)
            standings.append(standing)
    return standings


def gap_standings(comparison: Compared) -> list[Record]:
    """Return what some players have more of than others, by policy and load.

    Each record has ``load``, ``policy`` and ``gap``; and of the ``GAP_MEANS``, the mean of the
    first players minus that of the second in the same run.
    """
    gaps = {
        "tails - middle": (TAILS, MIDDLE),
        "newcomers - regulars": (("newcomers",), ("regulars",)),
    }
    largest = len(comparison.settings.party_sizes)
    if largest > 1:
        gaps["parties - singles"] = (PARTIES[1:largest], PARTIES[:1])
    rows = comparison.rows
    standings = []
    for (cell, load), policy in product(enumerate(rows.cells), rows.policies):
        for gap, (first, second) in gaps.items():
            standing = Record(load=load.name, policy=policy, gap=gap)
            for name in GAP_MEANS:
                above = group_values(rows, name, cell, policy, *first)
                below = group_values(rows, name, cell, policy, *second)
                standing[name] = paired_difference(above, below)
            standings.append(standing)
    return standings


def _mean(name: str, heading: str, form: str = ".3f") -> Column:
    """Return a column of means with intervals, a dash if unknown."""
    return Column(heading, lambda row: _interval(row[name], form))


def _percentage(name: str, heading: str, form: str = ".1f") -> Column:
    """Return a column of shares in percent with intervals, a dash if unknown."""
    return Column(heading, lambda row: _interval(row[name].times(100.0), form))


def _interval(value: Estimate, form: str) -> str:
    if not value.known:
        return "–"
    return format(value, form)


class FurtherTable(NamedTuple):
    """A table of the further ``tables``."""

    title: str
    note: str
    records: str  # their name in ``tables``
    columns: list[Column]
    of_teams: bool = False  # whether it only is for sides of several players

    def is_for(self, side_size: int) -> bool:
        """Return whether it is a table for sides of this size."""
        return side_size > 1 or not self.of_teams


POLICY = Column("policy", "{policy}")
BAND = (POLICY, Column("players", "{group}"))

FURTHER_TABLES = (
    FurtherTable(
        "Who waits",
        "Skill: share of the population, from the weakest on; left: visits without a game; waits "
        "at the end: share of all visits that began.",
        "bands",
        [
            *BAND,
            _mean("wait", "wait", ".2f"),
            Column("median", lambda row: or_dash("{:.0f}", row.median_wait)),
            Column("95 %", lambda row: or_dash("{:.0f}", row.long_wait)),
            _percentage("left", "left, %"),
            _percentage("unended", "waits at the end, %"),
        ],
    ),
    FurtherTable(
        "Whose games are even",
        "Favourite wins: win probability of the side that beliefs favour; truly: under the true "
        "skills.",
        "bands",
        [
            *BAND,
            _mean("match_quality", "quality"),
            _mean(QUALITY, "true quality"),
            _mean("favourite", "favourite wins"),
            _mean("true_favourite", "truly"),
        ],
    ),
    FurtherTable(
        "Who plays together",
        "Spread: standard deviation of the means within sides; true spread: of the true skills.",
        "bands",
        [
            *BAND,
            _mean("spread", "spread", ".2f"),
            _mean("true_spread", "true spread", ".2f"),
        ],
        of_teams=True,
    ),
    FurtherTable(
        "Who pays",
        "Differences between players in the same run; tails: the weakest and the strongest 10 %; "
        "middle: 30-70 %.",
        "gaps",
        [
            POLICY,
            Column("players", "{gap}"),
            _mean("wait", "wait", "+.2f"),
            _percentage("left", "left, %", "+.1f"),
            _mean(QUALITY, "true quality", "+.3f"),
            _mean("true_favourite", "favourite wins truly", "+.3f"),
        ],
    ),
)


def cell_text(comparison: Compared, cell: int, *, bands: bool) -> list[str]:
    """Return the lines of the ``FURTHER_TABLES`` in a cell; with two seats only for ``bands``."""
    if not comparison.settings.has_lobbies and not bands:
        return []
    load = comparison.cells[cell].name
    records = tables(comparison)
    lines = []
    for table in FURTHER_TABLES:
        if not table.is_for(comparison.settings.side_size):
            continue
        rows = [row for row in records[table.records] if row.load == load]
        lines += ["", *wrapped(f"{table.title}. {table.note}"), *text_table(table.columns, rows)]
    return lines


def tables(comparison: Compared) -> dict[str, list[Record]]:
    """Return further tables by name."""
    return {
        "groups": group_standings(comparison),
        "front": front_of(comparison.rows),
        "bands": band_standings(comparison),
        "gaps": gap_standings(comparison),
    }
