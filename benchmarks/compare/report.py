"""What a comparison found: as numbers, as a table on the screen, as files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.envs.one_player.settings import Settings
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
from matchenv.evaluation.tables import Column, text_table
from matchenv.evaluation.verdicts import detectable_effect, verdicts
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.provenance import versions

Floats = NDArray[np.float64]

# Rank and prior make the cells, the belief is the policy's, and a comparison does not depend on the
# reward; noise is described apart.
ENVIRONMENT_OPTIONS = tuple(
    each.name
    for each in fields(Settings)
    if each.name not in ("rank", "prior", "reward", "belief", "noise")
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
        detectable: the least true difference that so many episodes find in 80 % of all tries.
        verdict: ahead of the policy compared against, behind or undecided, by Holm's rule over all
            cells and policies but the oracle; nothing for that policy and for the oracle.
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
    detectable: float
    verdict: str
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
    def _verdicts(self) -> dict[tuple[int, str], str]:
        """Who is ahead of the policy compared against, by number of the cell and label."""
        asked = {
            (i, policy): self._difference("true_draw_density", i, policy)
            for i in range(len(self.cells))
            for policy in self.policies
            if policy not in (self.against, HIGH_END)
        }
        found = verdicts(list(asked.values()), self.episodes)
        return dict(zip(asked, found, strict=True))

    def _difference(self, measure: str, cell: int, policy: str) -> Estimate:
        return paired_difference(
            self.values(measure, cell, policy), self.values(measure, cell, self.against)
        )

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
        """A table for each cell, a line for each policy.

        Args:
            timing: with decisions per second.
        """
        settings = self.settings
        lines = [
            f"{self.episodes} episodes of {settings.horizon} games against one of "
            f"{settings.num_opponents}, seed {self.seed}",
            f"q: sums over an episode; [..]: {100.0 * CONFIDENCE:.0f} % interval of the paired "
            f"difference; detects: the least difference found in 80 % of all tries; verdict: after "
            "Holm's correction over all cells and policies",
            f"gap closed: of the distance from {LOW_END} to {HIGH_END}",
        ]
        for i, cell in enumerate(self.cells):
            standings = [self.standing(i, policy) for policy in self.policies]
            lines += ["", cell.title, *text_table(columns(self.against, timing), standings)]
        return "\n".join(lines)

    def _standing(self, cell: int, policy: str) -> Standing:
        def of(measure: str, name: str = policy) -> Floats:
            return self.values(measure, cell, name)

        true_q = "true_draw_density"
        difference = self._difference(true_q, cell, policy)
        return Standing(
            cell=self.cells[cell],
            policy=policy,
            **{measure: estimate(of(measure)) for measure in MEASURES},
            difference=difference,
            belief_difference=self._difference("draw_density", cell, policy),
            detectable=detectable_effect(difference, self.episodes),
            verdict=self._verdicts.get((cell, policy), ""),
            share_closed=share_closed(of(true_q), of(true_q, LOW_END), of(true_q, HIGH_END)),
            decisions_per_second=float(
                self.rows.decisions_per_second[cell, self.policies.index(policy)]
            ),
        )


def columns(against: str, timing: bool) -> list[Column]:
    """The columns of a table of standings; the last one, decisions per second, with ``timing``."""
    every = [
        Column("policy", lambda s: s.policy),
        Column("believed q", lambda s: f"{s.draw_density.mean:.2f}"),
        Column("true q", lambda s: f"{s.true_draw_density.mean:.2f}", 8),
        Column(f"true q - {against}", lambda s: s.difference.interval_text(2), 25),
        Column("detects", lambda s: _detectable_text(s, against)),
        Column("verdict", lambda s: s.verdict, 9),
        Column("gap closed", lambda s: gap_text(s.share_closed)),
        Column("error of mu_0", lambda s: f"{s.final_squared_error.mean:.3f}"),
        Column("skill diff.", lambda s: f"{s.skill_difference.mean:+.3f}"),
        Column("win ratio", lambda s: f"{s.win_ratio.mean:.3f}"),
        Column("decisions/s", lambda s: _rate_text(s.decisions_per_second)),
    ]
    return every if timing else every[:-1]


def _detectable_text(standing: Standing, against: str) -> str:
    known = standing.policy != against and math.isfinite(standing.detectable)
    return f"{standing.detectable:.2f}" if known else ""


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if math.isfinite(rate) else "-"


def result_files(comparison: Comparison, *, timing: bool) -> dict[str, bytes]:
    """Content of the result files: the standings as text, CSV and JSON, and the episodes.

    Args:
        comparison: what was found.
        timing: with decisions per second, which no two runs share.
    """
    records, plain = [], []
    for standing in comparison.standings:
        cell = {"rank": standing.cell.rank_name, "prior": standing.cell.prior}
        records.append({**cell, **columns_of(standing)})
        plain.append({**asdict(standing), "cell": cell})
    if not timing:
        for record in records + plain:
            del record["decisions_per_second"]
    return {
        **comparison.rows.files(),
        "comparison.txt": f"{comparison.table(timing=timing)}\n".encode(),
        "comparison.csv": records_csv(records),
        "comparison.json": json_bytes({**head(comparison), "standings": plain}, checked=True),
    }


def head(comparison: Comparison) -> dict[str, Any]:
    """Settings and versions as plain data."""
    settings = comparison.settings
    return {
        "seed": comparison.seed,
        "episodes": comparison.episodes,
        "block_size": comparison.block_size,
        "noise": comparison.settings.noise,
        "against": comparison.against,
        "confidence": CONFIDENCE,
        "environment": {name: getattr(settings, name) for name in ENVIRONMENT_OPTIONS},
        "versions": versions("gymnasium"),
    }


def gap_text(share: float) -> str:
    """Return the share of the gap closed; a dash far below its lower end, where it says nothing."""
    return f"{100.0 * share:.1f} %" if share > -1.0 else "–"
