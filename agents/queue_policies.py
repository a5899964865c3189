"""Policies of the queue by name: its baselines, learned policies, and classes of the user's own."""

from __future__ import annotations

import inspect
from typing import Any

from matchenv.agents.policies import (
    known_policies,
    learned_path,
    learned_policy,
    policy_named,
)
from matchenv.baselines import POLICIES
from matchenv.baselines.queue import QUEUE_POLICIES, Reserved
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import adapted
from matchenv.runtime.object_spec import build_object, is_object_spec, object_from_spec

# What a class of the user's own may be told about the environment, if it takes it.
TOLD = ("capacity", "horizon", "beta", "draw_margin", "tau")


def queue_policy_named(text: str, settings: QueueSettings, true_skill: None = None) -> Any:
    """The policy that a text names, made for ``MatchmakingQueue-v0``.

    Args:
        text: one of

            * a baseline with or without options: ``"fcfs"``, ``"window:width=2,growth=0.5"``,
              ``"kg:multiplier=5,both=true"``;
            * a policy of ``Matchmaking-v0`` with a reservation: ``"reservation:policy=thompson"``;
              options that are not the reservation's are the policy's own,
              ``"reservation:policy=thompson,spread=0.3,reservation=0.5"``;
            * a training run, a ``.safetensors`` file or a zip file of stable-baselines3, as
              ``matchenv.agents.policy_named`` takes them;
            * a class of the user's own: ``"module:Class"``, ``"module:Class:key=value"``.
        settings: of the environment. A policy with a method ``for_settings(settings)`` is
            replaced by what that returns.
        true_skill: not used: who plays the queue is told the truth with each question.

    Returns:
        An object with ``choose(waiting, rng)``, or with the ``predict`` of sb3-contrib's
        MaskablePPO.

    Raises:
        ValueError: for a name that is not known (the known ones are listed), a bad option, or a
            policy that cannot play with these settings.
    """
    del true_skill
    name, _, options = text.partition(":")
    told = {key: getattr(settings, key) for key in TOLD}
    if name == Reserved.name:
        return _reserved(text, options, settings)
    if name in QUEUE_POLICIES:
        return build_object("policy", text, QUEUE_POLICIES[name], options, told)
    if learned_path(name) is not None:
        policy = learned_policy(text, name, options)
    elif is_object_spec(text):
        policy = object_from_spec("policy", text, told, known_policies())
        if not any(callable(getattr(policy, each, None)) for each in ("act", "choose", "predict")):
            raise ValueError(
                f"policy {text!r} must have a method act, choose or predict, {policy!r} has none"
            )
    else:
        raise ValueError(
            f"policy must be one of {', '.join(QUEUE_POLICIES)}, "
            "the folder of a training run, a "
            f".safetensors file, or module:Class for a class of your own; got {text!r}"
        )
    return adapted(policy, settings)


def _reserved(text: str, options: str, settings: QueueSettings) -> Reserved:
    """A policy of one player with a reservation; its options stand among the reservation's."""
    own = [each for each in inspect.signature(Reserved).parameters if each != "policy"]
    asked: dict[str, list[str]] = {"policy": [], "own": [], "others": []}
    for option in filter(None, options.split(",")):
        key = option.partition("=")[0]
        asked["policy" if key == "policy" else "own" if key in own else "others"].append(option)
    if len(asked["policy"]) != 1:
        raise ValueError(
            f"options of policy {text!r} must name one policy of Matchmaking-v0, as in "
            f"{Reserved.name}:policy=thompson; the known ones are {', '.join(known_policies())}"
        )
    name = asked["policy"][0].partition("=")[2]
    inner = f"{name}:{','.join(asked['others'])}" if asked["others"] else name
    if name in POLICIES and POLICIES[name].needs_truth:
        raise ValueError(f"policy {text!r} must not know the true skills, {name} does")
    one_player = Settings.checked(
        num_opponents=settings.num_candidates,
        beta=settings.beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
    )
    policy = policy_named(inner, one_player)
    return build_object("policy", text, Reserved, ",".join(asked["own"]), {"policy": policy})
