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
        tried = []
        for place, cell in enumerate(self.rows.cells):
            totals = {policy: self.rows.values(self.measure, place, policy)[0]
                      for policy in self.rows.policies}  # fmt: skip
            best: dict[str, str] = {}
            for policy in sorted(totals, key=lambda each: -totals[each].mean()):
                best.setdefault(family_of(policy), policy)
            tried += [
                Record(cell=cell.name, family=family_of(policy), policy=policy,
                       total=estimate(values),
                       behind=paired_difference(totals[best[family_of(policy)]], values),
                       best=policy in best.values())
                for policy, values in totals.items()
            ]  # fmt: skip
        return tried

    def best(self, cell: str) -> dict[str, str]:
        """Return the label of each family's best policy in a cell."""
        return {each.family: each.policy for each in self.tried if each.cell == cell and each.best}

    def text(self) -> str:
        """Return a table of each family's best policy in each cell."""

        def next_text(best: Record, text: str) -> str:
            others = [each for each in self.tried if not each.best
                      and (each.cell, each.family) == (best.cell, best.family)]  # fmt: skip
            nearest = sorted(others, key=lambda row: row.behind.mean)[:1]
            return "".join(map(text.format_map, nearest))

        columns = [
            Column("policy", "{policy}"),
            Column(self.title, "{total.mean:.2f}"),
            Column("95 % half width", "{total.half_width:.2f}"),
            Column("next", lambda row: next_text(row, "{policy}")),
            Column("behind by", lambda row: next_text(row, "{behind:.2f}")),
        ]
        lines = [self.heading]
        for cell in self.rows.cells:
            best = [each for each in self.tried if each.best and each.cell == cell.name]
            lines += ["", cell.title, *text_table(columns, best)]
        return "\n".join(lines) + "\n"


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
    kind, settings, places = problem_of(env, cells, env_kwargs)
    texts = policies if policies is not None else expanded(TRIED.get(env, kind.policies))
    plan, asked = plan_of(texts, settings, places, episodes, seed, purpose=TUNING)
    with run.store({"command": "tune", "measure": kind.measure, **asked}) as store:
        rows = play(plan, store)
        front = front_of(rows) if env == QUEUE else []
        shown, heading = kind.shown_of(simulator_of(settings)), heading_of(settings, places, asked)
        tuning = Tuning(rows, kind.measure, heading, shown[kind.measure].heading)
        files = {
            **rows.files(),
            "tuning.csv": records_csv([columns_of(each) for each in tuning.tried]),
            "best.json": json_bytes({cell.name: tuning.best(cell.name) for cell in places}),
            "tuning.md": tuning.text().encode(),
            **({"front.csv": records_csv(front)} if front else {}),
        }
        store.finish(tuning, files.items())
    return tuning
