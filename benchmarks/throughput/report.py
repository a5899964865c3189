"""What was measured, as lines on the screen and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

from matchenv.benchmarks.throughput.timing import Contest, Measurement

PACKAGES = ("matchenv", "numpy", "numba", "gymnasium", "stable-baselines3", "envpool", "trueskill",
            "openskill")  # fmt: skip


def line(result: Contest | Measurement, beside: str = "") -> str:
    """A result in a line or two: median, spread from least to most, target and verdict.

    Args:
        result: what was measured.
        beside: what to add to the first line.
    """
    if isinstance(result, Measurement):
        spread = f"{_spread(result.values)} {result.unit}"
        return f"{result.name}: {spread}{_verdict(result, 'below')}{beside}"
    return (
        f"{result.name}: {_spread(result.ratios)} times{_verdict(result, 'at least')}"
        f"{beside}\n"
        f"    {result.ours}: {_spread(result.our_rates)} {result.unit}\n"
        f"    {result.rival}: {_spread(result.rival_rates)} {result.unit}"
    )


def reached(result: Contest | Measurement) -> bool | None:
    """Whether the median reaches the target; None without one."""
    if result.target is None:
        return None
    if isinstance(result, Measurement):
        return result.median < result.target
    return result.ratio >= result.target


def as_json(results: Sequence[Contest | Measurement], turns: int) -> dict[str, Any]:
    """All results with the versions that ran; every number is a measurement."""
    contests, measurements = [], []
    for each in results:
        plain = {**asdict(each), "reached": reached(each)}
        if isinstance(each, Contest):
            contests.append({**plain, "ratios": each.ratios, "ratio": each.ratio})
        else:
            measurements.append({**plain, "median": each.median})
    return {
        "turns": turns,
        "versions": {name: _version(name) for name in PACKAGES},
        "contests": contests,
        "measurements": measurements,
    }


def _verdict(result: Contest | Measurement, relation: str) -> str:
    if result.target is None:
        return ""
    return f" [target: {relation} {result.target:g}; {'reached' if reached(result) else 'MISSED'}]"


def _spread(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{_short(median(values))} ({_short(low)} to {_short(high)})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
