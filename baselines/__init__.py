"""The papers' match-making policies and reference policies.

Each takes knowledge states (``act``) or observations (``predict``, with the signature of
stable-baselines3's models), one or a batch.
"""

from matchenv.baselines.catalogue import POLICIES
from matchenv.baselines.draw_chance import DrawChance
from matchenv.baselines.gittins import Gittins, WideGittins
from matchenv.baselines.knowledge_gradient import KnowledgeGradient
from matchenv.baselines.narrowed_knowledge_gradient import NarrowedKnowledgeGradient
from matchenv.baselines.optimistic_draw_chance import OptimisticDrawChance
from matchenv.baselines.oracle import Oracle
from matchenv.baselines.point_estimate import PointEstimate
from matchenv.baselines.policy import Policy
from matchenv.baselines.random_opponent import RandomOpponent
from matchenv.baselines.thompson_sampling import ThompsonSampling

__all__ = [
    "POLICIES",
    "DrawChance",
    "Gittins",
    "KnowledgeGradient",
    "NarrowedKnowledgeGradient",
    "OptimisticDrawChance",
    "Oracle",
    "PointEstimate",
    "Policy",
    "RandomOpponent",
    "ThompsonSampling",
    "WideGittins",
]
