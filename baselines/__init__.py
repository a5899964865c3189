"""The match-making policies of the papers, and reference policies.

Each accepts knowledge states (``act``) or observations (``predict``, with the signature of
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
from matchenv.evaluation import registry
from matchenv.evaluation.registry import ONE_PLAYER, policy_class

# The baselines by name; ``matchenv.evaluation.registry`` builds policies from text.
POLICIES: dict[str, type[Policy]] = {
    name: policy_class(name)
    for name, entry in registry.POLICIES[ONE_PLAYER].items()
    if entry.startswith(f"{__name__}.")  # not those that a user has registered
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
