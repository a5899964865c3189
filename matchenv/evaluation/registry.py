"""Policies by name: one registry for all environments, whose entries are imported when used."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from numpy.typing import ArrayLike

from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.rollout import TrueSkills, check_can_play, method_of
from matchenv.runtime.object_spec import (
    build_object,
    is_object_spec,
    object_from_spec,
    parsed_options,
    parsed_value,
)
from matchenv.runtime.provenance import digest_of, module_files

ONE_PLAYER, QUEUE, RANKING = "Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"

# The policies of each environment by name, as ``module:attribute``.
POLICIES: dict[str, dict[str, str]] = {
    ONE_PLAYER: {
        "pe": "matchenv.baselines.simple:PointEstimate",
        "drawchance": "matchenv.baselines.simple:DrawChance",
        "kg": "matchenv.baselines.knowledge_gradient:KnowledgeGradient",
        "gittins": "matchenv.baselines.gittins:Gittins",
        "optimistic": "matchenv.baselines.simple:OptimisticDrawChance",
        "random": "matchenv.baselines.simple:RandomOpponent",
        "thompson": "matchenv.baselines.simple:ThompsonSampling",
        "oracle": "matchenv.baselines.simple:Oracle",
    },
    QUEUE: {
        "fcfs": "matchenv.baselines.queue.candidates:FirstComeFirstServed",
        "window": "matchenv.baselines.queue.candidates:WideningWindow",
        "drawchance": "matchenv.baselines.queue.candidates:ReservedDrawChance",
        "matching": "matchenv.baselines.queue.matching:MaximumWeightMatching",
        "priced": "matchenv.baselines.queue.matching:PricedMatching",
        "kg_matching": "matchenv.baselines.queue.matching:KnowledgeMatching",
        "kg": "matchenv.baselines.queue.candidates:QueueKnowledgeGradient",
        "reservation": "matchenv.baselines.queue.candidates:Reserved",
        "random": "matchenv.baselines.queue.candidates:RandomCandidate",
        "oracle": "matchenv.baselines.queue.matching:MatchingOracle",
    },
    RANKING: dict.fromkeys(
        ("random", "round-robin", "swiss", "widest", "thompson", "information", "shrinkage", "kg",
         "oracle"),
        "matchenv.baselines.ranking:RankingPolicy",
    ),
}  # fmt: skip

# Learned policies by name, folder or file; no torch is imported before one is asked for.
LEARNED = "matchenv.agents.learned_names"

# A policy for one player that a queue asks with a reservation.
RESERVATION = "reservation"

# Settings of the environment that a policy is made with, if its constructor takes them.
GIVEN = ("num_opponents", "capacity", "horizon", "beta", "draw_margin", "tau", "belief")

BRACES = re.compile(r"\{([^{}]*)\}")


def register_policy(name: str, entry: str, env_id: str = ONE_PLAYER) -> None:
    """Make a policy known by name, in this process.

    Args:
        name: new in its environment.
        entry: ``module:attribute`` of its class, imported when the policy is first used.
        env_id: name of the environment that it plays.

    Raises:
        ValueError: for a name that another policy has.
    """
    table = POLICIES.setdefault(env_id, {})
    if table.get(name, entry) != entry:
        raise ValueError(f"name must be new, got {name!r}, the name of {table[name]}")
    table[name] = entry


def policy_class(name: str, env_id: str = ONE_PLAYER) -> Any:
    """Import the class of a registered policy."""
    return resolve_name(POLICIES[env_id][name])


def known_policies(env_id: str = ONE_PLAYER) -> tuple[str, ...]:
    """Return the names of all policies of an environment, the baselines first."""
    shipped = resolve_name(f"{LEARNED}:SHIPPED")
    return (*POLICIES[env_id], *(shipped if env_id == ONE_PLAYER else ()))


def policy_named(
    text: str, settings: Options, true_skill: Callable[[], ArrayLike] | None = None
) -> Any:
    """Make the policy that a text names, for an environment.

    Args:
        text: one of

            * a baseline with or without options: ``"kg"``, ``"kg:multiplier=20,belief=full"``; of
              the queue ``"window:width=2,growth=0.5"``, ``"reservation:policy=thompson"`` (further
              options are that policy's own);
            * a learned policy that comes with the package: ``"ppo-gittins"``;
            * a training run (its folder, or its name in ``runs/``), a ``.safetensors`` file, a zip
              file of stable-baselines3, or the folder of a checkpoint of RLlib with our network;
              nothing is unpickled;
            * a user's class: ``"module:Class"``, ``"module:Class:key=value"``. The module is
              looked for where Python looks, and in the working folder.
        settings: of the environment. A class is given those of ``GIVEN`` that its constructor
            takes (a baseline the belief that it prefers); options of the text override them. A
            policy with a method ``for_settings(settings)`` is replaced by its result.
        true_skill: returns the current true skills, for the oracle.

    Returns:
        An object with ``act``, ``choose`` or stable-baselines3's ``predict``; its attribute
        ``belief`` names the belief that it reads.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad option, or a policy that
            cannot play with these settings.
    """
    env_id = env_id_of(settings)
    name, _, options = text.partition(":")
    given = {key: getattr(settings, key) for key in GIVEN if hasattr(settings, key)}
    given["true_skill"] = true_skill
    if env_id == QUEUE and name == RESERVATION:
        return _reserved(text, options, settings)
    if name in POLICIES[env_id]:
        kind = policy_class(name, env_id)
        if hasattr(kind, "preferred_belief"):
            given["belief"] = kind.preferred_belief(settings)
        # A class of several rules is told which one; no option changes it.
        several = next(iter(inspect.signature(kind).parameters), "") == "name"
        factory = partial(kind, name) if several else kind
        return adapted(build_object("policy", text, factory, options, given), settings)
    policy = resolve_name(f"{LEARNED}:learned_policy")(text)
    if policy is None and is_object_spec(text):
        policy = object_from_spec("policy", text, given, known_policies(env_id))
        method_of(policy)
    if policy is None:
        raise ValueError(
            f"policy must be one of {', '.join(known_policies(env_id))}, the folder of a training "
            f"run, a .safetensors file, or module:Class for a class of your own; got {text!r}"
        )
    return adapted(policy, settings)


def _reserved(text: str, options: str, settings: Any) -> Any:
    """Make a policy of one player with a reservation; its options stand among those of both."""
    kind = policy_class(RESERVATION, QUEUE)
    given = parsed_options("policy", text, options)
    name = str(given.pop("policy", ""))
    if not name:
        raise ValueError(
            f"options of policy {text!r} must name one policy of {ONE_PLAYER}, as in "
            f"{RESERVATION}:policy=thompson; the known ones are {', '.join(known_policies())}"
        )
    own = {key: given.pop(key) for key in inspect.signature(kind).parameters if key in given}
    inner = ",".join(f"{key}={value}" for key, value in given.items())
    shared = {key: getattr(settings, key) for key in ("beta", "draw_margin", "tau")}
    one_player = Settings(num_opponents=settings.num_candidates, **shared)
    policy = policy_named(f"{name}:{inner}" if inner else name, one_player)
    return build_object("policy", text, kind, "", {"policy": policy, **own})


def adapted(policy: Any, settings: Options) -> Any:
    """Return a policy for an environment: what its ``for_settings`` returns, or itself.

    Raises:
        ValueError: if the policy refuses to play with these settings.
    """
    adapt = getattr(policy, "for_settings", None)
    return policy if adapt is None else adapt(settings)


def files_of(text: str, env_id: str = ONE_PLAYER) -> list[Path]:
    """Return the files that a policy is read from: by their content, results are told apart.

    Args:
        text: as ``policy_named`` takes it; a user's class must have been made once.
        env_id: name of the environment that it plays.

    Returns:
        The weights of a learned policy; the module of a class, and what it imports from its
        folder; none for a baseline, which is part of the package.
    """
    name, _, options = text.partition(":")
    if env_id == QUEUE and name == RESERVATION:
        return files_of(str(parsed_options("policy", text, options).get("policy", "")))
    if name in POLICIES[env_id]:
        return []
    file = resolve_name(f"{LEARNED}:learned_file")(text)
    return module_files(text) if file is None else [file]


def expanded(texts: Iterable[str]) -> list[str]:
    """Return the texts with braces expanded, as bash does it: one text for each word in them.

    ``"kg:multiplier={3,5}"`` gives ``"kg:multiplier=3"`` and ``"kg:multiplier=5"``.

    Raises:
        ValueError: for a brace without its partner.
    """
    found: list[str] = []
    for text in texts:
        listed = BRACES.search(text)
        if listed is None:
            if "{" in text or "}" in text:
                raise ValueError(f"braces must come in pairs, as in kg:multiplier={{3,5}}: {text}")
            found.append(text)
            continue
        before, after = text[: listed.start()], text[listed.end() :]
        found += expanded(f"{before}{word}{after}" for word in listed[1].split(","))
    return found


def family_of(label: str) -> str:
    """Return a label without its numbers: ``kg both=true`` for all such KGs."""
    name, _, options = label.partition(":")
    values = {each: parsed_value(each.partition("=")[2]) for each in options.split(",") if each}
    return " ".join([name, *(each for each, value in values.items()
                             if isinstance(value, str | bool))])  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A policy to be played.

    Attributes:
        label: its name in tables and files.
        make: makes it from settings and true skills, fresh for the episodes that it is to play;
            can be pickled.
        identity: tells its results from those of another policy of that label; None where
            nothing can, so that no results of it are kept for another time.
    """

    label: str
    make: Callable[..., Any]
    identity: str | None


def candidate_of(given: Any, env_id: str = ONE_PLAYER) -> Candidate:
    """Return the policy that was given: itself, a name, a path, or an object with a ``name``.

    Each batch of episodes gets a copy of an object: one with a memory must not carry it from one
    batch into another.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(given, Candidate):
        return given
    if isinstance(given, str | Path):
        text, files = str(given), files_of(str(given), env_id)
        digest = digest_of(files)
        identity = f"{text} {digest}" if files else text
        return Candidate(text.rstrip("/\\") or text, partial(_made, text, files, digest), identity)
    label = getattr(given, "name", None)
    if not isinstance(label, str):
        raise ValueError(
            f"a policy must be a name, a folder, or an object with a name, got {given!r}"
        )
    method_of(given)
    if getattr(given, "needs_truth", False):
        raise ValueError(f"the {label} must be given by its name {label!r}, not as an object")
    return Candidate(label, partial(_made, given, [], digest_of([])), None)


def _made(
    given: Any, files: Sequence[Path], digest: str, settings: Options, skills: TrueSkills | None
) -> Any:
    named = isinstance(given, str)
    policy = policy_named(given, settings, skills) if named else copy.deepcopy(given)
    if digest_of(files) != digest:
        raise ValueError(
            f"the files of policy {given!r} must stay as they are while it plays, and one of "
            f"{', '.join(map(str, files))} was changed"
        )
    return policy if named else adapted(policy, settings)


def candidates_of(
    policies: Sequence[Any], settings: Options, references: Sequence[Any] = ()
) -> tuple[Candidate, ...]:
    """Return the policies that were asked for, each of which can play.

    Args:
        policies: names, folders of runs, objects with ``predict`` and a ``name``, or candidates.
        settings: of the environment that they must be able to play.
        references: those that play even if they were not asked for, behind the others.

    Raises:
        ValueError: for none, an unknown name, a folder that holds no good run, a policy named
            twice, or one that cannot play an environment of this size.
    """
    if isinstance(policies, str) or not policies:
        raise ValueError(f"policies must be a list of at least one, got {policies!r}")
    env_id = env_id_of(settings)
    found: dict[str, Candidate] = {}
    for place, given in enumerate((*policies, *references)):
        candidate = candidate_of(given, env_id)
        if candidate.label in found:
            if place >= len(policies):
                continue
            raise ValueError(f"policies must name each policy once, got {candidate.label!r} twice")
        check_can_play(candidate.label, candidate.make, settings)
        # Only now is the module of a class of the user's own sure to be there.
        found[candidate.label] = candidate_of(given, env_id)
    return tuple(found.values())
