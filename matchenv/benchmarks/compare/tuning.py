"""Tuning of the options of policies, on separate seeds: ``matchenv tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matchenv.benchmarks.compare.comparison import heading_of, plan_of, problem_of
from matchenv.benchmarks.compare.queue import front_of
from matchenv.envs import simulator_of
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.estimates import Record, columns_of, estimate, paired_difference
from matchenv.evaluation.protocols import default_policies
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded, family_of
from matchenv.evaluation.seeds import TUNING
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions

DEFAULT_EPISODES = 50

# Default policies by environment, with braces as on the command line.
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
        "priced",
        "random",
        "oracle:reservation={0.5,0.7,0.85,0.95},fall={0.05,0.2}",
    ),
}


@dataclass(frozen=True)
class Tuning:
    """Results of a tuning.

    Attributes:
        rows: the episodes.
        measure: measure to maximise.
        heading: a line on the settings.
        title: title of the measure.
    """

    rows: EpisodeTable
    measure: str
    heading: str = ""
    title: str = ""

    @cached_property
    def tried(self) -> list[Record]:
        """A record for each policy in each cell, cell by cell.

        Each has the name of the ``cell``, the ``family`` (the label without numbers) and the
        ``policy``; the ``total`` of the measure in an episode; by how much it is ``behind`` the
        family's best on the same episodes; and whether it is the ``best``.
        """
        tried: list[Record] = []
        for cell in range(len(self.rows.cells)):
            tried += self._tried_in(cell)
        return tried

    def _tried_in(self, cell: int) -> list[Record]:
        """Return the records of a cell."""
        totals = {}
        best: dict[str, str] = {}  # the best policy by family
        for policy in self.rows.policies:
            totals[policy] = self.rows.values(self.measure, cell, policy)[0]
            rival = best.setdefault(family_of(policy), policy)
            if totals[policy].mean() > totals[rival].mean():
                best[family_of(policy)] = policy
        records = []
        for policy, values in totals.items():
            family = family_of(policy)
            record = Record(
                cell=self.rows.cells[cell].name,
                family=family,
                policy=policy,
                total=estimate(values),
                behind=paired_difference(totals[best[family]], values),
                best=best[family] == policy,
            )
            records.append(record)
        return records

    def best(self, cell: str) -> dict[str, str]:
        """Return the label of each family's best policy in a cell."""
        best = {}
        for record in self.tried:
            if record.cell == cell and record.best:
                best[record.family] = record.policy
        return best

    def text(self) -> str:
        """Return a table of each family's best policy in each cell."""
        columns = [
            Column("policy", "{policy}"),
            Column(self.title, "{total.mean:.2f}"),
            Column("95 % half width", "{total.half_width:.2f}"),
            Column("next", "{next}"),
            Column("behind by", "{behind_by}"),
        ]
        lines = [self.heading]
        for cell in self.rows.cells:
            rows = []
            for record in self.tried:
                if record.best and record.cell == cell.name:
                    rows.append(self._row(record))
            lines += ["", cell.title, *text_table(columns, rows)]
        return "\n".join(lines) + "\n"

    def _row(self, best: Record) -> Record:
        """Return the best of a family with the next of the family, if there is one."""
        others = []
        for record in self.tried:
            same = record.cell == best.cell and record.family == best.family
            if same and not record.best:
                others.append(record)
        if not others:
            return Record(best, next="", behind_by="")
        following = min(others, key=lambda record: record.behind.mean)
        return Record(best, next=following.policy, behind_by=f"{following.behind:.2f}")


def run_tuning(
    policies: Sequence[Any] | None = None,
    *,
    env: str = ONE_PLAYER,
    cells: Mapping[str, Sequence[Any]] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    run: RunOptions | None = None,
) -> Tuning:
    """Play policies with different options on the same episodes, and find the best of each family.

    No episode is shared with a comparison, whatever the seed.

    Args:
        policies: see ``run_comparison``; a text for each choice of options; None for ``TRIED``.
        env: see ``run_comparison``.
        cells: see ``run_comparison``.
        env_kwargs: see ``run_comparison``.
        episodes: episodes in each cell, >= 2.
        seed: random seed, >= 0.
        run: folder, workers, and other options that change no result.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            tuning or with damaged files.
        OSError: if the folder cannot be written; finished episodes stay.
    """
    run = run or RunOptions()
    protocol, settings, problems = problem_of(env, cells, env_kwargs)
    if policies is None:
        policies = default_policies(expanded(TRIED.get(env, protocol.policies)), settings)
    plan, asked = plan_of(policies, settings, problems, episodes, seed, purpose=TUNING)
    measure = protocol.measure
    title = protocol.shown_of(simulator_of(settings))[measure].heading
    with run.store({"command": "tune", "measure": measure, **asked}) as store:
        rows = play(plan, store)
        tuning = Tuning(rows, measure, heading_of(settings, problems, asked), title)
        files = {
            **rows.files(),
            "tuning.csv": records_csv([columns_of(record) for record in tuning.tried]),
            "best.json": json_bytes({cell.name: tuning.best(cell.name) for cell in problems}),
            "tuning.md": tuning.text().encode(),
        }
        if env == QUEUE:
            front = front_of(rows)
            if front:
                files["front.csv"] = records_csv(front)
        store.finish(tuning, files.items())
    return tuning
