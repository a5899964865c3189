"""The benchmark's episodes: jobs of the one way to play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.gittins import ToldIndex
from matchenv.benchmarks.bench.protocol import EPISODES, SEED, Family
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate, candidates_of
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import Block, Plan, RolloutJob, jobs_of, work
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import adapted
from matchenv.evaluation.rollout import Sums, TrueSkills
from matchenv.evaluation.seeds import BENCH, INSTANCES, POLICIES, episode_seeds
from matchenv.runtime.jobs import RunOptions, Store, run_jobs

Floats = NDArray[np.float64]

TRUE_Q = "true_draw_density"
TOLD = ToldIndex.name


@dataclass(frozen=True)
class Played:
    """Totals of true q, by label; shape (F, E) each.

    Attributes:
        totals: of all who played, those of the marks among them.
        refused: by label, names of the families that a policy does not play: DrawChance's
            totals stand there.
    """

    totals: dict[str, Floats]
    refused: dict[str, tuple[str, ...]]


def told_index(settings: Settings, true_skill: TrueSkills | None) -> ToldIndex:
    """The second mark, for an environment."""
    made = ToldIndex(
        beta=settings.beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
        horizon=settings.horizon,
        belief=ToldIndex.preferred_belief(settings),
    )
    policy: ToldIndex = adapted(made, settings)
    return policy


def identities(policies: Sequence[str]) -> dict[str, str]:
    """What tells the policies from others of their names, by label.

    Raises:
        ValueError: for a policy that plays not even the environment of the defaults.
    """
    return {each.label: str(each.identity) for each in candidates_of(policies, Settings.checked())}


def play_families(
    policies: Sequence[str],
    families: Sequence[Family],
    store: Store | None,
    run: RunOptions,
) -> Played:
    """Play every episode of some families, with the marks.

    Args:
        policies: texts of policies, at least one.
        families: where.
        store: where finished jobs lie; None keeps nothing.
        run: how to work.

    Raises:
        ValueError: for policies of one label, or a mark's.
        OSError: if a job cannot be written.
    """
    jobs: list[RolloutJob] = []
    place: dict[tuple[str, str], int] = {}
    refused: dict[str, list[str]] = {}
    for family in families:
        plan = _plan(policies, family, refused)
        for candidate, job in zip(plan.candidates, jobs_of(plan), strict=True):
            place[candidate.label, family.name] = len(jobs)
            jobs.append(replace(job, name=f"{family.name}_{job.name}"))
    found = run_jobs(jobs, work, store, run)

    def total(label: str, family: Family) -> Floats:
        known = place.get((label, family.name), place[LOW_END, family.name])
        totals: Floats = found[known][TRUE_Q]
        return totals

    labels = dict.fromkeys((*(text.rstrip("/\\") for text in policies), LOW_END, HIGH_END, TOLD))
    return Played(
        {label: np.array([total(label, family) for family in families]) for label in labels},
        {label: tuple(names) for label, names in refused.items()},
    )


def _plan(policies: Sequence[str], family: Family, refused: dict[str, list[str]]) -> Plan:
    """One family as a plan; who refuses it is noted."""
    settings = family.settings
    marks = (*candidates_of([LOW_END, HIGH_END], settings), Candidate(TOLD, told_index, TOLD))
    playing = {mark.label: mark for mark in marks}
    for text in policies:
        try:
            (candidate,) = candidates_of([text], settings)
        except ValueError:
            refused.setdefault(text.rstrip("/\\"), []).append(family.name)
        else:
            playing[candidate.label] = candidate
    cell = Cell(settings.rank, str(settings.prior), settings.num_opponents)
    seeds = episode_seeds(SEED, 0, EPISODES, (BENCH, INSTANCES, family.number))
    block = Block(0, 0, tuple(seeds), (BENCH, POLICIES, family.number))

    def settings_of(cell: Cell, prior: int) -> Settings:
        return settings

    candidates = tuple(playing.values())
    return Plan(candidates, (cell,), (block,), settings_of, SEED, partial(Sums, (TRUE_Q,)))
