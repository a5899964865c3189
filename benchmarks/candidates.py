"""The policies that a benchmark plays: by name, by folder or as objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matchenv.baselines import DrawChance, Oracle
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate, checked_candidates
from matchenv.evaluation.registry import files_of, policy_named
from matchenv.evaluation.rollout import check_can_play

# Shares are of the distance between the totals of these two.
LOW_END, HIGH_END = DrawChance.name, Oracle.name


def candidates_of(policies: Sequence[Any], settings: Settings) -> tuple[Candidate, ...]:
    """The policies that were asked for, each of which can play.

    Args:
        policies: names, folders of runs, or objects with ``predict`` and a ``name``.
        settings: of the environment that they must be able to play.

    Raises:
        ValueError: for none, an unknown name, a folder that holds no good run, a policy named
            twice, or one that cannot play an environment of this size.
    """
    return checked_candidates(
        policies, _candidate, lambda each: check_can_play(each.label, each.make, settings)
    )


def with_references(
    candidates: Sequence[Candidate], against: str, settings: Settings
) -> tuple[Candidate, ...]:
    """The candidates, then those that a comparison needs and that were not asked for.

    Args:
        candidates: those that were asked for.
        against: the label or name of the policy that differences are taken to.
        settings: of the environment.

    Raises:
        ValueError: as ``candidates_of``.
    """
    names = dict.fromkeys((against.rstrip("/\\"), LOW_END, HIGH_END))
    known = {candidate.label for candidate in candidates}
    missing = [name for name in names if name not in known]
    return (*candidates, *(candidates_of(missing, settings) if missing else ()))


def _candidate(given: Any) -> Candidate:
    if isinstance(given, str | Path):
        return Candidate.named(str(given), policy_named, files_of(str(given)))
    label = getattr(given, "name", None)
    if not callable(getattr(given, "predict", None)) or not isinstance(label, str):
        raise ValueError(
            f"a policy must be a name, a folder, or an object with predict and a name, "
            f"got {given!r}"
        )
    if isinstance(given, Oracle):
        raise ValueError(f"the oracle must be given by its name {HIGH_END!r}, not as an object")
    return Candidate.of_object(given, label)
