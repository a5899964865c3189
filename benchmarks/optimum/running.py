"""Policies against the optimum: instances, truths, and what each policy comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF, MU, SIGMA
from matchenv.belief.states import States
from matchenv.benchmarks.optimum.report import OPTIMUM, Findings, Problem, result_files
from matchenv.benchmarks.optimum.trees import (
    Rule,
    grown,
    optimal,
    rule_of,
    true_values,
    values_of_choices,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate, candidates_of
from matchenv.evaluation.cells import cells_of
from matchenv.evaluation.rollout import Batch, belief_of, one_thread
from matchenv.evaluation.seeds import TRUTHS, episode_seeds, spans_of, stream_of
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import open_store, run_jobs, write_results
from matchenv.runtime.parallel import Workers, as_engine

Floats = NDArray[np.float64]

DEFAULT_POLICIES = (
    "pe", "drawchance", "kg", "kg:finite_horizon=true", "kg:multiplier=3", "optimistic",
)  # fmt: skip

# What a command of some minutes can walk through, and what a machine can hold.
MOST_SEQUENCES = 20_000_000
MOST_NODES = 5_000
MOST_TRUTHS = 1_000_000
# Instances that are worked on side by side.
BLOCK = 10


@dataclass(frozen=True)
class OptimumJob:
    """Some instances of one size of problem.

    Attributes:
        problem: the problem.
        first: number of the first instance.
        count: how many.
    """

    problem: Problem
    first: int
    count: int

    @property
    def name(self) -> str:
        """Name of its file."""
        settings = self.problem.settings
        size = f"opponents{settings.num_opponents}_games{settings.horizon}"
        return f"{size}_episode{self.first:06d}"

    @property
    def lasting(self) -> bool:
        """Whether what it gives may be kept for another time."""
        return all(candidate.identity is not None for candidate in self.problem.candidates)


def run_optimum(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    num_opponents: Sequence[int] = (3,),
    horizon: Sequence[int] = (8,),
    episodes: int = 100,
    truths: int = 64,
    rank: str | int | None = None,
    seed: int = 0,
    belief: str = DEFAULT_BELIEF,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers = 1,
    out: str | Path | None = None,
    quiet: bool = False,
) -> list[Findings]:
    """Find the optimum of small problems, and what policies lose against it.

    Instances have informative priors and come from the seeds that a comparison uses. Work that
    was stopped goes on when it is called again with the same folder.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them; baselines are
            made for ``belief``.
        num_opponents: numbers of opponents M, >= 1.
        horizon: numbers of games N, >= 1; each with each M. (outcomes * M)^(N - 1) must be at
            most 20 million.
        episodes: instances, >= 2.
        truths: sets of true skills drawn from the prior of each instance, in [1, 1,000,000].
        rank: place of player 0 by prior mean; None or ``"any"`` for a random one.
        seed: decides instances and truths, >= 0.
        belief: a name of ``matchenv.belief.BELIEFS``.
        env_kwargs: ``beta`` and ``draw_margin``.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished work and the result files; None to write none.
        quiet: no progress bar.

    Returns:
        One for each size of problem.

    Raises:
        ValueError: for a bad argument, before anything is computed; for a policy that is
            stochastic, has a memory, knows the truth, or reads another belief; for a folder
            with other results, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    as_integer("episodes", episodes, 2)
    as_integer("truths", truths, 1, MOST_TRUTHS)
    as_integer("seed", seed, 0)
    as_engine(workers)
    problems = []
    for opponents, games in product(num_opponents, horizon):
        settings = Settings.checked(
            num_opponents=opponents, horizon=games, belief=belief, **(env_kwargs or {})
        )
        _check_size(settings)
        (cell,) = cells_of([rank], ["informative"], settings.num_opponents)
        candidates = candidates_of(policies, settings)
        for candidate in candidates:
            _check_rule(candidate, settings)
        problems.append(Problem(settings, cell, seed, truths, candidates))
    if not problems:
        raise ValueError("num_opponents and horizon must have at least one number each")
    spans = spans_of(episodes, BLOCK)
    jobs = [OptimumJob(problem, *span) for problem in problems for span in spans]
    first = problems[0]
    asked = {
        "command": "optimum",
        "policies": {candidate.label: candidate.identity for candidate in first.candidates},
        "num_opponents": list(num_opponents),
        "horizon": list(horizon),
        "episodes": episodes,
        "truths": truths,
        "rank": first.cell.rank_name,
        "seed": seed,
        "belief": belief,
        **{name: getattr(first.settings, name) for name in ("beta", "draw_margin")},
    }
    with open_store(out, asked) as store:
        found = run_jobs(jobs, work, store, workers=workers, quiet=quiet, unit="instance")
        findings = []
        for k, problem in enumerate(problems):
            blocks = found[k * len(spans) : (k + 1) * len(spans)]
            whole = {name: np.concatenate([b[name] for b in blocks], 1) for name in blocks[0]}
            findings.append(Findings(problem, **whole))
        write_results(store, result_files(findings).items())
    return findings


