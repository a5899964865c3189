"""The papers' match-making policies and reference policies.

Each takes knowledge states (``act``) or observations (``predict``, with the signature of
stable-baselines3's models), one or a batch.
"""

from baselines.catalogue import POLICIES, policy_by_name, policy_for
from baselines.draw_chance import DrawChance
from baselines.knowledge_gradient import KnowledgeGradient
from baselines.optimistic_draw_chance import OptimisticDrawChance
from baselines.oracle import Oracle
from baselines.point_estimate import PointEstimate
from baselines.policy import Policy
from baselines.random_opponent import RandomOpponent
from baselines.thompson_sampling import ThompsonSampling

__all__ = [
    "POLICIES",
    "DrawChance",
    "KnowledgeGradient",
    "OptimisticDrawChance",
    "Oracle",
    "PointEstimate",
    "Policy",
    "RandomOpponent",
    "ThompsonSampling",
    "policy_by_name",
    "policy_for",
]
