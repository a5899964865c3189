"""The bound, beside what policies reach on the same instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.benchmarks.bench.playing import TOLD, told_index
from matchenv.benchmarks.bound.report import ENVIRONMENT_OPTIONS, Bounds, result_files
from matchenv.benchmarks.bound.sample_paths import BLOCK, BoundJob, bounds_of
from matchenv.benchmarks.compare.comparison import described, plan_of, problem_of
from matchenv.benchmarks.compare.report import Comparison
from matchenv.envs.one_player.priors import check_named
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.candidates import Candidate
from matchenv.evaluation.episode_table import play
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.evaluation.rollout import Sums
from matchenv.evaluation.seeds import spans_of
from matchenv.runtime.checks import as_integer
from matchenv.runtime.jobs import RunOptions, run_jobs
from matchenv.runtime.parallel import Workers

DEFAULT_POLICIES = ("drawchance", "kg", "gittins", "optimistic:belief=full")
DEFAULT_RANKS = ("top", "middle", "bottom")
DEFAULT_PRIORS = ("informative", "equal")
DEFAULT_EPISODES = 2000
DEFAULT_DEPTH = 200


def run_bound(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    ranks: Sequence[str | int | None] = DEFAULT_RANKS,
    priors: Sequence[str] = DEFAULT_PRIORS,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    depth: int = DEFAULT_DEPTH,
    workers: Workers = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Bounds:
    """Bound the mean total of true q that any policy can reach, and play some policies.

    A bound that was stopped goes on when it is called again with the same folder.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
        ranks: as there.
        priors: ``"informative"``, ``"equal"``.
        episodes: instances in each cell, >= 2; those of a comparison with the same seed.
        seed: decides instances and outcomes, >= 0.
        env_kwargs: ``num_opponents``, ``horizon``, ``beta``; the bound knows no draws and no
            drift.
        depth: games with one opponent after which the bound counts the skill as told, >= 1;
            the more, the tighter.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished work and the result files; None to write none.
        quiet: no progress bars.

    Raises:
        ValueError: for a bad argument, before anything is computed; for a folder with other
            results, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    as_integer("depth", depth, 1)
    check_named("priors", priors, "for which the bound was derived")
    for name in env_kwargs or {}:
        if name not in ENVIRONMENT_OPTIONS:
            raise ValueError(f"env_kwargs may hold {', '.join(ENVIRONMENT_OPTIONS)}, got {name!r}")
    # Policies and bound have the same luck: the k-th game with an opponent ends the same.
    options = {"noise": "opponent", **(env_kwargs or {})}
    run = RunOptions(out, workers=workers, quiet=quiet)
    _, settings, cells = problem_of(ONE_PLAYER, {"rank": ranks, "prior": priors}, options)
    plan = plan_of(policies, settings, cells, episodes, seed, references=(LOW_END, HIGH_END))
    if TOLD not in (candidate.label for candidate in plan.candidates):
        told = Candidate(TOLD, told_index, TOLD)
        plan = replace(plan, candidates=(*plan.candidates, told))
    plan = replace(plan, summary=partial(Sums, tuple(OnePlayer.measures), fields=("met",)))
    asked = {"command": "bound", "depth": depth, **described(plan, settings)}
    with run.store(asked) as store:
        rows = play(plan, store, run)
        met = rows.arrays["met"][:, :, 0]
        jobs = [
            BoundJob(cell, settings, seed, first, count, depth,
                     met[c, :, first : first + count])
            for c, cell in enumerate(plan.cells)
            for first, count in spans_of(episodes, BLOCK)
        ]  # fmt: skip
        found = run_jobs(jobs, bounds_of, store, run)
        values, luck, paid = (
            np.concatenate([each[name] for each in found]) for name in ("bound", "luck", "paid")
        )
        comparison = Comparison(rows, LOW_END, settings, asked)
        shape = (len(plan.cells), episodes)
        bounds = Bounds(
            comparison,
            values.reshape(shape),
            luck.reshape(shape),
            np.moveaxis(paid.reshape(*shape, -1), -1, 1),
            depth,
        )
        run.finish(store, bounds, result_files(bounds).items())
    return bounds
