"""Who plays: baselines by name, trained agents by name or folder, or objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
from matchenv.agents.policies import policy_named
from matchenv.baselines import POLICIES, DrawChance, Oracle, Policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.settings import Settings

# The two ends of the way that a policy comes.
LOW_END, HIGH_END = DrawChance.name, Oracle.name

TrueSkills = Callable[[], NDArray[np.float64]]


class Predicting(Protocol):
    """Whatever chooses opponents from observations as stable-baselines3's models do."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions and the state to hand in with the next observation."""


@dataclass(frozen=True)
class Contestant:
    """A policy of a comparison.

    Attributes:
        label: its name in tables and files.
        given: a name, the folder of a run, or the policy itself.
    """

    label: str
    given: str | Policy | Predicting


def contestants_of(
    policies: Sequence[Any], against: str, settings: Settings
) -> tuple[Contestant, ...]:
    """The policies that were asked for, then those that a comparison needs.

    Args:
        policies: names, folders or objects.
        against: the label or name of the policy that differences are taken to.
        settings: of the environment that they must be able to play.

    Raises:
        ValueError: for an unknown name, a folder that holds no good run, a policy named
            twice, or one that cannot play an environment of this size.
    """
    if isinstance(policies, str) or not policies:
        raise ValueError(f"policies must be a list of at least one, got {policies!r}")
    contestants: dict[str, Contestant] = {}
    for given in policies:
        contestant = _contestant(given)
        if contestant.label in contestants:
            raise ValueError(f"policies must name each policy once, got {contestant.label!r} twice")
        contestants[contestant.label] = contestant
    for name in (against, LOW_END, HIGH_END):
        contestants.setdefault(label_of(name), Contestant(label_of(name), name))
    for contestant in contestants.values():
        _check(contestant, settings)
    return tuple(contestants.values())


def label_of(text: str) -> str:
    """How tables and files name the policy that a text names."""
    return text if _is_baseline(text) else text.rstrip("/\\")


def policy_of(
    contestant: Contestant, settings: Settings, true_skill: TrueSkills
) -> Policy | Predicting:
    """The policy itself, fresh for the games that it is to play.

    Args:
        contestant: which.
        settings: of the environment.
        true_skill: gives the true skills at the time of a choice; for the oracle.
    """
    given = contestant.given
    if not isinstance(given, str):
        # A policy with a memory must not carry it from one block of games into another.
        return copy.deepcopy(given)
    return policy_named(given, settings, true_skill)


def belief_of(policy: Policy | Predicting) -> str:
    """The belief that a policy reads; a stranger's that says nothing reads the default."""
    return str(getattr(policy, "belief", DEFAULT_BELIEF))


def _contestant(given: Any) -> Contestant:
    if isinstance(given, str | Path):
        return Contestant(label_of(str(given)), str(given))
    label = getattr(given, "name", None)
    if not callable(getattr(given, "predict", None)) or not isinstance(label, str):
        raise ValueError(
            f"a policy must be a name, a folder, or an object with predict and a name, "
            f"got {given!r}"
        )
    if isinstance(given, Oracle):
        raise ValueError(f"the oracle must be given by its name {HIGH_END!r}, not as an object")
    return Contestant(label, given)


def _is_baseline(text: str) -> bool:
    return text.partition(":")[0] in POLICIES


def _check(contestant: Contestant, settings: Settings) -> None:
    """Let a policy sit down, and a trained one choose: one that cannot play is found now."""
    policy = policy_of(contestant, settings, lambda: env.true_skill)
    # Whatever a stranger's model raises, the user must learn whose it is and of what size.
    try:
        env = MatchmakingVectorEnv(
            num_opponents=settings.num_opponents,
            horizon=settings.horizon,
            tau=settings.tau,
            belief=belief_of(policy),
        )
        if isinstance(policy, Policy):
            return  # baselines play any size, and some are slow at large ones
        observation, _ = env.reset(seed=0)
        actions, _ = policy.predict(observation, episode_start=np.ones(1, np.bool_))
        env.step(np.asarray(actions))
    except Exception as error:
        raise ValueError(
            f"policy {contestant.label!r} cannot play with num_opponents="
            f"{settings.num_opponents}: {error}"
        ) from error
