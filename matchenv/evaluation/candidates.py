"""The policies that an evaluation plays: labels, and functions that make them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.evaluation.registry import adapted, files_of, method_of, policy_named
from matchenv.evaluation.rollout import TrueSkills, check_can_play
from matchenv.runtime.provenance import digest_of


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

    @classmethod
    def named(cls, text: str, files: Sequence[Path] = ()) -> Candidate:
        """Return the policy that a text names.

        Args:
            text: name with options, or a path, as ``policy_named`` takes it.
            files: where it is read from; their content tells it from another of that name.
        """
        digest = digest_of(files)
        return cls(
            text.rstrip("/\\") or text,
            partial(_made, text, tuple(files), digest),
            f"{text} {digest}" if files else text,
        )

    @classmethod
    def of(cls, given: Any, env_id: str) -> Candidate:
        """Return the policy that was given: itself, a name, a path, or an object with a ``name``.

        Each batch of episodes gets a copy of an object: one with a memory must not carry it from
        one batch into another.

        Raises:
            ValueError: for anything else.
        """
        if isinstance(given, Candidate):
            return given
        if isinstance(given, str | Path):
            return cls.named(str(given), files_of(str(given), env_id))
        label = getattr(given, "name", None)
        if not isinstance(label, str):
            raise ValueError(
                f"a policy must be a name, a folder, or an object with a name, got {given!r}"
            )
        method_of(given)
        if getattr(given, "needs_truth", False):
            raise ValueError(f"the {label} must be given by its name {label!r}, not as an object")
        return cls(label, partial(_copied, given), None)


def _made(
    text: str, files: Sequence[Path], digest: str, settings: Options, skills: TrueSkills | None
) -> Any:
    policy = policy_named(text, settings, skills)
    if digest_of(files) != digest:
        raise ValueError(
            f"the files of policy {text!r} must stay as they are while it plays, and one of "
            f"{', '.join(map(str, files))} was changed"
        )
    return policy


def _copied(policy: Any, settings: Options, skills: TrueSkills | None) -> Any:
    del skills
    return adapted(copy.deepcopy(policy), settings)


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
        candidate = Candidate.of(given, env_id)
        if candidate.label in found:
            if place >= len(policies):
                continue
            raise ValueError(f"policies must name each policy once, got {candidate.label!r} twice")
        check_can_play(candidate.label, candidate.make, settings)
        # Only now is the module of a class of the user's own sure to be there.
        found[candidate.label] = Candidate.of(given, env_id)
    return tuple(found.values())
