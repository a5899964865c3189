"""Policies of ``MatchmakingQueue-v0``: rules from waiting players to an opponent.

Each has ``act(queues, rng)`` for a ``matchenv.envs.queue.QueueView`` of many queues, and
``choose(waiting, rng)`` for the ``matchenv.envs.queue.WaitingPlayers`` of one.
"""

from matchenv.baselines.queue.candidates import (
    FirstComeFirstServed,
    QueueKnowledgeGradient,
    QueuePolicy,
    RandomCandidate,
    Reserved,
    ReservedDrawChance,
    WideningWindow,
)
from matchenv.baselines.queue.matching import (
    KnowledgeMatching,
    MatchingOracle,
    MaximumWeightMatching,
    PlannedPolicy,
    PricedMatching,
)

__all__ = [
    "FirstComeFirstServed",
    "KnowledgeMatching",
    "MatchingOracle",
    "MaximumWeightMatching",
    "PlannedPolicy",
    "PricedMatching",
    "QueueKnowledgeGradient",
    "QueuePolicy",
    "RandomCandidate",
    "Reserved",
    "ReservedDrawChance",
    "WideningWindow",
]
