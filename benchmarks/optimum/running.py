"""Policies against the optimum: instances, truths, and what each policy comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv import MatchmakingVectorEnv
from matchenv.baselines import Oracle, RandomOpponent, ThompsonSampling
from matchenv.belief import DEFAULT_BELIEF
from matchenv.benchmarks.compare.cells import cells_of
from matchenv.benchmarks.compare.contestants import Contestant, belief_of, label_of, policy_of
from matchenv.benchmarks.compare.playing import one_thread
from matchenv.benchmarks.compare.seeds import TRUTHS, episode_seeds, generator_of
from matchenv.benchmarks.optimum.states import States
from matchenv.benchmarks.optimum.trees import (
    Chooser,
    chooser_of,
    grown,
    optimal,
    true_values,
    values_of_choices,
)
from matchenv.settings import Settings
from matchenv.validation import as_integer

Floats = NDArray[np.float64]

OPTIMUM = "optimum"
DEFAULT_POLICIES = (
    "pe", "drawchance", "kg", "kg:finite_horizon=true", "kg:multiplier=3", "optimistic",
)  # fmt: skip

# What a command of some minutes can walk through, and what a machine can hold.
MOST_SEQUENCES = 20_000_000
MOST_NODES = 5_000
# Instances that are worked on side by side.
BLOCK = 10


@dataclass(frozen=True)
class Findings:
    """What one size of problem gave.

    Attributes:
        settings: of the problem.
        rank: place of player 0, as a command line writes it.
        seed: of the instances.
        truths: sets of true skills for each instance.
        policies: labels, the optimum first; shape P.
        believed: value under the belief model, shape (P, I).
        true_q: expected sum of true q, mean over the truths, shape (P, I).
        first_is_best: whether the first choice is an optimal one, shape (P, I).
    """

    settings: Settings
    rank: str
    seed: int
    truths: int
    policies: tuple[str, ...]
    believed: Floats
    true_q: Floats
    first_is_best: NDArray[np.bool_]


def run_optimum(
    policies: Sequence[str] = DEFAULT_POLICIES,
    *,
    opponents: int = 3,
    games: int = 8,
    instances: int = 100,
    truths: int = 64,
    rank: str | int | None = None,
    seed: int = 0,
    belief: str = DEFAULT_BELIEF,
    env_kwargs: dict[str, Any] | None = None,
    quiet: bool = False,
) -> Findings:
    """Find the optimum of small problems, and what policies lose against it.

    Instances have informative priors and come from the seeds that ``matchenv.benchmarks.compare``
    uses.

    Args:
        policies: names as a comparison takes them; baselines are made for ``belief``.
        opponents: M, >= 1.
        games: N, >= 1; (outcomes * M)^(N - 1) must be at most 20 million.
        instances: priors, >= 2.
        truths: sets of true skills drawn from each prior, >= 1.
        rank: place of player 0 by prior mean; None or ``"any"`` for a random one.
        seed: decides instances and truths, >= 0.
        belief: a name of ``matchenv.belief.BELIEFS``.
        env_kwargs: ``beta`` and ``draw_margin``.
        quiet: no progress bar.

    Raises:
        ValueError: for a bad argument, before anything is computed; for a policy that draws
            lots, has a memory, knows the truth, or reads another belief.
    """
    as_integer("instances", instances, 2)
    as_integer("truths", truths, 1)
    as_integer("seed", seed, 0)
    settings = Settings.checked(
        num_opponents=opponents, horizon=games, belief=belief, **(env_kwargs or {})
    )
    _check_size(settings)
    (cell,) = cells_of([rank], ["informative"], settings)
    choosers = _choosers(policies, settings)
    mu, sigma = _priors(settings, cell.rank, seed, instances)
    blocks = []
    with tqdm(total=instances, unit="instance", disable=quiet) as bar, one_thread():
        for start in range(0, instances, BLOCK):
            rows = slice(start, start + BLOCK)
            skills = _true_skills(mu[rows], sigma[rows], truths, seed, start)
            prior = States.of_prior(mu[rows], sigma[rows], belief)
            blocks.append(_block(list(choosers.values()), prior, skills, settings))
            bar.update(len(skills))
    believed, true_q, first = (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
    return Findings(
        settings, cell.rank_name, seed, truths, tuple(choosers), believed, true_q, first
    )


def _block(
    choosers: Sequence[Chooser], prior: States, skills: Floats, settings: Settings
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """``believed``, ``true_q`` and ``first_is_best``, as in ``Findings``, of some instances."""
    worth = values_of_choices(prior, settings.horizon, settings)
    believed, true_q, first = [], [], []
    for chooser in choosers:
        tree = grown(chooser, prior, settings)
        believed.append(tree.value)
        true_q.append(true_values(tree, skills, settings).mean(axis=1))
        chosen = np.take_along_axis(worth, tree.actions[:, :1], axis=1)[:, 0]
        # Equal opponents are equally good up to rounding.
        first.append(chosen >= worth.max(axis=1) - 1e-12)
    return np.array(believed), np.array(true_q), np.array(first)


def _check_size(settings: Settings) -> None:
    outcomes = 3 if settings.draw_margin > 0.0 else 2
    games = settings.horizon
    # Logarithms: the numbers themselves may be too large to write.
    sequences = (games - 1) * np.log10(outcomes * settings.num_opponents)
    nodes = games * np.log10(outcomes)
    if sequences > np.log10(MOST_SEQUENCES) or nodes > np.log10(MOST_NODES):
        raise ValueError(
            f"games must be so few that (outcomes * opponents)^(games - 1) is at most "
            f"{MOST_SEQUENCES:,} and outcomes^games at most {MOST_NODES:,}, got {games} with "
            f"opponents={settings.num_opponents} and {outcomes} outcomes of a game"
        )


def _choosers(policies: Sequence[str], settings: Settings) -> dict[str, Chooser]:
    choosers = {OPTIMUM: optimal(settings)}
    for given in policies:
        label = label_of(given)
        if label in choosers:
            raise ValueError(f"policies must name each policy once, got {label!r} twice")
        if label in (Oracle.name, RandomOpponent.name) or label.startswith(ThompsonSampling.name):
            raise ValueError(
                f"policies must choose by the state alone, without lots or truths, got {label!r}"
            )
        policy = policy_of(Contestant(label, given), settings, _no_truth)
        if belief_of(policy) != settings.belief:
            raise ValueError(
                f"belief must be the one that all policies read, {label!r} reads the "
                f"{belief_of(policy)} one, got {settings.belief!r}"
            )
        choosers[label] = chooser_of(policy, settings)
        _try(label, choosers[label], settings)
    return choosers


def _try(label: str, chooser: Chooser, settings: Settings) -> None:
    """Let a policy choose once: one that cannot is found before the work begins."""
    ones = np.ones((1, settings.num_players))
    try:
        chooser(States.of_prior(0.0 * ones, ones, settings.belief), settings.horizon)
    except Exception as error:
        raise ValueError(
            f"policy {label!r} cannot play with num_opponents={settings.num_opponents}: {error}"
        ) from error


def _no_truth() -> Floats:
    raise ValueError("policies must not know the truth")


def _priors(
    settings: Settings, rank: str | int | None, seed: int, instances: int
) -> tuple[Floats, Floats]:
    env = MatchmakingVectorEnv(
        instances,
        num_opponents=settings.num_opponents,
        horizon=settings.horizon,
        rank=rank,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    env.reset(seed=[*episode_seeds(seed, 0, instances)])
    state = env.knowledge_state
    return state.mu, state.sigma


def _true_skills(mu: Floats, sigma: Floats, truths: int, seed: int, start: int) -> Floats:
    normals = [
        generator_of(seed, TRUTHS, start + b).standard_normal((truths, mu.shape[1]))
        for b in range(len(mu))
    ]
    return mu[:, None, :] + sigma[:, None, :] * np.array(normals)
