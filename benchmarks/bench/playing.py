"""The benchmark's episodes: jobs of the one way to play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.gittins import ToldIndex
from matchenv.benchmarks.bench.protocol import EPISODES, SEED, Family
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate, candidates_of
from matchenv.evaluation.cells import cells_of
from matchenv.evaluation.episode_table import Block, Plan
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import adapted
from matchenv.evaluation.rollout import Sums, TrueSkills
from matchenv.evaluation.seeds import BENCH, INSTANCES, POLICIES, episode_seeds
from matchenv.runtime.jobs import Job, RunOptions, Store, run_jobs

Floats = NDArray[np.float64]

TRUE_Q = "true_draw_density"
TOLD = ToldIndex.name


def told_index(settings: Settings, true_skill: TrueSkills | None) -> ToldIndex:
    """Return the second mark, for an environment."""
    del true_skill
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
    """Return what tells the policies from others of their names, by label.

    Raises:
        ValueError: for a policy that plays not even the environment of the defaults.
    """
    return {each.label: str(each.identity) for each in candidates_of(policies, Settings.checked())}


def play_families(
    policies: Sequence[str],
    families: Sequence[Family],
    store: Store | None,
    run: RunOptions,
) -> tuple[dict[str, Floats], dict[str, tuple[str, ...]]]:
    """Play every episode of some families, with the marks.

    Args:
        policies: texts of policies, at least one.
        families: where.
        store: where finished jobs lie; None keeps nothing.
        run: how to work.

    Returns:
        Totals of true q by label, those of the marks among them, shape (F, E) each; and by label
        the names of the families that a policy does not play: DrawChance's totals stand there.

    Raises:
        ValueError: for policies of one label, or a mark's.
        OSError: if a job cannot be written.
    """
    jobs: list[Job] = []
    place: dict[tuple[str, str], int] = {}
    refused: dict[str, tuple[str, ...]] = {}
    for family in families:
        marks = (*candidates_of([LOW_END, HIGH_END], family.settings),
                 Candidate(TOLD, told_index, TOLD))  # fmt: skip
        playing = {mark.label: mark for mark in marks}
        for text in policies:
            try:
                (candidate,) = candidates_of([text], family.settings)
            except ValueError:
                label = text.rstrip("/\\")
                refused[label] = (*refused.get(label, ()), family.name)
            else:
                playing[candidate.label] = candidate
        for label, job in zip(playing, _plan(family, playing.values()).jobs(), strict=True):
            place[label, family.name] = len(jobs)
            jobs.append(replace(job, name=f"{family.name}_{job.name}"))
    found = run_jobs(jobs, store, run)

    def total(label: str, family: Family) -> Floats:
        known = place.get((label, family.name), place[LOW_END, family.name])
        totals: Floats = found[known][TRUE_Q]
        return totals

    labels = dict.fromkeys((*(text.rstrip("/\\") for text in policies), LOW_END, HIGH_END, TOLD))
    return {
        label: np.array([total(label, family) for family in families]) for label in labels
    }, refused


def _plan(family: Family, candidates: Iterable[Candidate]) -> Plan:
    """Return one family as a plan."""
    settings = family.settings
    seeds = episode_seeds(SEED, 0, EPISODES, (BENCH, INSTANCES, family.number))
    block = Block(0, 0, tuple(seeds), (BENCH, POLICIES, family.number))
    cells = cells_of([settings.rank], [str(settings.prior)], settings.num_opponents)
    summary = partial(Sums, (TRUE_Q,))
    return Plan(tuple(candidates), cells, (block,), lambda *_: settings, SEED, summary)