def work(job: OptimumJob) -> Arrays:
    """``believed``, ``true_q`` and ``first_is_best``, as in ``Findings``, of a job's instances."""
    problem, settings = job.problem, job.problem.settings
    instances = replace(settings, rank=problem.cell.rank, belief=DEFAULT_BELIEF)
    players = Batch(instances, episode_seeds(problem.seed, job.first, job.count)).state.players
    mu, sigma = players[:, :, MU].copy(), players[:, :, SIGMA].copy()
    normals = [
        stream_of(problem.seed, TRUTHS, b).standard_normal((problem.truths, mu.shape[1]))
        for b in range(job.first, job.first + job.count)
    ]
    skills = mu[:, None, :] + sigma[:, None, :] * np.array(normals)
    prior = States.of_prior(mu, sigma, settings.belief)
    worth = values_of_choices(prior, settings.horizon, settings)
    found: dict[str, list[Any]] = {"believed": [], "true_q": [], "first_is_best": []}
    with one_thread():
        for rule in (optimal(settings), *(_rule(each, settings) for each in problem.candidates)):
            tree = grown(rule, prior, settings)
            found["believed"].append(tree.value)
            found["true_q"].append(true_values(tree, skills, settings).mean(axis=1))
            chosen = np.take_along_axis(worth, tree.actions[:, :1], axis=1)[:, 0]
            # Equal opponents are equally good up to rounding.
            found["first_is_best"].append(chosen >= worth.max(axis=1) - 1e-12)
    return {name: np.array(values) for name, values in found.items()}


def _check_size(settings: Settings) -> None:
    outcomes = 3 if settings.draw_margin > 0.0 else 2
    games = settings.horizon
    # Logarithms: the numbers themselves may be too large to write.
    sequences = (games - 1) * np.log10(outcomes * settings.num_opponents)
    nodes = games * np.log10(outcomes)
    if sequences > np.log10(MOST_SEQUENCES) or nodes > np.log10(MOST_NODES):
        raise ValueError(
            f"horizon must be so small that (outcomes * num_opponents)^(horizon - 1) is at most "
            f"{MOST_SEQUENCES:,} and outcomes^horizon at most {MOST_NODES:,}, got {games} with "
            f"num_opponents={settings.num_opponents} and {outcomes} outcomes of a game"
        )


def _rule(candidate: Candidate, settings: Settings) -> Rule:
    # Nobody asks for the truth: who would was refused.
    return rule_of(candidate.make(settings, lambda: np.zeros(settings.num_players)), settings)


def _check_rule(candidate: Candidate, settings: Settings) -> None:
    """Refuse a policy that is no rule from states to choices, or that cannot play."""
    label = candidate.label
    policy = candidate.make(settings, lambda: np.zeros(settings.num_players))
    if label == OPTIMUM:
        raise ValueError(f"policies must not be named {OPTIMUM!r}, which is there already")
    for name, what in (("stochastic", "is stochastic"), ("needs_truth", "knows the true skills")):
        if getattr(policy, name, False):
            raise ValueError(
                f"policies must choose by the state alone, got {label!r}, which {what}"
            )
    if belief_of(policy) != settings.belief:
        raise ValueError(
            f"belief must be the one that all policies read, {label!r} reads the "
            f"{belief_of(policy)} one, got {settings.belief!r}"
        )
    ones = np.ones((1, settings.num_players))
    try:
        rule_of(policy, settings)(
            States.of_prior(0.0 * ones, ones, settings.belief), settings.horizon
        )
    except Exception as error:
        raise ValueError(
            f"policy {label!r} cannot play with num_opponents={settings.num_opponents}: {error}"
        ) from error
