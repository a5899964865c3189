"""The queue's policies by name; ``matchenv.agents`` makes policies of texts."""

from __future__ import annotations

from matchenv.baselines.queue.best_pair import QueueKnowledgeGradient, ReservedDrawChance
from matchenv.baselines.queue.planned import (
    KnowledgeMatching,
    MatchingOracle,
    MaximumWeightMatching,
)
from matchenv.baselines.queue.policy import QueuePolicy
from matchenv.baselines.queue.reserved import Reserved
from matchenv.baselines.queue.simple import FirstComeFirstServed, RandomCandidate, WideningWindow

QUEUE_POLICIES: dict[str, type[QueuePolicy]] = {
    policy.name: policy
    for policy in (
        FirstComeFirstServed,
        WideningWindow,
        ReservedDrawChance,
        MaximumWeightMatching,
        KnowledgeMatching,
        QueueKnowledgeGradient,
        Reserved,
        RandomCandidate,
        MatchingOracle,
    )
}
