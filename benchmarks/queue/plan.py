"""Who plays the queue, under which loads, on which seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import Candidate, checked_candidates
from matchenv.evaluation.episode_table import Block
from matchenv.evaluation.queue_rollout import queue_rollout
from matchenv.evaluation.queue_table import LOADS, Load, QueuePlan, maker_of
from matchenv.evaluation.registry import QUEUE as QUEUE_ENV
from matchenv.evaluation.registry import files_of, policy_named
from matchenv.evaluation.seeds import INSTANCES, POLICIES, QUEUE, episode_seeds, spans_of
from matchenv.runtime.checks import as_integer

# Runs that are played side by side. A stochastic policy has one stream for a block, so its size
# is part of the result; it must not follow the number of workers.
LARGEST_BLOCK = 50

# What the loads say.
RATE = "arrival_rate"


def queue_plan(
    policies: Sequence[Any],
    against: str | None,
    loads: Sequence[str],
    episodes: int,
    seed: int,
    env_kwargs: Mapping[str, Any] | None,
    purpose: int,
) -> QueuePlan:
    """What is to be played.

    Args:
        policies: texts as ``policy_named`` takes them, or objects with ``choose`` or
            ``predict`` and a ``name``.
        against: a policy that plays even if it is not in the list; None for nobody.
        loads: names of ``LOADS`` or arrival rates.
        episodes: runs of each policy under each load, >= 2.
        seed: decides everything that is drawn, >= 0.
        env_kwargs: options of the environment but for the arrival rate.
        purpose: ``REPORT`` or ``TUNING``; their runs have no seeds in common.

    Raises:
        ValueError: for a bad argument, or a policy that cannot play.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    found = tuple(Load.named(str(load)) for load in loads)
    if not found or len({load.name for load in found}) < len(found):
        raise ValueError(f"loads must be at least one, each once, of {', '.join(LOADS)} or arrival "
                         f"rates, got {loads!r}")  # fmt: skip
    settings = queue_settings_of(env_kwargs)
    candidates = queue_candidates(policies, settings)
    if against is not None and against not in [each.label for each in candidates]:
        candidates = (*candidates, *queue_candidates([against], settings))
    blocks = tuple(
        Block(
            prior=0,
            first=first,
            seeds=tuple(episode_seeds(seed, first, count, (QUEUE, purpose, INSTANCES))),
            policy_stream=(QUEUE, purpose, POLICIES, first // LARGEST_BLOCK),
        )
        for first, count in spans_of(episodes, LARGEST_BLOCK)
    )
    return QueuePlan(candidates, found, blocks, settings, seed)


def queue_settings_of(env_kwargs: Mapping[str, Any] | None) -> QueueSettings:
    """The settings of an environment, but for the arrival rate.

    Raises:
        ValueError: for an option that there is not, or a bad value.
    """
    options = dict(env_kwargs or {})
    known = [each.name for each in fields(QueueSettings) if each.name not in (RATE, "reward")]
    for name in options:
        if name not in known:
            raise ValueError(
                f"env_kwargs may hold {', '.join(known)}, got {name!r} (the loads say how many "
                "come, and the reward makes no difference: both are reported)"
            )
    return QueueSettings.checked(**options)


def queue_candidates(policies: Sequence[Any], settings: QueueSettings) -> tuple[Candidate, ...]:
    """The policies that were asked for, each of which can play.

    Raises:
        ValueError: for none, an unknown name, a policy named twice, or one that cannot play.
    """

    def check(candidate: Candidate) -> None:
        try:
            queue_rollout(maker_of(candidate), replace(settings, horizon=2), [0])
        # Whatever a third-party model raises, the message names the policy.
        except Exception as error:
            raise ValueError(f"policy {candidate.label!r} cannot play: {error}") from error

    return checked_candidates(policies, _candidate, check)


def described(plan: QueuePlan) -> dict[str, Any]:
    """Everything that decides what the jobs of a plan give, as plain data."""
    options = {each.name: getattr(plan.settings, each.name) for each in fields(QueueSettings)}
    rows = plan.settings.population.rows
    digest = hashlib.sha256(rows.tobytes()).hexdigest()
    options["population"] = f"{len(rows)} of {digest[:16]}"
    del options[RATE], options["reward"]
    return {
        "policies": {candidate.label: candidate.identity for candidate in plan.candidates},
        "loads": {load.name: load.arrival_rate for load in plan.loads},
        "episodes": sum(len(block.seeds) for block in plan.blocks),
        "seed": plan.seed,
        "environment": {
            name: str(value) if value == float("inf") else value for name, value in options.items()
        },
    }


def _candidate(given: Any) -> Candidate:
    if isinstance(given, str | Path):
        text = str(given)
        return Candidate.named(text, policy_named, files_of(text, QUEUE_ENV))
    label = getattr(given, "name", None)
    plays = any(callable(getattr(given, method, None)) for method in ("choose", "predict"))
    if not plays or not isinstance(label, str):
        raise ValueError(
            f"a policy must be a name, a folder, or an object with choose or predict and a name, "
            f"got {given!r}"
        )
    return Candidate.of_object(given, label)
