"""What a comparison in the queue has beside the standings: groups of players, and the front."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from matchenv.benchmarks.figures import files_of, new_figure, style
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.estimates import Estimate, known_estimate
from matchenv.evaluation.protocols import Shown
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.evaluation.visits import DECILES, GROUPS, MEANS, group_values, long_wait
from matchenv.runtime.files import records_csv

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.report import Comparison, Further

GROUP_TITLES = ("all", "new", "regular", *(f"{k}/{DECILES}" for k in range(1, DECILES + 1)))
GROUP_TABLES = {
    "true q by group, tenths by true skill, the weakest first": ("true_match_quality", "{:.3f}"),
    "wait by group": ("wait", "{:.2f}"),
    "left by group": ("left", "{:.1%}"),
}

LONG_WAIT = Shown("long_wait", "95 % wait", "{:.0f}")

DOTS = 150
SIZE = (4.4, 5.0)
COLOURS = ("#7a7a7a", "#e69500", "#3f9e6a", "#0b3c6f", "#b0306a", "#6a4c93", "#1b9aaa", "#8c564b",
           "#bcbd22", "#111111")  # fmt: skip
MARKS = "osD^vP*Xhd"
QUALITY = "true_match_quality"


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


def group_standings(found: Comparison) -> list[GroupStanding]:
    """Return one for each group of players, policy and load."""
    return [
        _group(found, cell, policy, group)
        for cell in range(len(found.cells))
        for policy in found.policies
        for group in GROUPS
    ]


def _group(found: Comparison, cell: int, policy: str, group: str) -> GroupStanding:
    ours, theirs = (
        {name: group_values(found.rows, name, cell, each, group) for name in MEANS}
        for each in (policy, found.against)
    )
    more = {name: known_estimate(ours[name] - theirs[name]) for name in MEANS}
    return GroupStanding(
        load=found.cells[cell].name,
        policy=policy,
        group=group,
        **{name: known_estimate(ours[name]) for name in MEANS},
        quality_difference=more["true_match_quality"],
        wait_difference=more["wait"],
        left_difference=more["left"],
        long_wait=long_wait(found.rows, cell, policy, group=group),
    )


def further(found: Comparison) -> Further:
    """Return the tables and files of groups, the front, and the wait of 95 % of the visits."""
    from matchenv.benchmarks.compare.report import Further

    groups = group_standings(found)

    def tables(cell: int) -> list[str]:
        load = found.cells[cell].name
        mine = {(each.policy, each.group): each for each in groups if each.load == load}
        lines = []
        for title, (measure, form) in GROUP_TABLES.items():
            columns = [Column("policy", str)]
            columns += [
                Column(heading, partial(_mean_text, mine, group, measure, form))
                for group, heading in zip(GROUPS, GROUP_TITLES, strict=True)
            ]
            lines += ["", f"{load} load: {title}", *text_table(columns, found.policies)]
        return lines

    return Further(
        tables,
        {"groups": [vars(each) for each in groups]},
        lambda: front_files(found.rows),
        {LONG_WAIT: partial(long_wait, found.rows)},
    )


def _mean_text(
    found: dict[tuple[str, str], GroupStanding], group: str, measure: str, form: str, policy: str
) -> str:
    return form.format(getattr(found[policy, group], measure).mean)


@dataclass(frozen=True)
class Point:
    """One policy with one setting of its options under one load.

    Attributes:
        family: the policy without these options.
        policy: its label.
        wait: mean ticks of a visit to the queue.
        quality: mean true match quality of a game.
        left: share of the visits that ended without a game.
        best: no other of the family has both a shorter wait and a higher quality.
    """

    family: str
    policy: str
    wait: float
    quality: float
    left: float
    best: bool


def points_of(rows: EpisodeTable, load: int) -> list[Point]:
    """Return the points of one load that were measured, in the order of the policies."""
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
        Point(
            family=family_of(policy),
            policy=policy,
            wait=found[policy][0],
            quality=found[policy][1],
            left=mean_over(rows, "left", load, policy),
            best=not beaten(policy),
        )
        for policy in found
    ]


def mean_over(rows: EpisodeTable, measure: str, load: int, policy: str) -> float:
    """Return the mean over those runs in which there was something to measure."""
    return known_estimate(rows.values(measure, load, policy)).mean


def front_figure(rows: EpisodeTable) -> Figure:
    """Draw mean waiting time against mean true match quality, a panel for each load."""
    figure, axes = new_figure(1, len(rows.cells), (SIZE[0] * len(rows.cells), SIZE[1]))
    families = list(dict.fromkeys(map(family_of, rows.policies)))
    for place, load in enumerate(rows.cells):
        axis = axes[0, place]
        points = points_of(rows, place)
        for number, family in enumerate(families):
            mine = [point for point in points if point.family == family]
            front = sorted((p for p in mine if p.best), key=lambda p: p.wait)
            colour = COLOURS[number % len(COLOURS)]
            axis.plot(
                [p.wait for p in mine], [p.quality for p in mine],
                linestyle="", marker=".", markersize=3.0, color=colour, alpha=0.35,
            )  # fmt: skip
            axis.plot(
                [p.wait for p in front], [p.quality for p in front], label=family, color=colour,
                marker=MARKS[number % len(MARKS)], markersize=4.5, linewidth=1.4,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("mean wait (ticks)")
        axis.set_title(load.title)
        axis.grid(color="0.9", linewidth=0.6)
    axes[0, 0].set_ylabel("mean true match quality of a game")
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=min(5, 2 * len(rows.cells)))
    return figure


def front_files(rows: EpisodeTable) -> Iterator[tuple[str, bytes]]:
    """Yield the front as ``front.png``, ``front.svg`` and ``front.csv``."""
    with style("queue front", 9.0):
        yield from files_of("front", front_figure(rows), DOTS)
    records: list[dict[str, Any]] = [
        {"load": load.name, **vars(point)}
        for place, load in enumerate(rows.cells)
        for point in points_of(rows, place)
    ]
    yield "front.csv", records_csv(records)
