"""The baselines by name; ``matchenv.agents.policies`` makes policies of texts."""

from __future__ import annotations

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

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        PointEstimate,
        DrawChance,
        KnowledgeGradient,
        NarrowedKnowledgeGradient,
        Gittins,
        WideGittins,
        OptimisticDrawChance,
        RandomOpponent,
        ThompsonSampling,
        Oracle,
    )
}
