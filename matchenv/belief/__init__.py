"""Beliefs about skill, one type for each kind.

``BELIEFS`` holds them by name. A new kind is a file in this folder with a subclass of
``Belief`` (of ``IndependentBelief`` where players stay apart) and its place in the table
below; users add theirs with ``register``.
"""

from __future__ import annotations

from matchenv.belief.belief import (
    MEASURES,
    MU,
    OUTCOMES,
    SIGMA,
    TRUE_SKILL,
    Belief,
    FactorisedBelief,
    GameConstants,
    GamesPlayed,
    IndependentBelief,
)
from matchenv.belief.full import FullBelief
from matchenv.runtime.checks import as_choice

__all__ = [
    "BELIEFS",
    "DEFAULT_BELIEF",
    "MEASURES",
    "MU",
    "OUTCOMES",
    "SIGMA",
    "TRUE_SKILL",
    "Belief",
    "FactorisedBelief",
    "FullBelief",
    "GameConstants",
    "GamesPlayed",
    "IndependentBelief",
    "belief_named",
    "register",
]

BELIEFS: dict[str, Belief] = {belief.name: belief for belief in (FactorisedBelief(), FullBelief())}

# The papers' own.
DEFAULT_BELIEF = FactorisedBelief.name


def belief_named(name: str) -> Belief:
    """Return the belief of that name.

    Raises:
        ValueError: for an unknown one; the known ones are listed.
    """
    return BELIEFS[as_choice("belief", name, BELIEFS)]


def register(belief: Belief) -> None:
    """Make a belief known by its name, in this process.

    Processes that are started afresh must register it too: do so in the module that defines it.

    Raises:
        ValueError: for another kind of object, or a name that another belief has.
    """
    if not isinstance(belief, Belief):
        raise ValueError(f"belief must be a Belief, got {belief!r}")
    known = BELIEFS.get(belief.name)
    if known is not None and type(known) is not type(belief):
        raise ValueError(f"belief.name must be new, got {belief.name!r}, the name of {known!r}")
    BELIEFS[belief.name] = belief
