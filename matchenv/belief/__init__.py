"""Beliefs about skill, one type for each kind.

``BELIEFS`` holds them by name. A new kind is a file in this folder with a subclass of
``Belief`` (of ``IndependentBelief`` where players stay apart) and its place in the table
below; users add theirs with ``register``.
"""

from __future__ import annotations

from matchenv.belief.belief import MEASURES as MEASURES
from matchenv.belief.belief import MU as MU
from matchenv.belief.belief import OUTCOMES as OUTCOMES
from matchenv.belief.belief import SIGMA as SIGMA
from matchenv.belief.belief import TRUE_SKILL as TRUE_SKILL
from matchenv.belief.belief import Belief as Belief
from matchenv.belief.belief import FactorisedBelief as FactorisedBelief
from matchenv.belief.belief import GameConstants as GameConstants
from matchenv.belief.belief import GamesPlayed as GamesPlayed
from matchenv.belief.belief import IndependentBelief as IndependentBelief
from matchenv.belief.full import FullBelief as FullBelief
from matchenv.runtime.checks import as_choice

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
