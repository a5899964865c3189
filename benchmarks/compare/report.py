"""What a comparison found: as numbers, as a table on the screen, as files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import FINAL_ERROR, EpisodeTable
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    columns_of,
    estimate,
    paired_difference,
    share_closed,
)
from matchenv.evaluation.result_files import json_bytes, records_csv
from matchenv.settings import Settings

Floats = NDArray[np.float64]

# What a comparison leaves to the user; rank and prior make the cells, and the reward does
# not matter to a comparison.
ENVIRONMENT_OPTIONS = (
    "num_opponents",
    "horizon",
    "beta",
    "draw_margin",
    "tau",
    "rank_by",
    "equal_variance",
)

# The measures of an episode that are reported.
MEASURES = (
    "draw_density",
    "true_draw_density",
    FINAL_ERROR,
    "skill_difference",
    "win_ratio",
)


@dataclass(frozen=True)
class Standing:
    """How one policy did in one cell.

    Attributes:
        cell: the cell.
        policy: its label.
        draw_density: sum of q under the belief over an episode.
        true_draw_density: sum of q under the true skills over an episode.
        final_squared_error: of the belief about player 0's skill after the last game.
        skill_difference: mean over an episode's games, player 0 less the opponent.
        win_ratio: share of the games that player 0 won, a draw counting half.
        difference: in true q, to the policy compared against, on the same episodes.
        belief_difference: the same in q under the belief.
        share_closed: of the distance from DrawChance to the oracle in true q.
        decisions_per_second: one process's rate; NaN where nothing was timed: episodes of one
            game, or played before this run.
    """

    cell: Cell
    policy: str
    draw_density: Estimate
    true_draw_density: Estimate
    final_squared_error: Estimate
    skill_difference: Estimate
    win_ratio: Estimate
    difference: Estimate
    belief_difference: Estimate
    share_closed: float
    decisions_per_second: float


@dataclass(frozen=True)
class Comparison:
    """Every episode of every policy, and what follows from them.

    Attributes:
        rows: the episodes.
        against: the label that differences are taken to.
        settings: of the environment, but for the cells' rank and prior.
        seed: the comparison's.
        block_size: episodes that were played side by side.
    """

    rows: EpisodeTable
    against: str
    settings: Settings
    seed: int
    block_size: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells."""
        return self.rows.cells

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return self.rows.policies

    @property
    def episodes(self) -> int:
        """E, episodes in each cell."""
        return self.rows.seeds.size

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """One measure of every episode, shape (E,)."""
        return self.rows.values(measure, cell, policy)[0]

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
        """The standings as text; with ``timing`` there is a column of decisions per second."""
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
                self.rows.decisions_per_second[cell, self.policies.index(policy)]
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
        f"difference; gap closed: of the distance from {LOW_END} to {HIGH_END}",
    ]
    for i, cell in enumerate(comparison.cells):
        lines += ["", cell.title, "  ".join(header)]
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
        f"{standing.final_squared_error.mean:13.3f}",
        f"{standing.skill_difference.mean:+11.3f}",
        f"{standing.win_ratio.mean:9.3f}",
    ]
    if timing:
        rate = standing.decisions_per_second
        cells.append(f"{rate:11,.0f}" if math.isfinite(rate) else f"{'-':>11}")
    return "  ".join(cells)


def result_files(comparison: Comparison, *, timing: bool) -> dict[str, bytes]:
    """Content of the result files: the standings as text, CSV and JSON, and the episodes.

    Args:
        comparison: what was found.
        timing: with decisions per second, which no two runs share.
    """
    return {
        **comparison.rows.files(),
        "comparison.txt": f"{comparison.table(timing=timing)}\n".encode(),
        "comparison.csv": _as_csv(comparison, timing),
        "comparison.json": json_bytes(as_json(comparison, timing=timing)),
    }


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
    records = []
    for standing in comparison.standings:
        columns = columns_of(standing)
        if not timing:
            del columns["decisions_per_second"]
        cell = {"rank": standing.cell.rank_name, "prior": standing.cell.prior}
        records.append({**cell, **columns})
    return records_csv(records)
