"""Policies by name, as command lines and configuration files write them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from matchenv.baselines.draw_chance import DrawChance
from matchenv.baselines.knowledge_gradient import KnowledgeGradient
from matchenv.baselines.optimistic_draw_chance import OptimisticDrawChance
from matchenv.baselines.oracle import Oracle
from matchenv.baselines.point_estimate import PointEstimate
from matchenv.baselines.policy import Policy
from matchenv.baselines.random_opponent import RandomOpponent
from matchenv.baselines.thompson_sampling import ThompsonSampling
from matchenv.settings import Settings

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        PointEstimate,
        DrawChance,
        KnowledgeGradient,
        OptimisticDrawChance,
        RandomOpponent,
        ThompsonSampling,
        Oracle,
    )
}

# Options whose value is a word, which the policy itself checks.
WORD_OPTIONS = ("belief",)


def policy_by_name(text: str, **defaults: Any) -> Policy:
    """The policy that a text such as ``"kg"`` or ``"kg:multiplier=20,belief=full"`` names.

    Args:
        text: a name of ``POLICIES``, then options ``name=value`` behind a colon, separated
            by commas.
        defaults: arguments such as beta, horizon or true_skill; each policy takes those it
            knows, and an option of the text goes before.

    Raises:
        ValueError: for an unknown name (the known ones are listed), an unknown option or a
            bad value.
    """
    name, _, options = text.partition(":")
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise ValueError(f"policy must be one of {known}, got {name!r}")
    policy = POLICIES[name]
    known_arguments = set(inspect.signature(policy).parameters)
    arguments = {key: value for key, value in defaults.items() if key in known_arguments}
    arguments.update(_options(text, options, known_arguments - {"true_skill"}))
    return policy(**arguments)


def policy_for(text: str, settings: Settings, true_skill: Callable[[], ArrayLike]) -> Policy:
    """The policy that a text names, for an environment.

    Args:
        text: as ``policy_by_name``.
        settings: of the environment; the policy reads its belief unless the text says another.
        true_skill: gives the true skills at the time of a choice; for the oracle.

    Raises:
        ValueError: as ``policy_by_name``.
    """
    return policy_by_name(
        text,
        beta=settings.beta,
        horizon=settings.horizon,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
        belief=settings.belief,
        true_skill=true_skill,
    )


def _options(text: str, options: str, known: set[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        key, separator, value = option.partition("=")
        if key not in known or not separator:
            allowed = ", ".join(sorted(known))
            raise ValueError(
                f"options of policy {text!r} must be name=value with a name of {allowed}, "
                f"got {option!r}"
            )
        arguments[key] = _value(key, value)
    return arguments


def _value(key: str, text: str) -> Any:
    if key in WORD_OPTIONS:
        return text
    if text in ("true", "True", "false", "False"):
        return text in ("true", "True")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{key} must be a number, true or false, got {text!r}")
