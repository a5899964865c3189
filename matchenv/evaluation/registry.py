"""Policies by name: one registry for all environments, whose entries are imported on first use."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from numpy.typing import ArrayLike

from matchenv.belief import belief_named
from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.rollout import TrueSkills, belief_of, check_can_play, method_of
from matchenv.runtime.checks import as_list, refusal
from matchenv.runtime.files import checksum
from matchenv.runtime.object_spec import (
    build_object,
    class_from_spec,
    is_object_spec,
    parsed_options,
    parsed_value,
)
from matchenv.runtime.provenance import digest_of, module_digest, module_files

ONE_PLAYER, QUEUE, RANKING = "Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"

# Policies by environment and name, as ``module:attribute``.
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

# Module of learned policies, which imports torch only when one is loaded.
LEARNED = "matchenv.agents.learned_names"

# The queue's wrapper of a policy for one player.
RESERVATION = "reservation"

# Settings of the environment that are passed to constructors with these parameters.
GIVEN = ("num_opponents", "capacity", "horizon", "beta", "draw_margin", "tau", "belief")

# Longest text of an object that is its identity; a longer one is hashed.
LONGEST_REPR = 200

BRACES = re.compile(r"\{([^{}]*)\}")


def register_policy(name: str, entry: str, env_id: str = ONE_PLAYER) -> None:
    """Register a policy by name in this process.

    Args:
        name: new name in its environment.
        entry: its class as ``module:attribute``, imported on first use.
        env_id: environment that it plays.

    Raises:
        ValueError: if another policy has this name.
    """
    known = POLICIES.setdefault(env_id, {}).setdefault(name, entry)
    if known != entry:
        raise ValueError(f"name must be new, got {name!r}, the name of {known}")


def policy_class(name: str, env_id: str = ONE_PLAYER) -> Any:
    """Import the class of a registered policy."""
    return resolve_name(POLICIES[env_id][name])


def known_policies(env_id: str = ONE_PLAYER) -> tuple[str, ...]:
    """Return the names of all policies of an environment, baselines first."""
    shipped = resolve_name(f"{LEARNED}:SHIPPED")
    return (*POLICIES.get(env_id, {}), *(shipped if env_id == ONE_PLAYER else ()))


def policy_named(
    text: str, settings: Options, true_skill: Callable[[], ArrayLike] | None = None
) -> Any:
    """Build the policy that a text names, for an environment.

    Args:
        text: one of

            * a baseline with or without options: ``"kg"``, ``"kg:multiplier=20,belief=full"``; of
              the queue ``"window:width=2,growth=0.5"``, ``"reservation:policy=thompson"`` (further
              options are passed to the inner policy);
            * a learned policy that is part of the package: ``"ppo-gittins"``;
            * a training run (its folder, or its name in ``runs/``), a ``.safetensors`` file, a zip
              file of stable-baselines3, or the folder of an RLlib checkpoint with our network;
              nothing is unpickled;
            * a third-party class: ``"module:Class"``, ``"module:Class:key=value"``. The module is
              looked up where Python looks, and in the working folder.
        settings: of the environment. Constructors get the settings of ``GIVEN`` that they have
            parameters for (a baseline the belief that it prefers); options of the text override
            them. A policy with a method ``for_settings(settings)`` is replaced by its result.
        true_skill: returns the current true skills, for the oracle.

    Returns:
        An object with ``act``, ``choose`` or stable-baselines3's ``predict``; its attribute
        ``belief`` names the belief that it reads.

    Raises:
        ValueError: for an unknown name (the message lists the known ones), a bad option, or a
            policy that cannot play with these settings.
    """
    env_id = env_id_of(settings)
    name, _, options = text.partition(":")
    if env_id == QUEUE and name == RESERVATION:
        return _reserved(text, options, settings)
    if name in POLICIES.get(env_id, {}):
        kind = policy_class(name, env_id)
        given = _given(kind, settings, true_skill)
        # A class of several rules gets the name of the rule, which no option can change.
        several = next(iter(inspect.signature(kind).parameters), "") == "name"
        factory = partial(kind, name) if several else kind
        return adapted(build_object("policy", text, factory, options, given), settings, options)
    policy = resolve_name(f"{LEARNED}:learned_policy")(text)
    if policy is None and is_object_spec(text):
        kind, options = class_from_spec("policy", text, known_policies(env_id))
        given = _given(kind, settings, true_skill)
        policy = build_object("policy", text, kind, options, given)
        method_of(policy)
    if policy is None:
        raise ValueError(
            f"policy must be one of {', '.join(known_policies(env_id))}, the folder of a training "
            "run, a .safetensors file, a model.zip of stable-baselines3, or module:Class for a "
            f"class of your own; got {text!r}"
        )
    return adapted(policy, settings, options if is_object_spec(text) else "")


def _given(kind: Any, settings: Any, true_skill: Any) -> dict[str, Any]:
    """Return the arguments that a policy's class gets from the environment."""
    given = {key: getattr(settings, key) for key in GIVEN if hasattr(settings, key)}
    if hasattr(kind, "preferred_belief"):
        given["belief"] = kind.preferred_belief(settings)
    return {**given, "true_skill": true_skill}


