"""Timing of two contestants in turn, so that a drift of the machine's speed hits both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# One side of a contest: a label, the work of one turn, and how many units one turn does.
Side = tuple[str, Callable[[], object], float]


@dataclass(frozen=True)
class Contest:
    """Our rate against a rival's, measured in alternating turns of one run.

    Attributes:
        section: the part of the benchmark it belongs to.
        name: what both did.
        unit: what is counted for a second, such as ``steps/s``.
        ours: what our side is.
        rival: what the other side is.
        our_rates: one rate for each turn.
        rival_rates: one rate for each turn.
        target: the ratio to reach, if there is one.
    """

    section: str
    name: str
    unit: str
    ours: str
    rival: str
    our_rates: list[float] = field(repr=False)
    rival_rates: list[float] = field(repr=False)
    target: float | None = None

    @property
    def ratios(self) -> list[float]:
        """Our rate over the rival's, turn by turn."""
        return [a / b for a, b in zip(self.our_rates, self.rival_rates, strict=True)]

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)


@dataclass(frozen=True)
class Measurement:
    """A figure without a rival, such as a time or a fitted exponent.

    Attributes:
        section: the part of the benchmark it belongs to.
        name: what was measured.
        unit: the unit of the values.
        values: one for each repetition.
        target: the value to stay below, if there is one.
    """

    section: str
    name: str
    unit: str
    values: list[float]
    target: float | None = None

    @property
    def median(self) -> float:
        """The median value."""
        return statistics.median(self.values)


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds that one call of ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def processor_seconds(work: Callable[[], object]) -> float:
    """Seconds of processor time that one call of ``work`` takes, in all threads of this process.

    Where other work has the processor meanwhile, they do not count.
    """
    start = time.process_time()
    work()
    return time.process_time() - start


def contest(
    section: str,
    name: str,
    unit: str,
    ours: Side,
    rival: Side,
    *,
    turns: int,
    target: float | None = None,
    clock: Callable[[Callable[[], object]], float] = processor_seconds,
) -> Contest:
    """Run both sides in alternating turns after one turn of warming up each.

    Args:
        section: as in ``Contest``, and so are name, unit and target.
        name: as there.
        unit: as there.
        ours: our side.
        rival: the other side.
        turns: counted turns of each side.
        target: as there.
        clock: seconds of a turn; ``seconds`` where a side has several threads, whose processor
            time adds up.
    """
    rates: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + 1):
        for (_, work, units), found in zip((ours, rival), rates, strict=True):
            taken = clock(work)
            if turn > 0:
                found.append(units / taken)
    return Contest(section, name, unit, ours[0], rival[0], *rates, target)
