"""The policies that an evaluation plays: labels, and functions that make them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matchenv.envs.core.settings import Options
from matchenv.evaluation.rollout import TrueSkills
from matchenv.runtime.provenance import digest_of

# Makes the policy that a text names, from the text, the settings of the environment and what gives
# the true skills; the queue gives None for that, since it tells the truth with each question.
PolicyByName = Callable[..., Any]


@dataclass(frozen=True)
class Candidate:
    """A policy to be played.

    Attributes:
        label: its name in tables and files.
        make: makes it from settings and true skills, fresh for the episodes that it is to play;
            can be pickled.
        identity: what tells its results from those of another policy of that label; None
            where nothing can, so that no results of it are kept for another time.
    """

    label: str
    make: Callable[..., Any]
    identity: str | None

    @classmethod
    def named(cls, text: str, policy_named: PolicyByName, files: Sequence[Path] = ()) -> Candidate:
        """The policy that a text names.

        Args:
            text: name with options, or a path.
            policy_named: makes it; a function at module level.
            files: what it is read from; their content tells it from another of that name.
        """
        digest = digest_of(files)
        identity = f"{text} {digest}" if files else text
        make = partial(_made, text, policy_named, tuple(files), digest)
        return cls(text.rstrip("/\\") or text, make, identity)

    @classmethod
    def of_object(cls, policy: Any, label: str) -> Candidate:
        """A policy that the caller made; each batch of episodes gets a copy of it."""
        # A policy with a memory must not carry it from one batch into another.
        return cls(label, partial(_copied, policy), None)


def _made(
    text: str,
    policy_named: PolicyByName,
    files: Sequence[Path],
    digest: str,
    settings: Options,
    true_skill: TrueSkills | None,
) -> Any:
    policy = policy_named(text, settings, true_skill)
    if digest_of(files) != digest:
        raise ValueError(
            f"the files of policy {text!r} must stay as they are while it plays, and one of "
            f"{', '.join(map(str, files))} was changed"
        )
    return policy


def _copied(policy: Any, settings: Options, true_skill: TrueSkills | None) -> Any:
    return adapted(copy.deepcopy(policy), settings)


def checked_candidates(
    policies: Sequence[Any],
    candidate_of: Callable[[Any], Candidate],
    check: Callable[[Candidate], None],
) -> tuple[Candidate, ...]:
    """The policies that were asked for, each of which can play.

    Args:
        policies: what the user gave.
        candidate_of: makes one of them a candidate.
        check: raises ``ValueError`` for one that cannot play.

    Raises:
        ValueError: for none, one named twice, or one that cannot play.
    """
    if isinstance(policies, str) or not policies:
        raise ValueError(f"policies must be a list of at least one, got {policies!r}")
    found: dict[str, Candidate] = {}
    for given in policies:
        candidate = candidate_of(given)
        if candidate.label in found:
            raise ValueError(f"policies must name each policy once, got {candidate.label!r} twice")
        check(candidate)
        # Only now is the module of a class of the user's own sure to be there.
        found[candidate.label] = candidate_of(given)
    return tuple(found.values())


def adapted(policy: Any, settings: Options) -> Any:
    """The policy for an environment: what its ``for_settings`` gives, or itself without one.

    Args:
        policy: what chooses.
        settings: of the environment.

    Raises:
        ValueError: if the policy refuses to play with these settings.
    """
    adapt = getattr(policy, "for_settings", None)
    return policy if adapt is None else adapt(settings)
