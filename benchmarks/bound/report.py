"""The bound beside the oracle and the policies: a table, and files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matchenv.atomic_files import write_bytes
from matchenv.benchmarks.bound.running import ENVIRONMENT_OPTIONS, Bounds
from matchenv.benchmarks.compare.contestants import HIGH_END, LOW_END
from matchenv.benchmarks.compare.statistics import (
    CONFIDENCE,
    Estimate,
    estimate,
    paired_difference,
    share_closed,
)
from matchenv.evaluation.result_files import csv_bytes, json_bytes, npz_bytes

TRUE_Q = "true_draw_density"


@dataclass(frozen=True)
class Standing:
    """One policy under the bound, in one cell; estimates are over episodes.

    Attributes:
        policy: its label.
        true_q: its total of true q.
        room: the bound less that, on the same instances.
        share: of the way from DrawChance to the bound.
        share_of_oracle: of the way from DrawChance to the oracle.
    """

    policy: str
    true_q: Estimate
    room: Estimate
    share: float
    share_of_oracle: float


@dataclass(frozen=True)
class CellStanding:
    """The bound in one cell.

    Attributes:
        rank: place of player 0.
        prior: informative or equal.
        oracle: total of true q of the policy that knows all skills.
        bound: the bound.
        saved: the oracle less the bound, on the same instances.
        policies: the others.
    """

    rank: str
    prior: str
    oracle: Estimate
    bound: Estimate
    saved: Estimate
    policies: tuple[Standing, ...]


def standings(bounds: Bounds) -> list[CellStanding]:
    """Where everyone stands, cell by cell."""
    comparison = bounds.comparison
    found = []
    for i, cell in enumerate(comparison.cells):
        bound = bounds.values[i]
        totals = {policy: comparison.values(TRUE_Q, i, policy) for policy in comparison.policies}
        oracle, low = totals[HIGH_END], totals[LOW_END]
        policies = tuple(
            Standing(
                policy=policy,
                true_q=estimate(total),
                room=paired_difference(bound, total),
                share=share_closed(total, low, bound),
                share_of_oracle=share_closed(total, low, oracle),
            )
            for policy, total in totals.items()
            if policy != HIGH_END
        )
        saved = paired_difference(oracle, bound)
        found.append(
            CellStanding(
                cell.rank_name, cell.prior, estimate(oracle), estimate(bound), saved, policies
            )
        )
    return found


def table_text(bounds: Bounds) -> str:
    """A block of lines for each cell."""
    comparison = bounds.comparison
    settings = comparison.settings
    width = max(len("policy"), *(len(policy) for policy in comparison.policies))
    lines = [
        f"{comparison.episodes} episodes of {settings.horizon} games against one of "
        f"{settings.num_opponents}, seed {comparison.seed}; depth {bounds.depth}, "
        f"penalty {bounds.penalty:g}",
        f"sums of true q; +-: standard error; [..]: {100.0 * CONFIDENCE:.0f} % interval of the "
        f"paired difference; shares of the way from {LOW_END}",
    ]
    for cell in standings(bounds):
        lines += [
            "",
            f"{cell.rank} rank, {cell.prior} prior: oracle {cell.oracle.mean:.2f}, bound "
            f"{cell.bound.mean:.2f} +- {cell.bound.standard_error:.2f}, oracle - bound "
            f"{_interval(cell.saved)}",
            f"{'policy':<{width}}  {'true q':>8}  {'bound - true q':>22}  {'to the bound':>12}  "
            f"{'to the oracle':>13}",
        ]
        lines += [
            f"{standing.policy:<{width}}  {standing.true_q.mean:8.2f}  "
            f"{_interval(standing.room):>22}  {100.0 * standing.share:10.1f} %  "
            f"{100.0 * standing.share_of_oracle:11.1f} %"
            for standing in cell.policies
        ]
    return "\n".join(lines)


def _interval(difference: Estimate) -> str:
    return f"{difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"


def write_files(bounds: Bounds, folder: Path) -> None:
    """Write ``bound.json``, ``.csv``, ``.txt`` and the paths, ``bound.npz``.

    Raises:
        OSError: if a file cannot be written.
    """
    found = standings(bounds)
    write_bytes(folder / "bound.npz", npz_bytes({"bound": bounds.values}))
    write_bytes(folder / "bound.txt", f"{table_text(bounds)}\n".encode())
    write_bytes(folder / "bound.json", json_bytes(as_json(bounds, found)))
    parts = tuple(field.name for field in fields(Estimate))
    header = ["rank", "prior", "policy"]
    for name in ("oracle", "bound", "saved", "true_q", "room"):
        header += [f"{name}_{part}" for part in parts]
    rows = []
    for cell in found:
        for standing in cell.policies:
            row: list[Any] = [cell.rank, cell.prior, standing.policy]
            for each in (cell.oracle, cell.bound, cell.saved, standing.true_q, standing.room):
                row += [getattr(each, part) for part in parts]
            rows.append([*row, standing.share, standing.share_of_oracle])
    write_bytes(folder / "bound.csv", csv_bytes([*header, "share", "share_of_oracle"], rows))


def as_json(bounds: Bounds, found: list[CellStanding]) -> dict[str, Any]:
    """Settings, versions and all standings as plain data."""
    comparison = bounds.comparison
    return {
        "seed": comparison.seed,
        "episodes": comparison.episodes,
        "depth": bounds.depth,
        "penalty": bounds.penalty,
        "confidence": CONFIDENCE,
        "environment": {name: getattr(comparison.settings, name) for name in ENVIRONMENT_OPTIONS},
        "versions": {name: version(name) for name in ("matchenv", "numpy", "numba", "scipy")},
        "cells": [asdict(cell) for cell in found],
    }