def _reserved(text: str, options: str, settings: Any) -> Any:
    """Build a policy for one player with a reservation; the text has the options of both."""
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


def adapted(policy: Any, settings: Options, options: str = "") -> Any:
    """Return ``policy.for_settings(settings)``, or the policy if it has no such method.

    A horizon among the options that the policy was built from stays.
    """
    own = getattr(policy, "horizon", None)
    policy = policy.for_settings(settings) if hasattr(policy, "for_settings") else policy
    is_named = "horizon" in parsed_options("policy", options, options)
    if is_named and getattr(policy, "horizon", None) != own:
        policy.horizon = own
    return policy


def files_of(text: str, env_id: str = ONE_PLAYER) -> tuple[list[Path], str]:
    """Return the files that define a policy, and a digest of their content.

    Args:
        text: see ``policy_named``; the module of a third-party class has been imported.
        env_id: environment that it plays.

    Returns:
        The weights of a learned policy; the module of a class, and what it imports from its
        folder; none for a baseline. The digest is empty if no later run may use its results, see
        ``module_digest``.
    """
    name, _, options = text.partition(":")
    if env_id == QUEUE and name == RESERVATION:
        return files_of(str(parsed_options("policy", text, options).get("policy", "")))
    spec = POLICIES.get(env_id, {}).get(name, text)
    file = resolve_name(f"{LEARNED}:learned_file")(text) if spec == text else None
    if file is not None:
        return [file], digest_of([file])
    return module_files(spec), module_digest(spec)


def expanded(texts: Iterable[str]) -> list[str]:
    """Expand braces as bash does: ``"kg:multiplier={3,5}"`` into two texts.

    Raises:
        ValueError: for unbalanced or nested braces.
    """
    result: list[str] = []
    for text in texts:
        parts = BRACES.split(text)  # texts and lists in turn
        if any("{" in part or "}" in part for part in parts[::2]):
            raise ValueError(f"braces must come in pairs, as in kg:multiplier={{3,5}}: {text}")
        choices = [part.split(",") if k % 2 else [part] for k, part in enumerate(parts)]
        result += map("".join, product(*choices))
    return result


def family_of(label: str) -> str:
    """Return a label without numeric options: ``kg both=true`` for all KGs with ``both=true``."""
    name, _, options = label.partition(":")
    if is_object_spec(label):
        kind, _, options = options.partition(":")
        name = f"{name}:{kind}"
    values = {each: parsed_value(each.partition("=")[2]) for each in options.split(",") if each}
    return " ".join([name, *(each for each in values if isinstance(values[each], str | bool))])


@dataclass(frozen=True)
class Candidate:
    """A policy to be played.

    Attributes:
        label: its name in tables and files.
        make: builds it from settings and true skills, anew for each batch of episodes; picklable.
        identity: differs for policies of different results, as far as is known.
        lasting: whether equal identities mean equal results, which later runs can then use.
        belief: the belief that it reads; only from ``candidates_of``.
    """

    label: str
    make: Callable[..., Any]
    identity: str
    lasting: bool = True
    belief: str = ""


