"""Environments of a training: settings, checks and evaluations; without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.algorithms import ALGORITHMS, Algorithm
from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import ENVIRONMENTS, part_of
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import REWARD, Sums, rollout
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import Arrays
from matchenv.runtime.object_spec import is_object_spec

Floats = NDArray[np.float64]
AnySettings = Settings | QueueSettings

ONE_PLAYER, QUEUE = "Matchmaking-v0", "MatchmakingQueue-v0"

# What a training is judged by, under the true skills.
TRUE = {ONE_PLAYER: "true_draw_density", QUEUE: "true_reward"}

# Baselines that a training is compared with while it runs, the one that counts first.
RIVAL = "kg"
RIVALS = {ONE_PLAYER: (RIVAL, "drawchance"), QUEUE: ("matching",)}


def combinations(env_kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the keyword arguments of each combination of the values that are lists.

    Raises:
        ValueError: for an empty list.
    """
    listed = {name: each for name, each in env_kwargs.items() if isinstance(each, list)}
    for name, values in listed.items():
        if not values:
            raise ValueError(f"{name} must list at least one value, got []")
    return [
        {**env_kwargs, **dict(zip(listed, values, strict=True))}
        for values in product(*listed.values())
    ]


def settings_of(environment: str, env_kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the checked settings of each combination; imports the classes that are named.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: keyword arguments of the environment; lists as ``MatchmakingVecEnv``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value, one that a file
            cannot hold, or combinations whose observations differ in size.
    """
    as_choice("environment", environment, ENVIRONMENTS)
    kind = part_of(environment, "settings")
    known = [each.name for each in fields(kind)]
    for given, value in env_kwargs.items():
        if given not in known:
            raise ValueError(f"env_kwargs must be among {', '.join(known)}; got {given!r}")
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, bool | int | float | str | None):
                raise ValueError(
                    "env_kwargs must be names and numbers, which the folder of a training can "
                    f"keep, got {given}={each!r}"
                )
    found: list[Any] = [kind.checked(**cell) for cell in combinations(env_kwargs)]
    sizes = ("capacity",) if kind is QueueSettings else ("num_opponents", "belief", "availability")
    for name in (*sizes, "horizon", "beta"):
        if len({getattr(each, name) for each in found}) > 1:
            raise ValueError(f"{name} must be the same in all environments, got a list")
    return found


def settings_without_code(environment: str, env_kwargs: Mapping[str, Any]) -> AnySettings:
    """Return the checked settings of a file, without the classes that it names.

    A policy plays without them, and a file must not choose what is imported. Of lists the first
    values are taken.
    """
    known = {
        name: each
        for name, each in env_kwargs.items()
        if name != "render_mode"
        and not any(map(is_object_spec, each if isinstance(each, list) else [each]))
    }
    found: AnySettings = settings_of(environment, known)[0]
    return found


def check_trainable(
    algorithm: Algorithm, environment: str, settings: AnySettings | None = None
) -> None:
    """Check that an algorithm supports masks where actions may not be allowed.

    Raises:
        ValueError: if not; it names those that do.
    """
    as_choice("environment", environment, ENVIRONMENTS)
    where = f"in {QUEUE}" if environment == QUEUE else None
    if isinstance(settings, Settings) and settings.availability < 1.0:
        where = f"where opponents go offline (availability={settings.availability!r})"
    if where is not None and not algorithm.masks:
        maskable = ", ".join(name for name, each in ALGORITHMS.items() if each.masks)
        raise ValueError(
            f"algo must be {maskable} {where}, got {algorithm.name!r}, which has no action masks"
        )


def rival_totals(
    environment: str, env_kwargs: Mapping[str, Any], episodes: int, seed: int, rival: str
) -> list[Floats]:
    """Return a baseline's totals on the instances and noise of ``evaluate``.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: keyword arguments of the environment; lists as ``MatchmakingVecEnv``.
        episodes: of each combination, >= 2.
        seed: of the first episode.
        rival: name of the baseline.

    Returns:
        For each combination the sums of true draw densities, or of true rewards in the queue, shape
        (episodes,).
    """
    found = []
    for settings in settings_of(environment, env_kwargs):
        if isinstance(settings, Settings):
            settings = replace(settings, belief=DEFAULT_BELIEF)
        found.append(_totals(policy_named(rival, settings), settings, episodes, seed))
    return [each[TRUE[environment]] for each in found]


def evaluate(
    policy: Any,
    environment: str,
    env_kwargs: Mapping[str, Any],
    episodes: int,
    seed: int,
    rivals: Mapping[str, list[Floats]] | None = None,
) -> dict[str, float | int]:
    """Return mean totals of an episode, the policy choosing deterministically.

    Args:
        policy: what chooses the opponents; its ``belief`` says which observations it reads.
        environment: its name in Gymnasium.
        env_kwargs: keyword arguments of the environment; lists as ``MatchmakingVecEnv``.
        episodes: of each combination, >= 2; episode i has the environment seed ``seed + i``.
        seed: of the first episode, >= 0.
        rivals: ``rival_totals`` of the same arguments by the baseline's name; the queue needs one.

    Returns:
        ``episodes``; ``mean_return``, the mean sum of rewards (in the queue as a share of the
        first rival's, so that all loads count alike), and its ``standard_error``. For
        ``Matchmaking-v0`` also the mean sums ``draw_density`` and ``true_draw_density`` and for
        each rival such as KG ``true_q_less_kg``, the mean difference of the sums of true draw
        densities, with ``true_q_less_kg_low`` and ``true_q_less_kg_high``, the ends of its 95 %
        interval from paired differences. In the queue the same of the true reward for each arrival
        rate.

    Raises:
        ValueError: for a bad argument.
    """
    cells, rivals = settings_of(environment, env_kwargs), rivals or {}
    played = [_totals(policy, settings, episodes, seed) for settings in cells]
    true = [each[TRUE[environment]] for each in played]
    sums = [each[REWARD] for each in played]
    if environment == QUEUE:
        theirs = next(iter(rivals.values()))
        returns = np.mean([a / b.mean() for a, b in zip(sums, theirs, strict=True)], axis=0)
    else:
        returns = np.concatenate(sums)
    found: dict[str, float | int] = {
        "episodes": episodes,
        "mean_return": float(returns.mean()),
        "standard_error": estimate(returns).standard_error,
    }
    if environment == QUEUE:
        for place, settings in enumerate(cells):
            rate = f"rate_{settings.arrival_rate:g}"
            found[f"true_reward_{rate}"] = float(true[place].mean())
            for rival, totals in rivals.items():
                found |= _paired(f"less_{rival}_{rate}", true[place], totals[place])
        return found
    found["draw_density"] = float(np.mean([each["draw_density"] for each in played]))
    found["true_draw_density"] = float(np.mean(true))
    for rival, totals in rivals.items():
        found |= _paired(f"true_q_less_{rival}", np.concatenate(true), np.concatenate(totals))
    return found


def _paired(name: str, ours: Floats, theirs: Floats) -> dict[str, float | int]:
    """Return the mean difference and the ends of its interval."""
    found = paired_difference(ours, theirs)
    return {name: found.mean, f"{name}_low": found.low, f"{name}_high": found.high}


def _totals(policy: Any, settings: AnySettings, episodes: int, seed: int) -> Arrays:
    """Return what the environment sums up, by name, shape (episodes,) each."""
    first = as_integer("seed", seed, 0)
    seeds = range(first, first + as_integer("episodes", episodes, 2))
    summary = Sums if isinstance(settings, Settings) else None
    return rollout(lambda *_: policy, settings, seeds, summary=summary).episodes
