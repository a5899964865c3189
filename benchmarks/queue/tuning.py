"""Settings of the queue's policies against each other, on seeds of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matchenv.benchmarks.queue.front import family_of, front_files
from matchenv.benchmarks.queue.plan import described, queue_plan
from matchenv.evaluation.estimates import Estimate, columns_of, estimate, paired_difference
from matchenv.evaluation.queue_table import LOADS, QueueTable, play_queue
from matchenv.evaluation.seeds import TUNING
from matchenv.evaluation.tables import Column, markdown_table
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import open_store, write_results
from matchenv.runtime.parallel import Workers, as_engine

DEFAULT_EPISODES = 50
MEASURES = ("true_reward", "reward")

# What is tried where nothing is asked for, in the braces that command lines know.
RESERVATIONS = "reservation={0.3,0.45,0.6,0.7,0.8}"
FEWER = "reservation={0.3,0.45,0.6}"
DEFAULT_POLICIES = (
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
)


@dataclass(frozen=True)
class Setting:
    """One policy under one load.

    Attributes:
        load: name of the load.
        family: the policy without its knobs.
        policy: its label.
        total: of the measure that is tuned, a run.
        behind: the family's best total less its own, on the same runs.
        best: whether it is the family's best under this load.
    """

    load: str
    family: str
    policy: str
    total: Estimate
    behind: Estimate
    best: bool


@dataclass(frozen=True)
class QueueTuning:
    """What was tried.

    Attributes:
        rows: the runs.
        measure: what is to be large.
    """

    rows: QueueTable
    measure: str

    @cached_property
    def settings(self) -> list[Setting]:
        """All that was tried, load by load."""
        return [
            setting for load in range(len(self.rows.loads)) for setting in self._settings_of(load)
        ]

    def best(self, load: str) -> dict[str, str]:
        """The best policy of each family under a load, by its label."""
        return {
            each.family: each.policy for each in self.settings if each.load == load and each.best
        }

    def text(self) -> str:
        """The best of each family under each load, as Markdown."""
        columns = [
            Column("load", lambda each: each.load),
            Column("policy", lambda each: each.policy),
            Column(self.measure, lambda each: f"{each.total.mean:.1f}"),
            Column("95 % half width", lambda each: f"{each.total.half_width:.1f}"),
        ]
        chosen = [each for each in self.settings if each.best]
        return "\n".join(markdown_table(columns, chosen)) + "\n"

    def files(self) -> dict[str, bytes]:
        """Content of the result files, but for the front."""
        return {
            **self.rows.files(),
            "tuning.csv": records_csv([columns_of(each) for each in self.settings]),
            "best.json": json_bytes({load.name: self.best(load.name) for load in self.rows.loads}),
            "tuning.md": self.text().encode(),
        }

    def _settings_of(self, load: int) -> list[Setting]:
        totals = {
            policy: self.rows.values(self.measure, load, policy) for policy in self.rows.policies
        }
        leaders: dict[str, str] = {}
        for policy, values in totals.items():
            leader = leaders.setdefault(family_of(policy), policy)
            if values.mean() > totals[leader].mean():
                leaders[family_of(policy)] = policy
        return [
            Setting(
                self.rows.loads[load].name,
                family_of(policy),
                policy,
                estimate(values),
                paired_difference(totals[leaders[family_of(policy)]], values),
                leaders[family_of(policy)] == policy,
            )
            for policy, values in totals.items()
        ]


def run_queue_tuning(
    policies: Sequence[Any],
    *,
    loads: Sequence[str] = tuple(LOADS),
    measure: str = MEASURES[0],
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> QueueTuning:
    """Try settings of the queue's policies on the same runs; the best of each policy counts.

    Whatever the seed, the tuning never plays a run of a comparison.

    Args:
        policies: as ``run_queue_comparison``, one text for each setting.
        loads: as there.
        measure: what is maximised, ``"true_reward"`` or ``"reward"``.
        episodes: as there.
        seed: as there.
        env_kwargs: as there.
        workers: as there.
        out: as there.
        quiet: as there.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            tuning, or with damaged files.
        OSError: if something cannot be written; finished runs stay.
    """
    as_engine(workers)
    as_choice("measure", measure, MEASURES)
    plan = queue_plan(policies, None, loads, episodes, seed, env_kwargs, TUNING)
    with open_store(out, {"command": "tune", **described(plan)}) as store:
        tuning = QueueTuning(play_queue(plan, store, workers=workers, quiet=quiet), measure)
        if store is not None:
            write_results(store, tuning.files().items())
            write_results(store, front_files(tuning.rows))
    return tuning