def candidate_of(given: Any, env_id: str = ONE_PLAYER) -> Candidate:
    """Return the candidate for a name, a path, or an object with a ``name``; candidates as is.

    Each batch of episodes is played by a copy of an object, so that no memory is carried over.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(given, Candidate):
        return given
    if isinstance(given, str | Path):
        text = str(given)
        files, digest = files_of(text, env_id)
        make = partial(_built, text, files, digest_of(files))
        name = text.rstrip("/\\") or text
        identity = f"{name} {digest}" if files and digest else name
        return Candidate(name, make, identity, bool(digest))
    label = getattr(given, "name", None)
    if isinstance(given, type):
        raise ValueError(f"a policy must be an object, as {given.__name__}(), got the class")
    if not isinstance(label, str):
        raise refusal("a policy must be a name, a folder, or an object with a name", given)
    method_of(given)
    if getattr(given, "needs_truth", False):
        raise ValueError(f"the {label} must be given by its name {label!r}, not as an object")
    identity = type(given).__name__
    with suppress(Exception):  # third-party code
        if " at 0x" not in (text := repr(given)):
            identity = text if len(text) <= LONGEST_REPR else f"{identity} {checksum(text)}"
    return Candidate(label, partial(_built, given, (), ""), identity, lasting=False)


def _built(
    given: Any, files: Sequence[Path], digest: str, settings: Options, skills: TrueSkills | None
) -> Any:
    if not isinstance(given, str):
        try:
            return adapted(copy.deepcopy(given), settings)
        except RuntimeError as error:  # torch copies no results of a training
            raise ValueError(f"save it, and give its file as the policy: {error}") from error
    policy = policy_named(given, settings, skills)
    if digest_of(files) != digest:
        raise ValueError(
            f"the files of policy {given!r} must stay as they are while it plays, and one of "
            f"{', '.join(map(str, files))} was changed"
        )
    return policy


def candidates_of(
    policies: Sequence[Any], settings: Options, references: Sequence[Any] = ()
) -> tuple[Candidate, ...]:
    """Return the candidates for some policies, after checking that each can play.

    Args:
        policies: names, folders of runs, objects with ``predict`` and a ``name``, or candidates.
        settings: of the environment.
        references: policies that are appended unless they are among the others.

    Raises:
        ValueError: if there is no policy; for an unknown name, a bad folder, a policy named twice,
            or one that cannot play an environment of this size.
    """
    named, env_id = as_list("policies (--policy)", policies), env_id_of(settings)
    checked: dict[str, Any] = {}
    for place, given in enumerate((*named, *references)):
        candidate = candidate_of(given, env_id)
        if candidate.label in checked:
            if place >= len(named):
                if not isinstance(checked[candidate.label], str | Path | Candidate):
                    _check_same(candidate_of(checked[candidate.label], env_id), candidate, settings)
                continue
            raise ValueError(f"policies must name each policy once, got {candidate.label!r} twice")
        check_can_play(candidate.label, candidate.make, settings)
        checked[candidate.label] = given
    # The files of third-party classes are known only now, after all imports.
    return tuple(_with_belief(candidate_of(given, env_id), settings) for given in checked.values())


def _with_belief(candidate: Candidate, settings: Options) -> Candidate:
    """Return a candidate with its belief, whose code is part of the identity."""
    if not hasattr(settings, "belief_type"):
        return candidate
    belief = belief_of(candidate.make(settings, tuple))
    kind = type(belief_named(belief))
    if kind.__module__.startswith("matchenv."):
        return replace(candidate, belief=belief)
    code = module_digest(f"{kind.__module__}:{kind.__name__}")
    return replace(
        candidate, make=partial(_built_with, belief, candidate.make), belief=belief,
        identity=f"{candidate.identity} {code}", lasting=candidate.lasting and bool(code),
    )  # fmt: skip


def _built_with(belief: str, make: Callable[..., Any], settings: Options, skills: Any) -> Any:
    """Build a policy in a process that may not know its belief, which the user permitted."""
    if is_object_spec(belief):  # a module that registers a name is imported by the policy
        belief_named(belief)
    return make(settings, skills)


def _check_same(given: Candidate, reference: Candidate, settings: Options) -> None:
    """Check that an object that has the name of a reference is that policy, but for its sizes."""

    def options(policy: Any) -> dict[str, Any]:
        names = inspect.signature(type(policy)).parameters
        return {name: getattr(policy, name, None) for name in names if name != "horizon"}

    ours, theirs = (each.make(settings, tuple) for each in (given, reference))
    if type(ours) is not type(theirs) or options(ours) != options(theirs):
        raise ValueError(
            f"policies must not call another policy {reference.label!r}, which others are compared "
            f"with, got {ours!r}: give it another name"
        )
