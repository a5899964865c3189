"""Beliefs about skill.

``BELIEFS`` maps names to kinds of beliefs. A new kind is a subclass of ``Belief``, or of
``IndependentBelief`` if skills stay independent. Users add theirs with ``register``.
"""

from __future__ import annotations

from matchenv.belief.belief import MEASURES as MEASURES
from matchenv.belief.belief import MU as MU
from matchenv.belief.belief import OUTCOMES as OUTCOMES
from matchenv.belief.belief import SIGMA as SIGMA
from matchenv.belief.belief import TRUE_SKILL as TRUE_SKILL
from matchenv.belief.belief import Belief as Belief
from matchenv.belief.belief import BeliefArrays as BeliefArrays
from matchenv.belief.belief import FactorisedBelief as FactorisedBelief
from matchenv.belief.belief import GameConstants as GameConstants
from matchenv.belief.belief import GamesPlayed as GamesPlayed
from matchenv.belief.belief import IndependentBelief as IndependentBelief
from matchenv.belief.full import FullBelief as FullBelief
from matchenv.runtime.checks import as_choice

BELIEFS: dict[str, Belief] = {belief.name: belief for belief in (FactorisedBelief(), FullBelief())}

# The belief of both papers.
DEFAULT_BELIEF = FactorisedBelief.name


def belief_named(name: str) -> Belief:
    """Return the belief with this name.

    Raises:
        ValueError: for an unknown name.
    """
    return BELIEFS[as_choice("belief", name, BELIEFS)]


def register(belief: Belief) -> None:
    """Make a belief available by its name in this process.

    Call it in the module that defines the belief, so that other processes register it too.

    Raises:
        ValueError: for another type of object, or a name that is missing, empty or another's.
    """
    if not isinstance(belief, Belief):
        raise ValueError(f"belief must be a Belief, got {belief!r}")
    name = getattr(belief, "name", None)
    if not isinstance(name, str) or not name:
        raise ValueError(f"belief.name must be a string that is not empty, got {name!r}")
    known = BELIEFS.get(name)
    if known is not None and type(known) is not type(belief):
        raise ValueError(f"belief.name must be new, got {name!r}, the name of {known!r}")
    BELIEFS[name] = belief
