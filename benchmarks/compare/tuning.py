"""Options of policies against each other, on seeds of their own: ``matchenv tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matchenv.benchmarks.compare.comparison import described, plan_of, problem_of
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.estimates import Estimate, columns_of, estimate, paired_difference
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded, family_of
from matchenv.evaluation.seeds import TUNING
from matchenv.evaluation.tables import Column, markdown_table
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions

DEFAULT_EPISODES = 50

# What is tried where nothing is asked for, in the braces that command lines know.
RESERVATIONS = "reservation={0.3,0.45,0.6,0.7,0.8}"
FEWER = "reservation={0.3,0.45,0.6}"
TRIED: dict[str, tuple[str, ...]] = {
    ONE_PLAYER: ("kg:multiplier={0,1,2,5,10,20,40,70,99,200,499}", "kg:finite_horizon=true"),
    QUEUE: (
        "fcfs",
        "window:width={0.3,0.6,1,1.5,2.5},growth={0.2,1}",
        f"drawchance:{RESERVATIONS},fall={{0.05,0.2}}",
        f"matching:{RESERVATIONS},fall={{0.05,0.2}}",
        f"kg:multiplier={{1,4,12}},{RESERVATIONS},fall=0.1",
        f"kg:both=true,multiplier={{1,4,12}},{RESERVATIONS},fall=0.1",
        f"kg_matching:multiplier={{1,4,12}},{RESERVATIONS},fall=0.1",
        f"kg:multiplier=0.3,{FEWER},fall=0.05",
        f"kg:both=true,multiplier=0.3,{FEWER},fall=0.05",
        f"kg_matching:multiplier=0.3,{FEWER},fall=0.05",
        "reservation:policy=thompson,reservation={0.3,0.5,0.6,0.7},fall=0.1",
        "random",
        "oracle:reservation={0.5,0.7,0.85,0.95},fall={0.05,0.2}",
    ),
}


@dataclass(frozen=True)
class Tried:
    """One policy in one cell.

    Attributes:
        cell: name of the cell.
        family: the policy without its numbers.
        policy: its label.
        total: of the measure that is tuned, an episode.
        behind: the family's best total minus its own, on the same episodes.
        best: whether it is the family's best in this cell.
    """

    cell: str
    family: str
    policy: str
    total: Estimate
    behind: Estimate
    best: bool


@dataclass(frozen=True)
class Tuning:
    """What was tried.

    Attributes:
        rows: the episodes.
        measure: what is to be large.
    """

    rows: EpisodeTable
    measure: str

    @cached_property
    def tried(self) -> list[Tried]:
        """All that was tried, cell by cell."""
        return [each for cell in range(len(self.rows.cells)) for each in self._tried_in(cell)]

    def best(self, cell: str) -> dict[str, str]:
        """Return the label of each family's best policy in a cell."""
        return {each.family: each.policy for each in self.tried if each.cell == cell and each.best}

    def text(self) -> str:
        """Return the best of each family in each cell, as Markdown."""
        columns = [
            Column("cell", lambda each: each.cell),
            Column("policy", lambda each: each.policy),
            Column(self.measure, lambda each: f"{each.total.mean:.2f}"),
            Column("95 % half width", lambda each: f"{each.total.half_width:.2f}"),
            Column("next, behind by", self._next_text),
        ]
        chosen = [each for each in self.tried if each.best]
        return "\n".join(markdown_table(columns, chosen)) + "\n"

    def _next_text(self, best: Tried) -> str:
        others = [each for each in self.tried if not each.best
                  and (each.cell, each.family) == (best.cell, best.family)]  # fmt: skip
        if not others:
            return ""
        behind = min(others, key=lambda each: each.behind.mean)
        return f"{behind.policy}, {behind.behind.interval_text(2)}"

    def files(self) -> dict[str, bytes]:
        """Return the result files by name."""
        return {
            **self.rows.files(),
            "tuning.csv": records_csv([columns_of(each) for each in self.tried]),
            "best.json": json_bytes({cell.name: self.best(cell.name) for cell in self.rows.cells}),
            "tuning.md": self.text().encode(),
        }

    def _tried_in(self, cell: int) -> list[Tried]:
        totals = {
            policy: self.rows.values(self.measure, cell, policy)[0] for policy in self.rows.policies
        }
        leaders: dict[str, str] = {}
        for policy, values in totals.items():
            leader = leaders.setdefault(family_of(policy), policy)
            if values.mean() > totals[leader].mean():
                leaders[family_of(policy)] = policy
        return [
            Tried(
                self.rows.cells[cell].name,
                family_of(policy),
                policy,
                estimate(values),
                paired_difference(totals[leaders[family_of(policy)]], values),
                leaders[family_of(policy)] == policy,
            )
            for policy, values in totals.items()
        ]


def run_tuning(
    policies: Sequence[Any] | None = None,
    *,
    env: str = ONE_PLAYER,
    cells: Mapping[str, Sequence[Any]] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    measure: str | None = None,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    run: RunOptions | None = None,
) -> Tuning:
    """Try options of policies on the same episodes; the best of each policy counts.

    Whatever the seed, the tuning plays no episode of a comparison.

    Args:
        policies: as ``run_comparison``, one text for each choice of options; None for ours.
        env: as there.
        cells: as there.
        env_kwargs: as there.
        measure: what is maximised: what a comparison judges by, or the same under the beliefs;
            None for the former.
        episodes: as there.
        seed: as there.
        run: as there.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            tuning, or with damaged files.
        OSError: if something cannot be written; finished episodes stay.
    """
    run = run or RunOptions()
    kind, settings, places = problem_of(env, cells, env_kwargs)
    measure = measure or kind.measure
    as_choice("measure", measure, filter(None, (kind.measure, kind.believed)))
    texts = policies if policies is not None else expanded(TRIED.get(env, kind.policies))
    plan = plan_of(texts, settings, places, episodes, seed, purpose=TUNING)
    with run.store({"command": "tune", "measure": measure, **described(plan, settings)}) as store:
        found = Tuning(play(plan, store, run), measure)
        files = found.files()
        if env == QUEUE:
            from matchenv.benchmarks.compare.queue import front_files

            files |= dict(front_files(found.rows))
        run.finish(store, found, files.items())
    return found
