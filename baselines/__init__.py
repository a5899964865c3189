"""The papers' match-making policies and policies to compare with.

Each takes knowledge states (``act``) or observations (``predict``, with the signature of
stable-baselines3's models), one or a batch.
"""

from pkgutil import resolve_name

from matchenv.baselines.catalogue import ONE_PLAYER
from matchenv.baselines.gittins import Gittins
from matchenv.baselines.knowledge_gradient import KnowledgeGradient
from matchenv.baselines.policy import Policy
from matchenv.baselines.simple import (
    DrawChance,
    OptimisticDrawChance,
    Oracle,
    PointEstimate,
    RandomOpponent,
    ThompsonSampling,
)

POLICIES: dict[str, type[Policy]] = {name: resolve_name(spec) for name, spec in ONE_PLAYER.items()}

__all__ = [
    "POLICIES",
    "DrawChance",
    "Gittins",
    "KnowledgeGradient",
    "OptimisticDrawChance",
    "Oracle",
    "PointEstimate",
    "Policy",
    "RandomOpponent",
    "ThompsonSampling",
]
