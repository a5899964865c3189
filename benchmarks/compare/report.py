"""What a comparison found: as numbers, as a table on the screen, as files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.atomic_files import write_bytes
from matchenv.benchmarks.compare.cells import ENVIRONMENT_OPTIONS, Cell
from matchenv.benchmarks.compare.contestants import HIGH_END, LOW_END
from matchenv.benchmarks.compare.playing import MEASURES
from matchenv.benchmarks.compare.statistics import (
    CONFIDENCE,
    Estimate,
    estimate,
    paired_difference,
    share_closed,
)
from matchenv.benchmarks.results import csv_bytes, json_bytes, npz_bytes
from matchenv.settings import Settings

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """How one policy did in one cell.

    Attributes:
        cell: the cell.
        policy: its label.
        draw_density: sum of q under the belief over an episode.
        true_draw_density: sum of q under the true skills over an episode.
        squared_error: of the belief about player 0's skill after the last game.
        skill_difference: mean over an episode's games, player 0 less the opponent.
        win_ratio: share of the games that player 0 won, a draw counting half.
        difference: in true q, to the policy compared against, on the same episodes.
        belief_difference: the same in q under the belief.
        share_closed: of the distance from DrawChance to the oracle in true q.
        decisions_per_second: one process's rate; NaN for episodes of one game.
    """

    cell: Cell
    policy: str
    draw_density: Estimate
    true_draw_density: Estimate
    squared_error: Estimate
    skill_difference: Estimate
    win_ratio: Estimate
    difference: Estimate
    belief_difference: Estimate
    share_closed: float
    decisions_per_second: float


ESTIMATES = (*MEASURES, "difference", "belief_difference")


@dataclass(frozen=True)
class Comparison:
    """Every episode of every policy, and what follows from them.

    Attributes:
        cells: the cells, shape C.
        policies: labels of the policies, shape P.
        against: the label that differences are taken to.
        settings: of the environment, but for the cells' rank and prior.
        seed: the comparison's.
        block_size: episodes that were played side by side.
        episode_seeds: seeds of the episodes' environments, the same in all cells.
        measures: shape (5, C, P, E), first axis as ``MEASURES``.
        decisions_per_second: shape (C, P).
    """

    cells: tuple[Cell, ...]
    policies: tuple[str, ...]
    against: str
    settings: Settings
    seed: int
    block_size: int
    episode_seeds: tuple[int, ...]
    measures: Floats
    decisions_per_second: Floats

    @property
    def episodes(self) -> int:
        """E, episodes in each cell."""
        return int(self.measures.shape[-1])

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """One measure of every episode, shape (E,)."""
        found: Floats = self.measures[MEASURES.index(measure), cell, self.policies.index(policy)]
        return found

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """One for each policy in each cell, cell by cell."""
        return tuple(
            self._standing(i, policy) for i in range(len(self.cells)) for policy in self.policies
        )

    def standing(self, cell: int, policy: str) -> Standing:
        """The standing of one policy in the cell of this number."""
        return self.standings[cell * len(self.policies) + self.policies.index(policy)]

    def table(self, *, timing: bool = True) -> str:
        """The table as text; with ``timing`` it has a column of decisions per second."""
        return table_text(self, timing=timing)

    def _standing(self, cell: int, policy: str) -> Standing:
        def of(measure: str, name: str = policy) -> Floats:
            return self.values(measure, cell, name)

        true_q = "true_draw_density"
        return Standing(
            cell=self.cells[cell],
            policy=policy,
            **{measure: estimate(of(measure)) for measure in MEASURES},
            difference=paired_difference(of(true_q), of(true_q, self.against)),
            belief_difference=paired_difference(
                of("draw_density"), of("draw_density", self.against)
            ),
            share_closed=share_closed(of(true_q), of(true_q, LOW_END), of(true_q, HIGH_END)),
            decisions_per_second=float(
                self.decisions_per_second[cell, self.policies.index(policy)]
            ),
        )


def table_text(comparison: Comparison, *, timing: bool) -> str:
    """A table for each cell, a line for each policy."""
    settings = comparison.settings
    width = max(len("policy"), *(len(policy) for policy in comparison.policies))
    header = [
        f"{'policy':<{width}}", f"{'believed q':>10}", f"{'true q':>8}",
        f"{'true q - ' + comparison.against:>25}", f"{'gap closed':>10}",
        f"{'error of mu_0':>13}", f"{'skill diff.':>11}", f"{'win ratio':>9}",
    ]  # fmt: skip
    if timing:
        header.append(f"{'decisions/s':>11}")
    lines = [
        f"{comparison.episodes} episodes of {settings.horizon} games against one of "
        f"{settings.num_opponents}, seed {comparison.seed}",
        f"q: sums over an episode; [..]: {100.0 * CONFIDENCE:.0f} % interval of the paired "
        f"difference; gap closed: of the way from {LOW_END} to {HIGH_END}",
    ]
    for i, cell in enumerate(comparison.cells):
        lines += ["", cell.name, "  ".join(header)]
        lines += [
            _line(comparison.standing(i, policy), width, timing) for policy in comparison.policies
        ]
    return "\n".join(lines)


def _line(standing: Standing, width: int, timing: bool) -> str:
    difference = standing.difference
    interval = f"{difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"
    cells = [
        f"{standing.policy:<{width}}",
        f"{standing.draw_density.mean:10.2f}",
        f"{standing.true_draw_density.mean:8.2f}",
        f"{interval:>25}",
        f"{100.0 * standing.share_closed:8.1f} %",
        f"{standing.squared_error.mean:13.3f}",
        f"{standing.skill_difference.mean:+11.3f}",
        f"{standing.win_ratio.mean:9.3f}",
    ]
    if timing:
        cells.append(f"{standing.decisions_per_second:11,.0f}")
    return "  ".join(cells)


def write_files(comparison: Comparison, folder: Path, *, timing: bool) -> None:
    """Write ``comparison.json``, ``.csv``, ``.txt`` and the episodes, ``episodes.npz``.

    Args:
        comparison: what was found.
        folder: a folder that exists.
        timing: with decisions per second, which no two runs share.

    Raises:
        OSError: if a file cannot be written.
    """
    arrays = {name: comparison.measures[i] for i, name in enumerate(MEASURES)}
    arrays["seeds"] = np.array(comparison.episode_seeds, dtype=np.uint64)
    arrays["policies"] = np.array(comparison.policies)
    arrays["ranks"] = np.array([cell.rank_name for cell in comparison.cells])
    arrays["priors"] = np.array([cell.prior for cell in comparison.cells])
    text = f"{comparison.table(timing=timing)}\n".encode()
    write_bytes(folder / "episodes.npz", npz_bytes(arrays))
    write_bytes(folder / "comparison.txt", text)
    write_bytes(folder / "comparison.csv", _as_csv(comparison, timing))
    write_bytes(folder / "comparison.json", json_bytes(as_json(comparison, timing=timing)))


def as_json(comparison: Comparison, *, timing: bool) -> dict[str, Any]:
    """Settings, versions and all standings as plain data."""
    settings = comparison.settings
    return {
        "seed": comparison.seed,
        "episodes": comparison.episodes,
        "block_size": comparison.block_size,
        "against": comparison.against,
        "confidence": CONFIDENCE,
        "environment": {name: getattr(settings, name) for name in ENVIRONMENT_OPTIONS},
        "versions": {name: version(name) for name in ("matchenv", "numpy", "numba", "gymnasium")},
        "standings": [_plain_standing(standing, timing) for standing in comparison.standings],
    }


def _plain_standing(standing: Standing, timing: bool) -> dict[str, Any]:
    data = asdict(standing)
    data["cell"] = {"rank": standing.cell.rank_name, "prior": standing.cell.prior}
    if not timing:
        del data["decisions_per_second"]
    return data


def _as_csv(comparison: Comparison, timing: bool) -> bytes:
    header = ["rank", "prior", "policy"]
    parts = tuple(field.name for field in fields(Estimate))
    header += [f"{name}_{part}" for name in ESTIMATES for part in parts]
    header += ["share_closed"] + (["decisions_per_second"] if timing else [])
    rows = []
    for standing in comparison.standings:
        row: list[Any] = [standing.cell.rank_name, standing.cell.prior, standing.policy]
        row += [getattr(getattr(standing, name), part) for name in ESTIMATES for part in parts]
        row += [standing.share_closed]
        row += [standing.decisions_per_second] if timing else []
        rows.append(row)
    return csv_bytes(header, rows)
