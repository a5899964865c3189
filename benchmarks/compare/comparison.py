"""The comparison as a function: the policies and cells, then the statistics and the files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from matchenv.benchmarks.compare.report import Comparison
from matchenv.envs import env_id_of, part_of
from matchenv.envs.core.settings import Options
from matchenv.envs.queue.population import Population
from matchenv.evaluation.candidates import candidates_of
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.episode_table import Block, Plan, play
from matchenv.evaluation.protocols import Protocol
from matchenv.evaluation.registry import ONE_PLAYER, known_policies
from matchenv.evaluation.seeds import INSTANCES, POLICIES, REPORT, episode_seeds, spans_of
from matchenv.runtime.checks import as_integer
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.provenance import digest_of, module_files

DEFAULT_EPISODES = 200

# Fewer episodes are played side by side where their players would fill the memory.
LARGEST_BLOCK_PLAYERS = 1_000_000


def run_comparison(
    policies: Sequence[Any] | None = None,
    *,
    env: str = ONE_PLAYER,
    cells: Mapping[str, Sequence[Any]] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    against: str | None = None,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    run: RunOptions | None = None,
) -> Comparison:
    """Play the same episodes with every policy, and compare.

    Args:
        policies: names of policies, folders of training runs, or objects with ``predict``, ``act``
            or ``choose`` and a ``name``; None for the environment's own list.
        env: name of the environment.
        cells: what is varied, and its values. ``Matchmaking-v0``: ``rank``, places of player 0
            (names or numbers; None or ``"any"`` for a random one), and ``prior``
            (``"informative"``, ``"equal"``, ``"module:Class:key=value"``, or objects that can be
            written so). ``MatchmakingQueue-v0``: ``load``, ``"thin"``, ``"middle"``, ``"thick"``
            or arrival rates. Any other environment: its options. Each value is played with each
            value of the others; what is not named has its default values.
        env_kwargs: options of the environment that are the same in all cells.
            ``Matchmaking-v0`` has ``noise="opponent"`` unless it is given.
        against: the policy that differences are taken to; it plays even if not in the list, as
            do the environment's marks. None for the environment's own.
        episodes: instances in each cell, >= 2.
        seed: random seed of instances, noise and random choices, >= 0.
        run: folder, workers and what else does not change a number.

    Returns:
        The comparison; ``table()`` gives it as text.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            comparison, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    run = run or RunOptions()
    kind, settings, places = problem_of(env, cells, env_kwargs)
    named = tuple(policies if policies is not None else kind.policies or known_policies(env))
    against = against or kind.against or str(named[0])
    plan = plan_of(named, settings, places, episodes, seed, references=(against, *kind.marks))
    asked = described(plan, settings)
    with run.store({"command": "compare", **asked}) as store:
        found = Comparison(play(plan, store, run), against.rstrip("/\\"), settings, asked)
        run.finish(store, found, found.files())
    return found


def problem_of(
    env: str, cells: Mapping[str, Sequence[Any]] | None, env_kwargs: Mapping[str, Any] | None
) -> tuple[Protocol, Any, tuple[Cell, ...]]:
    """Return the protocol of an environment, its settings, and the cells.

    Arguments are as of ``run_comparison``.

    Raises:
        ValueError: for an unknown environment or option, or a bad value.
    """
    kind: Protocol = part_of(env, "protocol")
    settings_type: type[Options] = part_of(env, "settings")
    swept = {**kind.swept, **(cells or {})}
    options = {**kind.defaults, **(env_kwargs or {})}
    known = [each.name for each in fields(settings_type) if each.name not in kind.fixed]
    places = kind.swept or known
    for name, words in (("env_kwargs", options), ("cells", cells or {})):
        allowed = places if name == "cells" else [each for each in known if each not in swept]
        for word in words:
            if word not in allowed:
                raise ValueError(f"{name} may hold {', '.join(allowed)}, got {word!r}")
    settings = settings_type.checked(**options)
    found = kind.cells(swept, settings)
    for cell in found:
        replace(settings, **cell.options)  # refuses what it cannot take
    return kind, settings, found


def plan_of(
    policies: Sequence[Any],
    settings: Any,
    cells: Sequence[Cell],
    episodes: int,
    seed: int,
    *,
    purpose: int = REPORT,
    references: Sequence[Any] = (),
) -> Plan:
    """Return the plan of a comparison.

    Args:
        policies: as ``run_comparison``, at least one.
        settings: that all cells share.
        cells: where.
        episodes: as ``run_comparison``.
        seed: as ``run_comparison``.
        purpose: ``REPORT`` or ``TUNING``, which have no episodes in common.
        references: policies that play even if they are not among the others.

    Raises:
        ValueError: for a bad value, or a policy that cannot play.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    candidates = candidates_of(policies, settings, references)
    kind: Protocol = part_of(env_id_of(settings), "protocol")
    size, key = block_size(settings), kind.key_of(purpose)
    blocks = tuple(
        Block(
            prior=0,
            first=first,
            seeds=tuple(episode_seeds(seed, first, count, (*key, INSTANCES))),
            policy_stream=(*key, POLICIES, first // size),
        )
        for first, count in spans_of(episodes, size)
    )

    def settings_of(cell: Cell, prior: int) -> Any:
        del prior
        return replace(settings, **cell.options)

    return Plan(candidates, tuple(cells), blocks, settings_of, seed)


def block_size(settings: Options) -> int:
    """Return the number of episodes in a block."""
    kind: Protocol = part_of(env_id_of(settings), "protocol")
    players = getattr(settings, "num_players", 1)
    return max(1, min(kind.block, LARGEST_BLOCK_PLAYERS // players))


def described(plan: Plan, settings: Options) -> dict[str, Any]:
    """Return everything that decides what the jobs of a plan give, as plain data."""
    kind: Protocol = part_of(env_id_of(settings), "protocol")
    environment = {name: value for name, value in settings.description().items()
                   if name not in kind.fixed}  # fmt: skip
    for name, value in vars(settings).items():
        if isinstance(value, Population) and name in environment:
            digest = hashlib.sha256(value.rows.tobytes()).hexdigest()
            environment[name] = f"{len(value.rows)} of {digest[:16]}"
    # The files that a user's own priors are read from.
    own = {
        text: digest_of(module_files(text))
        for cell in plan.cells
        for text in cell.labels.values()
        if is_object_spec(text)
    }
    return {
        "env": env_id_of(settings),
        "policies": {candidate.label: candidate.identity for candidate in plan.candidates},
        "cells": {cell.name: {"title": cell.title, "labels": dict(cell.labels)}
                  for cell in plan.cells},
        **({"priors": own} if own else {}),
        "episodes": plan.episodes,
        "seed": plan.seed,
        "block_size": block_size(settings),
        "environment": environment,
    }  # fmt: skip
