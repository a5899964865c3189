"""The papers' match-making policies and policies to compare with.

Each takes knowledge states (``act``) or observations (``predict``, with the signature of
stable-baselines3's models), one or a batch.
"""

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

# The baselines by name; ``matchenv.evaluation.registry`` makes policies of texts.
POLICIES: dict[str, type[Policy]] = {
    kind.name: kind
    for kind in (
        PointEstimate,
        DrawChance,
        KnowledgeGradient,
        Gittins,
        OptimisticDrawChance,
        RandomOpponent,
        ThompsonSampling,
        Oracle,
    )
}

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
