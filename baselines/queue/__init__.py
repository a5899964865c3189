"""What plays in ``MatchmakingQueue-v0``: rules from those who wait to an opponent.

Each has ``choose(waiting, rng)``, with ``waiting`` a ``matchenv.queue.WaitingPlayers``.
"""

from matchenv.baselines.queue.best_pair import QueueKnowledgeGradient, ReservedDrawChance
from matchenv.baselines.queue.catalogue import QUEUE_POLICIES
from matchenv.baselines.queue.planned import (
    KnowledgeMatching,
    MatchingOracle,
    MaximumWeightMatching,
    PlannedPolicy,
)
from matchenv.baselines.queue.policy import QueuePolicy
from matchenv.baselines.queue.reserved import Reserved
from matchenv.baselines.queue.shown import ShownPolicy
from matchenv.baselines.queue.simple import FirstComeFirstServed, RandomCandidate, WideningWindow

__all__ = [
    "QUEUE_POLICIES",
    "FirstComeFirstServed",
    "KnowledgeMatching",
    "MatchingOracle",
    "MaximumWeightMatching",
    "PlannedPolicy",
    "QueueKnowledgeGradient",
    "QueuePolicy",
    "RandomCandidate",
    "Reserved",
    "ReservedDrawChance",
    "ShownPolicy",
    "WideningWindow",
]
