"""Policies by name: one registry for all environments, whose entries are imported on first use."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

import numpy as np

from matchenv.belief import belief_named
from matchenv.envs import ENVIRONMENTS, environment_named
from matchenv.envs.core.registration import POLICY_SOURCES
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.rollout import (
    Summary,
    belief_of,
    check_can_play,
    check_methods,
    needs_truth,
    rollout,
)
from matchenv.runtime.checks import as_list, errors_named, hint_of
from matchenv.runtime.files import Arrays, checksum
from matchenv.runtime.object_spec import (
    build_object,
    class_from_spec,
    is_object_spec,
    parsed_options,
    parsed_value,
)
from matchenv.runtime.provenance import digest_of, module_digest, module_files

ONE_PLAYER, QUEUE, RANKING = "Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"

# The queue's wrapper of a policy for one player.
RESERVATION = "reservation"

# Settings of the environment that are passed to constructors with these parameters.
FROM_SETTINGS = ("num_opponents", "capacity", "horizon", "beta", "draw_margin", "tau", "belief")

# Longest representation of an object that is its identity; a longer one is hashed.
LONGEST_REPR = 200

# A list: ``{3,5}`` anywhere, and ``[3,5]`` as a value. YAML reads lists that nest or have quotes.
LIST = re.compile(r"""(\{[^{}]+\}|(?<==)\[[^\[\]{}"']+\])""")

# The beginning of a mapping of YAML, for example of ``{low: 1, high: 8}``, which is no list.
MAPPING = re.compile(r"""\{\s*(\}|[\w."'-]+\s*:\s)""")

# Policies that were registered beside those of the environments' records, by environment and name.
_REGISTERED: dict[str, dict[str, str]] = {}


class PolicySource(Protocol):
    """Finds policies that are no classes, for example learned ones in files."""

    def names(self, env_id: str) -> tuple[str, ...]:
        """Return the names of policies that are part of the package."""

    def runs_in(self, text: str) -> list[str]:
        """Return the policies in a folder that holds several seeds of a training."""

    def file_of(self, text: str) -> Path | None:
        """Return the file that defines a policy; None if the text names none."""

    def policy_of(self, text: str) -> Any:
        """Return a policy; None if the text names none."""


def policy_sources() -> list[PolicySource]:
    """Return the registered sources of policies, imported on first use."""
    return [resolve_name(name) for name in POLICY_SOURCES]


def register_policy(name: str, entry: str, env_id: str = ONE_PLAYER) -> None:
    """Register a policy by name in this process.

    Args:
        name: new name in its environment.
        entry: its class as ``module:attribute``, imported on first use.
        env_id: environment that it plays.

    Raises:
        ValueError: if another policy has this name.
    """
    known = baselines_of(env_id).get(name, entry)
    if known != entry:
        raise ValueError(f"name must be new, got {name!r}, the name of {known}")
    _REGISTERED.setdefault(env_id, {})[name] = entry


def baselines_of(env_id: str) -> Mapping[str, str | type]:
    """Return the policies of an environment that are classes: ``module:attribute`` by name."""
    registered = _REGISTERED.get(env_id, {})
    if env_id not in ENVIRONMENTS:
        return registered
    return {**environment_named(env_id).policies, **registered}


def policy_class(name: str, env_id: str = ONE_PLAYER) -> Any:
    """Import the class of a registered policy."""
    entry = baselines_of(env_id)[name]
    return resolve_name(entry) if isinstance(entry, str) else entry


def known_policies(env_id: str = ONE_PLAYER) -> tuple[str, ...]:
    """Return the names of all policies of an environment, baselines first."""
    names = list(baselines_of(env_id))
    for source in policy_sources():
        names += source.names(env_id)
    return tuple(names)


def policy_named(text: str, settings: Options) -> Any:
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
        settings: of the environment. Constructors get the settings of ``FROM_SETTINGS`` that they
            have parameters for (a baseline the belief that it prefers); options of the text
            override them. A policy with a method ``for_settings(settings)`` is replaced by its
            result.

    Returns:
        An object with ``act`` or stable-baselines3's ``predict``; its attribute ``belief`` names
        the belief that it reads.

    Raises:
        ValueError: for an unknown name (the message lists the known ones), a bad option, or a
            policy that cannot play with these settings.
    """
    env_id = settings.env_id
    name, _, options = text.partition(":")
    if env_id == QUEUE and name == RESERVATION:
        return _reserved_policy(text, options, settings)
    if name in baselines_of(env_id):
        policy_type = policy_class(name, env_id)
        return _built_policy(text, policy_type, options, settings)
    for source in policy_sources():
        policy = source.policy_of(text)
        if policy is not None:
            return adapted(policy, settings)
    if is_object_spec(text):
        policy_type, options = class_from_spec("policy", text, known_policies(env_id))
        policy = _built_policy(text, policy_type, options, settings)
        check_methods(policy)
        return policy
    known = known_policies(env_id)
    raise ValueError(
        f"policy must be one of {', '.join(known)}, the folder of a training run, a .safetensors "
        "file, a model.zip of stable-baselines3, or module:Class for a class of your own; got "
        f"{text!r}{hint_of(name, known)}"
    )


def _built_policy(text: str, policy_type: Any, options: str, settings: Any) -> Any:
    """Build a policy from its class, the options of its text and the settings."""
    arguments = {name: getattr(settings, name) for name in FROM_SETTINGS if hasattr(settings, name)}
    if hasattr(policy_type, "preferred_belief"):
        arguments["belief"] = policy_type.preferred_belief(settings)
    policy = build_object("policy", text, policy_type, options, arguments)
    return adapted(policy, settings, options)


def _reserved_policy(text: str, options: str, settings: Any) -> Any:
    """Build a policy for one player with a reservation; the text has the options of both."""
    wrapper = policy_class(RESERVATION, QUEUE)
    values = parsed_options("policy", text, options)
    name = str(values.pop("policy", ""))
    if not name:
        raise ValueError(
            f"options of policy {text!r} must name one policy of {ONE_PLAYER}, as in "
            f"{RESERVATION}:policy=thompson; the known ones are {', '.join(known_policies())}"
        )
    wrapper_options = {}
    for parameter in inspect.signature(wrapper).parameters:
        if parameter in values:
            wrapper_options[parameter] = values.pop(parameter)
    inner_options = ",".join(f"{key}={value}" for key, value in values.items())
    one_player = Settings(
        num_opponents=settings.num_candidates,
        beta=settings.beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
    )
    inner = policy_named(f"{name}:{inner_options}" if inner_options else name, one_player)
    return build_object("policy", text, wrapper, "", {"policy": inner, **wrapper_options})


def adapted(policy: Any, settings: Options, options: str = "") -> Any:
    """Return ``policy.for_settings(settings)``, or the policy if it has no such method.

    ``horizon=`` in the policy's options overrides the environment's.
    """
    if not hasattr(policy, "for_settings"):
        return policy
    adapted_policy = policy.for_settings(settings)
    if "horizon" in parsed_options("policy", options, options):
        adapted_policy.horizon = policy.horizon
    return adapted_policy


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
    entry = baselines_of(env_id).get(name)
    if entry is None:
        for source in policy_sources():
            file = source.file_of(text)
            if file is not None:
                return [file], digest_of([file])
        entry = text
    elif not isinstance(entry, str):
        entry = f"{entry.__module__}:{entry.__qualname__}"
    return module_files(entry), module_digest(entry)


def expanded(texts: Iterable[str]) -> list[str]:
    """Expand lists as bash does: ``"kg:multiplier={3,5}"`` into two texts.

    The only reader of lists on command lines. A value can also be written as ``[3,5]``.

    Raises:
        ValueError: for unbalanced or nested braces.
    """
    result: list[str] = []
    for text in texts:
        if MAPPING.search(text):
            result.append(text)
            continue
        choices: list[list[str]] = []
        for k, piece in enumerate(LIST.split(text)):  # plain text and lists in turn
            if k % 2 == 1:
                choices.append([choice.strip() for choice in piece[1:-1].split(",")])
            elif "{" in piece or "}" in piece:
                raise ValueError(f"braces must come in pairs, as in kg:multiplier={{3,5}}: {text}")
            else:
                choices.append([piece])
        for combination in product(*choices):
            result.append("".join(combination))
    return result


def runs_of(policies: Iterable[Any]) -> list[Any]:
    """Return policies, with the runs of a folder in place of the folder.

    Args:
        policies: as for ``candidates_of``; a folder of several seeds of a training stands for all
            of them.
    """
    single: list[Any] = []
    for policy in policies:
        runs: list[str] = []
        if isinstance(policy, str | Path):
            for source in policy_sources():
                runs += source.runs_in(str(policy))
        single += runs or [policy]
    return single


def family_of(label: str) -> str:
    """Return a label without numeric options: ``kg both=true`` for all KGs with ``both=true``."""
    name, _, options = label.partition(":")
    if is_object_spec(label):
        class_name, _, options = options.partition(":")
        name = f"{name}:{class_name}"
    words = [name]
    for option in options.split(","):
        if option and isinstance(parsed_value(option.partition("=")[2]), str | bool):
            words.append(option)
    return " ".join(words)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy to be played.

    Attributes:
        label: its name in tables and files.
        source: the text that names it, or the object.
        identity: differs for policies of different results, as far as is known.
        lasting: whether equal identities mean equal results, which later runs can then use.
        belief: the belief that it reads; only from ``candidates_of``.
        needs_truth: whether it reads the true skills; only from ``candidates_of``.
        files: that define it.
        digest: of the files.
    """

    label: str
    source: Any
    identity: str
    lasting: bool = True
    belief: str = ""
    needs_truth: bool = False
    files: tuple[Path, ...] = ()
    digest: str = ""

    def policy(self, settings: Options) -> Any:
        """Return the policy for an environment; a named one is built once in a process.

        Raises:
            ValueError: if it cannot play with these settings, or its files were changed.
        """
        if is_object_spec(self.belief):  # a process may not know its belief yet
            belief_named(self.belief)
        if not isinstance(self.source, str):
            return adapted(self.source, settings)
        if self.files and digest_of(self.files) != self.digest:
            raise ValueError(
                f"the files of policy {self.source!r} must stay as they are while it plays, and "
                f"one of {', '.join(map(str, self.files))} was changed"
            )
        try:
            return _policy_once(self.source, self.digest, settings)
        except TypeError:  # settings with an object that has no hash
            return policy_named(self.source, settings)

    def rollout(
        self,
        settings: Options,
        seeds: Sequence[int],
        rng: np.random.Generator | None = None,
        summary: Summary | None = None,
    ) -> Arrays:
        """Build the policy and play a batch of episodes; see ``rollout``.

        Raises:
            ValueError: any error of the policy; the message names it.
        """
        with errors_named(f"policy {self.label!r}"):
            policy = self.policy(settings)
        return rollout(policy, settings, seeds, rng, summary, label=self.label)


@lru_cache(maxsize=64)
def _policy_once(text: str, digest: str, settings: Options) -> Any:
    """Build a policy; the digest tells versions of its files apart."""
    return policy_named(text, settings)


def candidate_of(policy: Any, env_id: str = ONE_PLAYER) -> Candidate:
    """Return the candidate for a name, a path, a class or an object; candidates as they are.

    The name of an object is its attribute ``name``, or the name of its class.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(policy, Candidate):
        return policy
    if isinstance(policy, str | Path):
        text = str(policy)
        files, digest = files_of(text, env_id)
        name = text.rstrip("/\\") or text
        return Candidate(
            label=name,
            source=text,
            identity=f"{name} {digest}" if files and digest else name,
            lasting=bool(digest),
            files=tuple(files),
            digest=digest_of(files),
        )
    if isinstance(policy, type):
        policy = policy()
    check_methods(policy)
    label = getattr(policy, "name", None)
    if not isinstance(label, str):
        label = type(policy).__name__
    identity = type(policy).__name__
    with suppress(Exception):  # third-party code
        text = repr(policy)
        if " at 0x" not in text and len(text) <= LONGEST_REPR:
            identity = text
        elif " at 0x" not in text:
            identity = f"{identity} {checksum(text)}"
    return Candidate(label, policy, identity, lasting=False)


def candidates_of(
    policies: Sequence[Any], settings: Options, references: Sequence[Any] = ()
) -> tuple[Candidate, ...]:
    """Return the candidates for some policies, after checking that each can play.

    Args:
        policies: names, folders of runs, classes, objects with ``act`` or ``predict``, or
            candidates; a folder of several seeds stands for all its runs.
        settings: of the environment.
        references: policies that are appended unless they are among the others.

    Raises:
        ValueError: if there is no policy; for an unknown name, a bad folder, a policy named twice,
            or one that cannot play an environment of this size.
    """
    env_id = settings.env_id
    checked: dict[str, Candidate] = {}
    for policy in runs_of(as_list("policies (--policy)", policies)):
        candidate = _checked_candidate(policy, settings)
        if candidate.label in checked:
            raise ValueError(f"policies must name each policy once, got {candidate.label!r} twice")
        checked[candidate.label] = candidate
    for policy in references:
        label = candidate_of(policy, env_id).label
        if label not in checked:
            checked[label] = _checked_candidate(policy, settings)
        elif not isinstance(checked[label].source, str):
            _check_same(checked[label], candidate_of(policy, env_id), settings)
    return tuple(checked.values())


def _checked_candidate(policy: Any, settings: Options) -> Candidate:
    """Return the candidate for a policy that can play, with what its policy reads."""
    env_id = settings.env_id
    candidate = candidate_of(policy, env_id)
    size = next(iter(settings.sizes), "seed")
    try:
        built = candidate.policy(settings)
    except ValueError as error:
        where = f"{size}={getattr(settings, size, 0)}"
        raise ValueError(f"policy {candidate.label!r} cannot play with {where}: {error}") from error
    check_can_play(candidate.label, built, settings)
    if isinstance(policy, str | Path) and not candidate.files:
        candidate = candidate_of(policy, env_id)  # its module has been imported by now
    candidate = replace(candidate, needs_truth=needs_truth(built))
    if not hasattr(settings, "belief_type"):
        return candidate
    return _with_belief(candidate, belief_of(built))


def _with_belief(candidate: Candidate, belief: str) -> Candidate:
    """Return a candidate with its belief, whose code is part of the identity."""
    belief_type = type(belief_named(belief))
    if belief_type.__module__.startswith("matchenv."):
        return replace(candidate, belief=belief)
    code = module_digest(f"{belief_type.__module__}:{belief_type.__name__}")
    return replace(
        candidate,
        belief=belief,
        identity=f"{candidate.identity} {code}",
        lasting=candidate.lasting and bool(code),
    )


def _check_same(candidate: Candidate, reference: Candidate, settings: Options) -> None:
    """Check that an object that has the name of a reference is that policy, but for its sizes."""
    policy = candidate.policy(settings)
    expected = reference.policy(settings)
    if type(policy) is not type(expected) or _options_of(policy) != _options_of(expected):
        raise ValueError(
            f"policies must not call another policy {reference.label!r}, which others are compared "
            f"with, got {policy!r}: give it another name"
        )


def _options_of(policy: Any) -> dict[str, Any]:
    """Return the constructor's arguments of a policy that are attributes, but for the horizon."""
    names = inspect.signature(type(policy)).parameters
    return {name: getattr(policy, name, None) for name in names if name != "horizon"}
