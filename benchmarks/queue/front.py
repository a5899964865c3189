"""The front of waiting time against quality: one curve for each policy, over its settings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from matchenv.benchmarks.figures import files_of, new_figure, style
from matchenv.benchmarks.queue.report import known_estimate
from matchenv.evaluation.queue_table import QueueTable
from matchenv.runtime.files import records_csv

DOTS = 150
SIZE = (4.4, 5.0)
COLOURS = ("#7a7a7a", "#e69500", "#3f9e6a", "#0b3c6f", "#b0306a", "#6a4c93", "#1b9aaa", "#8c564b",
           "#bcbd22", "#111111")  # fmt: skip
MARKS = "osD^vP*Xhd"
QUALITY = "true_match_quality"


@dataclass(frozen=True)
class Point:
    """One policy with one setting of its knobs under one load.

    Attributes:
        family: the policy without the knobs.
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


def family_of(label: str) -> str:
    """A label without the numbers that can be turned: ``kg both=true`` of all such KGs."""
    name, _, options = label.partition(":")
    kept = [option for option in filter(None, options.split(",")) if not _is_knob(option)]
    return " ".join([name, *kept])


def _is_knob(option: str) -> bool:
    try:
        float(option.partition("=")[2])
    except ValueError:
        return False
    return True


def points_of(rows: QueueTable, load: int) -> list[Point]:
    """The points of one load that were measured, in the order of the policies."""
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


def mean_over(rows: QueueTable, measure: str, load: int, policy: str) -> float:
    """The mean over those runs in which there was something to measure."""
    return known_estimate(rows.values(measure, load, policy)).mean


def front_figure(rows: QueueTable) -> Figure:
    """Mean waiting time against mean true match quality, a panel for each load."""
    figure, axes = new_figure(1, len(rows.loads), (SIZE[0] * len(rows.loads), SIZE[1]))
    families = list(dict.fromkeys(map(family_of, rows.policies)))
    for place, load in enumerate(rows.loads):
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
        axis.set_title(f"{load.name} load: {load.arrival_rate:g} log on in a tick")
        axis.grid(color="0.9", linewidth=0.6)
    axes[0, 0].set_ylabel("mean true match quality of a game")
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=min(5, 2 * len(rows.loads)))
    return figure


def front_files(rows: QueueTable) -> Iterator[tuple[str, bytes]]:
    """The front as ``front.csv``, ``front.png`` and ``front.svg``."""
    with style("queue front", 9.0):
        yield from files_of("front", front_figure(rows), DOTS)
    records = [
        {"load": load.name, **vars(point)}
        for place, load in enumerate(rows.loads)
        for point in points_of(rows, place)
    ]
    yield "front.csv", records_csv(records)
