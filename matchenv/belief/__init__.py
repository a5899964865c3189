"""Beliefs about skill.

``BELIEFS`` maps names to kinds of beliefs. A new kind is a subclass of ``Belief``, or of
``IndependentBelief`` if skills stay independent. Users name theirs ``module:Class:key=value``.
"""

from __future__ import annotations

from matchenv.belief.belief import MEASURES as MEASURES
from matchenv.belief.belief import MU as MU
from matchenv.belief.belief import SIGMA as SIGMA
from matchenv.belief.belief import TRUE_SKILL as TRUE_SKILL
from matchenv.belief.belief import Belief as Belief
from matchenv.belief.belief import BeliefArrays as BeliefArrays
from matchenv.belief.belief import FactorisedBelief as FactorisedBelief
from matchenv.belief.belief import GameConstants as GameConstants
from matchenv.belief.belief import GamesPlayed as GamesPlayed
from matchenv.belief.belief import IndependentBelief as IndependentBelief
from matchenv.belief.full import FullBelief as FullBelief
from matchenv.runtime.checks import as_choice, refusal
from matchenv.runtime.object_spec import is_object_spec, object_named

BELIEFS: dict[str, Belief] = {belief.name: belief for belief in (FactorisedBelief(), FullBelief())}

# The belief of both papers.
DEFAULT_BELIEF = FactorisedBelief.name


def belief_named(name: str) -> Belief:
    """Return the belief with this name, or ``module:Class:key=value``, built once in a process.

    Raises:
        ValueError: for an unknown name, or a class that cannot be built.
    """
    if isinstance(name, str) and name in BELIEFS:
        return BELIEFS[name]
    if is_object_spec(name):
        belief = object_named("belief", name, BELIEFS, Belief)
        object.__setattr__(belief, "name", name)
        BELIEFS[name] = belief
    return BELIEFS[as_choice("belief", name, (*BELIEFS, "module:Class:key=value"))]


def register(belief: Belief) -> None:
    """Make a belief available by its name in this process; others know ``module:Class``.

    Raises:
        ValueError: for another type of object, or a name that is missing, empty or another's.
    """
    if not isinstance(belief, Belief):
        raise refusal("belief must be a Belief", belief)
    name = getattr(belief, "name", None)
    if not isinstance(name, str) or not name:
        raise refusal("belief.name must be a string that is not empty", name)
    known = BELIEFS.get(name)
    places = {(type(each).__module__, type(each).__qualname__) for each in (known, belief)}
    if known is not None and len(places) > 1:  # a notebook's cell makes a new type at each run
        raise ValueError(f"belief.name must be new, got {name!r}, the name of {known!r}")
    BELIEFS[name] = belief
